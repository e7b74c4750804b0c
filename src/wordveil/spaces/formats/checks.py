"""What must hold of words and vectors, whatever file they come from or go to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.parallel import blocks

__all__ = [
    "Places",
    "Vectors",
    "check",
    "check_finite",
    "check_words",
    "narrow",
    "reserve",
    "row_blocks",
    "split_words",
]

Vectors: TypeAlias = NDArray[np.floating[Any]]
"""Rows of float16 or float32."""

_QUOTED_LENGTH = 40
_BLOCK_NUMBERS = 1 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Places:
    """How to name the place of a row: ``glove.txt, line 7``."""

    source: str
    unit: str
    first: int = 1

    def __call__(self, row: int) -> str:
        """Name the place with its source."""
        return f"{self.source}, {self.short(row)}"

    def short(self, row: int) -> str:
        """Name the place within its source."""
        return f"{self.unit} {row + self.first}"


def row_blocks(vectors: NDArray[Any]) -> list[slice]:
    """Cut the rows into blocks of about a million numbers, so that temporary arrays stay small."""
    return list(blocks(len(vectors), max(1, _BLOCK_NUMBERS // max(1, vectors.shape[1]))))


def reserve(source: object, rows: int, dimension: int, dtype: type[np.floating[Any]] = np.float32) -> Vectors:
    """Make room for the vectors of a file."""
    try:
        return np.empty((rows, dimension), dtype)
    except (MemoryError, ValueError):
        raise WordveilError(
            f"{source} holds {rows} words of {dimension} numbers, which is more than this machine's memory; "
            "use a smaller file."
        ) from None


def narrow(vectors: NDArray[Any], source: object) -> Vectors:
    """Bring numbers to the type in which they are kept: float16 as it is, everything else as float32."""
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise WordveilError(
            f"{source}: 'vectors' must be a table of real numbers with one row a word, "
            f"but it has {vectors.ndim} axes of type {vectors.dtype}; save it anew."
        )
    half = vectors.dtype.kind == "f" and vectors.dtype.itemsize == 2
    kept = np.float16 if half else np.float32
    with np.errstate(over="ignore"):  # what becomes infinite is refused by check_finite
        return np.asarray(vectors, dtype=kept, order="C")


def split_words(joined: bytes, places: Places) -> list[str]:
    """Take words apart that are UTF-8, one a line; a line break at the end is allowed."""
    joined = joined.removesuffix(b"\n")
    try:
        return joined.decode().split("\n") if joined else []
    except UnicodeDecodeError as error:
        row = joined.count(b"\n", 0, error.start)
        raise WordveilError(f"{places(row)}: not valid UTF-8; convert the words to UTF-8.") from None


def check(words: list[str], vectors: Vectors, places: Places) -> None:
    """Refuse words and vectors that do not belong together or do not make a space."""
    if not words or not vectors.size:
        raise WordveilError(f"{places.source} holds no words with vectors; give a file that does.")
    if len(words) != len(vectors):
        raise WordveilError(
            f"{places.source} holds {len(words)} words but {len(vectors)} vectors; export both anew, in the same order."
        )
    check_words(words, places)
    check_finite(vectors, places)


def check_words(words: list[str], places: Places) -> None:
    """Refuse words that are empty, double, hold a line break or cannot be written as UTF-8."""
    if "" in words:
        raise WordveilError(f"{places(words.index(''))}: the word is empty; remove it or give it a name.")
    try:
        breaks = "\n".join(words).encode().count(b"\n")
    except UnicodeEncodeError:
        row = next(row for row, word in enumerate(words) if _SURROGATE.search(word))
        raise WordveilError(f"{places(row)}: the word is not valid Unicode; remove or correct it.") from None
    if breaks >= len(words):
        row = next(row for row, word in enumerate(words) if "\n" in word)
        raise WordveilError(f"{places(row)}: the word holds a line break; the file may be damaged, so export it anew.")
    if len(set(words)) < len(words):
        seen: dict[str, int] = {}
        for row, word in enumerate(words):
            if word in seen:
                raise WordveilError(
                    f"{places(row)}: the word {_quoted(word)} was already given in "
                    f"{places.short(seen[word])}; remove one of the two."
                )
            seen[word] = row


def _quoted(word: str) -> str:
    return repr(word if len(word) <= _QUOTED_LENGTH else word[:_QUOTED_LENGTH] + "…")


def check_finite(vectors: Vectors, places: Places) -> None:
    """Refuse vectors with numbers that are not finite."""
    for rows in row_blocks(vectors):
        finite = np.isfinite(vectors[rows])
        if not finite.all():
            row = rows.start + int(np.argmin(finite.all(axis=1)))
            raise WordveilError(
                f"{places(row)}: a number is NaN, infinite or too large for a 32-bit float; "
                "remove that word or export the file anew."
            )
