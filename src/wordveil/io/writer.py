"""Files in the making: written beside their target and renamed when whole."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from wordveil.errors import WordveilError
from wordveil.io.failures import told

__all__ = ["FileWriter", "StreamWriter", "Writer", "open_new", "parquet_in_the_making", "sync_folder"]


class Writer(ABC):
    """Takes rendered blocks, one behind the other."""

    @abstractmethod
    def append(self, data: bytes) -> None:
        """Write some more."""

    @abstractmethod
    def sync(self) -> int:
        """Let go of all that was written, as safely as can be, and return how many bytes that is."""


class FileWriter(Writer):
    """Writes a file in the making.

    Parameters
    ----------
    part : Path
        The file in the making; only `finish` gives it its final name.
    size : int
        How many bytes of it, as far as it is there, to keep; writing goes on behind them.
    """

    def __init__(self, part: Path, size: int = 0) -> None:
        self.part = part
        with told("write", part):
            # A link in the place of our own file would be somebody else's doing.
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.fdopen(os.open(part, flags, 0o666), "r+b")
            is_short = self._file.seek(0, os.SEEK_END) < size
            if not is_short:
                self._file.truncate(size)
                self._file.seek(size)
        if is_short:
            self.close()
            raise WordveilError(
                f"{part} is shorter than its checkpoint says; start again with --overwrite instead of --resume."
            )
        self._size = size

    def append(self, data: bytes) -> None:
        """Write some more."""
        with told("write", self.part):
            self._file.write(data)
        self._size += len(data)

    def sync(self) -> int:
        """Make sure that all that was written would outlive a crash, and return how many bytes that is."""
        with told("write", self.part):
            self._file.flush()
            os.fsync(self._file.fileno())
        return self._size

    def finish(self, target: Path) -> None:
        """Give the file its name."""
        self.sync()
        self.close()
        with told("write", target):
            self.part.replace(target)
            sync_folder(target.parent)

    def close(self) -> None:
        """Stop writing, and keep what was written."""
        with suppress(OSError):  # what matters was synced, and what could not be written was told
            self._file.close()


class StreamWriter(Writer):
    """Writes to standard output, a pipe or a device, which takes nothing back.

    Parameters
    ----------
    stream : binary file
        Where to write; it is flushed, but not closed.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._size = 0

    def append(self, data: bytes) -> None:
        """Write some more."""
        with told("write to", "the output stream"):
            self._stream.write(data)
        self._size += len(data)

    def sync(self) -> int:
        """Hand on what was written, and return how many bytes that is."""
        with told("write to", "the output stream"):
            self._stream.flush()
        return self._size


def parquet_in_the_making(part: Path) -> Path:
    """Return where the Parquet file of a finished job is written before it takes the place of its streams."""
    return part.with_name(part.name + ".parquet")


def open_new(path: Path, mode: int = 0o666) -> BinaryIO:
    """Open a file that was not there; what lies under its name, left by a crash or laid by somebody, is removed."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "wb")


def sync_folder(folder: Path) -> None:
    """Make sure that new names in a folder outlive a crash, where the system can do so."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
