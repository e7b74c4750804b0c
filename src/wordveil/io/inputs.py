"""Which inputs a job has, and what becomes of each."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from wordveil.errors import InputError, OptionError
from wordveil.files import file_errors
from wordveil.io.formats import FORMATS, Format, format_named, format_of

__all__ = ["Piece", "Plan", "make_plan"]


@dataclass(frozen=True)
class Piece:
    """One input of a job."""

    source: Path | None  # None is standard input
    name: str  # its path within the input folder; empty if the input is no folder
    format: Format

    @property
    def is_stream(self) -> bool:
        """Whether it can be read only once: standard input, a pipe, a device."""
        return self.source is None or not self.source.is_file()

    @property
    def size(self) -> int:
        """How many bytes it has now, 0 if that is not known."""
        try:
            return 0 if self.source is None or self.is_stream else self.source.stat().st_size
        except OSError:  # it was there a moment ago; whoever reads it says so
            return 0


@dataclass(frozen=True)
class Plan:
    """The inputs of a job in order."""

    pieces: tuple[Piece, ...]
    folder: Path | None = None  # the input, if it is a folder
    skipped: tuple[str, ...] = ()  # paths within the folder that are not read: no known extension, or empty

    @property
    def size(self) -> int:
        """How many bytes all inputs have, as far as that is known."""
        return sum(piece.size for piece in self.pieces)


def make_plan(source: Path | None, format_name: str | None = None) -> Plan:
    """Find the inputs: a file, files of known extensions at any depth of a folder, or (None) standard input.

    Without a format, standard input is text, and the extension of a file says what it is. With one, only the files of a
    folder that have its extension are read.
    """
    named = format_named(format_name) if format_name else None
    if source is None:
        form: Format | None = named or format_named("text")
    else:
        with file_errors("read", source):
            is_folder = stat.S_ISDIR(source.stat().st_mode)
        if is_folder:
            return _folder_plan(source, named)
        form = named or format_of(source)
    if form is None:
        names = ", ".join(form.name for form in FORMATS)
        raise OptionError(f"the extension of {source} does not tell its format; set `format` to one of {names}.")
    piece = Piece(source, "", form)
    if piece.is_stream and not form.streams:
        raise InputError("Parquet cannot be read from a stream; give the name of a file.")
    return Plan((piece,))


def _folder_plan(folder: Path, named: Format | None) -> Plan:
    pieces, skipped = [], []
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        form = format_of(path)
        if form is None or (named and form is not named) or not path.is_file() or path.stat().st_size == 0:
            skipped.append(name)
        else:
            pieces.append(Piece(path, name, form))
    if not pieces:
        formats = [named] if named else FORMATS
        extensions = " ".join(extension for form in formats for extension in form.extensions)
        raise InputError(f"the folder {folder} has no file that ends in {extensions}, or all of them are empty.")
    return Plan(tuple(pieces), folder, tuple(skipped))


def _files(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    with file_errors("read", folder):
        found = []
        for place, folders, names in os.walk(folder, onerror=refuse):
            links = [name for name in folders if Path(place, name).is_symlink()]  # not followed, but told
            found += [Path(place, name) for name in (*names, *links)]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())
