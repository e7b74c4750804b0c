"""Small files of plain text, many of them in one block: to cut and to veil each by itself takes far longer."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from wordveil.io.formats import Position, Reading
from wordveil.io.inputs import Piece
from wordveil.io.lines import TextBlock, is_text
from wordveil.io.streams import begins_plainly
from wordveil.text.flow import Texts

__all__ = ["SmallFiles", "may_be_plain", "read_plain", "seems_plain"]

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_BEGINNING = 4  # bytes


def may_be_plain(piece: Piece, reading: Reading) -> bool:
    """Whether an input may be a file of text that can be read as it is, by what is known without opening it."""
    is_read_so = not reading.columns and reading.encoding == "utf-8" and reading.encoding_errors == "strict"
    return is_read_so and piece.format.name == "text" and isinstance(piece.source, Path)


def seems_plain(path: Path) -> bool:
    """Whether a file can be read and begins as plain text does; whoever opens it will say what else it is, or why."""
    try:
        handle = os.open(path, _FLAGS)
        try:
            start = os.read(handle, _BEGINNING)
        finally:
            os.close(handle)
    except OSError:
        return False
    return bool(start) and begins_plainly(start)


def read_plain(path: Path) -> tuple[bytes, os.stat_result] | None:
    """Return a file of plain text and what was known of it then.

    None if it is anything else, or cannot be read, which its reader will tell about.
    """
    try:
        handle = os.open(path, _FLAGS)
        try:
            state = os.fstat(handle)
            data = os.read(handle, state.st_size + 1) if stat.S_ISREG(state.st_mode) else b""
            after = os.fstat(handle)
        finally:
            os.close(handle)
    except OSError:
        return None
    is_whole = len(data) == state.st_size == after.st_size and state.st_mtime_ns == after.st_mtime_ns
    is_plain = data and is_whole and begins_plainly(data) and b"\0" not in data and is_text(data)
    return (data, after) if is_plain else None


class SmallFiles(TextBlock):
    """The lines of some files, none of them empty, one behind the other."""

    def __init__(self, files: Sequence[bytes]) -> None:
        self._ends = np.cumsum([len(data) for data in files])
        super().__init__(Position(0, 0, 0, ""), b"".join(files))
        self.end = Position(0, 0, len(self._texts), "")

    @cached_property
    def _texts(self) -> Texts:
        signs = np.frombuffer(self._lines, np.uint8)
        breaks = np.flatnonzero(signs == ord("\n"))
        unended = self._ends[signs[self._ends - 1] != ord("\n")]
        ends = np.concatenate([unended, breaks])
        order = np.argsort(ends, kind="stable")  # a line that ends with its file comes before one that begins there
        ends, is_break = ends[order], order >= len(unended)
        starts = np.concatenate([[0], (ends + is_break)[:-1]])
        returns = (signs[np.maximum(ends - 1, 0)] == ord("\r")) & (ends > starts) & is_break
        return Texts(self._lines, starts, ends - returns)

    def cuts(self, texts: Texts) -> list[int]:
        """Return where each file ends once these are in the place of its lines."""
        firsts = np.searchsorted(self._texts.starts, self._ends[:-1])
        return [*texts.starts[firsts].tolist(), len(texts.data)]
