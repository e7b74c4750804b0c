"""Rows of separated values, over bytes: cells found and quoted again by compiled code.

What a row is, and what is malformed, `wordveil.io.tables` says, by Python's csv module.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import plain

__all__ = ["can_separate", "cut_table", "ends_in_quotes", "quote_cells"]

Int64 = NDArray[np.int64]


def can_separate(delimiter: str) -> bool:
    """Whether compiled code knows cells that are separated by this."""
    return delimiter.isascii() and delimiter not in '\0"\r\n'


def ends_in_quotes(native: ModuleType, data: bytes, delimiter: str, *, begins_there: bool = False) -> bool:
    """Whether rows end within the quotation marks of a cell; they may also begin there."""
    found: bool = native.ends_in_quotes(data, len(data), ord(delimiter), begins_there)
    return found


def cut_table(
    native: ModuleType, data: bytes, delimiter: str, width: int, places: Int64, most: int
) -> tuple[bytes, int, Int64, Int64] | None:
    """Cut rows of as many cells as `width` says, at most so many of them, or blank lines.

    Returns the rows as they are to be written, but for the cells at `places`, which rise: what is in these stands there
    plainly, without marks around it; the number of rows; and where those cells start and end. None if a row is
    malformed or not whole.
    """
    room = most * len(places)
    starts, ends = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    found = native.cut_table(
        data, len(data), ord(delimiter), width, plain(places, np.int64), len(places), starts, ends, room
    )
    if found is None:
        return None
    written, rows = found
    count = rows * len(places)
    return written, rows, starts[:count], ends[:count]


def quote_cells(native: ModuleType, data: bytes, starts: Int64, ends: Int64, delimiter: str, *, alone: bool) -> bytes:
    """Write rows in which the cells between these bounds stand plainly: in quotation marks where they must be.

    A cell that is `alone` in its row must be where it is empty, too.
    """
    bounds = plain(starts, np.int64), plain(ends, np.int64)
    written: bytes = native.quote_cells(data, len(data), *bounds, len(starts), ord(delimiter), alone)
    return written
