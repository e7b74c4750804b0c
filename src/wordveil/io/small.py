"""Small files of plain text, many of them in one block: to cut and to veil each by itself takes far longer."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.io.formats import Position, Reading
from wordveil.io.inputs import Piece
from wordveil.io.lines import TextBlock
from wordveil.io.streams import begins_plainly
from wordveil.kernels.lines import breaks_of_text
from wordveil.text import Counts
from wordveil.text.flow import Texts

__all__ = ["ReadAhead", "SmallFiles", "batches_of", "may_be_plain", "read_plain", "seems_plain"]

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_BEGINNING = 4  # bytes
_MOST = 1 << 14  # files that are veiled together
#: What of a file changes with it: a time may be set back, but not both.
_state_of = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")
_AHEAD, _BESIDE = 1 << 25, 1 << 10  # bytes that are held, and what one file takes beside what is in it, about


def batches_of(pieces: Sequence[Piece], size: int) -> Iterator[list[Piece]]:
    """Gather inputs until they have about so many bytes."""
    some, bytes_of = list[Piece](), 0
    for piece in pieces:
        some.append(piece)
        bytes_of += piece.size
        if bytes_of >= size or len(some) == _MOST:
            yield some
            some, bytes_of = [], 0
    if some:
        yield some


def may_be_plain(piece: Piece, reading: Reading) -> bool:
    """Whether an input may be a file of text that can be read as it is, by what is known without opening it."""
    is_read_so = not reading.columns and reading.encoding == "utf-8" and reading.encoding_errors == "strict"
    return is_read_so and piece.format.name == "text" and isinstance(piece.place, (str, Path))


class ReadAhead:
    """Small files of plain text that were read when they were looked at: to open each again takes longer than that.

    What has changed since, or was given no room, is read when its turn comes. What was known of a file is from when it
    was read, so that a resume sees what has changed since.
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[bytes, os.stat_result]] = {}
        self._left = _AHEAD

    def look(self, place: str | Path, size: int) -> bool:
        """Say whether a file can be read and is, or seems, plain text; whoever opens it will say what else it is."""
        if size + _BESIDE > self._left:
            return seems_plain(place)
        found = read_plain(place)
        if found is not None:
            self._held[str(place)] = found
            self._left -= len(found[0]) + _BESIDE
        return found is not None

    def read(self, place: str | Path) -> tuple[bytes, os.stat_result] | None:
        """Return the same as `read_plain` would now; what was held is forgotten."""
        held = self._held.pop(str(place), None)
        if held is None:
            return read_plain(place)
        self._left += len(held[0]) + _BESIDE
        return held if _is_same(place, held[1]) else read_plain(place)


def _is_same(place: str | Path, known: os.stat_result) -> bool:
    try:
        now = os.stat(place)  # noqa: PTH116 - of many files, and no Path for each
    except OSError:
        return False
    return _state_of(now) == _state_of(known)


def seems_plain(path: str | Path) -> bool:
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


def read_plain(path: str | Path) -> tuple[bytes, os.stat_result] | None:
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
    is_plain = data and is_whole and begins_plainly(data) and _is_text(data)
    return (data, after) if is_plain else None


def _is_text(data: bytes) -> bool:
    return (data.isascii() and b"\0" not in data) or breaks_of_text(data) is not None


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
        return [*texts.starts[self._firsts[1:]].tolist(), len(texts.data)]

    def left_alone(self, counts: NDArray[np.int64]) -> list[float]:
        """Return which share of the words of each file was left alone, by what was counted in its lines."""
        columns = Counts(*np.add.reduceat(counts, self._firsts, axis=0).T)
        shares: NDArray[np.float64] = columns.left_alone / np.maximum(columns.words, 1)
        return shares.tolist()

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """The number of the first line of each file: all have one."""
        return np.concatenate([[0], np.searchsorted(self._texts.starts, self._ends[:-1])])
