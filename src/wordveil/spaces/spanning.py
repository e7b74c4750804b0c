"""Edges that join the components of a neighbour graph, chosen as a maximum spanning tree by likeness would."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.spaces.space import PointSpace

__all__ = ["join"]

Edges = NDArray[np.int64]


def join(space: PointSpace, edges: Edges, neighbours: Edges, likenesses: NDArray[Any]) -> Edges:
    """Add the spanning-tree edges that make one component of all words (Borůvka's algorithm).

    In each round every component but the largest takes its edge of greatest likeness to a word outside; those are
    edges of the maximum spanning tree. From no edges at all the whole tree comes out.

    Parameters
    ----------
    space : PointSpace
        The words.
    edges : array of shape (edges, 2)
        The graph so far.
    neighbours, likenesses : arrays of shape (words, k)
        The most similar other words of each word, most similar first: most rounds need no more than these.
    """
    words = len(space)
    while True:
        ones = np.ones(len(edges), dtype=np.int8)
        graph = scipy.sparse.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(words, words))
        count, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
        if count == 1:
            return edges
        edges = np.concatenate([edges, _best_outgoing(space, component.astype(np.int64), neighbours, likenesses)])


def _best_outgoing(
    space: PointSpace, component: NDArray[np.int64], neighbours: Edges, likenesses: NDArray[Any]
) -> Edges:
    sizes = np.bincount(component)
    active = np.flatnonzero(component != sizes.argmax()) if len(sizes) > 2 else np.flatnonzero(component == 0)

    outside = component[neighbours[active]] != component[active][:, None]
    first = outside.argmax(axis=1)
    found = outside[np.arange(len(active)), first]
    value = np.where(found, likenesses[active, first], -np.inf)
    target = np.where(found, neighbours[active, first], -1)
    best = np.full(len(sizes), -np.inf)
    np.maximum.at(best, component[active], value)
    # A word whose listed neighbours all lie inside can still hold the best edge, if its last listed
    # neighbour is nearer than the best edge found: only those words are compared with all others.
    unsure = np.flatnonzero(~found & (likenesses[active, -1] > best[component[active]]))
    for start in range(0, len(unsure), 1024):
        some = unsure[start : start + 1024]
        scores = space.likeness(active[some])
        scores[component[active[some]][:, None] == component] = -np.inf
        target[some] = scores.argmax(axis=1)
        value[some] = scores.max(axis=1)

    # one edge a component: the largest value, of equals the smallest pair, so that no two ties make a cycle
    pair = np.sort(np.stack([active, target], axis=1), axis=1)
    order = np.lexsort((pair[:, 1], pair[:, 0], -value, component[active]))
    lead = np.unique(component[active][order], return_index=True)[1]
    chosen = pair[order[lead]]
    return np.unique(chosen[target[order[lead]] >= 0], axis=0)
