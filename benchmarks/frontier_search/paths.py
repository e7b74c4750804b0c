"""All shortest paths of a graph of words."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.frontier_search.ground import Edges, Tensor
from wordveil.spaces.hops import HopSearch

__all__ = ["shortest_paths"]

_BLOCK = 1024


def shortest_paths(words: int, pairs: Edges, lengths: NDArray[np.float64], device: str) -> Tensor:
    """Return the length of the shortest path between every two words of a connected graph.

    `pairs` has each edge once. A CUDA device uses the Bellman-Ford algorithm, for all words at once. The processor uses
    Dijkstra's, or wordveil's own search if every edge is one hop.
    """
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    graph = coo_array((np.tile(lengths, 2), (ends[:, 0], ends[:, 1])), shape=(words, words)).tocsr()
    if device != "cpu":
        return _bellman_ford(graph, device)
    hops = (lengths == 1.0).all()
    ways = HopSearch(graph.indptr, graph.indices).distances(np.arange(words)) if hops else dijkstra(graph)
    return torch.as_tensor(ways.astype(np.float32))


def _bellman_ford(graph: csr_array, device: str) -> Tensor:
    import triton  # noqa: PLC0415 - comes only with CUDA builds of torch

    from benchmarks.frontier_search.relaxing import relax  # noqa: PLC0415

    words = graph.shape[0]
    rows = (
        torch.as_tensor(graph.indptr.astype(np.int32), device=device),
        torch.as_tensor(graph.indices.astype(np.int32), device=device),
        torch.as_tensor(graph.data.astype(np.float32), device=device),
    )
    known = torch.full((words, words), torch.inf, device=device).fill_diagonal_(0.0)
    while True:
        better = torch.empty_like(known)
        relax[words, triton.cdiv(words, _BLOCK)](known, better, *rows, words, BLOCK=_BLOCK)
        if torch.equal(known, better):
            return known
        known = better
