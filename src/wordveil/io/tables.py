"""Tables of separated values: CSV and TSV, with a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError
from wordveil.io.formats import Block, Position, Reading, Written, check_columns, of_person
from wordveil.io.lines import LONGEST, InLines, ending
from wordveil.kernels.lines import line_breaks
from wordveil.kernels.native import compiled
from wordveil.kernels.tables import can_separate, cut_table, ends_in_quotes, quote_cells
from wordveil.text import Document
from wordveil.text.flow import Texts

__all__ = ["CsvReader", "TsvReader"]

_LONGEST_HEADER = 1000  # lines
_LOOKED_AT = 1 << 16  # bytes of a table without a header, and what is left of the line
_SINGLY, _AT_ONCE = 100, 1 << 16  # lines of a row that are read singly, and bytes of those behind them
_TOO_LONG = f"is longer than {LONGEST >> 20} MiB; a quotation mark may not be closed."
_SEPARATOR_LINE = re.compile(rb'sep=[\x09\x20-\x7e]\r?|"sep=[\x09\x20-\x7e]"\r?', re.IGNORECASE)
_LONGEST_SEPARATOR_LINE = 9
_QUOTE, _TWO = '"', '""'


class TableBlock(Block):
    """Rows of a table as they are to be written, but for the cells to veil: what is in these stands there plainly.

    Parameters
    ----------
    end : Position
        Where the rows end.
    cells : Texts
        The cells to veil, between all else of the rows.
    form : Form
        How the rows are made.
    people : list of str, optional
        Whose each row is.
    """

    def __init__(self, end: Position, cells: Texts, form: Form, people: list[str] | None = None) -> None:
        self.end, self._cells, self._form, self._people = end, cells, form, people

    def together(self) -> Texts:
        """Return the cells to veil."""
        return self._cells

    @cached_property
    def records(self) -> list[list[str | Document]]:  # type: ignore[override] # made when it is asked for
        """The cells to veil of each row, in the order in which their columns were asked for."""
        texts, asked, each = list(self._cells), self._form.asked, len(self._form.places)
        rows: list[list[str | Document]] = [[texts[at + place] for place in asked] for at in range(0, len(texts), each)]
        if self._people is None:
            return rows
        return [of_person(row, person) for row, person in zip(rows, self._people, strict=True)]

    @property
    def has_spans(self) -> bool:
        """Whether any of the texts is somebody's: its words are drawn with those of others of theirs."""
        return self._people is not None and any(self._people)

    def columns(self) -> list[tuple[str, Sequence[str]]]:
        """Return the name of each column, which another may have, too, and its fields."""
        written = io.StringIO(self.render_together(self._cells).decode("utf-8"), newline="")
        rows = filter(None, csv.reader(written, delimiter=self._form.delimiter, strict=True))
        columns = list(zip(*rows, strict=True)) or [()] * self._form.width
        return list(zip(self._form.names, columns, strict=True))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many texts each record has."""
        each = len(self._form.places)
        return np.full(len(self._cells) // each, each, dtype=np.int64)

    def render_together(self, texts: Texts) -> bytes:
        """Return the rows with new texts in their cells, which stand between what stood between the old ones."""
        native = compiled()
        if native is None or not can_separate(self._form.delimiter):
            return self._with(list(texts))
        return quote_cells(native, *texts.parts, self._form.delimiter, alone=self._form.width == 1)

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the rows with new texts in their cells."""
        asked, each = self._form.asked, len(self._form.places)
        texts = [""] * len(self._cells)
        rows = range(0, len(texts), each)
        for release, at in zip(releases, (row + place for row in rows for place in asked), strict=True):
            texts[at] = release.text
        return self._with(texts)

    def _with(self, texts: Sequence[str]) -> bytes:
        """Return the rows with these in their cells, in the order of the cells; each is quoted where it must be."""
        cells, written, at = self._cells, list[bytes](), 0
        for text, start, end in zip(texts, cells.starts.tolist(), cells.ends.tolist(), strict=True):
            written += (cells.data[at:start], self._form.quoted([text])[0].encode("utf-8"))
            at = end
        return b"".join(written) + cells.data[at:]


