"""Laplace noise, then the nearest word among those near the original (remapping, challenges paper, section 6.2).

It guarantees nothing. The possible outputs are the words within `radius` of the *original*. A word that is near ``w``
but not near ``w'`` comes out of one and never of the other, so the ratio is infinite, however close the two are. It is
here for comparison, and for the audit to refute; `truncated` and `knn-truncated` do what was intended.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.laws import DirectedLaw
from wordveil._mechanisms.laws.rays import Rays
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, directions
from wordveil.parallel import blocks
from wordveil.spaces import Space, neighbourhoods
from wordveil.spaces.space import Ids


class Remapped(Laplace):
    """Adds Laplace noise and takes the nearest word among those within a radius of the original; guarantees nothing.

    Parameters
    ----------
    epsilon : float
        The rate of the noise.
    radius : float, optional
        The largest distance of an output from the original. Default: the median distance to the tenth neighbour.
    """

    name = "remapped"
    summary = "adds Laplace noise, then takes the nearest word near the original; for comparison, promises nothing"
    in_brief = "none"
    source = "challenges paper, after Andrés et al. 2013"
    law_kind = DirectedLaw
    searches_points = False  # not among all words
    takes_nearest = False

    def __init__(self, space: Space, epsilon: float, *, radius: float | None = None) -> None:
        super().__init__(space, epsilon)
        if radius is not None and not radius > 0:
            raise OptionError("radius must be a distance above 0; leave it out for the default.")
        self._radius = radius

    @cached_property
    def radius(self) -> float:
        """The largest distance of an output from the original."""
        if self._radius is not None or len(self.space) == 1:
            return float(self._radius or 1.0)
        return float(np.median(neighbourhoods(self.space, 10)[1][:, -1]))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word: none."""
        return self.make_guarantee(
            Notion.NONE,
            caveats=("Which words can come out depends on the original, so an output may rule originals out.",),
            claim="that truncating to an admissible region keeps ε·d (challenges paper, 6.2)",
        )

    @property
    def claim(self) -> Guarantee:
        """What the paper claims."""
        return self.make_guarantee()

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the word nearest to its noisy point, among those within the radius."""
        entropy = entropy or Entropy()
        words, of = np.unique(ids, return_inverse=True)
        drawn = np.empty(len(ids), dtype=np.int64)
        for some in blocks(len(words), max(1, (1 << 22) // len(self.space))):
            allowed = self.space.distances(words[some]) <= self.radius
            chosen = np.flatnonzero((some.start <= of) & (of < some.stop))
            chosen = chosen[np.argsort(of[chosen], kind="stable")]
            points = self.perturb(ids[chosen], entropy)
            starts = np.searchsorted(of[chosen], np.arange(some.start, some.stop + 1))
            for row, (first, end) in enumerate(pairwise(starts.tolist())):
                near = np.flatnonzero(allowed[row])
                matrix = self.space.matrix[near]
                scores = points[first:end] @ matrix.T - 0.5 * self.space.squares[near]
                drawn[chosen[first:end]] = near[scores.argmax(axis=1)]
        return drawn

    def draw_along(
        self,
        epsilons: Sequence[float],
        rays: Rays,  # noqa: ARG002 - few words need looking at
        ids: Ids,
        draws: int,
        entropy: Entropy,
    ) -> NDArray[np.int64]:
        """Draw from each word at each ε, along directions that all share; see `wordveil._mechanisms.laws.directed`."""
        shared = directions(draws, self.space.dimension, entropy)
        lengths = self.unit_length.draw(len(ids) * draws, entropy).reshape(len(ids), draws).astype(np.float32)
        drawn = np.empty((len(ids), len(epsilons), draws), dtype=np.int64)
        for row, allowed in enumerate(self.space.distances(ids) <= self.radius):
            near = np.flatnonzero(allowed)
            matrix = self.space.matrix[near]
            start = matrix @ self.space.matrix[ids[row]] - 0.5 * self.space.squares[near]
            along = (matrix @ shared.T) * lengths[row]
            for place, epsilon in enumerate(epsilons):
                drawn[row, place] = near[(along * np.float32(1.0 / epsilon) + start[:, None]).argmax(axis=0)]
        return drawn
