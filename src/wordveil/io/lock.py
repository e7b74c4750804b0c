"""Keeps two jobs from writing the same output."""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.io.failures import told

if sys.platform != "win32":
    import fcntl

__all__ = ["Lock"]

_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    # A lock lasts as long as any process has it open. A worker must not hold it longer than its parent, who alone
    # writes: else a job that was killed could not be resumed until its workers have noticed.
    for lock in list(_HELD):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


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
        _HELD.add(self)

    def release(self) -> None:
        """Let go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
