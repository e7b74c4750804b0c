"""Mechanisms that are wrong on purpose, each in a way of its own, for the audit to convict; see also `wrong_builds`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.density import Density, MixingLaw
from wordveil._mechanisms.elastic import Elastic
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.gaussian import Gaussian
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil._mechanisms.knn_truncated import KnnTruncated
from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.laws import Effort, HopFall, Law
from wordveil._mechanisms.mahalanobis import Mahalanobis
from wordveil._mechanisms.nadp import Nadp
from wordveil._mechanisms.ring import Ring
from wordveil._mechanisms.truncated import Truncated
from wordveil._mechanisms.vickrey import Vickrey
from wordveil.noise import Entropy, directions
from wordveil.noise.hyperbolic import hyperbolic_radii
from wordveil.progress import Watch, ignore
from wordveil.spaces import Space
from wordveil.spaces.hyperbolic_geometry import at_radius, ball_points, mobius_add, to_hyperboloid
from wordveil.spaces.space import Ids, Points, Rows

__all__ = ["MUTANTS", "DensityWithoutHalf", "HyperbolicShapeOffByOne", "Mutant"]


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

    def __init__(self, space: Space, epsilon: float) -> None:
        super().__init__(space, epsilon)
        self.fall = HopFall(2.0 * self.fall.rate, self.fall.first)


class GraphDrawsOtherwise(Graph):
    """A graph mechanism that states one law and draws from another."""

    def __init__(self, space: Space, epsilon: float) -> None:
        super().__init__(space, epsilon)
        self.fall = HopFall(1.2 * self.fall.rate, self.fall.first)

    def law(self, effort: Effort | None = None, watch: Watch = ignore) -> Law:
        return Graph(self.space, self.epsilon).law(effort, watch)


class RingDoubled(Ring):
    """A ring with twice the rate it states."""

    def __init__(self, space: Space, epsilon: float) -> None:
        super().__init__(space, epsilon)
        self.fall = HopFall(2.0 * self.fall.rate)


class KnnDropped(KnnTruncated):
    """A k-NN truncation that leaves far words out instead of making them alike."""

    def log_weights(self, ids: Ids) -> Rows:
        rows = self.space.distances(ids)
        cut = np.partition(rows, self.k, axis=1)[:, self.k][:, None]
        return np.where(rows > cut, -600.0, super().log_weights(ids))


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


class LaplaceOfOneSeed(Laplace):
    """Laplace noise whose default stream is always the same one."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        return super().draw(ids, entropy or Entropy(0))


class RingOneWay(Ring):
    """A ring that only goes forwards."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        place = self.space.place[super().draw(ids, entropy)] - self.space.place[ids]
        count = len(self.space)
        steps = np.minimum(place % count, -place % count)
        return np.asarray(self.space.tour[(self.space.place[ids] + steps) % count])


class TruncatedWithoutHalf(Truncated):
    """A truncation that forgets to pay for its normaliser."""

    def log_weights(self, ids: Ids) -> Rows:
        return 2.0 * super().log_weights(ids)


class KnnWithoutHalf(KnnTruncated):
    """The same with the k nearest words."""

    def log_weights(self, ids: Ids) -> Rows:
        return 2.0 * super().log_weights(ids)


class LaplaceAlongTheAxes(Laplace):
    """A Laplace number for each axis, which is private in another distance."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        start = self.space.points(ids)
        return start + entropy.generator.laplace(scale=1.0 / self.epsilon, size=start.shape).astype(np.float32)


