"""The formats, and what they have in common: readers give blocks of records, and a block writes itself again."""

from __future__ import annotations

import importlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.io.streams import packing_of
from wordveil.text import BATCH_WORDS, Document
from wordveil.text.flow import Texts

if TYPE_CHECKING:
    from wordveil.io.output import FileWriter

__all__ = [
    "FORMATS",
    "PLAIN_WRITER",
    "TABLES",
    "Block",
    "Format",
    "Position",
    "Reader",
    "Reading",
    "Written",
    "changed_since",
    "check_columns",
    "fields_of",
    "format_named",
    "format_of",
    "listed",
    "of_person",
]

#: What writes a format whose blocks are written one behind the other.
PLAIN_WRITER = "wordveil.io.output.FileWriter"
#: Formats whose first line names the columns.
TABLES = ("csv", "tsv", "xlsx")
_MOST_WORDS = 1 << 20  # that compiled code takes at once
_BYTES_PER_WORD = 6  # English text, with the space after the word
_SHOWN_NAMES = 20
_SHOWN_LETTERS = 40


@dataclass(frozen=True)
class Reading:
    """How an input is to be read."""

    columns: tuple[str, ...] = ()  # to veil: of CSV or Parquet, or keys of JSON (a dot leads into an object)
    spans: str | None = None  # the key of JSON lines with one column that holds the offsets of what to veil
    encoding_errors: str = "strict"  # or "replace": put U+FFFD in the place of bytes that are not text
    # Read at once; it bounds the memory and how much work a crash can lose. None: as many as suit those who veil them.
    batch_words: int | None = None
    encoding: str = "utf-8"  # of the text formats that are read; what is written is always UTF-8
    missing: str = "refuse"  # or "pass": what to do with a JSON record that lacks a key of `columns`
    sheet: str | None = None  # of a workbook; needed where it has several
    every_column: bool = False  # read all columns, for `Reader.look`; nothing can be veiled then
    # What the first line of a table is: names of columns, refused if they look like a record (check), names (yes), or
    # a record, and the columns are called 1, 2, … (no).
    header: str = "check"
    person: str | None = None  # the column or key that says whose record it is, where words are drawn once a person

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that must be there."""
        return self.columns if self.person is None else tuple(dict.fromkeys((*self.columns, self.person)))

    @property
    def batch_bytes(self) -> int:
        """The size of the input that holds about `batch_words` words."""
        return (self.batch_words or BATCH_WORDS) * _BYTES_PER_WORD

    def for_compiled(self, size: int, workers: int) -> Reading:
        """Return how so many bytes are read for compiled code, unless it is said how many words are read at once.

        The more there are at once, the fewer of them are different, and it needs no object for each. All workers get
        as many blocks, of one size, so that none is left with the last.
        """
        if self.batch_words is not None:
            return self
        rounds = math.ceil(size / (workers * _MOST_WORDS * _BYTES_PER_WORD)) or 1
        fair = math.ceil(size / (rounds * workers * _BYTES_PER_WORD))
        return replace(self, batch_words=max(fair, BATCH_WORDS))


@dataclass(frozen=True)
class Position:
    """A place between two records, from which reading can go on, by what was read so far."""

    offset: int  # bytes, or rows for Parquet
    line: int  # 0 for Parquet
    record: int
    fingerprint: str  # digest of what was read, by which it is recognised


class Written(Protocol):
    """A text to write: a `Release`, or the text alone."""

    @property
    def text(self) -> str:
        """The text."""


class _Plain(NamedTuple):
    text: str


@dataclass
class Block(ABC):
    """Some records in a row, with what is needed to write them again around their new texts."""

    end: Position  # behind the last of them
    records: list[list[str | Document]]  # the texts of each to veil: one for each column that is not null

    def texts(self) -> Iterator[str | Document]:
        """Give the texts of all records in order."""
        for record in self.records:
            yield from record

    @property
    def has_spans(self) -> bool:
        """Whether any of the texts comes with the places of its words: then what was replaced is asked for by place."""
        return Document in map(type, chain.from_iterable(self.records))

    @property
    def passed(self) -> int:
        """How many records lack a key to veil, and are passed on without it."""
        return 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many texts each record has."""
        return np.fromiter(map(len, self.records), np.int64, len(self.records))

    def together(self) -> Texts:
        """Return the texts of all records as bytes."""
        return Texts.of([text if isinstance(text, str) else text.text for text in self.texts()])

    def render_together(self, texts: Texts) -> bytes:
        """Return the block with these in the place of what `together` returned."""
        return self.render([_Plain(text) for text in texts])

    @abstractmethod
    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the block as it is to be written, with one release in place of each text."""


class Reader(ABC):
    """Reads one input in blocks of records, from the beginning or from a position.

    The blocks depend on the input and the options alone, not on where reading began.
    """

    names: Sequence[str] = ()  # of the columns, if there are any
    preamble: bytes = b""  # what stands before the first record and is written as it is: a byte order mark, a header

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read the records that are left."""

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the records that are left with all their fields by name, some at a time, and about how many bytes lie
        before the next; for a look at an input that is opened with `every_column`.

        A format without columns has the one field ``""``.
        """  # noqa: D205 - one sentence
        for block in self.blocks():
            texts = [[text if isinstance(text, str) else text.text for text in record] for record in block.records]
            yield [{"": "\n".join(record)} for record in texts], self.bytes_done(block.end)

    @abstractmethod
    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes of the input lie before `position`."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise if the input is no longer what it was when it was opened."""

    @abstractmethod
    def close(self) -> None:
        """Close the input."""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Format:
    """A format in and out; its reader and writer are imported when they are used, since some take long."""

    name: str
    extensions: tuple[str, ...]
    reader: str
    writer: str = PLAIN_WRITER
    streams: bool = True  # whether it can be read from and written to a pipe, and packed
    title: str = ""  # what it is called, to begin a sentence with
    is_encoded: bool = True  # whether its text may be in another encoding than UTF-8, which it does not say
    is_bytes: bool = False  # whether its texts are read and written without an object for each
    leaves_out: str = ""  # what of an input is not written, in a sentence

    @property
    def has_columns(self) -> bool:
        """Whether its records have columns."""
        return self.name not in ("text", "eml", "mbox", "docx")

    def open_reader(self, path: Path | None, reading: Reading, start: Position | None = None) -> Reader:
        """Open a file (None: standard input) to read records, from the beginning or from a position."""
        return cast("Reader", _imported(self.reader)(path, reading, start))

    def open_writer(self, part: Path, size: int, source: Path | None, target: Path | None = None) -> FileWriter:
        """Open the unfinished file for the records of `source`, and keep `size` bytes of it.

        The name of `target`, which it will have, says how it is packed.
        """
        return cast("FileWriter", _imported(self.writer)(part, size, source, target))


