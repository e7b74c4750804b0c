"""Laplace noise, then the nearest word among those near the original (remapping, challenges paper, section 6.2).

It guarantees nothing. The possible outputs are the words within `radius` of the *original*. A word that is near ``w``
but not near ``w'`` comes out of one and never of the other, so the ratio is infinite, however close the two are. It is
here for comparison, and for the audit to refute; `truncated` and `knn-truncated` do what was intended.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.laws import SampledLaw
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
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
    law_kind = SampledLaw
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
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), max(1, (1 << 22) // len(self.space))):
            points = self.perturb(ids[part], entropy)
            matrix = self.space.matrix
            scores = points @ matrix.T - 0.5 * np.einsum("ij,ij->i", matrix, matrix)
            scores[self.space.distances(ids[part]) > self.radius] = -np.inf
            drawn[part] = scores.argmax(axis=1)
        return drawn
