"""Neighbourhood-aware Gaussian noise (NADP).

Two words are joined by an edge if one is among the other's `m` nearest words and their sets of nearest words overlap
enough (Jaccard coefficient at least `tau`). The words of a connected component get noise ``σ = u·Δ``, with ``u`` the
analytic deviation for distance 1 and ``Δ`` the longest edge of the component.

Proof. Two words joined by an edge lie in the same component, so both have the same σ, and their distance is at most Δ.
So the proof of `gaussian` applies to this pair. ∎

Not covered: two words without an edge, even close neighbours that just miss the threshold. They may have different σ,
and then no ε bounds their ratio. A word alone in its component has Δ = 0 and gets no noise: it is released as it is
(the paper's Theorem 3 holds for it only because the word has no neighbours in the graph). The option `join` gives every
lone word an edge to its nearest word.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.gaussian import GaussianNoise
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import sigma_for
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids


class Nadp(GaussianNoise):
    """Adds Gaussian noise sized by the word's neighbourhood.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee for words joined by an edge.
    m : int
        The number of nearest words in a neighbourhood.
    tau : float
        How much two neighbourhoods must overlap, from 0 to 1.
    count_self : bool
        Whether a word counts among its own nearest words. The paper does not say; without it nearly every word is
        alone in its component.
    join : bool
        Whether to give every lone word an edge to its nearest word.
    """

    name = "nadp"
    summary = "adds Gaussian noise sized by the word's neighbourhood, then takes the nearest word"
    in_brief = "(ε, δ) for words joined by an edge; lone words get no noise"
    source = "NADP paper, which claims all words"

    def __init__(
        self,
        space: Space,
        epsilon: float,
        *,
        delta: float = 1e-6,
        m: int = 2,
        tau: float = 0.5,
        count_self: bool = True,
        join: bool = False,
    ) -> None:
        super().__init__(space, epsilon, delta)
        if m < 1:
            raise OptionError("m must be 1 or more.")
        if not 0.0 <= tau <= 1.0:
            raise OptionError("tau must lie between 0 and 1.")
        self.m, self.tau, self.count_self, self.join = int(m), float(tau), bool(count_self), bool(join)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The edges of the neighbour graph, one per row."""
        pairs = neighbouring_pairs(self.space, self.m, self.tau, count_self=self.count_self)
        if self.join and len(self.space) > 1:
            alone = np.setdiff1d(np.arange(len(self.space)), pairs)
            nearest = neighbourhoods(self.space, 1)[0][alone, 0]
            pairs = np.concatenate([pairs, np.stack([alone, nearest], axis=1)])
        return pairs

    def covered_pairs(self, ids: Ids) -> NDArray[np.int64]:  # noqa: ARG002 - few words have an edge
        """Return all pairs of words joined by an edge."""
        return self.pairs

    @cached_property
    def components(self) -> NDArray[np.int64]:
        """The connected component of every word, as a number."""
        words = len(self.space)
        ones = np.ones(len(self.pairs), dtype=np.int8)
        graph = scipy.sparse.coo_array((ones, (self.pairs[:, 0], self.pairs[:, 1])), shape=(words, words))
        return np.asarray(scipy.sparse.csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)

    @cached_property
    def alone(self) -> NDArray[np.int64]:
        """The words that get no noise."""
        return np.flatnonzero(self.deviations == 0.0)

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of every word's noise."""
        left, right = self.pairs[:, 0], self.pairs[:, 1]
        longest = np.zeros(int(self.components.max()) + 1)
        np.maximum.at(longest, self.components[left], self.space.apart(self.space.points(left), right))
        return sigma_for(self.epsilon, self.delta) * longest[self.components]

    @property
    def shortfall(self) -> str:
        """What a release under this mechanism lacks: noise for lone words."""
        if not len(self.alone):
            return ""
        return f"{len(self.alone):,} of {len(self.space):,} words get no noise and are released as they are."

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        caveats = ["Words without an edge between them are not covered, even in the same component."]
        if self.shortfall:
            caveats.append(self.shortfall)

        return self.make_guarantee(
            Notion.APPROXIMATE,
            delta=self.delta,
            pairs="words joined by an edge of its neighbour graph",
            caveats=tuple(caveats),
            claim="(ε, δ)-differential privacy for all words (its Theorem 3)",
        )

    @property
    def claim(self) -> Guarantee:
        """What the paper claims."""
        return self.make_guarantee(Notion.APPROXIMATE, delta=self.delta, pairs="a word and its nearest words")


def neighbouring_pairs(space: EuclideanSpace, m: int, tau: float, *, count_self: bool = True) -> NDArray[np.int64]:
    """Return the edges of the NADP paper's neighbour graph; see `Nadp` for the options."""
    others = m - 1 if count_self else m
    if len(space) == 1 or others == 0:
        return np.empty((0, 2), dtype=np.int64)
    listed = neighbourhoods(space, others)[0].astype(np.int64)
    words = np.arange(len(space))
    nearest = np.concatenate([words[:, None], listed], axis=1) if count_self else listed
    left, right = np.repeat(words, listed.shape[1]), listed.ravel()
    shared = np.zeros(len(left), dtype=np.int64)
    for column in range(nearest.shape[1]):
        shared += (nearest[right] == nearest[left, column][:, None]).any(axis=1)
    overlap = shared / (2 * nearest.shape[1] - shared)
    kept = overlap >= tau
    return np.unique(np.sort(np.stack([left[kept], right[kept]], axis=1), axis=1), axis=0)
