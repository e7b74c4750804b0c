"""Draws on a graph by compiled code, which remembers what it has listed around words; threads may share it.

`wordveil.spaces.hops.HopSearch.draw` says what is drawn and why its law is exact, and draws the same without a
compiler. What is remembered saves time and nothing else.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import plain
from wordveil.parallel import run, shares

__all__ = ["HopDraws"]

_REMEMBERED = 160 << 20  # bytes, taken as they are needed
_ENTRIES = 4  # of a word, as in around.h
_WORTH_A_THREAD = 1 << 14  # draws

Ints = NDArray[np.int64]


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

    def __reduce__(self) -> tuple[Any, ...]:
        return HopDraws, (self._graph, self._weights, self._blocked)  # what is remembered is for this process

    def draw(self, native: ModuleType, sources: Ints, starts: Ints, keys: NDArray[np.uint32]) -> Ints:
        """Draw for each source so many words, as `HopSearch.draw` does."""
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
                keys if one_key else keys[own], one_key, own.start, own.stop - own.start, found[own], self._kept,
                scratch,
            )  # fmt: skip
            self._scratch.append(scratch)  # not after a failure

        run(search, shares(starts, _WORTH_A_THREAD), uses_blas=False)
        return found
