"""Opens embedding files, and checks the words and vectors in them."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, SpaceError
from wordveil.parallel import blocks
from wordveil.progress import tell

#: Rows of float16 or float32.
Vectors: TypeAlias = NDArray[np.floating[Any]]

DEFLATE_RATIO = 1032  # the largest expansion of a deflate stream, which bounds what a header may promise
_GZIP_MAGIC = b"\x1f\x8b"
_QUOTED_LENGTH = 40
_BLOCK_NUMBERS = 1 << 20
_LARGE = 1 << 26  # bytes: larger files take a second or more to read
_OF_WORD = 300  # bytes of memory per word, beside its numbers
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; raise a FileError if it is neither a folder nor a file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"there is no file {path}; check the path.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise FileError(f"{path} is not a regular file; save the embedding to a file and give that.")
    return stat.S_ISDIR(mode)


def _unreadable(path: Path, error: Exception) -> FileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is not valid"
    return FileError(f"{path} cannot be read ({reason}); check the path and its permissions.")


def is_packed(content: bytes) -> bool:
    """Whether content is a gzip stream, by its first bytes."""
    return content.startswith(_GZIP_MAGIC)


def _is_gzipped(path: Path) -> bool:
    with path.open("rb") as handle:
        return is_packed(handle.read(len(_GZIP_MAGIC)))


@contextmanager
def opened(path: Path, *, packed: bool = True) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressing it if it is gzipped, whatever its name.

    Failures while reading inside the ``with`` block become a `FileError`. With ``packed=False`` the bytes are returned
    as they are.
    """
    if is_folder(path):
        raise FileError(f"{path} is a folder; give the file itself.")
    try:
        if packed and _is_gzipped(path):
            with gzip.open(path, "rb") as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            with path.open("rb") as handle:
                yield handle
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise FileError(f"{path} is a gzip file that is cut short or damaged; fetch or pack it again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Yield the path itself, or that of a decompressed temporary copy if the file is gzipped.

    It is for formats whose readers need to seek, which a gzip stream does not allow.
    """
    with opened(path) as handle:
        if not _is_gzipped(path):
            yield path
            return
        descriptor, name = tempfile.mkstemp(prefix="wordveil-")
        try:
            with os.fdopen(descriptor, "wb") as copy:
                shutil.copyfileobj(handle, copy, 1 << 20)
            yield Path(name)
        finally:
            Path(name).unlink()


def tell_counting(path: Path, done: int) -> None:
    """Report how many bytes of a large file have been scanned, before it is read."""
    size = path.stat().st_size
    if size >= _LARGE:
        tell(f"looking through {path.name}", min(1.0, done / size))


def tell_reading(path: Path, rows: int, dimension: int) -> Callable[[int], None]:
    """Report what reading a large embedding takes; return a function that reports how many words have been read."""
    memory = rows * (dimension * np.dtype(np.float32).itemsize + _OF_WORD)
    what = f"reading {rows:,} words of {dimension} numbers (about {memory / 2**30:.1f} GiB of memory)"
    is_large = path.stat().st_size >= _LARGE

    def report(done: int) -> None:
        if is_large:
            tell(what, done / rows)

    report(0)
    return report


def largest_content(path: Path) -> int:
    """Return the most bytes that the file can hold when decompressed."""
    size = path.stat().st_size
    return size * DEFLATE_RATIO if _is_gzipped(path) else size


@dataclass(frozen=True)
class Places:
    """How to name the place of a row: ``glove.txt, line 7``."""

    source: str
    unit: str
    first: int = 1

    def short(self, row: int) -> str:
        """Return the place within its source, such as ``line 7``."""
        return f"{self.unit} {row + self.first}"

    def error(self, row: int, problem: str) -> SpaceError:
        """Return an error that names a row and what is wrong with it."""
        return SpaceError(f"{self.source}, {self.short(row)}: {problem}.")


def row_blocks(vectors: NDArray[Any]) -> list[slice]:
    """Divide the rows into blocks of about a million numbers, to keep temporary arrays small."""
    return list(blocks(len(vectors), max(1, _BLOCK_NUMBERS // max(1, vectors.shape[1]))))


def reserve(source: object, rows: int, dimension: int, dtype: type[np.floating[Any]] = np.float32) -> Vectors:
    """Allocate the vectors of a file."""
    try:
        return np.empty((rows, dimension), dtype)
    except (MemoryError, ValueError):
        raise SpaceError(
            f"{source} holds {rows} words of {dimension} numbers, more than fit into this machine's memory; "
            "use a smaller file."
        ) from None


def narrow(vectors: NDArray[Any], source: object) -> Vectors:
    """Convert numbers to the stored type: float16 stays, everything else becomes float32."""
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise SpaceError(
            f"{source}: 'vectors' must be a table of real numbers with one row per word, "
            f"but it has {vectors.ndim} axes of type {vectors.dtype}; save it again."
        )
    half = vectors.dtype.kind == "f" and vectors.dtype.itemsize == 2
    with np.errstate(over="ignore"):  # check_finite rejects what becomes infinite
        return np.asarray(vectors, dtype=np.float16 if half else np.float32, order="C")


def split_words(joined: bytes, places: Places) -> list[str]:
    """Split UTF-8 text into words, one per line; the last line break may be missing."""
    joined = joined.removesuffix(b"\n")
    try:
        return joined.decode().split("\n") if joined else []
    except UnicodeDecodeError as error:
        row = joined.count(b"\n", 0, error.start)
        raise places.error(row, "not valid UTF-8; convert the words to UTF-8") from None


def check(words: list[str], vectors: Vectors, places: Places) -> None:
    """Raise an error if words and vectors do not match or do not make a space."""
    if not words or not vectors.size:
        raise SpaceError(f"{places.source} holds no words with vectors; give a file that does.")
    if len(words) != len(vectors):
        raise SpaceError(
            f"{places.source} holds {len(words)} words but {len(vectors)} vectors; export both again in the same order."
        )
    check_words(words, places)
    check_finite(vectors, places)


def check_words(words: list[str], places: Places) -> None:
    """Raise an error for words that are empty, repeated, contain a line break or cannot be written as UTF-8."""
    if "" in words:
        raise places.error(words.index(""), "the word is empty; remove it or give it a name")
    try:
        breaks = "\n".join(words).encode().count(b"\n")
    except UnicodeEncodeError:
        row = next(row for row, word in enumerate(words) if _SURROGATE.search(word))
        raise places.error(row, "the word is not valid Unicode; remove or correct it") from None
    if breaks >= len(words):
        row = next(row for row, word in enumerate(words) if "\n" in word)
        raise places.error(row, "the word contains a line break; the file may be damaged, so export it again")
    if len(set(words)) < len(words):
        seen: dict[str, int] = {}
        for row, word in enumerate(words):
            if word in seen:
                shown = repr(word if len(word) <= _QUOTED_LENGTH else word[:_QUOTED_LENGTH] + "…")
                first = places.short(seen[word])
                raise places.error(row, f"the word {shown} already appears in {first}; remove one of the two")
            seen[word] = row


def check_finite(vectors: Vectors, places: Places) -> None:
    """Raise an error for vectors with numbers that are not finite."""
    for rows in row_blocks(vectors):
        finite = np.isfinite(vectors[rows])
        if not finite.all():
            row = rows.start + int(np.argmin(finite.all(axis=1)))
            problem = "a number is NaN, infinite or too large for a 32-bit float"
            raise places.error(row, f"{problem}; remove that word or export the file again")
