"""Gaussian noise of one size for all words.

Proof. For two words at distance ``D <= reach`` the noisy points are ``N(φ(w), σ²I)`` and ``N(φ(w'), σ²I)``. By Balle
and Wang (2018, Theorem 8) these are (ε, δ)-indistinguishable if and only if ``Φ(D/2σ - εσ/D) - e^ε·Φ(-D/2σ - εσ/D) <=
δ``. The left side grows with ``D/σ``, and σ is the smallest that satisfies the condition at ``D = reach``. The nearest
word is computed from the point alone. Words farther apart than `reach` are not covered. ∎
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import RadiusLaw, ScaledMechanism, needs_vectors
from wordveil._mechanisms.laws import UnitLength
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import delta_between, sigma_for
from wordveil.rounding import round_down
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids


class GaussianNoise(ScaledMechanism[EuclideanSpace]):
    """Base of mechanisms with Gaussian noise: a deviation for every word, and the exact δ of every pair."""

    def __init__(self, space: Space, epsilon: float, delta: float) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if not 0.0 < delta < 1.0:
            raise OptionError("delta must lie strictly between 0 and 1.")
        self.delta = float(delta)

    @property
    @abstractmethod
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every word's noise."""

    @property
    def unit_length(self) -> UnitLength:
        """The law of the length at scale 1: the chi law, as for a normal vector."""
        return UnitLength(0.5 * self.space.dimension, is_root=True)

    def scales(self, ids: Ids) -> NDArray[np.float64]:
        """Return the scale of each word's noise: its standard deviation."""
        return np.asarray(self.deviations[ids])

    def true_delta(self, left: int, right: int) -> float:
        """Return the exact smallest δ that holds between two words at this ε."""
        distance = float(self.space.apart(self.space.points(np.array([left])), np.array([right]))[0])
        one, other = self.deviations[[left, right]].tolist()
        return delta_between(self.space.dimension, distance, one, other, self.epsilon)

    def projection_law(self, word: int) -> RadiusLaw | None:
        """Return the CDF of the noise along any direction; None if the word gets no noise."""
        deviation = float(self.deviations[word])
        return (lambda parts: scipy.special.ndtr(parts / deviation)) if deviation else None


class Gaussian(GaussianNoise):
    """Adds Gaussian noise of one size to the word's vector and takes the nearest word.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee for words within `reach` of each other.
    reach : float, optional
        The largest distance that is covered. Default: the largest distance from any word to its nearest word, so that
        every word is covered together with at least one other.
    """

    name = "gaussian"
    summary = "adds Gaussian noise, calibrated analytically, then takes the nearest word"
    in_brief = "(ε, δ) for words within the reach of each other"
    source = "Balle & Wang 2018"

    def __init__(self, space: Space, epsilon: float, *, delta: float = 1e-6, reach: float | None = None) -> None:
        super().__init__(space, epsilon, delta)
        if reach is not None and not (np.isfinite(reach) and reach > 0):
            raise OptionError("reach must be a distance above 0; leave it out for the default.")
        self._reach = reach

    @cached_property
    def reach(self) -> float:
        """The largest distance that the guarantee covers."""
        if self._reach is not None:
            return float(self._reach)
        if len(self.space) == 1:
            return 1.0
        largest = float(neighbourhoods(self.space, 1)[1].max())
        if largest == 0.0:
            raise OptionError("every word has a twin at distance 0, so reach has no default; give one.")
        return largest

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every word's noise: the same for all."""
        return np.full(len(self.space), sigma_for(self.epsilon, self.delta) * self.reach)

    def covered_pairs(self, ids: Ids) -> NDArray[np.int64]:
        """Return each word with its nearest word, for pairs within the reach."""
        pairs = super().covered_pairs(ids)
        return pairs[self.space.apart(self.space.points(pairs[:, 0]), pairs[:, 1]) <= self.reach]

    def delta_at_reach(self) -> tuple[float, float]:
        """Return the largest distance that is covered and the exact δ there."""
        deviation = float(self.deviations[0])
        return self.reach, delta_between(self.space.dimension, self.reach, deviation, deviation, self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            Notion.APPROXIMATE,
            delta=self.delta,
            pairs=f"words within a distance of {round_down(self.reach, 4):g}",
            caveats=("Words farther apart are not covered.",),
            claim="(ε, δ) with σ = Δ·√(2·ln(1.25/δ))/ε, proved for ε < 1 only (Dwork & Roth 2014)",
        )