class MahalanobisMadeRound(Mahalanobis):
    """Noise that is given its old length again after it was stretched, as a public package does."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        start = self.space.points(ids)
        noise = super().perturb(ids, entropy) - start
        length = entropy.generator.standard_gamma(self.space.dimension, len(ids)) / self.epsilon
        return start + noise * (length / np.linalg.norm(noise, axis=1))[:, None].astype(np.float32)


class DensityWithoutHalf(Density):
    """Noise of rate ε under a prior, as the paper has it: the normaliser is not paid for."""

    @cached_property
    def mixing(self) -> MixingLaw:
        return MixingLaw(self.space.dimension, self.epsilon, self.bandwidth, self.space.diameter)


class ElasticThatJumps(Elastic):
    """Noise whose size is not smooth: three times as large for every second word."""

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        return super().sizes * np.where(np.arange(len(self.space)) % 2, 3.0, 1.0)


class NadpThatKeeps(Nadp):
    """Adds noise and then returns the word it was given."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        return np.asarray(ids, dtype=np.int64)


class HyperbolicShapeOffByOne(Hyperbolic):
    """A Beta law whose first shape is one too large: κ + 2 in the place of κ."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        return self._at(hyperbolic_radii(len(ids), self.space.dimension, self.epsilon + 2.0, entropy), ids, entropy)

    def _at(self, radii: NDArray[np.float64], ids: Ids, entropy: Entropy) -> Points:
        noise = at_radius(directions(len(ids), self.space.dimension, entropy, np.float64), radii)
        return to_hyperboloid(mobius_add(self.space.ball(ids), noise))


class HyperbolicAdded(Hyperbolic):
    """Noise of the right law that is added as a vector of the ball and clipped into it."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        radii = hyperbolic_radii(len(ids), self.space.dimension, self.epsilon, entropy)
        noise = directions(len(ids), self.space.dimension, entropy, np.float64) * np.tanh(radii / 2.0)[:, None]
        moved = self.space.ball(ids).x + noise
        lengths = np.linalg.norm(moved, axis=1)
        return to_hyperboloid(ball_points(moved * np.where(lengths >= 1.0, 0.99999 / lengths, 1.0)[:, None]))


class Icdm19SaysMobius(HyperbolicIcdm19):
    """Promises what Möbius addition keeps, and adds as the paper does."""

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        return HyperbolicIcdm19(self.space, self.epsilon, translate="add").perturb(ids, entropy)


class Mutant(NamedTuple):
    """A wrong mechanism, the kind of space it is made on, and how."""

    kind: type[Mechanism[Any]]
    space: str
    epsilon: float
    options: dict[str, Any]


#: Wrong in ways that only they can be.
MUTANTS = [
    Mutant(GraphWithoutHalf, "graph", 1.0, {}),
    Mutant(GraphDrawsOtherwise, "graph", 1.0, {}),
    Mutant(RingDoubled, "ring", 0.5, {}),
    Mutant(RingOneWay, "ring", 0.5, {}),
    Mutant(WithoutHalf, "vectors", 1.0, {}),
    Mutant(Lazy, "vectors", 30.0, {}),
    Mutant(WrongBottom, "vectors", 1.0, {"clip": 8.0}),
    Mutant(TruncatedWithoutHalf, "vectors", 1.0, {}),
    Mutant(KnnDropped, "vectors", 1.0, {"k": 5}),
    Mutant(KnnWithoutHalf, "vectors", 1.0, {"k": 20}),
    Mutant(RadiusOfOneDimensionLess, "vectors", 1.0, {}),
    Mutant(LaplaceAlongTheAxes, "vectors", 1.0, {}),
    Mutant(LaplaceOfOneSeed, "vectors", 1.0, {}),
    Mutant(LooksBack, "vectors", 0.5, {}),
    Mutant(MahalanobisMadeRound, "stretched", 1.0, {}),
    Mutant(ElasticThatJumps, "vectors", 1.0, {}),
    Mutant(GaussianThatKeeps, "vectors", 0.5, {}),
    Mutant(GaussianAlongOneAxis, "vectors", 0.5, {}),
    Mutant(NadpThatKeeps, "vectors", 0.5, {}),
    Mutant(HyperbolicAdded, "disk", 3.0, {}),
    Mutant(Icdm19SaysMobius, "disk", 1.0, {"translate": "mobius"}),
]
