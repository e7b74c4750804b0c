"""Words as the nodes of a neighbour graph, with the number of hops as distance."""

from __future__ import annotations

import hashlib
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import cached_arrays
from wordveil.errors import WordveilError
from wordveil.forks import renew_after_fork
from wordveil.spaces.formats.npy import read_array
from wordveil.spaces.hops import HopSearch, checked_rows
from wordveil.spaces.space import HopSpace, Ids, PointSpace, Rows
from wordveil.spaces.spanning import join
from wordveil.spaces.vocabulary import Vocabulary

__all__ = ["GraphSpace", "build_graph"]

_MOST_EDGES = 1 << 26  # so that the work on them takes gigabytes at most, and their numbers fit into 32 bits
_NO_GRAPH = "a graph must have every edge in both directions, and a way from each word to every other."
_LISTED = 10  # neighbours listed for the spanning tree, even where the graph itself has fewer


class GraphSpace(HopSpace):
    """Words joined to their nearest words; the distance is the number of edges on the shortest way.

    Two words are joined when either is among the `k` most similar of the other: by cosine in an
    embedding of vectors, by distance elsewhere. Components that this leaves
    apart are joined by spanning-tree edges, so that every word has a finite distance to every other. With ``k=0`` the
    graph is the spanning tree alone.

    Use `GraphSpace.of` to build (and cache) the graph of an embedding.

    Parameters
    ----------
    name : str
        What people call it.
    vocabulary : Vocabulary
        The words.
    indptr, indices : array of int
        The graph in compressed sparse rows, every edge in both directions.
    sizes : array of shape (words, hops), optional
        How many words are at each distance of each word, where it is known already. Draws follow them: with false
        ones, no promise holds.
    trusted : bool
        Skip the checks that must sort all edges and search the graph; for what comes with the package.
    """

    metric = "hops on the neighbour graph"
    unit = "hop"

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        sizes: NDArray[Any] | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        super().__init__(name, vocabulary)
        try:
            self.indptr, self.indices = checked_rows(indptr, indices)
        except ValueError:
            raise WordveilError(_NO_GRAPH) from None
        if len(self.indptr) != len(vocabulary) + 1 or not len(vocabulary):
            raise WordveilError(_NO_GRAPH)
        self._lock = threading.Lock()
        renew_after_fork(self)
        if not trusted:
            self._check_edges()
        if sizes is not None:
            self._check_sizes(sizes)
        self._shells = None if sizes is None else sizes.shape[1]
        self._sizes = np.zeros((len(vocabulary), 1), dtype=np.uint32) if sizes is None else sizes

    def _check_edges(self) -> None:
        """Refuse a graph on which hops are no distance between any two words."""
        words, degrees = len(self.vocabulary), np.diff(self.indptr)
        begins, ends = np.repeat(np.arange(words), degrees), self.indices.astype(np.int64)
        both_ways = np.array_equal(np.sort(begins * words + ends), np.sort(ends * words + begins))
        if not both_ways or self.search.sizes(np.array([0]))[0].sum() != words:
            raise WordveilError(_NO_GRAPH)

    def _check_sizes(self, sizes: NDArray[Any]) -> None:
        """Refuse sizes that cannot be those of this graph, without a search."""
        words = len(self.vocabulary)
        is_table = sizes.ndim == 2 and sizes.dtype.kind in "iu" and len(sizes) == words and sizes.size > 0
        # bounds first, since the sums of larger numbers could wrap to the right ones
        if (
            not is_table
            or not 0 <= int(sizes.min()) <= int(sizes.max()) <= words
            or (sizes[:, 0] != 1).any()
            or (sizes.sum(axis=1, dtype=np.int64) != words).any()
            or (sizes.shape[1] > 1 and (sizes[:, 1] > np.diff(self.indptr)).any())
        ):
            raise WordveilError(
                "the sizes of a graph must count every word once in each row, the first being the word itself."
            )

    @classmethod
    def of(cls, space: PointSpace, k: int = 10) -> GraphSpace:
        """Build the neighbour graph of an embedding, or take it from the cache.

        Parameters
        ----------
        space : PointSpace
            The words and their vectors.
        k : int
            How many most similar words each word is joined to; 0 for the spanning tree alone.
        """
        if k < 0:
            raise WordveilError("the k of a neighbour graph must be 0 (a spanning tree) or more.")
        if min(k, len(space)) * len(space) > _MOST_EDGES:
            raise WordveilError(
                f"a neighbour graph of {len(space):,} words with k={k} has too many edges; choose a k of "
                f"{_MOST_EDGES // len(space)} or less."
            )

        def fill(folder: Path) -> None:
            indptr, indices = build_graph(space, k)
            np.save(folder / "indptr.npy", indptr)
            np.save(folder / "indices.npy", indices)

        name, shipped = f"{space.name} graph k={k}", space.derived(f"graph-{k}")
        if shipped:
            return cls.load(name, space.vocabulary, shipped, trusted=True)
        edges = cached_arrays(f"graph-1-{k}-{space.checksum}", fill, "indptr", "indices")
        return cls(name, space.vocabulary, *edges)

    @classmethod
    def load(cls, name: str, vocabulary: Vocabulary, folder: Path, *, trusted: bool = False) -> GraphSpace:
        """Open a graph from the folder it was written to.

        Parameters
        ----------
        name : str
            What people call it.
        vocabulary : Vocabulary
            The words.
        folder : Path
            Where ``indptr.npy`` and ``indices.npy`` lie.
        trusted : bool
            The folder comes with the package: its ``sizes.npy`` is believed, and its edges are not sorted. Of any other
            folder the sizes are counted anew, since draws follow them and nothing less would show that they are right.
        """
        sizes = folder / "sizes.npy"
        return cls(
            name,
            vocabulary,
            read_array(folder / "indptr.npy"),
            read_array(folder / "indices.npy"),
            read_array(sizes, mapped=True) if trusted and sizes.exists() else None,
            trusted=trusted and sizes.exists(),
        )

    @cached_property
    def search(self) -> HopSearch:
        """The search that all distances come from."""
        return HopSearch(self.indptr, self.indices)

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 of the words and the edges."""
        digest = hashlib.sha256("\n".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        digest.update(self.indptr.astype("<i8").data)
        digest.update(self.indices.astype("<i8").data)
        return digest.hexdigest()

    @cached_property
    def diameter(self) -> float:
        """Twice the number of hops to the word farthest from word 0: an upper bound on any distance."""
        return 2.0 * (len(self.search.sizes(np.array([0]))[0]) - 1)

    @property
    def shells(self) -> int:
        """How many shells a word can have at most, itself being the first; without a search where that is known."""
        return int(self.diameter) + 1 if self._shells is None else self._shells

    def distances(self, ids: Ids) -> Rows:
        """Return the hops from each of these words to every word, a row each."""
        return self.search.distances(np.asarray(ids)).astype(np.float64)

    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the hops from each of these words to words of its own, a row each."""
        return self.search.distances_to(np.asarray(ids), others).astype(np.float64)

    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many words are at 0, 1, 2, … hops of each word, a row each, padded with zeros."""
        missing = np.unique(ids[self._sizes[ids, 0] == 0])
        if missing.size:
            rows = self.search.sizes(missing)
            with self._lock:
                # written into a copy, which is then put in place whole, so that no other thread sees a half
                deeper = max(0, max(map(len, rows)) - self._sizes.shape[1])
                sizes = np.pad(self._sizes, ((0, 0), (0, deeper)))
                for word, row in zip(missing, rows, strict=True):
                    sizes[word, : len(row)] = row
                self._sizes = sizes
        return np.asarray(self._sizes[ids], dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a new lock: a thread that this process does not have may hold the old one."""
        self._lock = threading.Lock()


def build_graph(space: PointSpace, k: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Join every word to its `k` most similar words, and all words by a spanning tree; return sparse rows."""
    words = len(space)
    listed, likenesses = space.similar(np.arange(words), max(k, _LISTED))
    k = min(k, listed.shape[1])
    edges = np.stack([np.repeat(np.arange(words), k), listed[:, :k].ravel()], axis=1)
    if words > 1:
        edges = join(space, edges, listed, likenesses)
    pairs = np.unique(np.sort(edges, axis=1), axis=0)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=words))])
    return indptr.astype(np.int32), both[:, 1].astype(np.int32)
