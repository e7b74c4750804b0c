"""Formats of lines: how lines are read, counted and found again, and plain text, where a record is a line."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from wordveil.errors import FileError, InputError, OptionError
from wordveil.files import file_errors
from wordveil.io.formats import Block, Position, Reader, Reading, changed_since
from wordveil.text import Document, Release

__all__ = ["LONGEST", "LineReader", "Lines", "TextReader", "ending"]

LONGEST = 1 << 28  # bytes of one line; more is no text, and would exhaust the memory
_CHUNK = 1 << 20

Row = TypeVar("Row")


class Lines:
    r"""Reads lines that end in ``\n`` (or ``\r\n``), exactly as they stand, from a file or (None) standard input.

    `mark` is the byte order mark, if the input begins with one; it is no part of the first line.
    """

    def __init__(self, path: Path | None, errors: str) -> None:
        self.name = "standard input" if path is None else str(path)
        self._errors = errors
        self._digest = hashlib.sha256()
        self.offset = self.line = 0  # how many bytes and lines were read
        if path is None and sys.stdin is None:
            raise FileError("standard input is closed; give the name of a file.")
        with file_errors("read", self.name):
            self._file: BinaryIO = sys.stdin.buffer if path is None else path.open("rb")
        self._owned = path is not None
        try:
            self._opened = self._state()
            self.mark = self._byte_order_mark()
        except BaseException:
            self.close()
            raise

    def _state(self) -> tuple[int, int] | None:
        with file_errors("read", self.name):
            state = os.fstat(self._file.fileno())
        return (state.st_size, state.st_mtime_ns) if self._owned and stat.S_ISREG(state.st_mode) else None

    def _byte_order_mark(self) -> bytes:
        with file_errors("read", self.name):
            peeked = self._peek(len(codecs.BOM_UTF8))
            if not peeked:
                raise InputError(f"{self.name} is empty.")
            if peeked != codecs.BOM_UTF8:
                return b""
            self._file.read(len(peeked))
        self._digest.update(peeked)
        self.offset = len(peeked)
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

    def position(self, record: int) -> Position:
        """Return the place behind the last line read, which is also behind this many records."""
        return Position(self.offset, self.line, record, self._digest.hexdigest())

    def go_to(self, position: Position) -> None:
        """Go on at a position, after a check that what stands before it is what was read then."""
        left = position.offset - self.offset
        last = b"\n"
        with file_errors("read", self.name):
            while left > 0 and (chunk := self._file.read(min(left, _CHUNK))):
                self._digest.update(chunk)
                left -= len(chunk)
                last = chunk[-1:]
            # Where the file ended without a line break, and now goes on, the last record is another one.
            goes_on = last != b"\n" and self._peek(1)
        if left or goes_on or self._digest.hexdigest() != position.fingerprint:
            raise changed_since(self.name)
        self.offset, self.line = position.offset, position.line

    def read(self) -> bytes:
        """Return the next line with its ending, or nothing at the end of the input."""
        with file_errors("read", self.name):
            line = self._file.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise InputError(f"line {self.line + 1} of {self.name} is longer than {LONGEST >> 20} MiB.")
        if b"\0" in line:
            raise InputError(
                f"line {self.line + 1} of {self.name} holds NUL bytes, so the file is binary or UTF-16; convert it to "
                "UTF-8 text."
            )
        if line:
            self._digest.update(line)
            self.offset += len(line)
            self.line += 1
        return line

    def decode(self, line: bytes) -> str:
        """Return the line that was read last as text."""
        try:
            return line.decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            at = self.offset - len(line) + error.start
        # Outside of the handler, so that the error does not drag the line along as its context.
        raise InputError(
            f"line {self.line} of {self.name} is not UTF-8 (byte {at} of the file); convert the file, or have such "
            "bytes replaced with `encoding_errors`."
        )

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        if self._opened is not None and self._state() != self._opened:
            raise InputError(f"{self.name} changed while it was being read.")

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._owned:
            self._file.close()


def ending(line: str) -> str:
    r"""Return how a line ends: ``\r\n``, ``\n`` or not at all."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


class LineReader(Reader, Generic[Row]):
    """Gathers rows, each made of one or more lines, into blocks."""

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        self._reading = reading
        self._lines = Lines(path, reading.encoding_errors)
        self._record = 0
        try:
            self.preamble = self._read_preamble()
            if start is not None:
                self._lines.go_to(start)
                self._record = start.record
        except BaseException:
            self.close()
            raise

    def _read_preamble(self) -> bytes:
        """Read what stands before the first row."""
        return self._lines.mark

    @abstractmethod
    def _read_row(self) -> Row | None:
        """Read the next row, None at the end; count it in ``_record`` if it is a record."""

    @abstractmethod
    def _block(self, rows: list[Row], end: Position) -> Block:
        """Make a block of some rows."""

    def blocks(self) -> Iterator[Block]:
        """Read the rows that are left."""
        while True:
            rows: list[Row] = []
            full = self._lines.offset + self._reading.batch_bytes
            while self._lines.offset < full and (row := self._read_row()) is not None:
                rows.append(row)
            if not rows:
                return
            yield self._block(rows, self._lines.position(self._record))

    def bytes_done(self, position: Position) -> int:
        """Return how many bytes lie before `position`."""
        return position.offset

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        self._lines.check_unchanged()

    def close(self) -> None:
        """Close the input."""
        self._lines.close()


@dataclass
class TextBlock(Block):
    """Lines of text, and how each of them ends."""

    endings: list[str]

    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the lines with their new texts."""
        lines = (release.text + end for release, end in zip(releases, self.endings, strict=True))
        return "".join(lines).encode("utf-8")


class TextReader(LineReader[str]):
    """Reads text line by line."""

    def _read_preamble(self) -> bytes:
        if self._reading.columns:
            raise OptionError("plain text has no columns; leave out `columns`, or name another `format`.")
        return super()._read_preamble()

    def _read_row(self) -> str | None:
        line = self._lines.read()
        if not line:
            return None
        self._record += 1
        return self._lines.decode(line)

    def _block(self, rows: list[str], end: Position) -> Block:
        endings = [ending(row) for row in rows]
        texts: list[list[str | Document]] = [
            [row[: len(row) - len(tail)]] for row, tail in zip(rows, endings, strict=True)
        ]
        return TextBlock(end, texts, endings)