def _imported(name: str) -> type:
    module, _, attribute = name.rpartition(".")
    return cast("type", getattr(importlib.import_module(module), attribute))


_MAIL = (
    "Of mail only the subject and the text are written, both veiled: all other headers, attachments and other parts "
    "are left out."
)
FORMATS = (
    Format("text", (".txt", ".text", ".md", ".log"), "wordveil.io.lines.TextReader", is_bytes=True),
    Format("csv", (".csv",), "wordveil.io.tables.CsvReader", is_bytes=True),
    Format("tsv", (".tsv", ".tab"), "wordveil.io.tables.TsvReader", is_bytes=True),
    Format("jsonl", (".jsonl", ".ndjson"), "wordveil.io.json_lines.JsonReader"),
    Format("json", (".json",), "wordveil.io.json_arrays.JsonFileReader"),
    Format(
        "parquet",
        (".parquet", ".pq"),
        "wordveil.io.parquet.ParquetReader",
        "wordveil.io.parquet.ParquetWriter",
        streams=False,
        title="Parquet",
        is_encoded=False,
    ),
    Format(
        "xlsx",
        (".xlsx",),
        "wordveil.io.workbooks.WorkbookReader",
        "wordveil.io.workbooks.WorkbookWriter",
        streams=False,
        title="an Excel workbook",
        is_encoded=False,
        leaves_out="Of a workbook only the values of the sheet are written: formulas and their results, comments, "
        "other and hidden sheets, links, pictures, styles and properties are left out.",
    ),
    Format("eml", (".eml",), "wordveil.io.mail.MailReader", is_encoded=False, leaves_out=_MAIL),
    Format("mbox", (".mbox", ".mbx"), "wordveil.io.mail.MailboxReader", is_encoded=False, leaves_out=_MAIL),
    Format(
        "docx",
        (".docx",),
        "wordveil.io.documents.DocumentReader",
        "wordveil.io.documents.DocumentWriter",
        streams=False,
        title="a Word document",
        is_encoded=False,
        leaves_out="Of a document only the paragraphs and tables of its body are written: headers, footers, notes, "
        "comments, tracked changes, fields, pictures, formats and properties are left out.",
    ),
)


