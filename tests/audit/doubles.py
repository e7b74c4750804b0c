"""Mechanisms that are wrong on purpose, for the audit to convict."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil.mechanisms import Exponential, Gaussian, Graph, KnnTruncated, Laplace, Ring, Truncated, Vickrey
from wordveil.noise import Entropy, sigma_for
from wordveil.spaces.space import Ids, Points, Rows


class WrongBottom(Truncated):
    """TEM whose symbol for all far words has the weight of the whole vocabulary, whatever is far from this word."""

    def log_weights(self, ids: Ids) -> Rows:
        rows = self.space.distances(ids).astype(np.float64)
        assert self.clip is not None
        far = rows > self.clip
        bottom = np.log(len(self.space)) - 0.5 * self.epsilon * self.clip
        with np.errstate(divide="ignore"):
            spread = bottom - np.log(far.sum(axis=1, keepdims=True))
        return np.where(far, spread, -0.5 * self.epsilon * rows)


class LooksBack(Vickrey):
    """A Vickrey that takes the second word exactly where the first is the original."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        where, _ = self.space.closest(self.perturb(ids, entropy or Entropy()), 2)
        return np.where(where[:, 0] == ids, where[:, 1], where[:, 0])


class WithoutHalf(Exponential):
    """An exponential mechanism that forgets to pay for its normaliser."""

    def log_weights(self, ids: Ids) -> Rows:
        return 2.0 * super().log_weights(ids)


class GraphWithoutHalf(Graph):
    """The same on the graph."""

    def log_weights(self, ids: Ids) -> Rows:
        return 2.0 * super().log_weights(ids)


class GraphDrawsOtherwise(Graph):
    """A graph mechanism that states one law and draws from another."""

    def _log_falls(self, hops: int) -> NDArray[np.float64]:
        return np.asarray(-0.6 * self.epsilon * np.arange(hops, dtype=np.float64))

    def log_weights(self, ids: Ids) -> Rows:
        return Graph(self.space, self.epsilon).log_weights(ids)


class RingDoubled(Ring):
    """A ring with twice the rate it states."""

    def log_weights(self, ids: Ids) -> Rows:
        return 2.0 * super().log_weights(ids)


class KnnDropped(KnnTruncated):
    """A k-NN truncation that leaves far words out instead of making them alike."""

    def log_weights(self, ids: Ids) -> Rows:
        rows = self.space.distances(ids)
        cut = np.partition(rows, self.k, axis=1)[:, self.k][:, None]
        return np.where(rows > cut, -600.0, super().log_weights(ids))


class TooLittleNoise(Laplace):
    """Laplace noise scaled by 0.8."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        start = self.space.points(ids)
        return start + np.float32(0.8) * (super().perturb(ids, entropy) - start)


class RadiusOfOneDimensionLess(Laplace):
    """A radius drawn for one dimension less than there are."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        start = self.space.points(ids)
        noise = super().perturb(ids, entropy) - start
        length = np.linalg.norm(noise, axis=1)
        shorter = entropy.generator.standard_gamma(max(self.space.dimension - 1, 1), len(ids)) / self.epsilon
        return start + noise * (shorter / length)[:, None].astype(np.float32)


class Lazy(Exponential):
    """Says one thing and, one time in five, draws the next word."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        entropy = entropy or Entropy()
        drawn = super().draw(ids, entropy)
        return np.where(entropy.uniform(len(ids)) < 0.2, (drawn + 1) % len(self.space), drawn)


class GaussianThatKeeps(Gaussian):
    """Adds noise and then returns the word it was given."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        return np.asarray(ids, dtype=np.int64)


class GaussianAlongOneAxis(Gaussian):
    """Noise of the right length, all in one direction."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        start = self.space.points(ids)
        length = np.linalg.norm(super().perturb(ids, entropy) - start, axis=1)
        noise = np.zeros_like(start)
        noise[:, 0] = length * entropy.generator.choice([-1, 1], len(ids))
        return start + noise


class GaussianTooSmall(Gaussian):
    """Deviations scaled by 0.8."""

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        return 0.8 * np.full(len(self.space), sigma_for(self.epsilon, self.delta) * self.reach)
