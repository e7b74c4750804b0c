"""Words as nodes of a neighbour graph, with the number of hops as distance."""

from __future__ import annotations

import hashlib
import threading
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays
from wordveil.parallel import blocks, renew_after_fork
from wordveil.progress import tell
from wordveil.spaces import products
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.formats.arrays import read_array
from wordveil.spaces.hops import HopSearch, checked_rows
from wordveil.spaces.laid import Laid, lay_out
from wordveil.spaces.listing import Listed, list_similar
from wordveil.spaces.space import HopSpace, Ids, PointSpace, Rows
from wordveil.spaces.vocabulary import Vocabulary

__all__ = ["GraphSpace", "build_graph", "join", "list_similar"]

Edges = NDArray[np.int64]

_SLOW_CHECKSUM = 10**8  # numbers of an embedding whose checksum takes seconds
_MOST_EDGES = 1 << 26  # limits the work to gigabytes, and edge numbers to 32 bits
_NO_GRAPH = "a graph must have every edge in both directions, and a path from each word to every other."
_MOST_PAIRS = 1 << 30  # pairs compared in one round of joining components: seconds
_SCORES = 1 << 24  # similarities held at once
_ENDS = 1 << 14  # words of the largest component that others may be joined to
_LISTED = 10  # the fewest neighbours listed, for the spanning tree