def format_named(name: str) -> Format:
    """Return the format of this name."""
    for form in FORMATS:
        if form.name == name:
            return form
    raise OptionError(f"unknown format {name!r}; choose one of {', '.join(form.name for form in FORMATS)}.")


def format_of(path: Path | str) -> Format | None:
    """Return the format that the extension of a file stands for, if any; it may be followed by one of a packed file."""
    name = path if isinstance(path, str) else path.name
    is_packed = bool(packing_of(name))
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - of many names, and no Path for each
    return _format_with((os.path.splitext(stem)[1] if is_packed else ending).lower(), is_packed)  # noqa: PTH122


@lru_cache
def _format_with(extension: str, is_packed: bool) -> Format | None:
    fitting = (form for form in FORMATS if extension in form.extensions and (form.streams or not is_packed))
    return next(fitting, None)


def listed(names: Iterable[str]) -> str:
    """Return column names as a phrase, cut where there are many or long ones."""
    names = list(names)
    cut = [name[:_SHOWN_LETTERS] + "…" * (len(name) > _SHOWN_LETTERS) for name in names[:_SHOWN_NAMES]]
    shown = [name if name.isprintable() else repr(name) for name in cut]  # a terminal obeys some characters
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(shown) + more


def fields_of(record: dict[str, Any]) -> dict[str, str | None]:
    r"""Return the values of a record as text, by their paths: ``a.b`` in an object, ``a[*].b`` through a list.

    What a list holds under one path is one text of several lines.

    Examples
    --------
    >>> fields_of({"id": 7, "from": {"name": "Ann"}, "says": [{"text": "Hi"}, {"text": "Bye"}]})
    {'id': '7', 'from.name': 'Ann', 'says[*].text': 'Hi\nBye'}
    """
    fields: dict[str, str | None] = {}
    for name, text in _leaves(record, ""):
        before = fields.get(name)
        fields[name] = text if before is None else before if text is None else f"{before}\n{text}"
    return fields


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, f"{name}[*]")
    else:
        yield name, None if value is None else str(value)


def check_columns(source: str, asked: Iterable[str], there: Iterable[str], *, may_be_text: bool = False) -> None:
    """Refuse, of the columns `there` in an input, to veil none, one that is missing or one that is there twice.

    If `may_be_text`, what should be a header may be the first record of a table without one, and no name is told but
    those that are almost asked for.
    """
    asked, there = list(asked), list(there)
    if not asked:
        which = "its first line names them" if may_be_text else f"it has: {listed(there)}"
        raise OptionError(f"use `columns` to choose from the columns of {source}; {which}.")
    for column in asked:
        if column not in there:
            which = f"; it has: {listed(there)}"
            if may_be_text:
                which = almost(column, there) or "; its first line must name its columns, unless you set `header` to no"
            raise InputError(f"{source} has no column {column!r}{which}.")
        if there.count(column) > 1:
            raise InputError(
                f"{source} has several columns named {column!r}; rename them, so that none stays unveiled."
            )


def almost(column: str, there: Iterable[str]) -> str:
    """Say which of the columns or keys may be meant by one that is missing; "" if none is like it.

    The others are not told: what should be names may be the first record of a table without a header, or people.
    """
    folded = {name.strip().casefold(): name for name in there}
    found = get_close_matches(column.strip().casefold(), folded, n=1, cutoff=0.75)
    return f"; it has {folded[found[0]]!r}" if found else ""


def of_person(texts: Iterable[str | Document], person: object) -> list[str | Document]:
    """Return the texts of a record as those of this person; if it says none, or an empty one, as they are."""
    if person is None or person == "":
        return list(texts)
    return [
        Document(text, scope=str(person)) if isinstance(text, str) else text._replace(scope=str(person))
        for text in texts
    ]


def changed_since(source: Path | str) -> InputError:
    """Return the error for an input that is not the one that a job was begun with."""
    return InputError(
        f"{source} has changed since the job began, so the job cannot be resumed; start again with `overwrite` "
        "instead of `resume`."
    )
