"""Laplace noise, then the nearest or the second nearest word (Xu et al. 2021).

Proof. The noisy point is that of `laplace`. The choice between its two nearest words uses only the point and fresh
randomness, so it is post-processing and costs no privacy. ∎

Looking at the original again would not be post-processing. For instance, if the second word were taken only when the
first is the original, the original would never come out, and its absence would reveal it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.laws import DirectedLaw
from wordveil._mechanisms.laws.rays import Rays
from wordveil.errors import OptionError
from wordveil.noise import Entropy, directions
from wordveil.spaces import Space
from wordveil.spaces.space import Ids, Points


class Vickrey(Laplace):
    """Adds Laplace noise and takes the nearest word, or sometimes the second nearest.

    Parameters
    ----------
    t : float
        How much the second word is favoured: it is taken with probability ``t·a / (t·a + (1-t)·b)``, where a and b
        are the distances from the noisy point to the nearest and the second nearest word. With 0 this is `laplace`,
        with 1 it always takes the second.
    """

    name = "vickrey"
    summary = "adds Laplace noise, then takes the nearest or the second nearest word"
    in_brief = "ε per unit of Euclidean distance, for any two words"
    source = "Xu et al. 2021"
    law_kind = DirectedLaw
    takes_nearest = False

    def __init__(self, space: Space, epsilon: float, *, t: float = 0.5) -> None:
        super().__init__(space, epsilon)
        if not 0.0 <= t <= 1.0:
            raise OptionError("t must lie between 0 and 1.")
        self.t = float(t)

    def choose(self, points: Points, entropy: Entropy) -> NDArray[np.int64]:
        """Return one of the two words nearest to each noisy point, from the point alone."""
        if len(self.space) == 1:
            return self.space.nearest(points)
        where, distance = self.space.closest(points, 2)
        takes_second = entropy.uniform(len(points)) < self._chance(distance)
        return np.asarray(where[np.arange(len(points)), takes_second.astype(np.int64)])

    def _chance(self, distances: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the probability of taking the second word, given the distances of both in the last axis."""
        first, second = self.t * distances[..., 0], (1.0 - self.t) * distances[..., 1]
        total = first + second
        # both words at distance 0: take the second with probability t
        return np.where(total > 0, first / np.where(total > 0, total, 1.0), self.t)

    def draw_along(
        self, epsilons: Sequence[float], rays: Rays, ids: Ids, draws: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Draw from each word at each ε, along directions that all share; see `wordveil._mechanisms.laws.directed`."""
        shared = directions(draws, self.space.dimension, entropy)
        lengths = self.unit_length.draw(len(ids) * draws, entropy).reshape(len(ids), 1, draws)
        found = rays.nearest_two(ids, shared, lengths / np.array(epsilons)[:, None])
        chances = entropy.uniform(len(ids) * draws).reshape(len(ids), 1, draws)
        return np.where(chances < self._chance(found.distances), found.words[..., 1], found.words[..., 0])
