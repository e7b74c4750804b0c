"""The formats, and what they have in common: readers give blocks of records, and a block writes itself again."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wordveil.errors import InputError, OptionError
from wordveil.text import BATCH_WORDS, Document, Release

if TYPE_CHECKING:
    from wordveil.io.output import FileWriter

__all__ = [
    "FORMATS",
    "Block",
    "Format",
    "Position",
    "Reader",
    "Reading",
    "changed_since",
    "check_columns",
    "format_named",
    "format_of",
    "listed",
]

_BYTES_PER_WORD = 6  # English text, with the space after the word
_SHOWN_NAMES = 20
_SHOWN_LETTERS = 40


@dataclass(frozen=True)
class Reading:
    """How an input is to be read."""

    columns: tuple[str, ...] = ()  # to veil: of CSV or Parquet, or keys of JSON (a dot leads into an object)
    spans: str | None = None  # the key of JSON lines with one column that holds the offsets of what to veil
    encoding_errors: str = "strict"  # or "replace": put U+FFFD in the place of bytes that are not UTF-8
    batch_words: int = BATCH_WORDS  # read at once; it bounds the memory and how much work a crash can lose

    @property
    def batch_bytes(self) -> int:
        """The size of the input that holds about `batch_words` words."""
        return self.batch_words * _BYTES_PER_WORD


@dataclass(frozen=True)
class Position:
    """A place between two records, from which reading can go on, by what was read so far."""

    offset: int  # bytes, or rows for Parquet
    line: int  # 0 for Parquet
    record: int
    fingerprint: str  # digest of what was read, by which it is recognised


@dataclass
class Block(ABC):
    """Some records in a row, with what is needed to write them again around their new texts."""

    end: Position  # behind the last of them
    records: list[list[str | Document]]  # the texts of each to veil: one for each column that is not null

    def texts(self) -> Iterator[str | Document]:
        """Give the texts of all records in order."""
        for record in self.records:
            yield from record

    @abstractmethod
    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the block as it is to be written, with one release in place of each text."""


class Reader(ABC):
    """Reads one input in blocks of records, from the beginning or from a position.

    The blocks depend on the input and the options alone, not on where reading began.
    """

    preamble: bytes = b""  # what stands before the first record and is written as it is: a byte order mark, a header

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read the records that are left."""

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
    writer: str = "wordveil.io.output.FileWriter"
    streams: bool = True  # whether it can be read from and written to a pipe

    @property
    def has_columns(self) -> bool:
        """Whether its records have columns."""
        return self.name != "text"

    def open_reader(self, path: Path | None, reading: Reading, start: Position | None = None) -> Reader:
        """Open a file (None: standard input) to read records, from the beginning or from a position."""
        return cast("Reader", _imported(self.reader)(path, reading, start))

    def open_writer(self, part: Path, size: int, source: Path | None) -> FileWriter:
        """Open the unfinished file for the records of `source`, and keep `size` bytes of it."""
        return cast("FileWriter", _imported(self.writer)(part, size, source))


def _imported(name: str) -> type:
    module, _, attribute = name.rpartition(".")
    return cast("type", getattr(importlib.import_module(module), attribute))


FORMATS = (
    Format("text", (".txt", ".text", ".md", ".log"), "wordveil.io.lines.TextReader"),
    Format("csv", (".csv",), "wordveil.io.tables.CsvReader"),
    Format("tsv", (".tsv", ".tab"), "wordveil.io.tables.TsvReader"),
    Format("jsonl", (".jsonl", ".ndjson"), "wordveil.io.json_lines.JsonReader"),
    Format(
        "parquet",
        (".parquet", ".pq"),
        "wordveil.io.parquet.ParquetReader",
        "wordveil.io.parquet.ParquetWriter",
        streams=False,
    ),
)


def format_named(name: str) -> Format:
    """Return the format of this name."""
    for form in FORMATS:
        if form.name == name:
            return form
    raise OptionError(f"unknown format {name!r}; choose one of {', '.join(form.name for form in FORMATS)}.")


def format_of(path: Path) -> Format | None:
    """Return the format that the extension of a file stands for, if any."""
    extension = path.suffix.lower()
    return next((form for form in FORMATS if extension in form.extensions), None)


def listed(names: Iterable[str]) -> str:
    """Return column names as a phrase, cut where there are many or long ones."""
    names = list(names)
    cut = [name[:_SHOWN_LETTERS] + "…" * (len(name) > _SHOWN_LETTERS) for name in names[:_SHOWN_NAMES]]
    shown = [name if name.isprintable() else repr(name) for name in cut]  # a terminal obeys some characters
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(shown) + more


def check_columns(source: str, asked: Iterable[str], there: Iterable[str]) -> None:
    """Refuse, of the columns `there` in an input, to veil none, one that is missing or one that is there twice."""
    asked, there = list(asked), list(there)
    if not asked:
        raise OptionError(f"use `columns` to choose which columns of {source} to veil; it has: {listed(there)}.")
    for column in asked:
        if column not in there:
            raise InputError(f"{source} has no column {column!r}; it has: {listed(there)}.")
        if there.count(column) > 1:
            raise InputError(
                f"{source} has several columns named {column!r}; rename them, so that none stays unveiled."
            )


def changed_since(source: Path | str) -> InputError:
    """Return the error for an input that is not the one that a job was begun with."""
    return InputError(
        f"{source} has changed since the job began, so the job cannot be resumed; start again with `overwrite` "
        "instead of `resume`."
    )
