"""The Jaccard mechanism, a baseline of the NADP paper: Gaussian noise of two sizes, for dense and sparse words.

It guarantees nothing. The paper's Theorem 4 argues that each of the two Gaussian mechanisms is (ε, δ)-private and that
the words of the two classes are disjoint. That covers only two words of the same class. Two words of different classes
have noise of different size, and the ratio of two Gaussians of different size is unbounded: the true δ of such a pair,
which `true_delta` computes exactly, is near 1 in 100 dimensions. Moreover, the paper's Δ is an average of distances
instead of their supremum, and its formula for σ is proved only for ε < 1.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.gaussian import GaussianNoise
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee, Notion
from wordveil.spaces import Space, neighbourhoods


class Jaccard(GaussianNoise):
    """Adds Gaussian noise of one size to words in dense regions and of another to words in sparse ones.

    Parameters
    ----------
    epsilon, delta : float
        The parameters of the paper's claim.
    m : int
        The number of nearest words whose mean distance measures density.
    threshold : float, optional
        The mean distance from which a word counts as sparse. Default: the median.
    dense, sparse : float
        The noise factors of the two classes (the paper's α).
    """

    name = "jaccard"
    summary = "adds Gaussian noise of two sizes, for dense and sparse regions: a baseline without a promise"
    in_brief = "none"
    source = "NADP paper, which claims (ε, δ)"

    def __init__(
        self,
        space: Space,
        epsilon: float,
        *,
        delta: float = 1e-6,
        m: int = 10,
        threshold: float | None = None,
        dense: float = 1.835,
        sparse: float = 1.276,
    ) -> None:
        super().__init__(space, epsilon, delta)
        if m < 1:
            raise OptionError("m must be 1 or more.")
        if not (dense > 0 and sparse > 0):
            raise OptionError("dense and sparse must be factors above 0.")
        self.m, self.threshold, self.dense, self.sparse = int(m), threshold, float(dense), float(sparse)

    @cached_property
    def _distances(self) -> NDArray[np.float64]:
        if len(self.space) == 1:
            return np.ones((1, 1))
        return np.asarray(neighbourhoods(self.space, self.m)[1], dtype=np.float64)

    @cached_property
    def is_sparse(self) -> NDArray[np.bool_]:
        """Whether each word counts as sparse."""
        density = self._distances.mean(axis=1)
        return density >= (np.median(density) if self.threshold is None else self.threshold)

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every word's noise."""
        reach = float(self._distances[:, -1].mean())
        if reach == 0.0:
            raise SpaceError("all words have the same vector, so there is no distance to scale the noise by.")
        sigma = reach * math.sqrt(2.0 * math.log(1.25 / self.delta)) / self.epsilon
        return sigma * np.where(self.is_sparse, self.sparse, self.dense)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word: none."""
        return self.make_guarantee(
            Notion.NONE,
            caveats=("Words of different density classes get noise of different size, which distinguishes them.",),
            claim="(ε, δ)-differential privacy (Theorem 4 of the NADP paper)",
        )

    @property
    def claim(self) -> Guarantee:
        """What the paper claims."""
        return self.make_guarantee(Notion.APPROXIMATE, delta=self.delta, pairs="a word and its nearest words")
