"""Embedding formats that list word by word: word2vec and fastText text, GloVe text, and word2vec binary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, SpaceError
from wordveil.spaces.formats.common import (
    Places,
    Vectors,
    check_finite,
    check_words,
    largest_content,
    opened,
    reserve,
    row_blocks,
    tell_counting,
    tell_reading,
)

_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_DECIMAL = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_RARE_BLANKS = (b"\v", b"\f", b"\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FLOAT = np.dtype("<f4")
_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 1 << 24
_LONGEST_HEADER = 100
_LONGEST_WORD = 1 << 16
_REPORTED = 1 << 12  # binary records between two reports of progress


def match_header(line: bytes) -> tuple[int, int] | None:
    """Return the numbers of words and of numbers per word, if the line is a word2vec header."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _read_header(path: Path, line: bytes, number_bytes: int) -> tuple[int, int]:
    """Read the header; raise an error if the file is too small for it, with `number_bytes` per number at least."""
    header = match_header(line)
    if header is None:
        raise SpaceError(
            f"{path}, line 1: not a word2vec header (the number of words and of numbers per word); "
            "add one, or read the file as GloVe text."
        )
    rows, dimension = header
    if not rows or not dimension:
        raise SpaceError(f"{path}, line 1: the header promises no words or no numbers; export it again.")
    if rows * (number_bytes * dimension + 2) - 1 > largest_content(path):
        raise FileError(
            f"{path}, line 1: the header promises {rows} words of {dimension} numbers, "
            "which do not fit into a file of this size; fetch or export it again."
        )
    return rows, dimension


