"""Draws on a graph by compiled code, which remembers what it has listed around words; threads may share it.

`wordveil.spaces.hops.HopSearch.draw` says what is drawn and why its law is exact, and draws the same without a
compiler. What is remembered saves time and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import plain
from wordveil.parallel import blocks, renew_after_fork, run, shares

__all__ = ["Grouped", "HopDraws", "Surroundings", "look_around"]

_REMEMBERED = 160 << 20  # bytes, taken as they are needed
_ENTRIES, _ROW, _SPENT = 3, 1, 2  # of a word, as in around.h
_FOR_ROWS = 0.6  # of what is remembered, at most
_PLANES, _LANE, _HELD_EACH, _HELD = 2, 64, 40, 200 << 20  # as in hop_rows.h
_AFAR = 32  # as in hop_tests.h
_WIDE = 32  # hops between words, about, from which on they differ much as seen from afar
_AFAR_EARNS = 4  # times as many edges as they take to see are looked at for guesses before words are seen from afar
# What it must spare to find rows together, in passes over all edges. A large graph fits into no cache, nor do its rows:
# and at a price of 24 they took more than they spared (GloVe, 400,000 words, a million draws).
_PASSES, _PASSES_IF_LARGE, _LARGE = 5, 400, 100_000
_TRIED = 1 << 12  # draws that show what guesses take
_LOOKED_AT, _SHARE_TOLD = 4, 3  # from so many words it is seen how far words lie; rows tell a third of all apart
_LEVELS, _COUNTED = 5, 1 << 16  # that are counted around words, and words for each thread
_WORTH_A_THREAD = 1 << 14  # draws
_SPARSE = 32  # times as many words as places of them: to sort these is quicker than to count all words

Ints = NDArray[np.int64]


class Grouped:
    """Words of which equal ones are brought together, in rising order.

    Parameters
    ----------
    ids : array of integers
        The words, which may be the same several times.
    limit : int
        How many words there are.
    native : module, optional
        The compiled code.
    """

    def __init__(self, ids: NDArray[np.integer[Any]], limit: int, native: ModuleType | None) -> None:
        each = plain(ids, np.int64)
        #: For each draw, in the order of the words, where its word stood.
        self.places: NDArray[np.int32]
        if native is None or _SPARSE * len(each) < limit:
            self.places = np.argsort(each, kind="stable").astype(np.int32)
            self.words, begins = np.unique(each[self.places], return_index=True)
            self.starts = np.append(begins, len(each)).astype(np.int64)
            return
        most = min(len(each), limit)
        words, starts = np.empty(most, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
        self.places = np.empty(len(each), dtype=np.int32)
        count = native.group_words(each, len(each), limit, words, starts, self.places)
        self.words, self.starts = words[:count], starts[: count + 1]


class Surroundings(NamedTuple):
    """What draws ask of each word, found once for a graph: it spares them a search. They rely on it."""

    #: How many words lie at each of a few levels around it, and how many edges begin there; 0 if that is not known. The
    #: levels are those that draws list at first.
    counts: NDArray[np.uint16]
    #: The hops to a few words that lie far from one another, where words may; more than 255 count as 255.
    afar: NDArray[np.uint8]

    def fits(self, degrees: NDArray[np.integer[Any]]) -> bool:
        """Whether these are of a graph whose words have so many neighbours, as far as is quickly seen."""
        counts, afar, words = self.counts, self.afar, len(degrees)
        if counts.dtype != np.uint16 or counts.ndim != 3 or len(counts) != words or counts.shape[1:] != (_LEVELS, 2):
            return False
        if afar.dtype != np.uint8 or afar.ndim != 2 or len(afar) != words or afar.shape[1] not in (0, _AFAR):
            return False
        is_known = degrees <= np.iinfo(np.uint16).max
        ones, its = counts[:, 0, 0], counts[:, 0, 1]
        return bool((ones == is_known).all() and (its == np.where(is_known, degrees, 0)).all())


def look_around(graph: tuple[Any, ...], native: ModuleType) -> Surroundings:
    """Find the surroundings of every word."""
    words, levels = graph[2], _LEVELS
    counts = np.empty((words, levels, 2), dtype=np.uint16)

    def count(part: slice) -> None:
        native.near_counts(graph, part.start, part.stop - part.start, levels, counts[part])

    run(count, blocks(words, _COUNTED), uses_blas=False)
    afar = _seen_from_afar(graph, native)
    return Surroundings(counts, afar)


def _seen_from_afar(graph: tuple[Any, ...], native: ModuleType) -> NDArray[np.uint8]:
    words, row = graph[2], np.empty((1, graph[2]), dtype=np.int16)
    seen, nearest, place = np.empty((words, _AFAR), dtype=np.uint8), np.full(words, 255, dtype=np.uint8), 0
    for one in range(_AFAR):
        try:
            native.all_hops(graph, np.array([place]), 1, row)
        except OverflowError:  # more hops than 16 bits can count
            return np.zeros_like(seen)  # from which no word is told to be far
        seen[:, one] = np.minimum(row[0].view(np.uint16), 255)
        if not one and 2 * int(seen[:, 0].max()) < _WIDE:
            return seen[:, :0]  # no word is far
        np.minimum(nearest, seen[:, one], out=nearest)
        place = int(nearest.argmax())
    return seen


def _counts_without(
    are_blocked: NDArray[np.bool_] | None, graph: tuple[Any, ...], counts: NDArray[np.uint16]
) -> NDArray[np.uint16]:
    """Return the counts, with nothing known of the words that have a blocked one where they are counted."""
    if are_blocked is None or not are_blocked.any():
        return counts
    indptr, indices = graph[:2]
    levels = counts.shape[1]
    hops = np.where(are_blocked, 0, levels).astype(np.uint8)  # to the nearest blocked word, as far as is counted
    front = np.flatnonzero(are_blocked)
    for hop in range(1, levels):
        degrees = (indptr[front + 1] - indptr[front]).astype(np.int64)
        ends = np.cumsum(degrees)
        beyond = indices[np.repeat(indptr[front] - (ends - degrees), degrees) + np.arange(ends[-1] if len(ends) else 0)]
        front = np.unique(beyond[hops[beyond] == levels])
        hops[front] = hop
    counts = counts.copy()
    counts[hops < (counts[:, :, 0] > 0).sum(axis=1)] = 0
    return counts


class HopDraws:
    """Draws words by their hops, with one set of weights and blocked words.

    Parameters
    ----------
    graph : tuple
        The rows of the graph, as compiled code takes them.
    weights : array of float64
        The weight of a word at each number of hops.
    is_blocked : array of bool, optional
        Which words are never drawn.
    around : Surroundings, optional
        What `look_around` finds in the graph.
    remembered : int
        How many bytes may be filled with what was listed; then nothing more is remembered.
    """

    def __init__(
        self,
        graph: tuple[Any, ...],
        weights: NDArray[np.float64],
        is_blocked: NDArray[np.bool_] | None = None,
        around: Surroundings | None = None,
        *,
        remembered: int = _REMEMBERED,
    ) -> None:
        self._graph, self._weights = graph, plain(weights, np.float64)
        self._blocked = None if is_blocked is None else plain(is_blocked, np.bool_)
        self._around = around
        # The operating system gives memory when it is first written to; a place of 0 is none, so the first is not used.
        room = np.empty(max(1, remembered // 8), dtype=np.uint64)
        entries = np.zeros((graph[2], _ENTRIES), dtype=np.int64)
        self._kept = (entries, room, len(room), np.array([1, 0]))
        # What threads have worked with, which is not made anew for each call. A fork may copy all of this at any time:
        # what is remembered is whole, and what a thread works with is not in the list meanwhile.
        self._scratch = list[NDArray[np.uint64]]()
        self._rows = int(_FOR_ROWS * len(room)) // (_PLANES * (graph[2] // 64 + 1))  # that may still be kept
        self._spent = self._drawn = 0  # edges looked at for guesses of words that have no row, and draws of them
        self._counts = None if around is None else _counts_without(self._blocked, graph, around.counts)
        self._afar = None if around is None else around.afar
        self._has_looked = False
        self._keeps = threading.Lock()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a new lock: a thread that does not exist in this process may hold the old one."""
        self._keeps = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # what is remembered is for this process
        return HopDraws, (self._graph, self._weights, self._blocked, self._around)

    def draw(
        self,
        native: ModuleType,
        sources: Ints,
        starts: Ints,
        keys: NDArray[np.uint32],
        places: NDArray[np.int32] | None = None,
    ) -> Ints:
        """Draw for each source so many words, as `HopSearch.draw` does; each is put where `places` says."""
        sources, starts, keys = plain(sources, np.int64), plain(starts, np.int64), plain(keys, np.uint32)
        one_key, found = keys.ndim == 1, np.empty(int(starts[-1]), dtype=np.int64)

        def search(part: slice, wants: NDArray[np.bool_] | None = None) -> None:
            try:
                scratch = self._scratch.pop()
            except IndexError:
                scratch = np.zeros(native.scratch_of_hops(self._graph[2]), dtype=np.uint64)
            afar = None if self._afar is None or not self._afar.size else self._afar
            own = slice(int(starts[part.start]), int(starts[part.stop]))
            some, begins = sources[part], starts[part.start : part.stop + 1] - own.start
            native.draw_hops(
                self._graph, self._blocked, self._weights, len(self._weights), some, len(some), begins,
                keys if one_key else keys[own], one_key, own.start, own.stop - own.start,
                found[own] if places is None else found, self._kept, scratch,
                None if places is None else places[own], len(found), None if wants is None else wants[part], afar,
                self._counts, 0 if self._counts is None else self._counts.shape[1],
            )  # fmt: skip
            self._scratch.append(scratch)  # not after a failure

        if len(found) < _WORTH_A_THREAD:
            search(slice(0, len(sources)))
            return found
        end = len(sources)
        if not self._drawn:  # the last words first: they show what guesses take
            end = int(np.searchsorted(starts, len(found) - _TRIED))
            self._watch(sources[end:], starts[end:], lambda: search(slice(end, len(sources))))
        each = self._spent / max(1, self._drawn)
        is_wide = len(self._weights) > _WIDE
        if is_wide and self._afar is None and self._spent + each * len(found) >= _AFAR_EARNS * _AFAR * self._graph[3]:
            self._afar = _seen_from_afar(self._graph, native)
        begins = starts[: end + 1]
        wants = self._want_rows(native, sources[:end], np.diff(begins))
        alone = np.ones(end, dtype=np.bool_) if wants is None else ~wants
        parts = shares(begins, _WORTH_A_THREAD)
        self._watch(sources[:end], begins, lambda: run(lambda part: search(part, wants), parts, uses_blas=False), alone)
        return found

    def _watch(
        self, sources: Ints, starts: Ints, work: Callable[[], object], alone: NDArray[np.bool_] | None = None
    ) -> None:
        """Do the work, and note what guesses of words that have no row took."""
        entries = self._kept[0]
        alone = (entries[sources, _ROW] == 0) & (True if alone is None else alone)
        before = int(entries[sources[alone], _SPENT].sum())
        work()
        self._spent += int(entries[sources[alone], _SPENT].sum()) - before
        self._drawn += int(np.diff(starts)[alone].sum())

    def _want_rows(self, native: ModuleType, sources: Ints, counts: Ints) -> NDArray[np.bool_] | None:
        """Find the hops to every word from the words whose guesses would take longer, and keep what there is room for.

        Return for which of the sources they are worth finding again, for these draws alone.
        """
        entries = self._kept[0]
        expected = np.zeros(len(entries))
        expected[sources] = counts * (self._spent / max(1, self._drawn))
        work = np.where(entries[:, _ROW] == 0, entries[:, _SPENT] + expected, 0.0)
        # Two threads at it would find the same rows, and keep them twice.
        if self._keeps.acquire(blocking=False):
            try:
                busy = self._worthwhile(work)[: self._rows]
                self._rows -= len(busy)
                if len(busy):
                    self._look(native)
                    native.keep_rows(self._graph, busy, len(busy), self._kept)
            finally:
                self._keeps.release()
        expected[entries[:, _ROW] != 0] = 0.0
        wants = np.zeros(len(entries), dtype=np.bool_)
        wants[self._worthwhile(expected)] = True
        if not wants.any():
            return None
        self._look(native)
        return wants[sources]

    def _look(self, native: ModuleType) -> None:
        """Decide, before the first rows are found, how many hops they need not tell apart.

        They tell apart the next two. Then a good part of all words are that near, and it is quickly found out how far
        any other is: nearly all ways from there lead to one of those.
        """
        if self._has_looked:
            return
        words = self._graph[2]
        some, rows = np.arange(_LOOKED_AT) * words // _LOOKED_AT, np.empty((_LOOKED_AT, words), dtype=np.int16)
        try:
            native.all_hops(self._graph, some, len(some), rows)
            told = int(np.partition(rows.ravel(), rows.size // _SHARE_TOLD)[rows.size // _SHARE_TOLD])
        except OverflowError:  # more hops than 16 bits can count
            told = 0
        self._kept[3][1], self._has_looked = max(0, told - _PLANES), True

    def _worthwhile(self, work: NDArray[np.float64]) -> Ints:
        """Return the words from which it takes less than this work to find all hops, most work first."""
        words, edges = self._graph[2:]
        price = edges * (_PASSES if words < _LARGE else _PASSES_IF_LARGE)
        together = _LANE * (8 if _HELD_EACH * 8 * words <= _HELD else 4)
        busy = np.flatnonzero(work * together >= price)
        busy = busy[np.argsort(-work[busy], kind="stable")]
        # A few searches take as long as all that go on together.
        groups = np.add.reduceat(work[busy], np.arange(0, len(busy), together)) if len(busy) else np.empty(0)
        return busy[: together * int((groups >= price).sum())]
