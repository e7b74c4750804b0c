"""The header of word2vec files: how many words there are and how many numbers each has."""

from __future__ import annotations

import re
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.spaces.formats.source import largest_content

__all__ = ["match_header", "read_header"]

_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")


def match_header(line: bytes) -> tuple[int, int] | None:
    """Return the two numbers if the line is a header."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def read_header(path: Path, line: bytes, number_bytes: int) -> tuple[int, int]:
    """Return how many words and how many numbers for each the header promises.

    Parameters
    ----------
    path : Path
        The file, whose size tells whether it can hold what the header promises.
    line : bytes
        The first line.
    number_bytes : int
        How many bytes a number takes at least.
    """
    header = match_header(line)
    if header is None:
        raise WordveilError(
            f"{path}, line 1: not a word2vec header (how many words, how many numbers each); "
            "add one, or read the file as GloVe text."
        )
    rows, dimension = header
    if not rows or not dimension:
        raise WordveilError(f"{path}, line 1: the header promises no words or no numbers; export it anew.")
    if rows * (number_bytes * dimension + 2) - 1 > largest_content(path):
        raise WordveilError(
            f"{path}, line 1: the header promises {rows} words of {dimension} numbers, "
            "which do not fit into a file of this size; fetch or export it again."
        )
    return rows, dimension
