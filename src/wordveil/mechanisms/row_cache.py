"""Rows of sums that are kept between batches, up to a number of bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.forks import renew_after_fork
from wordveil.spaces.space import Rows

__all__ = ["RowCache", "row_memory"]

_DEFAULT = 256  # MiB: all rows of the bundled space
_SWITCH = "WORDVEIL_ROW_CACHE"


def row_memory() -> int:
    """Return how many bytes of rows a mechanism keeps: ``$WORDVEIL_ROW_CACHE``, in MiB, or the default."""
    chosen = os.environ.get(_SWITCH) or str(_DEFAULT)
    if not (chosen.isascii() and chosen.isdigit()):
        raise WordveilError(f"{_SWITCH} must be a whole number of MiB, 0 to keep nothing.")
    return int(chosen) << 20


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
        How many bytes the rows may take; `row_memory` if not given.
    """

    def __init__(self, words: int, places: int, dtype: type[np.floating], memory: int | None = None) -> None:
        if memory is not None and memory < 0:
            raise WordveilError("the memory for rows is a number of bytes, 0 to keep nothing.")
        self._made_with = (words, places, dtype, memory)
        self._dtype = np.dtype(dtype)
        size = places * self._dtype.itemsize
        self._room = min(words, (row_memory() if memory is None else memory) // size)
        self._lock = threading.Lock()
        self._slot = np.full(words, -1, dtype=np.int64)  # of each word; -1 where it is not held
        self._word = np.full(self._room, -1, dtype=np.int64)  # of each slot
        self._used = np.zeros(self._room, dtype=np.int64)  # when
        self._now = 0
        self._rows = np.empty((self._room, places), dtype=dtype)  # takes memory only as it is written
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Forget everything: a fork copies the lock as it was, perhaps held, and rows half written."""
        self._lock = threading.Lock()
        self._slot[:], self._word[:], self._used[:] = -1, -1, 0

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
            self._now += 1
            self._used[slots[here]] = self._now
        return rows, np.flatnonzero(slots < 0)

    def keep(self, words: NDArray[np.int64], rows: Rows) -> None:
        """Keep the rows of these words, as many as there is room for, the last first."""
        with self._lock:
            new = np.flatnonzero(self._slot[words] < 0)  # another thread may have been quicker
            new = new[len(new) - min(len(new), self._room) :]
            if not new.size:
                return
            slots = np.argpartition(self._used, len(new) - 1)[: len(new)]
            leaving = self._word[slots]
            self._slot[leaving[leaving >= 0]] = -1
            self._rows[slots] = rows[new]
            self._word[slots] = words[new]
            self._slot[words[new]] = slots
            self._now += 1
            self._used[slots] = self._now

    def fill(self, write: Callable[[Rows], None]) -> None:
        """Have the rows of all words written, where there is room for them; others wait meanwhile."""
        with self._lock:
            self._slot[:] = -1  # should writing fail, nothing is held
            self._word[:] = -1
            write(self._rows)
            self._word[:] = self._slot[:] = np.arange(len(self._slot))
            self._now += 1
            self._used[:] = self._now
