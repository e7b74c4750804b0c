"""How often a key may ask: one count for all processes of a machine, in a file that they map into their memory."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from wordveil.service.settings import Key

if sys.platform != "win32":
    import fcntl

__all__ = ["Rates"]

_PLACE = struct.Struct("=d")
_BURST = 10.0  # seconds' worth of requests that may come at once


class Rates:
    """Lets requests of a key through at its rate (GCRA), by the time at which all its requests so far are due."""

    def __init__(self, folder: Path, keys: Sequence[Key]) -> None:
        limited = [key for key in keys if key.rate is not None]
        self._places = {key.name: number * _PLACE.size for number, key in enumerate(limited)}
        self._file = -1
        if limited:
            self._file = os.open(folder / "rates", os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, len(limited) * _PLACE.size)
            self._due = mmap.mmap(self._file, len(limited) * _PLACE.size)

    def wait(self, key: Key) -> float:
        """Let a request through and return 0, or return after how many seconds one would be."""
        if key.rate is None:
            return 0.0
        place, every = self._places[key.name], 1.0 / key.rate
        ahead = max(0.0, _BURST - every)
        if sys.platform != "win32":
            fcntl.lockf(self._file, fcntl.LOCK_EX, _PLACE.size, place)
        try:
            now = time.monotonic()  # the same for all processes of a machine
            due = max(now, *_PLACE.unpack_from(self._due, place))
            if due - now > ahead:
                return due - now - ahead
            _PLACE.pack_into(self._due, place, due + every)
            return 0.0
        finally:
            if sys.platform != "win32":
                fcntl.lockf(self._file, fcntl.LOCK_UN, _PLACE.size, place)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self._due.close()
            os.close(self._file)
            self._file = -1
