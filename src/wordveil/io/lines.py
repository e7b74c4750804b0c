"""Formats of lines: how lines are read, counted and found again, and plain text, where a record is a line."""

from __future__ import annotations

import codecs
import hashlib
import io
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.files import file_errors
from wordveil.io.formats import Block, Position, Reader, Reading, Written, changed_since
from wordveil.io.streams import Source, detect_encoding, peek
from wordveil.kernels.lines import breaks_of_text, find_lines, line_breaks
from wordveil.text import Document
from wordveil.text.flow import Texts

__all__ = ["LONGEST", "InLines", "LineReader", "Lines", "TextBlock", "TextReader", "ending"]

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

    def begin_again(self, preamble: bytes, data: bytes) -> None:
        """Have what was read behind the preamble be read again."""
        self._file = self._source.prepend(data)
        self._digest = hashlib.sha256(preamble)
        self.offset, self.line = len(preamble), line_breaks(preamble)

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
        self._check(line)
        self.take(line)
        return line

    def _check(self, line: bytes) -> None:
        """Refuse a line that is no text."""
        if len(line) > LONGEST:
            raise InputError(f"line {self.line + 1} of {self.name} is longer than {LONGEST >> 20} MiB.")
        if b"\0" in line:
            raise InputError(
                f"line {self.line + 1} of {self.name} holds NUL bytes, so it is no UTF-8 text{self.advice()}."
            )

    def read_lines(self, count: int) -> bytes:
        """Return so many of the next bytes, and what is missing of the last of their lines; nothing at the end."""
        with file_errors("read", self.name):
            data = self._file.read(count)
            if data and not data.endswith(b"\n"):
                data += self._file.readline(LONGEST + 1)
        breaks = breaks_of_text(data)
        if len(data) > LONGEST or breaks is None:
            for line in io.BytesIO(data):
                self._check(line)
                self.take(line)
                self.decode(line)
        else:
            self.take(data, breaks)
        return data

    def read_without(self, sign: bytes, count: int) -> bytes:
        """Return some of the next lines, of about so many bytes, none with this sign; the next alone if it has it."""
        ahead = self.peek(count).partition(sign)[0]
        return self.read_lines(ahead.rfind(b"\n") + 1) if b"\n" in ahead else self.read()

    def read_some(self, count: int) -> bytes:
        """Return some of the next bytes, none at the end; `take` counts those that were used."""
        with file_errors("read", self.name):
            return self._file.read(count)

    def take(self, data: bytes, breaks: int | None = None) -> None:
        """Count bytes as read; how many line breaks they have may be known."""
        self._digest.update(data)
        self.offset += len(data)
        self.line += (line_breaks(data) if breaks is None else breaks) + (bool(data) and not data.endswith(b"\n"))

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


class InLines(Reader):
    """Reads what is made of lines."""

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

    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes of the file lie before `position`."""
        return self._lines.bytes_done(position)

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        self._lines.check_unchanged()

    def close(self) -> None:
        """Close the input."""
        self._lines.close()


class LineReader(InLines, Generic[Row]):
    """Gathers rows, each made of one or more lines, into blocks."""

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


class TextBlock(Block):
    """Lines of text, as they stand."""

    def __init__(self, end: Position, lines: bytes) -> None:
        self.end, self._lines = end, lines

    def together(self) -> Texts:
        """Return the lines without what ends them."""
        return self._texts

    @cached_property
    def _texts(self) -> Texts:
        return Texts(self._lines, *find_lines(self._lines))

    def render_together(self, texts: Texts) -> bytes:
        """Return the new lines, which have what ends them."""
        return texts.data

    @cached_property
    def records(self) -> list[list[str | Document]]:  # type: ignore[override] # made when it is asked for
        """The lines, one a record."""
        return [[text] for text in self.together()]

    def texts(self) -> Iterator[str | Document]:
        """Give the lines in order, each decoded when it is asked for."""
        yield from self._texts

    @property
    def has_spans(self) -> bool:
        """Whether any of the texts comes with the places of its words: lines do not."""
        return False

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many texts each record has."""
        return np.ones(len(self._texts), dtype=np.int64)

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the lines with their new texts."""
        texts = self.together()
        ends = zip(texts.ends.tolist(), [*texts.starts[1:].tolist(), len(self._lines)], strict=True)
        new = (release.text.encode("utf-8") + self._lines[a:b] for release, (a, b) in zip(releases, ends, strict=True))
        return b"".join(new)


class TextReader(InLines):
    """Reads text in which a record is a line."""

    def _read_preamble(self) -> bytes:
        if self._reading.columns:
            raise OptionError("plain text has no columns; leave out `columns`, or name another `format`.")
        return super()._read_preamble()

    def blocks(self) -> Iterator[Block]:
        """Read the lines that are left."""
        while True:
            before = self._lines.line
            data = self._lines.read_lines(self._reading.batch_bytes)
            if not data:
                return
            self._record += self._lines.line - before
            yield TextBlock(self._lines.position(self._record), data)
