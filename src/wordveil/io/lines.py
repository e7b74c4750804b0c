"""Formats of lines: how lines are read, counted and found again, and plain text, where a record is a line."""

from __future__ import annotations

import codecs
import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wordveil.errors import InputError, OptionError
from wordveil.files import file_errors
from wordveil.io.formats import Block, Position, Reader, Reading, changed_since
from wordveil.io.streams import Source, detect_encoding, peek
from wordveil.text import Document, Release

__all__ = ["LONGEST", "LineReader", "Lines", "TextReader", "ending"]

LONGEST = 1 << 28  # bytes of one line; more is no text, and would exhaust the memory
_CHUNK = 1 << 20

Row = TypeVar("Row")


class Lines:
    r"""Reads lines that end in ``\n`` (or ``\r\n``), exactly as they stand, from a file or (None) standard input.

    Places and digests are those of the text in UTF-8, however the file is packed and encoded. `mark` is the byte order
    mark, if the input begins with one; it is no part of the first line.
    """

    def __init__(self, path: Path | None, reading: Reading) -> None:
        self._path, self._reading = path, reading
        self._source = Source(path, reading)
        self._file, self.name = self._source.file, self._source.name
        self._digest = hashlib.sha256()
        self.offset = self.line = 0  # how many bytes and lines were read
        self.last = b""  # the byte before the position where reading went on
        try:
            self.mark = self._byte_order_mark()
        except BaseException:
            self.close()
            raise

    def _byte_order_mark(self) -> bytes:
        with file_errors("read", self.name):
            peeked = self.peek(len(codecs.BOM_UTF8))
            if not peeked:
                raise InputError(f"{self.name} is empty.")
            if peeked != codecs.BOM_UTF8:
                return b""
            self._file.read(len(peeked))
        self._digest.update(peeked)
        self.offset = len(peeked)
        return peeked

    def peek(self, count: int) -> bytes:
        """Return the next bytes without reading them."""
        with file_errors("read", self.name):
            return peek(self._file, count)

    def position(self, record: int) -> Position:
        """Return the place behind the last line read, which is also behind this many records."""
        return Position(self.offset, self.line, record, self._digest.hexdigest())

    def go_to(self, position: Position, *, ends_line: bool = True) -> None:
        """Go on at a position, after a check that what stands before it is what was read then."""
        left = position.offset - self.offset
        last = b"\n"
        with file_errors("read", self.name):
            while left > 0 and (chunk := self._file.read(min(left, _CHUNK))):
                self._digest.update(chunk)
                left -= len(chunk)
                last = chunk[-1:]
            # Where the file ended without a line break, and now goes on, the last record is another one.
            goes_on = ends_line and last != b"\n" and peek(self._file, 1)
        if left or goes_on or self._digest.hexdigest() != position.fingerprint:
            raise changed_since(self.name)
        self.offset, self.line, self.last = position.offset, position.line, last

    def read(self) -> bytes:
        """Return the next line with its ending, or nothing at the end of the input."""
        with file_errors("read", self.name):
            line = self._file.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise InputError(f"line {self.line + 1} of {self.name} is longer than {LONGEST >> 20} MiB.")
        if b"\0" in line:
            raise InputError(
                f"line {self.line + 1} of {self.name} holds NUL bytes, so it is no UTF-8 text{self.advice()}."
            )
        self.take(line)
        return line

    def read_some(self, count: int) -> bytes:
        """Return some of the next bytes, none at the end; `take` counts those that were used."""
        with file_errors("read", self.name):
            return self._file.read(count)

    def take(self, data: bytes) -> None:
        """Count bytes as read."""
        self._digest.update(data)
        self.offset += len(data)
        self.line += data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))

    def decode(self, line: bytes) -> str:
        """Return the line that was read last as text."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            at = self.offset - len(line) + error.start
        # Outside of the handler, so that the error does not drag the line along as its context.
        raise InputError(
            f"line {self.line} of {self.name} is not UTF-8 (byte {at} of the file){self.advice()}, or have such bytes "
            "replaced with `encoding_errors`."
        )

    def advice(self) -> str:
        """Say what to do with a file that is not UTF-8, by what it seems to be."""
        likely = ""
        if self._path is not None and self._path.is_file() and self._reading.encoding == "utf-8":
            likely, _ = detect_encoding(self._path)
        if likely in ("", "utf-8"):
            return "; convert it, or set `encoding`"
        return f" but probably {likely}; set `encoding` to {likely}"

    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes of the file lie before `position`."""
        return self._source.bytes_done(position.offset, self.offset)

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        self._source.check_unchanged()

    def close(self) -> None:
        """Close the file, but not standard input."""
        self._source.close()


def ending(line: str) -> str:
    r"""Return how a line ends: ``\r\n``, ``\n`` or not at all."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


class LineReader(Reader, Generic[Row]):
    """Gathers rows, each made of one or more lines, into blocks."""

    ends_lines = True  # whether a row ends where a line does

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        self._reading = reading
        self._lines = Lines(path, reading)
        self._record = 0
        try:
            self.preamble = self._read_preamble()
            if start is not None:
                self._lines.go_to(start, ends_line=self.ends_lines)
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
        """Return about how many bytes of the file lie before `position`."""
        return self._lines.bytes_done(position)

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
