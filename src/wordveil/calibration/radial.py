"""Mechanisms whose noise is a direction times a length, so that rays serve for them.

The directions are uniform on the sphere (stretched, for `mahalanobis`, as the cloud of words is) and the length is a
word's scale times a length drawn from one law for all words and all ε: Gamma(n) for Laplace noise, with scale 1/ε, and
the chi law of n degrees of freedom for Gaussian noise, with the word's standard deviation as scale.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Gaussian, Jaccard, Laplace, Mahalanobis, Mechanism, Nadp
from wordveil._mechanisms.gaussian_noise import GaussianNoise
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, MahalanobisSpace
from wordveil.spaces.space import Device

__all__ = ["RadialNoise"]

_KINDS = (Laplace, Mahalanobis, Gaussian, Jaccard, Nadp)
_TABLE = 1 << 14


class RadialNoise:
    """The noise of a mechanism, as directions and lengths.

    Parameters
    ----------
    mechanism : Mechanism
        One of those that `covers` accepts.
    """

    def __init__(self, mechanism: Mechanism[Any]) -> None:
        self._space: EuclideanSpace | MahalanobisSpace = mechanism.space
        self._is_gaussian = isinstance(mechanism, GaussianNoise)

    @staticmethod
    def covers(mechanism: Mechanism[Any]) -> bool:
        """Say whether the mechanism's noise is of this kind. A mechanism derived from one that is need not be."""
        return type(mechanism) in _KINDS

    @property
    def device(self) -> Device | None:
        """Where the points lie, if that is not this processor."""
        return self._space.device

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The points among which the nearest is sought."""
        return self._space.base.matrix if isinstance(self._space, MahalanobisSpace) else self._space.matrix

    def draw(self, count: int, entropy: Entropy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw directions and, for scale 1, the lengths along them."""
        dimension = self._space.dimension
        directions = entropy.generator.standard_normal((count, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        if isinstance(self._space, MahalanobisSpace):
            directions = np.asarray(self._space.colour(directions), dtype=np.float64)
        if self._is_gaussian:
            return directions, np.sqrt(2.0 * entropy.generator.standard_gamma(0.5 * dimension, count))
        return directions, entropy.generator.standard_gamma(dimension, count)

    def scales(self, mechanism: Mechanism[Any], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by how much the noise of each word is longer under this mechanism."""
        if isinstance(mechanism, GaussianNoise):
            return np.asarray(mechanism.deviations[ids])
        return np.full(len(ids), 1.0 / mechanism.epsilon)

    @cached_property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = self._space.dimension * (0.5 if self._is_gaussian else 1.0)
        tail = 1e-12
        grid = np.linspace(scipy.special.gammaincinv(shape, tail), scipy.special.gammaincinv(shape, 1 - tail), _TABLE)
        chances = scipy.special.gammainc(shape, grid)
        return (np.sqrt(2.0 * grid) if self._is_gaussian else grid), chances

    def below(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability that the length at scale 1 stays below each of these, to within 1e-6."""
        return np.interp(lengths, *self._table, left=0.0, right=1.0)
