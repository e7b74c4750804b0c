"""The formats, and how to tell which one a file has."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from wordveil.errors import WordveilError
from wordveil.io.reader import Reader
from wordveil.io.records import Position, Reading
from wordveil.io.writer import FileWriter

__all__ = ["FORMATS", "Format", "format_named", "format_of"]


@dataclass(frozen=True)
class Format:
    """A format in and out.

    Parameters
    ----------
    name : str
        What ``--format`` calls it.
    extensions : tuple of str
        How the names of its files end.
    reader : str
        Its reader, as module and class: it is imported when it is used, since some take long to import.
    writer : str
        Its writer, where a plain file will not do.
    streams : bool
        Whether it can be read from and written to a pipe.
    """

    name: str
    extensions: tuple[str, ...]
    reader: str
    writer: str = ""
    streams: bool = True

    @property
    def has_columns(self) -> bool:
        """Whether its records have columns."""
        return self.name != "text"

    def open_reader(self, path: Path | None, reading: Reading, start: Position | None = None) -> Reader:
        """Open a file (None: standard input) to read records, from the beginning or from a position."""
        return cast("Reader", _imported(self.reader)(path, reading, start))

    def open_writer(self, part: Path, size: int, source: Path | None) -> FileWriter:
        """Open the file in the making for the records of `source`, and keep `size` bytes of it."""
        if not self.writer:
            return FileWriter(part, size)
        return cast("FileWriter", _imported(self.writer)(part, size, source))


def _imported(name: str) -> type:
    module, _, attribute = name.rpartition(".")
    return cast("type", getattr(importlib.import_module(module), attribute))


FORMATS = (
    Format("text", (".txt", ".text", ".md", ".log"), "wordveil.io.text_lines.TextReader"),
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
    names = ", ".join(form.name for form in FORMATS)
    raise WordveilError(f"there is no format {name!r}; choose one of {names}.")


def format_of(path: Path) -> Format | None:
    """Return the format that the extension of a file stands for, if any."""
    extension = path.suffix.lower()
    return next((form for form in FORMATS if extension in form.extensions), None)
