"""Draws on a graph by compiled code, which remembers what it has listed around words; threads may share it.

`wordveil.spaces.hops.HopSearch.draw` says what is drawn and why its law is exact, and draws the same without a
compiler. What is remembered saves time and nothing else.
"""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import plain
from wordveil.parallel import renew_after_fork, run, shares

__all__ = ["Grouped", "HopDraws"]

_REMEMBERED = 160 << 20  # bytes, taken as they are needed
_ENTRIES, _ROW, _SPENT = 3, 1, 2  # of a word, as in around.h
_FOR_ROWS = 0.6  # of what is remembered, at most
_LARGE, _MANY, _FEW = 100_000, 256, 128  # words, and rows that are found together: as in hop_rows.h
_PASSES = 11  # over all edges, about, is what that takes
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


class HopDraws:
    """Draws words by their hops, with one set of weights and blocked words.

    Parameters
    ----------
    graph : tuple
        The rows of the graph, as compiled code takes them.
    weights : array of float64
        Of a word at each number of hops.
    is_blocked : array of bool, optional
        Which words are never drawn.
    remembered : int
        How many bytes may be filled with what was listed; then nothing more is remembered.
    """

    def __init__(
        self,
        graph: tuple[Any, ...],
        weights: NDArray[np.float64],
        is_blocked: NDArray[np.bool_] | None = None,
        *,
        remembered: int = _REMEMBERED,
    ) -> None:
        self._graph, self._weights = graph, plain(weights, np.float64)
        self._blocked = None if is_blocked is None else plain(is_blocked, np.bool_)
        # The operating system gives memory when it is first written to; a place of 0 is none, so the first is not used.
        room = np.empty(max(1, remembered // 8), dtype=np.uint64)
        entries = np.zeros((graph[2], _ENTRIES), dtype=np.int64)
        self._kept = (entries, room, len(room), np.ones(1, dtype=np.int64))
        # What threads have worked with, which is not made anew for each call. A fork may copy all of this at any time:
        # what is remembered is whole, and what a thread works with is not in the list meanwhile.
        self._scratch = list[NDArray[np.uint64]]()
        self._rows = int(_FOR_ROWS * len(room)) // (4 * (graph[2] // 64 + 1))  # that may still be kept
        self._keeps = threading.Lock()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a new lock: a thread that does not exist in this process may hold the old one."""
        self._keeps = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return HopDraws, (self._graph, self._weights, self._blocked)  # what is remembered is for this process

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

        def search(part: slice) -> None:
            try:
                scratch = self._scratch.pop()
            except IndexError:
                scratch = np.zeros(native.scratch_of_hops(self._graph[2]), dtype=np.uint64)
            own = slice(int(starts[part.start]), int(starts[part.stop]))
            some, begins = sources[part], starts[part.start : part.stop + 1] - own.start
            native.draw_hops(
                self._graph, self._blocked, self._weights, len(self._weights), some, len(some), begins,
                keys if one_key else keys[own], one_key, own.start, own.stop - own.start,
                found[own] if places is None else found, self._kept, scratch,
                None if places is None else places[own], len(found),
            )  # fmt: skip
            self._scratch.append(scratch)  # not after a failure

        run(search, shares(starts, _WORTH_A_THREAD), uses_blas=False)
        # Two threads at it would find the same rows, and keep them twice.
        if len(found) >= _WORTH_A_THREAD and self._keeps.acquire(blocking=False):
            try:
                self._keep_rows(native)
            finally:
                self._keeps.release()
        return found

    def _keep_rows(self, native: ModuleType) -> None:
        """Find the hops to every word from those words on whose guesses as much was spent as that takes."""
        entries, together = self._kept[0], _MANY if self._graph[2] < _LARGE else _FEW
        worth = _PASSES * self._graph[3] // together
        busy = np.flatnonzero((entries[:, _SPENT] >= worth) & (entries[:, _ROW] == 0))
        if len(busy) < together // 2:
            return
        busy = busy[np.argsort(-entries[busy, _SPENT], kind="stable")]
        rows = min(len(busy), max(0, self._rows)) // together * together or min(len(busy), max(0, self._rows))
        self._rows -= rows
        native.keep_rows(self._graph, busy[:rows], rows, self._kept)
