"""Tables of separated values: CSV and TSV, with a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordveil.errors import InputError
from wordveil.io.formats import Block, Position, Reading, Written, check_columns, of_person
from wordveil.io.lines import LONGEST, InLines, ending, line_breaks
from wordveil.text import Document

__all__ = ["CsvReader", "TsvReader"]

_LONGEST_HEADER = 1000  # lines
_SEPARATOR_LINE = re.compile(rb'sep=[\x09\x20-\x7e]\r?|"sep=[\x09\x20-\x7e]"\r?', re.IGNORECASE)
_LONGEST_SEPARATOR_LINE = 9
_QUOTE, _TWO = '"', '""'


@dataclass
class TableBlock(Block):
    """Rows of a table, none of whose fields are there in a blank line, how each ends, and which fields to replace."""

    rows: list[list[str]]
    endings: list[str]
    places: list[int]
    delimiter: str
    names: list[str]  # of all columns

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the rows with the new texts in their fields; a field is quoted where it must be."""
        # As csv.writer does it, which looks at every letter of every field by itself.
        needs_quotes = re.compile(f'[{re.escape(self.delimiter)}"\r\n]').search
        texts, written = iter(releases), list[str]()
        for row, end in zip(self.rows, self.endings, strict=True):
            fields = list(row)
            for place in self.places if row else ():
                fields[place] = next(texts).text
            quoted = [f'"{field.replace(_QUOTE, _TWO)}"' if needs_quotes(field) else field for field in fields]
            written += ('""' if quoted == [""] else self.delimiter.join(quoted), end)
        return "".join(written).encode("utf-8")


class TableReader(InLines):
    """Reads a table; a subclass says which characters may separate its fields."""

    delimiters: str

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        csv.field_size_limit(LONGEST)
        super().__init__(path, reading, start)
        self._ahead: list[str] = []  # lines that were read and not given to the parser, and those that were since
        self._first_line = self._lines.line
        self._row_begin = self._lines.offset
        self._parser = csv.reader(self._row_lines(), delimiter=self._delimiter, strict=True)

    def _read_preamble(self) -> bytes:
        """Read the header: as many lines as the parser of the rows needs for it, and not one more."""
        header, text = self._lines.mark + self._read_separator(), list[str]()
        open_readings = set(self.delimiters)
        readings: dict[str, list[str]] = {}
        wanted = set(self._reading.needed)
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
        names = self._names = readings[self._delimiter]
        if not self._reading.every_column:
            check_columns(self._lines.name, self._reading.columns, names, may_be_text=True)
            check_columns(self._lines.name, self._reading.needed, names, may_be_text=True)
        self._width = len(names)
        self._places = [names.index(column) for column in self._reading.columns]
        self._person = None if self._reading.person is None else names.index(self._reading.person)
        return header

    def _read_separator(self) -> bytes:
        """Read the line before the header in which Excel says what separates the fields, if it is there."""
        if not _SEPARATOR_LINE.fullmatch(self._lines.peek(_LONGEST_SEPARATOR_LINE).partition(b"\n")[0]):
            return b""
        line = self._lines.read()
        self.delimiters = self._lines.decode(line).strip("\r\n").strip('"')[-1]
        return line

    def _separator(self, readings: dict[str, list[str]]) -> str:
        """Return the separator under which the asked columns are there, else the one that gives the most columns."""
        wanted = set(self._reading.needed)
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
        """Give the parser the lines that were read ahead, then others, one by one, as far as the row at hand needs."""
        while True:
            ahead = self._ahead
            yield from ahead
            while self._ahead is ahead and (line := self._lines.read()):
                if self._lines.offset - self._row_begin > LONGEST:
                    raise InputError(
                        f"{self._where(self._record + 1)} is longer than {LONGEST >> 20} MiB; a quotation mark may not "
                        "be closed."
                    )
                ahead.append(self._lines.decode(line))
                yield ahead[-1]
            if self._ahead is ahead:
                return

    def blocks(self) -> Iterator[Block]:
        """Read the rows that are left."""
        while data := self._lines.read_lines(self._reading.batch_bytes):
            lines = data.decode("utf-8").splitlines(keepends=True)
            if line_breaks(data) + (not data.endswith(b"\n")) != len(lines):  # other signs end lines for Python, too
                lines = [line.decode("utf-8") for line in io.BytesIO(data)]
            whole = self._rows_in(lines)
            if whole is not None:
                yield self._block(whole, _endings(lines, data), self._lines.position(self._record))
                continue
            self._ahead = lines
            begin, last = self._parser.line_num, self._parser.line_num + len(lines)
            self._row_begin = self._lines.offset - len(data)
            rows, endings = [], []
            while self._parser.line_num < last:
                rows.append(self._read_row())
                endings.append(ending(lines[self._parser.line_num - begin - 1]))
            yield self._block(rows, endings, self._lines.position(self._record))

    def _rows_in(self, lines: list[str]) -> list[list[str]] | None:
        """Return the rows of some lines, all at once, if each line is a row and nothing is wrong with any."""
        try:
            rows = list(csv.reader(lines, delimiter=self._delimiter, strict=True))
        except csv.Error:
            return None  # the last may go on in the next line, or is told of with its place
        if len(rows) != len(lines) or not {0, self._width}.issuperset(map(len, rows)):
            return None
        self._record += sum(map(bool, rows))
        self._first_line += len(lines)  # which the parser of single rows has not seen
        return rows

    def _read_row(self) -> list[str]:
        try:
            fields = next(self._parser)
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
        return fields

    def _where(self, record: int) -> str:
        return f"record {record} (up to line {self._first_line + self._parser.line_num}) of {self._lines.name}"

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the rows that are left with all their fields; a name that comes again is numbered."""
        before = [self._names[:place].count(name) for place, name in enumerate(self._names)]
        names = [f"{name} ({more + 1})" if more else name for name, more in zip(self._names, before, strict=True)]
        for block in self.blocks():
            rows = block.rows if isinstance(block, TableBlock) else []
            yield [dict(zip(names, row, strict=True)) for row in rows if row], self.bytes_done(block.end)

    def _block(self, rows: list[list[str]], endings: list[str], end: Position) -> Block:
        records: list[list[str | Document]] = [[row[place] for place in self._places] for row in rows if row]
        if self._person is not None:
            people = [row[self._person] for row in rows if row]
            records = [of_person(record, person) for record, person in zip(records, people, strict=True)]
        return TableBlock(end, records, rows, endings, self._places, self._delimiter, self._names)


def _endings(lines: list[str], data: bytes) -> list[str]:
    """Return how each line ends."""
    if b"\r" in data:
        return list(map(ending, lines))
    return ["\n"] * (len(lines) - 1) + [ending(lines[-1])]


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