@dataclass(frozen=True)
class Form:
    """How the rows of a table are made: what separates their fields, what these are, and which are to be veiled."""

    delimiter: str
    names: tuple[str, ...]
    places: tuple[int, ...]  # of those to be veiled; they rise
    asked: tuple[int, ...]  # which of these places each column that was asked for has

    @property
    def width(self) -> int:
        """How many fields a row has."""
        return len(self.names)

    def quoted(self, fields: Sequence[str]) -> list[str]:
        """Return fields as they are written: in quotation marks where they must be."""
        # As csv.writer does it, which looks at every letter of every field by itself.
        return [
            f'"{field.replace(_QUOTE, _TWO)}"'
            if self._needs_quotes(field) or (self.width == 1 and not field)
            else field
            for field in fields
        ]

    @cached_property
    def _needs_quotes(self) -> Callable[[str], object]:
        return re.compile(f'[{re.escape(self.delimiter)}"\r\n]').search

    def cells_of(self, rows: Sequence[list[str]], endings: Sequence[str]) -> Texts:
        """Return the cells of some rows that are to be veiled, between all else of them as it is to be written."""
        pieces, left = list[str](), ""  # cells, and what is before each
        for row, end in zip(rows, endings, strict=True):
            fields, at = self.quoted(row), 0
            for place in self.places if row else ():
                pieces += (left + self.delimiter.join([*fields[at:place], ""]), row[place])
                at = place + 1
                left = self.delimiter if at < self.width else ""
            left += self.delimiter.join(fields[at:]) + end
        texts = Texts.of([*pieces, left])
        return Texts(texts.data, texts.starts[1::2], texts.ends[1::2])


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
        if self._reading.header == "no":
            self._number_columns(header)
            return header
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
        self._take(readings[self._delimiter])
        return header

    def _take(self, names: list[str]) -> None:
        """Take the names of the columns."""
        self.names = names
        if not self._reading.every_column:
            may_be_text = self._reading.header != "no"
            check_columns(self._lines.name, self._reading.columns, names, may_be_text=may_be_text)
            check_columns(self._lines.name, self._reading.needed, names, may_be_text=may_be_text)
        asked = [names.index(column) for column in self._reading.columns]
        places = sorted(set(asked))
        self._form = Form(self._delimiter, tuple(names), tuple(places), tuple(map(places.index, asked)))
        self._person = None if self._reading.person is None else names.index(self._reading.person)

    def _number_columns(self, preamble: bytes) -> None:
        """Call the columns of a table without a header 1, 2, … after a look at its first records."""
        text, data = list[str](), b""
        while len(data) < _LOOKED_AT and (line := self._lines.read()):
            text.append(self._lines.decode(line))
            data += line
        if not any(line.strip("\r\n") for line in text):
            raise InputError(f"{self._lines.name} has no records.")
        widths = {one: width for one in self.delimiters if (width := _width(text, one))}
        several = [one for one in widths if widths[one] > 1]
        # Texts may all have one comma: if it were taken for a separator, what stands behind it would not be veiled.
        if not widths or len(several) > 1 or any(_is_prose(text, one) for one in several):
            raise InputError(
                f"what separates the fields of {self._lines.name} is not clear from its first records; put a line with "
                "names before them, or quote fields with a separator in them."
            )
        self._delimiter = several[0] if several else next(iter(widths))
        self._lines.begin_again(preamble, data)
        self._take([str(number + 1) for number in range(widths[self._delimiter])])

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
                    raise InputError(f"{self._where(self._record + 1)} {_TOO_LONG}")
                ahead.append(self._lines.decode(line))
                yield ahead[-1]
            if self._ahead is ahead:
                return

    def blocks(self) -> Iterator[Block]:
        """Read the rows that are left."""
        while data := self._lines.read_lines(self._reading.batch_bytes):
            data = self._whole(data)
            yield self._cut(data) or self._block(*self._rows(data))

    def _whole(self, data: bytes) -> bytes:
        """Return some lines with all of their last row, if compiled code can tell where it ends."""
        native, begin, parts = compiled(), self._lines.offset - len(data), [data]
        if native is None or not can_separate(self._delimiter):
            return data
        is_open, lines, looked_at = ends_in_quotes(native, data, self._delimiter), 0, _SINGLY
        while is_open:
            before = self._lines.line
            if lines >= looked_at:  # if its mark was forgotten, the next one most likely shows that
                looked_at *= 2
                self._check_rows(b"".join(parts))
            try:
                is_long = lines >= _SINGLY and self._lines.offset - begin < LONGEST - _AT_ONCE
                more = self._lines.read_without(b'"', _AT_ONCE) if is_long else self._lines.read()
                self._lines.decode(more)  # which refuses what is no text
            except InputError:
                self._check_rows(b"".join(parts))  # a row before is told of first, as without compiled code
                raise
            if not more or self._lines.offset - begin > LONGEST:
                record = self._check_rows(b"".join(parts))
                wrong = _TOO_LONG if more else "is malformed; check its quotation marks."
                raise InputError(f"record {record} (up to line {before}) of {self._lines.name} {wrong}")
            parts.append(more)
            lines += self._lines.line - before
            is_open = ends_in_quotes(native, more, self._delimiter, begins_there=True)
        return b"".join(parts)

    def _check_rows(self, data: bytes) -> int:
        """Raise what is wrong with a row of some lines but for the last, which goes on; return that one's number."""
        marked = data.rfind(b'"')  # what comes behind the line of the last mark is all in the last row
        lines = [line.decode("utf-8") for line in io.BytesIO(data[: data.find(b"\n", marked) + 1 or None])]
        before = self._first_line, self._parser, self._record
        self._first_line += self._parser.line_num
        self._parser = csv.reader(lines, delimiter=self._delimiter, strict=True)
        try:
            while True:
                self._read_row()
        except InputError:
            if self._parser.line_num < len(lines):
                raise
            return self._record + 1
        finally:
            self._first_line, self._parser, self._record = before

    def _cut(self, data: bytes) -> Block | None:
        """Cut the rows of some lines by compiled code; None where this must be left to Python."""
        native, form = compiled(), self._form
        if native is None or self._person is not None or not can_separate(form.delimiter):
            return None
        lines = line_breaks(data) + (not data.endswith(b"\n"))
        found = cut_table(native, data, form.delimiter, form.width, np.array(form.places, dtype=np.int64), lines)
        if found is None:
            return None
        rows, count, starts, ends = found
        self._record += count
        self._first_line += lines
        return TableBlock(self._lines.position(self._record), Texts(rows, starts, ends), form)

    def _rows(self, data: bytes) -> tuple[list[list[str]], list[str]]:
        """Return the rows of some lines and of what the last row needs of others, and how each ends."""
        lines = data.decode("utf-8").splitlines(keepends=True)
        if line_breaks(data) + (not data.endswith(b"\n")) != len(lines):  # other signs end lines for Python, too
            lines = [line.decode("utf-8") for line in io.BytesIO(data)]
        whole = self._rows_in(lines)
        if whole is not None:
            return whole, _endings(lines, data)
        self._ahead = lines
        begin, last = self._parser.line_num, self._parser.line_num + len(lines)
        self._row_begin = self._lines.offset - len(data)
        rows, endings = [], []
        while self._parser.line_num < last:
            rows.append(self._read_row())
            endings.append(ending(lines[self._parser.line_num - begin - 1]))
        return rows, endings

    def _rows_in(self, lines: list[str]) -> list[list[str]] | None:
        """Return the rows of some lines, all at once, if each line is a row and nothing is wrong with any."""
        try:
            rows = list(csv.reader(lines, delimiter=self._delimiter, strict=True))
        except csv.Error:
            return None  # the last may go on in the next line, or is told of with its place
        if len(rows) != len(lines) or not {0, self._form.width}.issuperset(map(len, rows)):
            return None
        self._record += sum(map(bool, rows))
        self._first_line += len(lines)  # which the parser of single rows has not seen
        return rows

    def _read_row(self) -> list[str]:
        try:
            fields = next(self._parser, None)
        except csv.Error:
            fields = None
        if fields is None:
            raise InputError(f"{self._where(self._record + 1)} is malformed; check its quotation marks.")
        if fields:
            self._record += 1
            if len(fields) != self._form.width:
                count = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
                raise InputError(f"{self._where(self._record)} has {count}, but the header has {self._form.width}.")
        return fields

    def _where(self, record: int) -> str:
        return f"record {record} (up to line {self._first_line + self._parser.line_num}) of {self._lines.name}"

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the rows that are left with all their fields; a name that comes again is numbered."""
        before = [self.names[:place].count(name) for place, name in enumerate(self.names)]
        names = [f"{name} ({more + 1})" if more else name for name, more in zip(self.names, before, strict=True)]
        while data := self._lines.read_lines(self._reading.batch_bytes):
            rows, _ = self._rows(self._whole(data))
            done = self.bytes_done(self._lines.position(self._record))
            yield [dict(zip(names, row, strict=True)) for row in rows if row], done

    def _block(self, rows: list[list[str]], endings: list[str]) -> Block:
        person = self._person
        people = None if person is None else [row[person] for row in rows if row]
        return TableBlock(self._lines.position(self._record), self._form.cells_of(rows, endings), self._form, people)


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


def _width(lines: Sequence[str], delimiter: str) -> int:
    """Return how many fields each of the first records has, 0 if that differs; the last may be cut."""
    rows, widths = csv.reader(lines, delimiter=delimiter, strict=True), set[int]()
    try:
        widths.update(len(row) for row in rows if row)
    except csv.Error:
        if rows.line_num < len(lines):
            return 0
    return widths.pop() if len(widths) == 1 else 0


def _is_prose(lines: Sequence[str], delimiter: str) -> bool:
    """Whether most fields behind such a sign begin with a space, as the parts of a sentence do."""
    behind = [field for row in csv.reader(lines, delimiter=delimiter) for field in row[1:]]
    return 2 * sum(field.startswith(" ") for field in behind) > len(behind)


class CsvReader(TableReader):
    """Reads CSV whose fields are separated by a comma, semicolon, bar or tab: the header shows which."""

    delimiters = ",;|\t"


class TsvReader(TableReader):
    """Reads CSV whose fields are separated by tabs."""

    delimiters = "\t"
