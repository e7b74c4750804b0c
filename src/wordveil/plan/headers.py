"""Whether the first line of a table names its columns, or is a record that would be released as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice

from wordveil.errors import InputError
from wordveil.io import Plan, Reading
from wordveil.plan.columns import form_of

__all__ = ["TABLES", "Header", "check_header", "header_of", "headers"]

#: Formats whose first line names the columns.
TABLES = ("csv", "tsv", "xlsx")
_LOOKED_AT = 200  # records
_FILES = 20  # of a folder
_NEARLY_ALL = 0.9  # of the values of a column have its form
_SENTENCE = 5  # words; a name with this many may be a text


class Header(Enum):
    """What the first line of a table looks like."""

    NAMES = "names"
    DOUBTFUL = "doubtful"
    RECORD = "a record"


def header_of(names: Sequence[str], rows: Sequence[Mapping[str, str | None]]) -> Header:
    """Tell what a first line looks like by the records below it.

    A date, an address or a fraction above a column of such values is one of them. A whole number or a code above such
    values, a word that comes again below, and a sentence above sentences may be a name all the same: two of these make
    a record, and one a doubt. Whole numbers that grow from column to column are taken for years and the like.
    """
    rows = [row for row in rows if list(row.values()) != list(names)]  # the header again, as of files put together
    numbers = [int(name) for name in names if name.strip().isdecimal()]
    are_years = len(numbers) > 1 and numbers == sorted(set(numbers))
    hints = 0
    for column in names:
        values = [value.strip() for row in rows if (value := row.get(column)) and value.strip()]
        name = column.strip()
        form = form_of(name)
        if not values or not name:
            continue
        if form and sum(form_of(value) == form for value in values) >= _NEARLY_ALL * len(values):
            if not (name.isdecimal() or form.startswith("code")):
                return Header.RECORD
            hints += not (name.isdecimal() and are_years)
        elif values.count(name) > 1:
            hints += 1
        elif len(name.split()) >= _SENTENCE and not name.endswith("?"):
            hints += sum(len(value.split()) >= _SENTENCE for value in values) > 0.5 * len(values)
    return Header.RECORD if hints > 1 else Header.DOUBTFUL if hints else Header.NAMES


def headers(plan: Plan, reading: Reading) -> Iterator[tuple[str, Header]]:
    """Give the tables of an input that can be read twice, and what the first line of each looks like."""
    every = replace(reading, columns=(), spans=None, person=None, every_column=True)
    tables = (piece for piece in plan.pieces if piece.format.name in TABLES and not piece.is_stream)
    for piece in islice(tables, _FILES):
        with piece.format.open_reader(piece.source, every) as reader:
            rows = list(islice((row for some, _ in reader.look() for row in some), _LOOKED_AT))
        yield str(piece.source), header_of(list(rows[0]) if rows else [], rows)


def check_header(source: object, found: Header) -> None:
    """Refuse a record in the place of a header: it would be released as it is, and shown as names."""
    if found is Header.RECORD:
        raise InputError(
            f"the first line of {source} looks like a record and not like the names of columns, and would be released "
            "as it is: put a line with names before it, or rename the columns that look like values."
        )
