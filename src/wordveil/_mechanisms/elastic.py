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

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, RadialMechanism, RadiusLaw, needs_vectors
from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy, log_gamma_draws
from wordveil.parallel import blocks, run
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids

# The least n·tail: a length exceeds 1e30 with probability (1e-30)^(n·tail), which must stay below 2^-60.
_LIGHTEST = 0.6


class Elastic(RadialMechanism[EuclideanSpace]):
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

    def lengths(self, ids: Ids, entropy: Entropy) -> NDArray[np.float64]:
        """Draw the length of the noise of each word."""
        dimension = self.space.dimension
        # For a Beta variable B, B/(1-B) is a quotient of two Gamma variables, which keeps its digits if B is near 1.
        above = entropy.generator.standard_gamma(dimension, len(ids))
        log_below = log_gamma_draws(self.exponent - dimension, len(ids), entropy)
        return np.asarray(self.sizes[ids] * np.exp(np.log(above) - log_below))

    def radius_law(self, word: int) -> RadiusLaw:
        """Return the CDF of the distance between a word and its noisy point."""
        size, dimension = float(self.sizes[word]), self.space.dimension
        rest = self.exponent - dimension
        return lambda radii: np.asarray(scipy.special.betainc(dimension, rest, radii / (radii + size)))


def _smooth(space: EuclideanSpace, k: int, beta: float) -> NDArray[np.float64]:
    """Return ``max_u ℓ(u)·e^{-β·d(w,u)}`` for every word w."""
    if len(space) == 1:
        return np.ones(1)

    def fill(folder: Path) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(neighbourhoods(space, k)[1][:, -1].astype(np.float64))

        def best(part: slice) -> NDArray[np.float64]:
            rows = space.distances(np.arange(part.start, part.stop))
            return np.asarray((logs - beta * rows).max(axis=1))

        size = max(1, (1 << 24) // len(space))
        np.save(folder / "smooth.npy", np.exp(np.concatenate(run(best, blocks(len(space), size)))))

    return cached_arrays(f"smooth-1-{k}-{beta:.12g}-{space.checksum}", fill, "smooth")[0]
