"""Tables of separated values: CSV and TSV, with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from wordveil.errors import WordveilError
from wordveil.io.line_reader import LineReader
from wordveil.io.lines import LONGEST, ending
from wordveil.io.reader import wrong_columns
from wordveil.io.records import Block, Position, Reading
from wordveil.text import Document, Release

__all__ = ["CsvReader", "TableBlock", "TableReader", "TsvReader"]

_ROW_END = "\r\n"  # the csv writer quotes the characters of its row ending; each row then gets back its own


class Row(NamedTuple):
    """A row as it was read: its fields (none in a blank line), and how its last line ends."""

    fields: list[str]
    ending: str


@dataclass
class TableBlock(Block):
    """Rows of a table, and which of their fields to replace."""

    rows: list[Row]
    places: list[int]
    delimiter: str

    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the rows with the new texts in their fields; a field is quoted where it must be."""
        texts = iter(releases)
        written: list[str] = []
        sink = SimpleNamespace(write=written.append)
        writer = csv.writer(sink, delimiter=self.delimiter, lineterminator=_ROW_END)
        for row in self.rows:
            if not row.fields:
                written.append(row.ending)
                continue
            fields = list(row.fields)
            for place in self.places:
                fields[place] = next(texts).text
            writer.writerow(fields)
            written[-1] = written[-1].removesuffix(_ROW_END) + row.ending
        return "".join(written).encode("utf-8")


class TableReader(LineReader[Row]):
    """Reads a table; a subclass says which characters may separate its fields."""

    delimiters: str

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        csv.field_size_limit(LONGEST)
        self._last_line = ""
        super().__init__(path, reading, start)
        self._parser = csv.reader(self._row_lines(), delimiter=self._delimiter, strict=True)
        self._row_begin = self._lines.offset

    def _read_preamble(self) -> bytes:
        header, text = self._lines.mark, ""
        while not text or text.count('"') % 2:  # a quoted name may hold a line break
            line = self._lines.read()
            if not line:
                break
            header += line
            text += self._lines.decode(line)
        if not text.strip():
            raise WordveilError(f"{self._lines.name} does not begin with a header.")
        readings = [self._names(text, delimiter) for delimiter in self.delimiters]
        wanted = set(self._reading.columns)
        # The separator under which the asked columns are there, else the one that gives the most columns.
        best = max(range(len(readings)), key=lambda index: (wanted <= set(readings[index]), len(readings[index])))
        self._delimiter, names = self.delimiters[best], readings[best]
        wrong = wrong_columns(self._lines.name, self._reading.columns, names)
        if wrong:
            raise wrong
        self._width = len(names)
        self._places = [names.index(column) for column in self._reading.columns]
        return header

    @staticmethod
    def _names(header: str, delimiter: str) -> list[str]:
        try:
            return next(csv.reader(StringIO(header, newline="\n"), delimiter=delimiter, strict=True))
        except csv.Error:
            return []

    def _row_lines(self) -> Iterator[str]:
        """Give the parser line after line; it takes no more of them than the row at hand needs."""
        while line := self._lines.read():
            if self._lines.offset - self._row_begin > LONGEST:
                raise WordveilError(
                    f"{self._where(self._record + 1)} is longer than {LONGEST >> 20} MiB; "
                    "a quotation mark may be left open."
                )
            self._last_line = self._lines.decode(line)
            yield self._last_line

    def _read_row(self) -> Row | None:
        self._row_begin = self._lines.offset
        try:
            fields = next(self._parser)
        except StopIteration:
            return None
        except csv.Error:
            fields = None
        if fields is None:
            raise WordveilError(f"{self._where(self._record + 1)} is malformed: look at its quotation marks.")
        if fields:
            self._record += 1
            if len(fields) != self._width:
                raise WordveilError(
                    f"{self._where(self._record)} has {len(fields)} fields, but the header has {self._width}."
                )
        return Row(fields, ending(self._last_line))

    def _where(self, record: int) -> str:
        return f"record {record} (up to line {self._lines.line}) of {self._lines.name}"

    def _block(self, rows: list[Row], end: Position) -> Block:
        places = self._places
        records: list[list[str | Document]] = [[row.fields[place] for place in places] for row in rows if row.fields]
        return TableBlock(end, records, rows, self._places, self._delimiter)


class CsvReader(TableReader):
    """Reads CSV whose fields are separated by a comma, semicolon, bar or tab: the header shows which."""

    delimiters = ",;|\t"


class TsvReader(TableReader):
    """Reads CSV whose fields are separated by tabs."""

    delimiters = "\t"
