"""Tables of separated values: CSV and TSV, with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from wordveil.errors import InputError
from wordveil.io.formats import Block, Position, Reading, check_columns
from wordveil.io.lines import LONGEST, LineReader, ending
from wordveil.text import Document, Release

__all__ = ["CsvReader", "TsvReader"]

_LONGEST_HEADER = 1000  # lines
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
        """Read the header: as many lines as the parser of the rows needs for it, and not one more."""
        header, text = self._lines.mark, list[str]()
        open_readings = set(self.delimiters)
        readings: dict[str, list[str]] = {}
        wanted = set(self._reading.columns)
        while open_readings and not any(wanted <= set(names) for names in readings.values()):
            line = self._lines.read()
            header += line
            if not line or len(text) == _LONGEST_HEADER:
                break
            text.append(self._lines.decode(line))
            if not text[0].strip():
                break
            if len(text) == 1 or '"' in text[-1]:  # only a quotation mark ends a name that holds a line break
                for delimiter in sorted(open_readings):
                    names, is_open = _names(text, delimiter)
                    if not is_open:
                        open_readings.remove(delimiter)
                    if names is not None:
                        readings[delimiter] = names
        if not text or not text[0].strip():
            raise InputError(f"{self._lines.name} does not begin with a header.")
        if not readings:
            raise InputError(f"the header of {self._lines.name} is malformed; check its quotation marks and line ends.")
        self._delimiter = self._separator(readings)
        names = readings[self._delimiter]
        check_columns(self._lines.name, self._reading.columns, names)
        self._width = len(names)
        self._places = [names.index(column) for column in self._reading.columns]
        return header

    def _separator(self, readings: dict[str, list[str]]) -> str:
        """Return the separator under which the asked columns are there, else the one that gives the most columns."""
        wanted = set(self._reading.columns)
        fitting = [one for one in self.delimiters if one in readings and wanted <= set(readings[one])]
        if wanted and len({tuple(readings[one]) for one in fitting}) > 1:
            raise InputError(
                f"the header of {self._lines.name} has these columns with more than one separator; rename its columns, "
                "so that it is clear which text belongs to them."
            )
        if wanted and fitting:
            return fitting[0]
        return max((one for one in self.delimiters if one in readings), key=lambda one: len(readings[one]))

    def _row_lines(self) -> Iterator[str]:
        """Give the parser line after line; it takes no more of them than the row at hand needs."""
        while line := self._lines.read():
            if self._lines.offset - self._row_begin > LONGEST:
                raise InputError(
                    f"{self._where(self._record + 1)} is longer than {LONGEST >> 20} MiB; a quotation mark may not be "
                    "closed."
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
            raise InputError(f"{self._where(self._record + 1)} is malformed; check its quotation marks.")
        if fields:
            self._record += 1
            if len(fields) != self._width:
                raise InputError(
                    f"{self._where(self._record)} has {len(fields)} fields, but the header has {self._width}."
                )
        return Row(fields, ending(self._last_line))

    def _where(self, record: int) -> str:
        return f"record {record} (up to line {self._lines.line}) of {self._lines.name}"

    def _block(self, rows: list[Row], end: Position) -> Block:
        places = self._places
        records: list[list[str | Document]] = [[row.fields[place] for place in places] for row in rows if row.fields]
        return TableBlock(end, records, rows, self._places, self._delimiter)


def _names(header: Sequence[str], delimiter: str) -> tuple[list[str] | None, bool]:
    """Return the names in a header, None if it is malformed or goes on, and whether it goes on after these lines."""
    goes_on = False

    def lines() -> Iterator[str]:
        nonlocal goes_on
        yield from header
        goes_on = True

    try:
        names = next(csv.reader(lines(), delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        return None, goes_on
    return names, False


class CsvReader(TableReader):
    """Reads CSV whose fields are separated by a comma, semicolon, bar or tab: the header shows which."""

    delimiters = ",;|\t"


class TsvReader(TableReader):
    """Reads CSV whose fields are separated by tabs."""

    delimiters = "\t"
