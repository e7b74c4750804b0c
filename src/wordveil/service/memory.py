"""How much memory the process holds, as far as the system says so, and giving back what nothing uses any more."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path

__all__ = ["give_back", "resident"]

_STATE = Path("/proc/self/statm")


def resident() -> int:
    """Return how many bytes of memory the process holds, 0 where the system does not say."""
    try:
        return int(_STATE.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # not Linux
        return 0


def give_back() -> None:
    """Return freed memory to the system: the C library keeps some for each thread, and a large reader frees much."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library
        return
