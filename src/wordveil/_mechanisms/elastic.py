"""Noise scaled to the neighbourhood of the word, with a smoothed scale (challenges paper, section 6.2).

``ℓ(w)``, the distance to the k-th nearest word, changes by at most ``d(w,w')`` from ``w`` to ``w'``. Its smooth upper
bound ``s(w) = c·max_u ℓ(u)·e^{-β·d(w,u)}`` satisfies ``s(w) <= e^{β·d(w,w')}·s(w')`` (Nissim, Raskhodnikova & Smith
2007). The noisy point has density ∝ ``s^{-n}(1 + r/s)^{-p}``, with ``r = ‖z-φ(w)‖``, ``s = s(w)`` and ``p > n``, the
same constant for all words.

Proof. Let ``s >= s'`` and ``a = ln(s/s') <= β·d``. With ``|r-r'| <= d``,
``ln f_w/f_w' = (p-n)·a + p·ln((s'+r')/(s+r)) <= (p-n)·β·d + p·d/s``, because ``(s'+r')/(s+r) <= 1 + d/s``. The other
way round, ``ln f_w'/f_w = (n-p)·a + p·ln((s+r)/(s'+r')) <= (n-p)·a + p·(a + d/s) = n·a + p·d/s``, because
``(s+r)/(s+r') <= 1 + d/s`` and ``(s+r')/(s'+r') <= s/s'``. So the loss between two words is at most ``(p/max(s,s') +
β·max(n, p-n))·d(w,w')``. ∎

`epsilon` fixes c: the bound at the smallest s of the vocabulary is ε. So the guarantee is ``ε·d`` for every pair, and
less for pairs with an isolated word (`allowed_loss`). Laplace tails would not work: changing their scale costs an
unbounded loss.

Sampler. The radius has density ∝ ``r^{n-1}(1+r/s)^{-p}``; with ``B = r/(r+s)`` that is ``B^{n-1}(1-B)^{p-n-1}``:
Beta(n, p-n). The direction is uniform.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, ScaledMechanism, needs_vectors
from wordveil._mechanisms.laws import UnitLength
from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays
from wordveil.guarantee import Guarantee
from wordveil.kernels import squared_distances
from wordveil.parallel import blocks, run
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids

# The least n·tail: a length exceeds 1e30 with probability (1e-30)^(n·tail), which must stay below 2^-60.
_LIGHTEST = 0.6
_ENTRIES = 1 << 22  # distances that are held at once


class Elastic(ScaledMechanism[EuclideanSpace]):
    """Adds heavy-tailed noise sized by the smoothed distance to the k-th nearest word, and takes the nearest word.

    Parameters
    ----------
    k : int
        The neighbour whose distance sets the size.
    share : float
        The share of epsilon that pays for the change of size between words; 0 gives all words the same size.
    tail : float
        The exponent p is ``n·(1 + tail)``: a smaller value gives a heavier tail.
    """

    name = "elastic"
    summary = "adds heavy-tailed noise, smaller in crowded regions, then takes the nearest word"
    in_brief = "ε per unit of Euclidean distance, less for isolated words"
    source = "challenges paper, left open there"

    def __init__(self, space: Space, epsilon: float, *, k: int = 10, share: float = 0.5, tail: float = 1.0) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if k < 1:
            raise OptionError("k must be 1 or more.")
        if not 0.0 <= share < 1.0:
            raise OptionError("share must be at least 0 and below 1.")
        least = _LIGHTEST / self.space.dimension
        if not (np.isfinite(tail) and tail >= least):
            raise OptionError(f"tail must be at least {least:.3g} here, or the noise would overflow 32-bit floats.")
        self.k, self.share, self.tail = int(k), float(share), float(tail)

    @property
    def exponent(self) -> float:
        """The exponent p of the tail."""
        return self.space.dimension * (1.0 + self.tail)

    @property
    def smoothness(self) -> float:
        """The β of the smooth bound."""
        return self.share * self.epsilon / (self.space.dimension * max(1.0, self.tail))

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """The s of every word."""
        smooth = _smooth(self.space, self.k, self.smoothness)
        if smooth.min() <= 0.0:
            raise SpaceError("all words have the same vector, so there is no distance to scale the noise by.")
        return smooth * self.exponent / ((1.0 - self.share) * self.epsilon * smooth.min())

    def allowed_loss(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the largest log-ratio that the guarantee allows for each pair."""
        distance = self.space.apart(self.space.points(left), right)
        steepness = self.exponent / np.maximum(self.sizes[left], self.sizes[right])
        return (steepness + self.share * self.epsilon) * distance

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        loneliest = round_up(self.promised_rate(float(self.sizes.max())), 4)
        return self.make_guarantee(
            caveats=(f"For the most isolated word the promise is {loneliest:g} per unit.", DRAWN_IN_FLOATS),
            claim="none: the challenges paper leaves the calibration open",
        )

    def promised_rate(self, size: float) -> float:
        """Return the loss per unit of distance between a word of this size and any other."""
        return self.exponent / size + self.share * self.epsilon

    @property
    def unit_length(self) -> UnitLength:
        """The law of the length for a word of size 1: that of B/(1-B), with B Beta(n, p-n)."""
        return UnitLength(self.space.dimension, tail=self.exponent - self.space.dimension)

    def scales(self, ids: Ids) -> NDArray[np.float64]:
        """Return the scale of each word's noise: its size."""
        return np.asarray(self.sizes[ids])


def _smooth(space: EuclideanSpace, k: int, beta: float) -> NDArray[np.float64]:
    """Return ``max_u ℓ(u)·e^{-β·d(w,u)}`` for every word w."""
    if len(space) == 1:
        return np.ones(1)

    def fill(folder: Path) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(neighbourhoods(space, k)[1][:, -1].astype(np.float64))
        for name, array in zip(("begin", "log", "distance"), _peaks(space, logs), strict=True):
            np.save(folder / f"{name}.npy", array)

    begin, logs, distances = cached_arrays(f"peaks-1-{k}-{space.checksum}", fill, "begin", "log", "distance")
    return np.asarray(np.exp(np.maximum.reduceat(logs - beta * distances, begin)))


def _peaks(space: EuclideanSpace, logs: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """Return for every word w the words u that ``max_u logs(u) - β·d(w,u)`` may be reached at, whatever β is.

    They are those with no word that has a larger number and is as near: about a dozen of 50,000. In falling order of
    their numbers, they are where the distance from w falls below all before it, and w itself is the last.

    Returns
    -------
    begin : array of int
        Where those of each word begin.
    log, distance : array of float
        The number of each, and its distance from w.
    """
    order = np.argsort(-logs, kind="stable")
    matrix, squares = np.ascontiguousarray(space.matrix[order]), space.squares[order]

    def look(part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        rows = squared_distances(matrix[: part.stop], squares[: part.stop], np.arange(part.start, part.stop))
        np.fill_diagonal(rows[:, part.start :], 0.0)
        least = np.minimum.accumulate(rows, axis=1)
        row, place = np.nonzero(least[:, 1:] < least[:, :-1])
        row, place = np.concatenate([np.arange(len(rows)), row]), np.concatenate([np.zeros(len(rows), int), place + 1])
        return row + part.start, place, np.sqrt(rows[row, place])

    parts = run(look, blocks(len(order), max(1, _ENTRIES // len(space))))
    row, place, distance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    word = order[row]
    turn = np.argsort(word, kind="stable")
    begin = np.searchsorted(word[turn], np.arange(len(space)))
    return begin, logs[order[place[turn]]], distance[turn]
