"""What the readers of line-based formats have in common: blocks out of records out of lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from wordveil.io.lines import Lines
from wordveil.io.reader import Reader
from wordveil.io.records import Block, Position, Reading

__all__ = ["LineReader"]

Row = TypeVar("Row")


class LineReader(Reader, Generic[Row]):
    """Gathers rows, each made of one or more lines, into blocks.

    Parameters
    ----------
    path : Path or None
        The file; None reads standard input.
    reading : Reading
        The columns and how to read.
    start : Position, optional
        Where to go on; by default at the beginning.
    """

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
        """Raise where the file was changed since it was opened."""
        self._lines.check_unchanged()

    def close(self) -> None:
        """Close the input."""
        self._lines.close()
