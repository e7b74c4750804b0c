"""Keeps two jobs from writing the same output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.io.failures import told

if sys.platform != "win32":
    import fcntl

__all__ = ["Lock"]


class Lock:
    """Holds a file or folder in the making as long as this process lives, or until it is released.

    Where the system has no such locks (Windows, some network file systems), nothing is held.

    Parameters
    ----------
    path : Path
        What to hold; it must exist.
    """

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        if sys.platform == "win32":
            return
        with told("write", path):
            self._handle = os.open(path, os.O_RDONLY)
        is_taken = False
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_taken = True
        except OSError:
            self.release()
        if is_taken:
            self.release()
            raise WordveilError(f"another job is writing {path}; wait until it is done.")

    def release(self) -> None:
        """Let go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
