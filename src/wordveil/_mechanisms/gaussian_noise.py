"""What the mechanisms with Gaussian noise share: a deviation for every word, and the exact δ of every pair."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import RadiusLaw, ScaledMechanism, needs_vectors
from wordveil._mechanisms.laws import UnitLength
from wordveil.errors import WordveilError
from wordveil.noise import delta_between
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Ids

__all__ = ["GaussianNoise"]


class GaussianNoise(ScaledMechanism[EuclideanSpace]):
    """Adds Gaussian noise to the word's vector and gives the nearest word.

    Parameters
    ----------
    space : EuclideanSpace
        The words and their vectors.
    epsilon, delta : float
        The (ε, δ) that the noise is made for.
    """

    def __init__(self, space: Space, epsilon: float, delta: float) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if not 0.0 < delta < 1.0:
            raise WordveilError("delta must lie between 0 and 1, both excluded.")
        self.delta = float(delta)

    @property
    @abstractmethod
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every word's noise."""

    def options(self) -> dict[str, Any]:
        """Return the options beside epsilon that this mechanism was made with."""
        return {"delta": self.delta}

    @property
    def unit_length(self) -> UnitLength:
        """The law of the length at scale 1: that of a normal vector, a chi law."""
        return UnitLength(0.5 * self.space.dimension, is_root=True)

    @property
    def searched(self) -> NDArray[np.float32]:
        """The vectors among which the nearest is sought."""
        return self.space.matrix

    def scales(self, ids: Ids) -> NDArray[np.float64]:
        """Return by how much the noise of each word is longer than at scale 1: by its deviation."""
        return np.asarray(self.deviations[ids])

    def true_delta(self, left: int, right: int) -> float:
        """Return the smallest δ that holds between two words at this mechanism's ε: no estimate, the exact value."""
        distance = float(self.space.apart(self.space.points(np.array([left])), np.array([right]))[0])
        deviations = self.deviations
        return delta_between(
            self.space.dimension, distance, float(deviations[left]), float(deviations[right]), self.epsilon
        )

    def radius_law(self, word: int) -> RadiusLaw | None:
        """Return the distribution function of the distance between a word and its noisy point; None without noise."""
        deviation = float(self.deviations[word])
        shape = 0.5 * self.space.dimension
        return (lambda radii: scipy.special.gammainc(shape, 0.5 * (radii / deviation) ** 2)) if deviation else None

    def projection_law(self, word: int) -> RadiusLaw | None:
        """Return the distribution function of the noise along any direction; None without noise."""
        deviation = float(self.deviations[word])
        return (lambda parts: scipy.special.ndtr(parts / deviation)) if deviation else None
