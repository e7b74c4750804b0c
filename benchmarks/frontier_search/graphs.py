"""Which words a candidate joins by an edge, and how long the edges are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from benchmarks.frontier_search.ground import Edges, Ground, Tensor
from wordveil.parallel import blocks
from wordveil.spaces.graph import join

__all__ = [
    "Measure", "above", "by_frequency", "chords", "connected", "hubless", "locally", "mutual", "nearest",
    "spanning_trees", "spread", "uneven", "unit",
]  # fmt: skip

Lengths = NDArray[np.float64]

#: Computes the lengths of edges.
Measure: TypeAlias = Callable[[Ground, Edges], Lengths]

_ROWS = 2048
_LOCAL = 10  # neighbours that show how crowded it is around a word
_SHORTEST = 1e-3


def connected(ground: Ground, *parts: Edges) -> Edges:
    """Return the pairs of words that any of the parts joins, and more that connect all words.

    The components are joined as in `wordveil.spaces.graph.build_graph`.
    """
    edges = join(ground.space, np.concatenate(parts), ground.listed, ground.cosines)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return np.unique(np.sort(edges, axis=1), axis=0)


def nearest(ground: Ground, k: int, words: int | None = None) -> Edges:
    """Join each word, or the most frequent ones, to its `k` most similar words."""
    return _pairs(ground.listed[:words, :k])


def uneven(ground: Ground, counts: NDArray[np.int64]) -> Edges:
    """Join each word to its most similar words, as many as its count says."""
    wanted = np.arange(ground.listed.shape[1]) < counts[:, None]
    return np.stack([np.nonzero(wanted)[0], ground.listed[wanted]], axis=1)


def above(ground: Ground, cosine: float) -> Edges:
    """Join words with a cosine above a threshold, as far as they are among the words listed for each."""
    return uneven(ground, (ground.cosines > cosine).sum(axis=1))


def mutual(ground: Ground, k: int) -> Edges:
    """Join two words if each is among the `k` most similar words of the other."""
    pairs = nearest(ground, k)
    keys, back = pairs[:, 0] * len(ground) + pairs[:, 1], pairs[:, 1] * len(ground) + pairs[:, 0]
    return pairs[np.isin(keys, back)]


def hubless(ground: Ground, k: int) -> Edges:
    """Join each word to its `k` most similar words, where hubs count as less similar.

    The score is ``2·cos(w,u) - r(u)``, where ``r`` is a word's mean cosine with its ten most similar (Conneau et al.
    2018).
    """
    crowd = torch.as_tensor(ground.cosines[:, :_LOCAL].mean(axis=1), device=ground.device)
    found = []
    for part in blocks(len(ground), _ROWS):
        scores = 2.0 * ground.directions[part] @ ground.directions.T - crowd
        _leave_out_itself(scores, part)
        found.append(scores.topk(min(k, len(ground) - 1), dim=1).indices.cpu().numpy())
    return _pairs(np.concatenate(found))


def spread(ground: Ground, k: int, among: int) -> Edges:
    """Join each word to at most `k` of its most similar words that lie in different directions from it.

    A word is skipped if it is closer to one already taken than to the word itself. Of several words of one sense only
    the first is taken, which leaves room for other senses (the pruning of relative neighbourhood graphs).
    """
    among = min(among, ground.listed.shape[1])
    found = []
    for part in blocks(len(ground), _ROWS):
        listed = torch.as_tensor(ground.listed[part, :among], device=ground.device)
        own = torch.as_tensor(ground.cosines[part, :among], device=ground.device)
        vectors = ground.directions[listed]
        alike = vectors @ vectors.transpose(1, 2)
        taken = torch.zeros_like(own, dtype=torch.bool)
        for place in range(among):
            hidden = (taken & (alike[:, place] > own[:, place, None])).any(dim=1)
            taken[:, place] = ~hidden & (taken.sum(dim=1) < k)
        row, column = (side.cpu().numpy() for side in torch.nonzero(taken, as_tuple=True))
        found.append(np.stack([row + part.start, ground.listed[row + part.start, column]], axis=1))
    return np.concatenate(found)


def spanning_trees(ground: Ground, count: int) -> Edges:
    """Join words by spanning forests of the listed pairs, each the shortest without the edges of those before it."""
    pairs = np.unique(np.sort(nearest(ground, ground.listed.shape[1]), axis=1), axis=0)
    lengths = chords(ground, pairs)
    trees = []
    for _ in range(count):
        graph = coo_array((lengths, (pairs[:, 0], pairs[:, 1])), shape=(len(ground), len(ground)))
        tree = minimum_spanning_tree(graph).tocoo()
        trees.append(np.sort(np.stack([tree.row, tree.col], axis=1).astype(np.int64), axis=1))
        used = np.isin(pairs @ [len(ground), 1], trees[-1] @ [len(ground), 1])
        pairs, lengths = pairs[~used], lengths[~used]
    return np.concatenate(trees)


def unit(ground: Ground, pairs: Edges) -> Lengths:  # noqa: ARG001 - the others look at the words
    """Return a length of 1 for every edge, so that distances are hops."""
    return np.ones(len(pairs))


def chords(ground: Ground, pairs: Edges) -> Lengths:
    """Return the chord between the two words on the unit sphere, scaled to a mean of 1."""
    vectors = ground.space.directions
    squares = np.concatenate(
        [((vectors[pairs[part, 0]] - vectors[pairs[part, 1]]) ** 2).sum(axis=1) for part in blocks(len(pairs), 1 << 18)]
    )
    return _scaled(np.sqrt(squares))


def locally(ground: Ground, pairs: Edges) -> Lengths:
    """Return chords relative to the mean distance of each of the two words from its ten most similar ones."""
    reach = np.sqrt(np.maximum(2.0 - 2.0 * ground.cosines[:, :_LOCAL], 0.0)).mean(axis=1)
    return _scaled(chords(ground, pairs) / np.sqrt(reach[pairs[:, 0]] * reach[pairs[:, 1]]))


def by_frequency(power: float) -> Measure:
    """Return a measure that makes edges between frequent words shorter, by a power of the words' ranks."""

    def lengths(ground: Ground, pairs: Edges) -> Lengths:  # noqa: ARG001 - the others look at the words
        scale = np.clip(((pairs + 10.0) / 3000.0) ** power, 0.2, 3.0)
        return _scaled(np.sqrt(scale.prod(axis=1)))

    return lengths


def _pairs(lists: Edges) -> Edges:
    return np.stack([np.repeat(np.arange(len(lists)), lists.shape[1]), lists.ravel()], axis=1)


def _leave_out_itself(scores: Tensor, part: slice) -> None:
    row = torch.arange(part.stop - part.start)
    scores[row, row + part.start] = -torch.inf


def _scaled(lengths: NDArray[np.float64]) -> Lengths:
    lengths = np.maximum(lengths, _SHORTEST)
    return np.asarray(lengths / lengths.mean(), dtype=np.float64)