class GraphSpace(HopSpace):
    """Words joined to their most similar words; the distance is the number of edges on the shortest path.

    Two words are joined if either is among the `k` most similar words of the other: by cosine in an embedding of
    vectors, else by distance. Separate components are joined by spanning-tree edges, so that all distances are finite.
    With ``k=0`` the graph is only the spanning tree.

    Use `GraphSpace.of` to build (and cache) the graph of an embedding. The edges are in compressed sparse rows, each
    edge in both directions. `sizes`, if known, is the number of words at each distance from each word. Draws rely on
    it: with wrong numbers, no guarantee holds. Only bundled graphs are `trusted`, which skips the checks that sort all
    edges and search the graph.
    """

    metric = "hops on the neighbour graph"
    unit = "hop"
    #: By what the cache knows what makes draws on a large graph fast.
    key: str | None = None

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
            raise SpaceError(_NO_GRAPH) from None
        if len(self.indptr) != len(vocabulary) + 1 or not len(vocabulary):
            raise SpaceError(_NO_GRAPH)
        self._lock = threading.Lock()
        renew_after_fork(self)
        if not trusted:
            self._check_edges()
        if sizes is not None:
            self._check_sizes(sizes)
        self._rows: _KeptRows | None = None
        self._shells = None if sizes is None else sizes.shape[1]
        self._sizes = np.zeros((len(vocabulary), 1), dtype=np.uint32) if sizes is None else sizes

    def _check_edges(self) -> None:
        """Raise a SpaceError unless the graph is undirected and connected, so that hops are a distance."""
        words, degrees = len(self.vocabulary), np.diff(self.indptr)
        begins, ends = np.repeat(np.arange(words), degrees), self.indices.astype(np.int64)
        both_ways = np.array_equal(np.sort(begins * words + ends), np.sort(ends * words + begins))
        if not both_ways or (self.search.distances(np.array([0])) < 0).any():
            raise SpaceError(_NO_GRAPH)

    def _check_sizes(self, sizes: NDArray[Any]) -> None:
        """Raise a SpaceError if the sizes cannot be those of this graph, without a search."""
        words = len(self.vocabulary)
        is_table = sizes.ndim == 2 and sizes.dtype.kind in "iu" and len(sizes) == words and sizes.size > 0
        # check bounds first: sums of larger numbers could wrap around to the right ones
        if (
            not is_table
            or not 0 <= int(sizes.min()) <= int(sizes.max()) <= words
            or (sizes[:, 0] != 1).any()
            or (sizes.sum(axis=1, dtype=np.int64) != words).any()
            or (sizes.shape[1] > 1 and (sizes[:, 1] > np.diff(self.indptr)).any())
        ):
            raise SpaceError("the sizes of a graph must count every word once in each row, the word itself first.")

    @classmethod
    def of(cls, space: PointSpace, k: int = 10) -> GraphSpace:
        """Return the neighbour graph of an embedding, from the cache if possible.

        Mechanisms at many ε share one graph: as long as it is in use, it is not opened again.
        """
        made = _MADE.setdefault(space, WeakValueDictionary())
        graph = made.get(k)
        if graph is None:
            graph = made[k] = cls._made(space, k)
        return graph

    @classmethod
    def _made(cls, space: PointSpace, k: int) -> GraphSpace:
        if k < 0:
            raise OptionError("the k of a neighbour graph must be 0 (a spanning tree) or more.")
        if min(k, len(space)) * len(space) > _MOST_EDGES:
            raise OptionError(
                f"a neighbour graph of {len(space):,} words with k={k} has too many edges; choose a k of "
                f"{_MOST_EDGES // len(space)} or less."
            )

        done: list[Listed] = []

        def fill(folder: Path) -> None:
            listed = list_similar(space, max(k, _LISTED))
            indptr, indices = build_graph(space, k, listed)
            np.save(folder / "indptr.npy", indptr)
            np.save(folder / "indices.npy", indices)
            np.save(folder / "found.npy", np.array([listed.found]))
            done.append(listed)

        name, shipped = f"{space.name} graph k={k}", space.derived(f"graph-{k}")
        if shipped:
            graph = cls.load(name, space.vocabulary, shipped, trusted=True)
        else:
            names = "indptr", "indices", "found"
            if len(space) * space.dimension > _SLOW_CHECKSUM:
                tell("looking up the neighbour graph", 0.0)
            indptr, indices, found = cached_arrays(f"graph-2-{k}-{space.checksum}", fill, *names)
            for listed in done:  # the graph is in the cache now
                listed.forget_pieces()
            graph = cls(name, space.vocabulary, indptr, indices)
            graph.key = f"{k}-{space.checksum}"
            _ = graph.laid
            if found[0] < 1.0:
                graph.remarks = (
                    f"The neighbours on this graph were found by an approximate search, which finds about "
                    f"{100 * float(found[0]):.0f}% of the {k} most similar words; the promise is in its hops.",
                )
        graph.embedding = space
        return graph

    @classmethod
    def load(cls, name: str, vocabulary: Vocabulary, folder: Path, *, trusted: bool = False) -> GraphSpace:
        """Open a graph from the folder it was saved to.

        Saved sizes are used only if the folder is `trusted`: draws rely on them, and only counting could verify them.
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
        """The breadth-first search on the graph."""
        return HopSearch(self.indptr, self.indices)

    @cached_property
    def laid(self) -> Laid:
        """The graph as draws see it."""
        return lay_out(self.search, self.key)

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 digest of the words and the edges."""
        digest = hashlib.sha256("\n".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        digest.update(self.indptr.astype("<i8").data)
        digest.update(self.indices.astype("<i8").data)
        return digest.hexdigest()

    @cached_property
    def diameter(self) -> float:
        """The number of hops between the two words farthest apart, or an upper bound on it.

        It is exact if the shell sizes of all words are known, as on bundled graphs. Otherwise it is twice the number of
        hops to the word farthest from word 0.
        """
        if self._shells is not None:
            return float(np.flatnonzero(self._sizes.any(axis=0))[-1])
        return 2.0 * float(self.search.distances(np.array([0])).max())

    @property
    def knows_shells(self) -> bool:
        """Whether the shell sizes of all words are known without a search."""
        return self._shells is not None

    @property
    def shells(self) -> int:
        """The largest number of shells of a word, or a bound on it; the first shell is the word itself."""
        return int(self.diameter) + 1 if self._shells is None else self._shells

    def hops(self, ids: Ids) -> NDArray[np.signedinteger[Any]]:
        """Return the `distances` as small integers."""
        if self._rows is None:
            return self.search.distances(np.asarray(ids))
        return self._rows(np.asarray(ids))

    def remember(self, most: int) -> None:
        """Cache hops, in at most `most` bytes."""
        if self._rows is None and self.diameter <= np.iinfo(np.int8).max:
            self._rows = _KeptRows(self.search, most // len(self))

    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the hops from each of these words to the words in its row of `others`."""
        return self.search.distances_to(np.asarray(ids), others).astype(np.float64)

    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return the number of words at 0, 1, 2, … hops from each word, one row per word, padded with zeros."""
        missing = ids[self._sizes[ids, 0] == 0]
        if missing.size:
            missing = np.unique(missing)
            rows = self.search.sizes(missing)
            with self._lock:
                # copy, then replace, so that no other thread sees a half-written table
                deeper = max(0, max(map(len, rows)) - self._sizes.shape[1])
                sizes = np.pad(self._sizes, ((0, 0), (0, deeper)))
                for word, row in zip(missing, rows, strict=True):
                    sizes[word, : len(row)] = row
                self._sizes = sizes
        return np.asarray(self._sizes[ids], dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        left = {name: value for name, value in vars(self).items() if name not in {"_lock", "embedding", "laid"}}
        return {**left, "_rows": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Create a new lock: a thread that the fork did not copy may hold the old one."""
        self._lock, self._rows = threading.Lock(), None


class _KeptRows:
    """A cache of the hops from words to every word, one byte each; thread-safe."""

    def __init__(self, search: HopSearch, most: int) -> None:
        self._search = search
        self._table = np.empty((min(most, len(search)), len(search)), dtype=np.int8)  # takes memory only as written
        self._places = np.full(len(search), -1)  # the rows of words in the table; -1 if they have none
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, ids: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
        """Return the rows of these words."""
        places = self._places[ids]
        missing = np.unique(ids[places < 0])
        if not len(missing):
            return self._table[places]
        rows = self._search.distances(missing).astype(np.int8)
        found = np.empty((len(ids), rows.shape[1]), dtype=np.int8)
        found[places >= 0] = self._table[places[places >= 0]]
        found[places < 0] = rows[np.searchsorted(missing, ids[places < 0])]
        with self._lock:
            new = np.flatnonzero(self._places[missing] < 0)[: len(self._table) - self._count]
            self._table[self._count : self._count + len(new)] = rows[new]
            # set last, so that a thread that sees a place finds the row there
            self._places[missing[new]] = self._count + np.arange(len(new))
            self._count += len(new)
        return found


#: The graphs in use, by their embedding and k.
_MADE: WeakKeyDictionary[PointSpace, WeakValueDictionary[int, GraphSpace]] = WeakKeyDictionary()


def build_graph(space: PointSpace, k: int, listed: Listed | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Join every word to its `k` most similar words, and components by a spanning tree; return sparse rows."""
    words = len(space)
    listed = listed or list_similar(space, max(k, _LISTED))
    k = min(k, listed.where.shape[1])
    edges = np.stack([np.repeat(np.arange(words), k), listed.where[:, :k].ravel()], axis=1)
    if words > 1:
        edges = join(space, edges, listed.where, listed.likeness)
    both = np.unique(np.concatenate([edges[:, 0] * words + edges[:, 1], edges[:, 1] * words + edges[:, 0]]))
    begins, ends = np.divmod(both, words)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(begins, minlength=words))])
    return indptr.astype(np.int32), ends.astype(np.int32)


def join(space: PointSpace, edges: Edges, neighbours: NDArray[Any], likenesses: NDArray[Any]) -> Edges:
    """Add spanning-tree edges until all words are in one component (Borůvka's algorithm).

    In each round, every component but the largest adds its edge of greatest similarity to a word outside; these are
    edges of the maximum spanning tree. Starting without edges gives the whole tree. If that would take too long, a
    component searches from only one of its words, and a few superfluous edges may be added; the guarantee holds for any
    edges that join all words.
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
    space: PointSpace, component: NDArray[np.int64], neighbours: NDArray[Any], likenesses: NDArray[Any]
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
    # A word whose listed neighbours are all inside its component can still have the best edge, if its last listed
    # neighbour is nearer than the best edge found. Only these words are compared with all others.
    unsure = np.flatnonzero(~found & (likenesses[active, -1] > best[component[active]]))
    if isinstance(space, EuclideanSpace) and len(unsure) * len(component) > _MOST_PAIRS:
        places, target_of, value_of = _among_few(space, component, active, np.isneginf(best))
        target[places], value[places] = target_of, value_of
        unsure = unsure[:0]
    for some in (unsure[part] for part in blocks(len(unsure), max(1, _SCORES // len(component)))):
        scores = space.likeness(active[some])
        scores[component[active[some]][:, None] == component] = -np.inf
        target[some] = scores.argmax(axis=1)
        value[some] = scores.max(axis=1)
        tell("joining the parts of the neighbour graph", 1.0)

    # one edge per component: the largest value, with ties broken by the smallest pair, so that ties make no cycle
    pair = np.sort(np.stack([active, target], axis=1), axis=1)
    order = np.lexsort((pair[:, 1], pair[:, 0], -value, component[active]))
    lead = np.unique(component[active][order], return_index=True)[1]
    chosen = pair[order[lead]]
    return np.unique(chosen[target[order[lead]] >= 0], axis=0)


def _among_few(
    space: EuclideanSpace, component: NDArray[np.int64], active: NDArray[np.int64], is_alone: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Find an edge from the first word (a frequent one) of each component that has none.

    It may lead to the first word of another component, or to many words of the largest one if that takes no edge.
    Return the indices of these words among the active ones, the other ends, and the similarities.
    """
    first = np.unique(component, return_index=True)[1]
    others = np.setdiff1d(np.arange(len(component)), active) if len(first) > 2 else np.empty(0, dtype=np.int64)
    ends = np.union1d(first, others[:_ENDS])
    places = np.flatnonzero(np.isin(active, first[is_alone], assume_unique=True))
    own = np.searchsorted(ends, active[places])
    where, values = products.most(space.directions[active[places]], space.directions[ends], None, 1, own=own)
    return places, ends[where[:, 0]], values[:, 0]
