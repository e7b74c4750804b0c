"""Excel workbooks: a record is a row of one sheet, whose first row names the columns.

A new workbook is written from the values of the sheet alone. A formula may hold text of the veiled column, and so may
its result, a comment, another sheet or the table of strings; none of them is carried over.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs
from wordveil.io.formats import Block, Position, Reading, Written, check_columns, listed, of_person
from wordveil.io.whole import OfficeReader, OfficeWriter
from wordveil.text import Document

__all__ = ["WorkbookReader", "WorkbookWriter"]

_CELL_BYTES = 16  # about what a cell takes that is not veiled
_TIMES: dict[str, Any] = {"datetime": datetime, "date": date, "time": time}
_LONGEST_TEXT = 32767  # characters in a cell

Value = list[Any] | None  # what kind a value is, the value, and the format of a number; None is an empty cell


@dataclass
class WorkbookBlock(Block):
    """Rows of a sheet, and which of their cells to replace."""

    rows: list[list[Value]]
    places: list[int]

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the rows with the new texts in their cells, as lines of JSON."""
        texts = iter(releases)
        lines = []
        for row in self.rows:
            cells = list(row)
            for place in self.places:
                if cells[place] is not None:
                    cells[place] = ["text", next(texts).text]
            lines.append(json.dumps(cells) + "\n")
        return "".join(lines).encode()


class WorkbookReader(OfficeReader):
    """Reads the rows of a sheet; the table of strings of the workbook is held in memory."""

    title = "an Excel workbook (.xlsx)"
    _cells: Generator[list[Value], None, None] | None = None

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        needs("openpyxl", "xlsx", "an Excel workbook")
        super().__init__(path, reading, start)
        import openpyxl  # noqa: PLC0415 - an extra

        with self._understood():
            self._book = openpyxl.load_workbook(self._path, read_only=True, keep_links=False)
        try:
            self._sheet = self._chosen()
            self._sheet.reset_dimensions()  # some programs state them wrongly, and cells would be missing
            self._cells = cells = self._read_cells()
            header = next(cells, None)
            if not header:
                raise InputError(f"the sheet of {path} does not begin with a header.")
            names = ["" if cell is None else str(cell[1]) for cell in header]
            if not reading.every_column:
                check_columns(str(path), reading.columns, names)
                check_columns(str(path), reading.needed, names)
            self._width, self._places = len(names), [names.index(column) for column in reading.columns]
            self.names = names
            self._person = None if reading.person is None else names.index(reading.person)
            self.preamble = (json.dumps(self._sheet.title) + "\n" + json.dumps(header) + "\n").encode()
        except BaseException:
            self.close()
            raise

    def _chosen(self) -> Any:
        with self._understood():
            sheets = {sheet.title: sheet for sheet in self._book.worksheets}
        wanted = self._reading.sheet
        if wanted is None and len(sheets) == 1:
            return next(iter(sheets.values()))
        if wanted is None:
            raise OptionError(
                f"{self._path} has several sheets ({listed(sheets)}): choose one with `sheet`, or save it as a "
                "workbook of its own."
            )
        if wanted not in sheets:
            raise InputError(f"{self._path} has no sheet {wanted!r}; it has: {listed(sheets)}.")
        return sheets[wanted]

    def _read_cells(self) -> Generator[list[Value], None, None]:
        rows = self._sheet.iter_rows()
        try:
            while True:
                with self._understood():
                    row = next(rows, None)
                    cells = None if row is None else [_value(cell) for cell in row]
                if cells is None:
                    return
                yield cells
        finally:
            rows.close()  # it holds a file open

    def blocks(self) -> Iterator[Block]:
        """Read the rows that are left."""
        left = self._cells or iter(())
        for _ in range(self._row):
            next(left, None)
        rows: list[list[Value]] = []
        records: list[list[str | Document]] = []
        room = self._reading.batch_bytes
        for read in left:
            cells = read + [None] * (self._width - len(read))
            self._row, self._record = self._row + 1, self._record + 1
            if any(cells[self._width :]):
                raise InputError(f"row {self._row + 1} of {self._path} has more cells than the header.")
            texts = [self._text(cells, place) for place in self._places if cells[place]]
            rows.append(cells[: self._width])
            whose = None if self._person is None or not cells[self._person] else self._text(cells, self._person)
            records.append(of_person(texts, whose))
            room -= sum(len(text) for text in texts) + _CELL_BYTES * self._width
            if room <= 0:
                yield WorkbookBlock(self._position(), records, rows, self._places)
                rows, records, room = [], [], self._reading.batch_bytes
        if rows:
            yield WorkbookBlock(self._position(), records, rows, self._places)

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the rows that are left with all their values, but for formulas."""
        for block in self.blocks():
            rows = block.rows if isinstance(block, WorkbookBlock) else []
            shown = ([None if cell is None or cell[0] == "formula" else str(cell[1]) for cell in row] for row in rows)
            yield [dict(zip(self.names, row, strict=True)) for row in shown], self.bytes_done(block.end)

    def _text(self, cells: list[Value], place: int) -> str:
        """Return what stands in a cell that will be veiled, or that says whose a row is, whatever kind it is of."""
        kind, value, *_ = cells[place] or ["text", ""]
        if kind == "formula":
            raise InputError(
                f"row {self._row + 1} of {self._path} has a formula in a column to veil or of people; paste the column "
                "as values."
            )
        return str(value)

    def close(self) -> None:
        """Close the workbook."""
        if self._cells is not None:
            self._cells.close()
        self._book.close()


def _value(cell: Any) -> Value:  # noqa: PLR0911 - one for each kind of cell
    """Return the value of a cell in a form that JSON can hold."""
    value, kind = cell.value, cell.data_type
    if value is None or kind == "e":  # an error is the result of a formula
        return None
    if kind == "f":
        return ["formula", ""]
    if isinstance(value, bool):
        return ["truth", value]
    if isinstance(value, (int, float)):
        return ["number", value, cell.number_format]
    if isinstance(value, timedelta):
        return ["span", value.total_seconds(), cell.number_format]
    for name, known in _TIMES.items():
        if type(value) is known:
            return [name, value.isoformat(), cell.number_format]
    return ["text", str(value)]


class WorkbookWriter(OfficeWriter):
    """Makes the rows a workbook of one sheet."""

    def _write(self, rows: Iterator[Any], written: BinaryIO) -> None:
        import openpyxl  # noqa: PLC0415 - an extra
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, WriteOnlyCell  # noqa: PLC0415

        book = openpyxl.Workbook(write_only=True)
        book.properties.creator = "wordveil"
        sheet = book.create_sheet(next(rows))

        def made(value: Value) -> Any:
            if value is None or value[0] == "formula":
                return None
            kind, plain, *form = value
            if kind == "text":
                cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", plain)[:_LONGEST_TEXT])
                cell.data_type = "s"  # also where it looks like a formula
                return cell
            if kind == "span":
                plain = timedelta(seconds=plain)
            elif kind in _TIMES:
                plain = _TIMES[kind].fromisoformat(plain)
            cell = WriteOnlyCell(sheet, plain)
            if form:
                cell.number_format = form[0]
            return cell

        for row in rows:
            sheet.append([made(value) for value in row])
        book.save(written)
