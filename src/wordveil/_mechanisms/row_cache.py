"""Rows of sums that are kept between batches, up to a number of bytes for all mechanisms of a process together."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.parallel import renew_after_fork
from wordveil.spaces.space import Rows

__all__ = ["RowCache", "row_memory"]

_DEFAULT = 256  # MiB: all rows of the bundled space
_SWITCH = "WORDVEIL_ROW_CACHE"
_IDLE = 60.0  # seconds after which the rows of a mechanism may go for those of another


def row_memory() -> int:
    """Return how many bytes of rows a process keeps: ``$WORDVEIL_ROW_CACHE``, in MiB, or the default."""
    chosen = os.environ.get(_SWITCH) or str(_DEFAULT)
    if not (chosen.isascii() and chosen.isdigit()):
        raise WordveilError(f"{_SWITCH} must be a whole number of MiB, 0 to keep nothing.")
    return int(chosen) << 20


class _Budget:
    """The memory that caches share.

    Each takes of it as it grows. Where nothing is left, those that were not used for a while give up what they have,
    and for a cache that has less than an equal share those that have more give up what is above it. So no cache is kept
    out by those before it, and those in use do not drive one another out again and again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: weakref.WeakSet[RowCache] = weakref.WeakSet()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a lock that nobody holds, and a set that nobody goes through."""
        self._lock, self._caches = threading.Lock(), weakref.WeakSet(list(self._caches))

    def join(self, cache: RowCache) -> None:
        """Let a cache take part."""
        with self._lock:
            self._caches.add(cache)

    def lend(self, cache: RowCache, rows: int) -> None:
        """Give a cache, whose lock the caller holds, the memory for so many more rows, or as much as there is."""
        with self._lock:
            idle_since = time.monotonic() - _IDLE
            others = sorted((one for one in self._caches if one is not cache), key=lambda one: one.last)
            free = cache.total - cache.taken - sum(one.taken for one in others)
            share = cache.total // (1 + sum(one.last >= idle_since for one in others))
            wanted = rows * cache.size
            for one in others:
                if one.last < idle_since and free < wanted:
                    free += one.give_up(0)
                elif one.taken > share and free < min(wanted, share - cache.taken):
                    free += one.give_up(share)
            cache.open += max(0, min(rows, free // cache.size))


_BUDGET = _Budget()


class RowCache:
    """The rows of some words; where there is no room, those not used for longest go.

    It belongs to one mechanism and lives no longer. Safe to use from several threads.

    Parameters
    ----------
    words : int
        How many words there are.
    places : int
        How many entries a row has.
    dtype : type
        Of the entries.
    memory : int, optional
        How many bytes the rows may take; if not given, what others leave of `row_memory`.
    """

    def __init__(self, words: int, places: int, dtype: type[np.floating], memory: int | None = None) -> None:
        if memory is not None and memory < 0:
            raise WordveilError("the memory for rows is a number of bytes, 0 to keep nothing.")
        self._made_with = (words, places, dtype, memory)
        self._dtype = np.dtype(dtype)
        self._shares = memory is None
        self.size = places * self._dtype.itemsize  # of a row
        self.total = row_memory() if memory is None else memory
        self._room = min(words, self.total // self.size)
        self.open = 0 if self._shares else self._room  # how many slots have their memory
        self.last = time.monotonic()
        self._lock = threading.Lock()
        self._slot = np.full(words, -1, dtype=np.int64)  # of each word; -1 where it is not held
        self._word = np.full(self._room, -1, dtype=np.int64)  # of each slot
        self._used = np.zeros(self._room, dtype=np.int64)  # when
        self._now = 0
        self._rows = np.empty((self._room, places), dtype=dtype)  # takes memory only as it is written
        renew_after_fork(self)
        if self._shares:
            _BUDGET.join(self)

    @property
    def taken(self) -> int:
        """How many bytes this may fill."""
        return self.open * self.size

    def after_fork(self) -> None:
        """Forget everything: a fork copies the lock as it was, perhaps held, and rows half written."""
        self._lock = threading.Lock()
        self._slot[:], self._word[:], self._used[:] = -1, -1, 0
        if self._shares:
            self._shrink(0)

    def give_up(self, memory: int) -> int:
        """Keep so many bytes at most, unless in use right now; return how many that frees."""
        if not self._lock.acquire(blocking=False):  # never waits, since the other holds its own lock meanwhile
            return 0
        try:
            before = self.taken
            self._shrink(memory // self.size)
            return before - self.taken
        finally:
            self._lock.release()

    def _shrink(self, slots: int) -> None:
        leaving = self._word[slots:]
        self._slot[leaving[leaving >= 0]] = -1
        self._word[slots:], self._used[slots:] = -1, 0
        rows = np.empty_like(self._rows)  # the old ones go back to the system
        rows[:slots] = self._rows[:slots]
        self.open, self._rows = slots, rows

    def _grow(self, slots: int) -> None:
        """Have the memory of so many slots, if there is enough."""
        if slots > self.open and self._shares:
            _BUDGET.lend(self, min(slots, self._room) - self.open)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCache, self._made_with  # a copy in another process fills its own

    def __len__(self) -> int:
        return int((self._word >= 0).sum())

    @property
    def fits_all(self) -> bool:
        """Whether there is room for the rows of all words."""
        return self._room == len(self._slot)

    def count_missing(self, words: NDArray[np.int64]) -> int:
        """Return how many of these words have no row here."""
        with self._lock:
            return int((self._slot[words] < 0).sum())

    def look_up(self, words: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
        """Return an array for the rows of these words, those that are here filled in, and the places of the others."""
        rows = np.empty((len(words), self._rows.shape[1]), dtype=self._dtype)
        with self._lock:
            slots = self._slot[words]
            here = np.flatnonzero(slots >= 0)
            rows[here] = self._rows[slots[here]]
            self._now, self.last = self._now + 1, time.monotonic()
            self._used[slots[here]] = self._now
        return rows, np.flatnonzero(slots < 0)

    def keep(self, words: NDArray[np.int64], rows: Rows) -> None:
        """Keep the rows of these words, as many as there is room for, the last first."""
        with self._lock:
            new = np.flatnonzero(self._slot[words] < 0)  # another thread may have been quicker
            if len(new) and self.open < self._room:
                self._grow(len(self) + len(new))
            new = new[len(new) - min(len(new), self.open) :]
            if not new.size:
                return
            slots = np.argpartition(self._used[: self.open], len(new) - 1)[: len(new)]
            leaving = self._word[slots]
            self._slot[leaving[leaving >= 0]] = -1
            self._rows[slots] = rows[new]
            self._word[slots] = words[new]
            self._slot[words[new]] = slots
            self._now += 1
            self._used[slots] = self._now

    def fill(self, write: Callable[[Rows], None]) -> None:
        """Have the rows of all words written, where there is memory for them; others wait meanwhile."""
        with self._lock:
            self._grow(self._room)
            if self.open < len(self._slot):
                return
            self._slot[:] = -1  # should writing fail, nothing is held
            self._word[:] = -1
            write(self._rows)
            self._word[:] = self._slot[:] = np.arange(len(self._slot))
            self._now += 1
            self._used[:] = self._now
