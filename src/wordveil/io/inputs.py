"""Which inputs a job has, and what becomes of each."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from wordveil.errors import InputError, OptionError
from wordveil.files import file_errors
from wordveil.io.formats import FORMATS, Format, Reading, format_named, format_of

__all__ = ["Piece", "Plan", "check_fits", "make_plan"]


@dataclass(frozen=True)
class Piece:
    """One input of a job."""

    place: Path | str | None  # None is standard input; one of many files here is text, as a path for each takes long
    name: str  # its path within the folder that is written; empty if a file is written
    format: Format
    found: os.stat_result | None = field(
        default=None, compare=False, repr=False
    )  # of a file in a folder, as it was then
    is_link: bool | None = field(default=None, compare=False, repr=False)  # then, if that is known

    @cached_property
    def source(self) -> Path | None:
        """Where it is; None for standard input."""
        return Path(self.place) if isinstance(self.place, str) else self.place

    @cached_property
    def _looked_up(self) -> os.stat_result | None:
        try:
            return None if self.source is None else self.source.stat()
        except OSError:  # it was there a moment ago; whoever reads it says so
            return None

    @property
    def is_stream(self) -> bool:
        """Whether it can be read only once: standard input, a pipe, a device."""
        if self.found is not None:
            return False
        state = self._looked_up
        return state is None or not stat.S_ISREG(state.st_mode)

    @property
    def size(self) -> int:
        """How many bytes it had when that was first asked, 0 if that is not known."""
        if self.found is not None:
            return self.found.st_size
        state = self._looked_up
        return state.st_size if state is not None and stat.S_ISREG(state.st_mode) else 0


@dataclass(frozen=True)
class Plan:
    """The inputs of a job in order."""

    pieces: tuple[Piece, ...]
    folder: Path | None = None  # the input, if it is a folder
    is_many: bool = False  # whether the output is a folder: the input is one, or several files
    skipped: tuple[str, ...] = ()  # paths within the folder that are not read: no known extension, or empty

    @property
    def size(self) -> int:
        """How many bytes all inputs have, as far as that is known."""
        return sum(piece.size for piece in self.pieces)


def make_plan(source: Path | Sequence[Path] | None, format_name: str | None = None) -> Plan:
    """Find the inputs: files, files of known extensions at any depth of a folder, or (None) standard input.

    Without a format, standard input is text, and the extension of a file says what it is. With one, only the files of a
    folder that have its extension are read.
    """
    named = format_named(format_name) if format_name else None
    if isinstance(source, Sequence):
        if len(source) > 1:
            return _files_plan(source, named)
        source = source[0]
    if source is not None and _is_folder(source):
        if not isinstance(source, Path):
            raise OptionError(f"{source} is a folder, and only single files are read from another place.")
        return _folder_plan(source, named)
    return Plan((_piece(source, "", named),))


def _is_folder(source: Path) -> bool:
    with file_errors("read", source):
        return stat.S_ISDIR(source.stat().st_mode)


def _piece(source: Path | None, name: str, named: Format | None) -> Piece:
    form = named or (format_named("text") if source is None else format_of(source))
    if form is None:
        names = ", ".join(form.name for form in FORMATS)
        raise OptionError(f"the extension of {source} does not tell its format; set `format` to one of {names}.")
    piece = Piece(source, name, form)
    if not form.streams and (piece.is_stream or not isinstance(source, Path)):
        raise InputError(f"{form.title} cannot be read from a stream or from elsewhere; give a file here.")
    return piece


def _files_plan(sources: Sequence[Path], named: Format | None) -> Plan:
    names = [source.name for source in sources]
    for source in sources:
        if _is_folder(source):
            raise OptionError(f"{source} is a folder; give one folder, or several files.")
        if names.count(source.name) > 1:
            raise OptionError(f"several inputs are named {source.name}; rename them, as the output has these names.")
    return Plan(tuple(_piece(source, source.name, named) for source in sources), is_many=True)


def _folder_plan(folder: Path, named: Format | None) -> Plan:
    pieces, skipped = [], []
    for name, entry in _files(folder):
        form = format_of(entry.name)
        state = None if form is None or (named and form is not named) else _content_of(entry)
        if form is None or state is None:
            skipped.append(name)
        else:
            pieces.append(Piece(entry.path, name, form, state, entry.is_symlink()))
    if not pieces:
        formats = [named] if named else FORMATS
        extensions = " ".join(extension for form in formats for extension in form.extensions)
        raise InputError(f"the folder {folder} has no file that ends in {extensions}, or all of them are empty.")
    return Plan(tuple(pieces), folder, True, tuple(skipped))


def _content_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return what a path leads to, if it is a file and not empty."""
    try:
        state = entry.stat()
    except OSError:  # a link to nothing
        return None
    return state if stat.S_ISREG(state.st_mode) and state.st_size > 0 else None


def _files(folder: Path) -> list[tuple[str, os.DirEntry[str]]]:
    """Return all files below a folder, and links to folders, with their names within it, in the order of these."""
    found, left = list[tuple[str, "os.DirEntry[str]"]](), [(str(folder), "")]
    with file_errors("read", folder):
        while left:
            place, before = left.pop()
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append((entry.path, f"{before}{entry.name}/"))
                    else:
                        found.append((before + entry.name, entry))
    return sorted(found, key=itemgetter(0))


def check_fits(plan: Plan, reading: Reading) -> None:
    """Refuse ways of reading that none of the inputs has a use for."""
    formats = [piece.format for piece in plan.pieces]
    if reading.spans is not None:
        if any(form.name not in ("json", "jsonl") for form in formats):
            raise OptionError("`spans` are read from JSON only; leave them out.")
        if len(reading.columns) != 1:
            raise OptionError("`spans` belong to one text; choose one column in `columns`.")
    if reading.encoding != "utf-8" and not any(form.is_encoded for form in formats):
        raise OptionError("the input says itself how its text is encoded; leave out `encoding`.")
    # a column of text in Parquet is UTF-8 by its own word, which nobody checked when it was written
    if reading.encoding_errors != "strict" and not any(form.is_encoded or form.name == "parquet" for form in formats):
        raise OptionError("the input says itself how its text is encoded; leave out `encoding_errors`.")
    if reading.sheet is not None and not any(form.name == "xlsx" for form in formats):
        raise OptionError("only a workbook has sheets; leave out `sheet`.")
    if reading.header not in ("check", "yes", "no"):
        raise OptionError(f"`header` cannot be {reading.header!r}; choose check, yes or no.")
    # A workbook is written from the values of its sheet, and its first row always names them.
    with_header = ("csv", "tsv", "xlsx") if reading.header == "yes" else ("csv", "tsv")
    if reading.header != "check" and not any(form.name in with_header for form in formats):
        raise OptionError(f"`header='{reading.header}'` is only for {' and '.join(with_header)}; leave it out.")
    if reading.missing not in ("refuse", "pass"):
        raise OptionError(f"`missing` cannot be {reading.missing!r}; choose refuse or pass.")
    if reading.missing != "refuse" and not any("json" in form.name for form in formats):
        raise OptionError("`missing` is about the keys of JSON; leave it out.")
