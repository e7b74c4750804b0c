"""Lines of a file or a stream, decoded and counted, with a position to come back to."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from wordveil.errors import WordveilError
from wordveil.io.failures import told
from wordveil.io.records import Position

__all__ = ["LONGEST", "Lines", "ending"]

LONGEST = 1 << 28  # bytes of one line; more is no text, and would end the memory
_CHUNK = 1 << 20


class Lines:
    r"""Read lines that end in ``\n`` (or ``\r\n``), exactly as they stand.

    Parameters
    ----------
    path : Path or None
        The file; None reads standard input.
    errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8.

    Attributes
    ----------
    mark : bytes
        The byte order mark, if the input begins with one; it is no part of the first line.
    """

    def __init__(self, path: Path | None, errors: str) -> None:
        self.name = "standard input" if path is None else str(path)
        self._errors = errors
        self._digest = hashlib.sha256()
        self._offset = self._line = 0
        if path is None and sys.stdin is None:
            raise WordveilError("standard input is closed: give the name of a file.")
        with told("read", self.name):
            self._file: BinaryIO = sys.stdin.buffer if path is None else path.open("rb")
        self._owned = path is not None
        try:
            self._opened = self._state()
            self.mark = self._byte_order_mark()
        except BaseException:
            self.close()
            raise

    def _state(self) -> tuple[int, int] | None:
        with told("read", self.name):
            state = os.fstat(self._file.fileno())
        return (state.st_size, state.st_mtime_ns) if self._owned and stat.S_ISREG(state.st_mode) else None

    def _byte_order_mark(self) -> bytes:
        with told("read", self.name):
            peeked = self._peek(len(codecs.BOM_UTF8))
            if not peeked:
                raise WordveilError(f"{self.name} is empty.")
            if peeked != codecs.BOM_UTF8:
                return b""
            self._file.read(len(peeked))
        self._digest.update(peeked)
        self._offset = len(peeked)
        return peeked

    def _peek(self, count: int) -> bytes:
        # BufferedReader.peek may give fewer bytes than there are, so a stream is asked again for its first.
        peek = self._file.peek  # type: ignore[attr-defined]
        seen: bytes = peek(count)[:count]
        while 0 < len(seen) < count:
            again: bytes = peek(count)[:count]
            if len(again) == len(seen):
                break
            seen = again
        return seen

    @property
    def size(self) -> int | None:
        """How many bytes the file had when it was opened; None for a stream."""
        return self._opened[0] if self._opened else None

    @property
    def offset(self) -> int:
        """How many bytes were read."""
        return self._offset

    @property
    def line(self) -> int:
        """How many lines were read."""
        return self._line

    def position(self, record: int) -> Position:
        """Return the place behind the last line read, which is also behind this many records."""
        return Position(self._offset, self._line, record, self._digest.hexdigest())

    def go_to(self, position: Position) -> None:
        """Go on at a position, after a check that what stands before it is what was read then."""
        left = position.offset - self._offset
        last = b"\n"
        with told("read", self.name):
            while left > 0 and (chunk := self._file.read(min(left, _CHUNK))):
                self._digest.update(chunk)
                left -= len(chunk)
                last = chunk[-1:]
            # Where the file ended without a line break, and now goes on, the last record is another one.
            goes_on = last != b"\n" and self._peek(1)
        if left or goes_on or self._digest.hexdigest() != position.fingerprint:
            raise WordveilError(
                f"{self.name} is not what it was when the job began, so it cannot be resumed; "
                "start again with --overwrite instead of --resume."
            )
        self._offset, self._line = position.offset, position.line

    def read(self) -> bytes:
        """Return the next line with its ending, or nothing at the end of the input."""
        with told("read", self.name):
            line = self._file.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise WordveilError(f"line {self._line + 1} of {self.name} is longer than {LONGEST >> 20} MiB.")
        if b"\0" in line:
            raise WordveilError(
                f"line {self._line + 1} of {self.name} holds NUL bytes: "
                "this is binary or UTF-16; convert it to UTF-8 text."
            )
        if line:
            self._digest.update(line)
            self._offset += len(line)
            self._line += 1
        return line

    def decode(self, line: bytes) -> str:
        """Return the line that was read last as text."""
        try:
            return line.decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            at = self._offset - len(line) + error.start
        # Outside of the handler, so that the error does not drag the line along as its context.
        raise WordveilError(
            f"line {self._line} of {self.name} is not UTF-8 (byte {at} of the file); "
            "convert it, or give --encoding-errors replace."
        )

    def check_unchanged(self) -> None:
        """Raise where the file was changed since it was opened."""
        if self._opened is not None and self._state() != self._opened:
            raise WordveilError(f"{self.name} was changed while it was read.")

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._owned:
            self._file.close()


def ending(line: str) -> str:
    r"""Return how a line ends: ``\r\n``, ``\n`` or not at all."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""