def read_glove(path: Path) -> tuple[list[str], Vectors]:
    """Read text without a header; the first line determines how many numbers each word has.

    A word may contain spaces: the numbers are counted from the right.
    """
    lines, size = _measure(path)
    with opened(path) as handle:
        blocks = _line_blocks(handle, path)
        first = next(blocks, b"").removeprefix(_BYTE_ORDER_MARK)
        dimension = count_numbers(first.partition(b"\n")[0].split()[1:])
        if not dimension:
            raise SpaceError(
                f"{path}, line 1: not a word followed by numbers; "
                "give an embedding as GloVe or word2vec text, word2vec binary, .npz or .safetensors."
            )
        # A line takes at least 2·dimension + 2 bytes, which bounds the memory for a ragged file.
        room = min(lines, size // (2 * dimension + 2) + 1)
        table = _Table(path, room, dimension, header=False)
        return table.fill(chain([first], blocks))


def read_word2vec(path: Path) -> tuple[list[str], Vectors]:
    """Read text whose first line has the number of words and of numbers per word."""
    with opened(path) as handle:
        blocks = _line_blocks(handle, path)
        header, _, rest = next(blocks, b"").removeprefix(_BYTE_ORDER_MARK).partition(b"\n")
        rows, dimension = _read_header(path, header, number_bytes=2)
        return _Table(path, rows, dimension, header=True).fill(chain([rest], blocks))


def count_numbers(fields: list[bytes]) -> int:
    """Return how many of the last fields are numbers."""
    count = 0
    while count < len(fields) and _NUMBER.fullmatch(fields[-1 - count]):
        count += 1
    return count


def _measure(path: Path) -> tuple[int, int]:
    lines = size = 0
    last = b"\n"
    tell_counting(path, 0)
    with opened(path) as handle:
        while chunk := handle.read(_BLOCK_BYTES):
            lines += chunk.count(b"\n")
            size += len(chunk)
            last = chunk[-1:]
            tell_counting(path, size)
    return lines + (last != b"\n"), size


def _line_blocks(handle: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines, each ending in a line break."""
    rest = b""
    line = 1
    while chunk := handle.read(_BLOCK_BYTES):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            block = rest + chunk[:cut]
            rest = chunk[cut:]
            line += block.count(b"\n")
            yield block
        else:
            rest += chunk
            if len(rest) > _LONGEST_LINE:
                raise SpaceError(f"{path}, line {line}: too long for a word and its numbers; give a text file.")
    if rest:
        yield rest + b"\n"


class _Table:
    """Collects the words and numbers of blocks of lines."""

    def __init__(self, path: Path, rows: int, dimension: int, *, header: bool) -> None:
        self._path = path
        self._dimension = dimension
        self._header = header
        self._places = Places(str(path), "line", 2 if header else 1)
        self._vectors = reserve(path, rows, dimension)
        self._tell = tell_reading(path, rows, dimension)
        self._words: list[str] = []
        self._ended = False  # after a blank line, after which nothing may follow

    def fill(self, blocks: Iterable[bytes]) -> tuple[list[str], Vectors]:
        for lines in blocks:
            block = lines.replace(b"\r\n", b"\n").replace(b" \n", b"\n")
            words, numbers = self._parse_regular(block) or self._parse_any(block)
            start = len(self._words)
            self._words += words
            self._vectors[start : len(self._words)] = numbers
            here = replace(self._places, first=self._places.first + start)
            check_finite(self._vectors[start : len(self._words)], here)
            self._tell(len(self._words))
        found = len(self._words)
        if self._header and found < len(self._vectors):
            raise FileError(
                f"{self._path} ends after line {found + 1}, but its header promises {len(self._vectors)} words; "
                "fetch it again if it was cut short, or correct the header."
            )
        check_words(self._words, self._places)
        return self._words, self._vectors[:found]

    def _parse_regular(self, block: bytes) -> tuple[list[str], NDArray[np.float32]] | None:
        """Parse a block of lines with one word and its numbers, separated by single spaces or tabs.

        Return None for any other block; `_parse_any` is slower and finds out what is wrong.
        """
        import pyarrow as pa  # noqa: PLC0415  (only text files need it, and it takes a while to import)

        if not block or self._ended or any(blank in block for blank in _RARE_BLANKS):
            return None
        block = block.replace(b"\t", b" ")
        signs = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero((signs == ord(" ")) | (signs == ord("\n")))
        count, columns = block.count(b"\n"), self._dimension + 1
        if ends.size != count * columns or len(self._words) + count > len(self._vectors):
            return None
        field_ends = ends.reshape(count, columns)
        line_ends = field_ends[:, -1]
        if (signs[line_ends] != ord("\n")).any():
            return None
        word_starts = np.concatenate(([0], line_ends[:-1] + 1))
        word_ends = field_ends[:, 0]
        if (word_starts == word_ends).any():
            return None

        # Arrow parses fields that are adjacent in one buffer; words count as missing values.
        offsets = np.zeros(ends.size + 1, np.int32)
        offsets[1:] = ends - np.arange(ends.size)
        present = np.ones((count, columns), bool)
        present[:, 0] = False
        fields = pa.StringArray.from_buffers(
            ends.size,
            pa.py_buffer(offsets),
            pa.py_buffer(block.translate(None, b" \n")),
            pa.py_buffer(np.packbits(present, bitorder="little")),
        )
        slices = zip(word_starts.tolist(), word_ends.tolist(), strict=True)
        try:
            words = b"\n".join(block[start:end] for start, end in slices).decode().split("\n")
            parsed = fields.cast(pa.float32())
        except ValueError:  # not UTF-8, or not a number
            return None
        return words, np.frombuffer(parsed.buffers()[1], np.float32, ends.size).reshape(count, columns)[:, 1:]

    def _parse_any(self, block: bytes) -> tuple[list[str], NDArray[np.float32]]:
        words: list[str] = []
        rows: list[list[float]] = []
        for line in block.split(b"\n")[:-1]:
            row = len(self._words) + len(words)
            if not line.strip():
                self._ended = True
                continue
            if self._ended:
                raise self._places.error(row, "an empty line; remove it")
            if row == len(self._vectors):
                if self._header:
                    problem = f"one word more than the {row} that the header promises"
                    raise self._places.error(row, f"{problem}; correct the first line or fetch the file again")
                raise FileError(f"{self._path} grew while it was being read; try again when it is complete.")
            word, numbers = self._split(line, row)
            words.append(word)
            rows.append(numbers)
        with np.errstate(over="ignore"):
            return words, np.array(rows, np.float64).reshape(len(rows), self._dimension).astype(np.float32)

    def _split(self, line: bytes, row: int) -> tuple[str, list[float]]:
        fields = line.rsplit(None, self._dimension)
        word, numbers = fields[0].lstrip(), fields[1:]
        count = count_numbers(numbers)
        # A word may contain spaces, but if a part of it is a number, the line rather has one number too many.
        extra = sum(_DECIMAL.fullmatch(part) is not None for part in word.split()[1:])
        mend = "correct the line or fetch the file again"
        if len(numbers) == count == self._dimension - 1 and line[:1].isspace() and _NUMBER.fullmatch(word):
            raise self._places.error(row, "no word before the numbers; remove the line or name the word")
        if any(_NUMBER.fullmatch(number) for number in numbers[: len(numbers) - count]):
            raise self._places.error(row, f"field {len(numbers) - count} after the word is not a number; {mend}")
        if extra and row == 0 and not self._header:  # the dimension was counted on this line, and is wrong
            raise self._places.error(row, f"not everything after the word is a number; {mend}")
        if extra or count != self._dimension:
            expected = "the header promises" if self._header else "line 1 has"
            raise self._places.error(row, f"{count + extra} numbers where {expected} {self._dimension}; {mend}")
        try:
            return word.decode(), [float(number) for number in numbers]
        except UnicodeDecodeError:
            raise self._places.error(row, "not valid UTF-8; convert the file to UTF-8") from None


def read_word2vec_binary(path: Path) -> tuple[list[str], Vectors]:
    """Read records, with or without a line break after each; programs differ in this."""
    places = Places(str(path), "record")
    words: list[str] = []
    with opened(path) as handle:
        header = handle.readline(_LONGEST_HEADER).removesuffix(b"\n")
        rows, dimension = _read_header(path, header, number_bytes=_FLOAT.itemsize)
        vectors = reserve(path, rows, dimension)
        report = tell_reading(path, rows, dimension)
        width = dimension * _FLOAT.itemsize
        buffer, start = b"", 0
        for row in range(rows):
            if row % _REPORTED == 0:
                report(row)
            while True:
                while buffer[start : start + 1] == b"\n":
                    start += 1
                space = buffer.find(b" ", start)
                if space >= 0 and space + 1 + width <= len(buffer):
                    break
                buffer, start = buffer[start:], 0
                chunk = handle.read(max(_BLOCK_BYTES, width))
                if not chunk:
                    raise FileError(
                        f"{path}, {places.short(row)}: the file ends before this record does, but its header promises "
                        f"{rows} records; it is cut short or the header is wrong, so fetch or export it again."
                    )
                if space < 0 and len(buffer) > _LONGEST_WORD:
                    raise _no_word(places, row)
                buffer += chunk
            try:
                words.append(buffer[start:space].decode())
            except UnicodeDecodeError:
                raise _no_word(places, row) from None
            vectors[row] = np.frombuffer(buffer, _FLOAT, dimension, space + 1)
            start = space + 1 + width
        if (buffer[start:] + handle.read(_BLOCK_BYTES)).strip(b"\n"):
            raise SpaceError(
                f"{path} goes on after record {rows}, the last that its header promises; "
                "the header is wrong, so export the file again."
            )
    check_words(words, places)
    check_finite(vectors, places)
    return words, vectors


def _no_word(places: Places, row: int) -> SpaceError:
    problem = "no UTF-8 word where one should begin; the file is damaged or its header has the wrong dimension"
    return places.error(row, f"{problem}, so fetch or export it again")


def write_glove(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write lines of a word and its numbers."""
    for row, word in enumerate(words):
        parts = word.encode().split()
        if (
            not parts
            or word[0].encode().isspace()
            or word[-1].encode().isspace()
            or any(_DECIMAL.fullmatch(part) for part in parts[1:])
            or (row == 0 and word.encode().startswith(_BYTE_ORDER_MARK))
        ):
            raise _unwritable(row, "GloVe text")
    with path.open("wb") as handle:
        _write_lines(handle, words, vectors)


def write_word2vec(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write a header, and lines of a word and its numbers."""
    for row, word in enumerate(words):
        if word.encode().split() != [word.encode()]:
            raise _unwritable(row, "word2vec text")
    with path.open("wb") as handle:
        handle.write(b"%d %d\n" % vectors.shape)
        _write_lines(handle, words, vectors)


def write_word2vec_binary(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write a header and the records, each followed by a line break as in word2vec itself."""
    for row, word in enumerate(words):
        if " " in word:
            raise _unwritable(row, "word2vec binary")
    with path.open("wb") as handle:
        handle.write(b"%d %d\n" % vectors.shape)
        for rows in row_blocks(vectors):
            pairs = zip(words[rows], vectors[rows].astype(_FLOAT), strict=True)
            handle.write(b"".join(b"%s %s\n" % (word.encode(), vector.tobytes()) for word, vector in pairs))


def _unwritable(row: int, form: str) -> SpaceError:
    return SpaceError(
        f"word {row + 1} contains spaces or numbers that {form} could not tell from its own; "
        "write .npz or .safetensors instead."
    )


def _write_lines(handle: BinaryIO, words: list[str], vectors: Vectors) -> None:
    line = "%s" + " %.9g" * vectors.shape[1] + "\n"  # nine digits identify every 32-bit float
    for rows in row_blocks(vectors):
        pairs = zip(words[rows], vectors[rows].tolist(), strict=True)
        handle.write("".join(line % (word, *numbers) for word, numbers in pairs).encode())
