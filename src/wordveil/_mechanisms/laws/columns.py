"""Columns of probabilities, kept so that each is computed once.

A reader asks for the column of an output again and again: to estimate word frequencies, for the mean vector, for the
likeliest words, and for every text with that output. All columns of a process share a bounded memory.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import renew_after_fork

Ids = NDArray[np.integer[Any]]
Rows = NDArray[np.floating[Any]]

Number = TypeVar("Number", bound=np.floating[Any])

_BYTES = 1 << 30  # for all columns of a process


class _Shelf:
    """The memory that all `Columns` of a process share."""

    def __init__(self) -> None:
        self._tables: list[weakref.ref[Columns]] = []
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock, which another thread may have held."""
        self._lock = threading.Lock()

    def join(self, table: Columns) -> None:
        """Register a table."""
        with self._lock:
            self._tables = [one for one in self._tables if one() is not None] + [weakref.ref(table)]

    def keep(self, table: Columns, outputs: list[int], rows: Rows) -> None:
        """Keep these columns while there is room, which the tables that were used least recently make first."""
        with self._lock:
            tables = [one for one in (reference() for reference in self._tables) if one is not None]
            room = _BYTES - sum(one.bytes for one in tables)
            for other in sorted(tables, key=lambda one: one.used):
                if room < rows.nbytes and other is not table:
                    room += other.bytes
                    other.kept = {}
            # A table that fills all memory keeps what it has: a reader who goes through more columns than fit, several
            # times, would find none of them if the oldest left.
            for output, row in zip(outputs, rows[: max(0, room) // max(1, rows[0].nbytes)], strict=False):
                table.kept[output] = row.copy()  # a view would hold the whole block


_SHELF = _Shelf()


class Columns:
    """The columns of some words under one prior, one row per output, each computed when it is first asked for."""

    def __init__(self) -> None:
        self.kept: dict[int, Rows] = {}
        self.used = time.monotonic()
        _SHELF.join(self)

    @property
    def bytes(self) -> int:
        """The memory that the kept columns take."""
        return len(self.kept) * next(iter(self.kept.values())).nbytes if self.kept else 0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the columns, which are large and can be computed again."""
        return {**vars(self), "kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Share the memory of the new process."""
        vars(self).update(state)
        _SHELF.join(self)

    def __call__(self, outputs: Ids, compute: Callable[[NDArray[np.int64]], NDArray[Number]]) -> NDArray[Number]:
        """Return the columns of these outputs, in an array that is the caller's own.

        `compute` returns the columns of distinct outputs that are not kept; it is the same in every call. Two threads
        that miss the same columns compute both, so neither waits for the other.
        """
        asked, kept, self.used = outputs.tolist(), self.kept, time.monotonic()
        rows = [kept.get(output) for output in asked]
        missing = sorted({output for output, row in zip(asked, rows, strict=True) if row is None})
        if not missing and rows:
            return np.stack(cast("list[NDArray[Number]]", rows))
        fresh = compute(np.array(missing, dtype=np.int64))
        if missing:
            _SHELF.keep(self, missing, fresh)
        if missing == asked:
            return fresh
        place = dict(zip(missing, fresh, strict=True))
        return np.stack([place[output] if row is None else row for output, row in zip(asked, rows, strict=True)])
