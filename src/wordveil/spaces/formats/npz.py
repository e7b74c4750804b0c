"""Embeddings as a numpy archive with the arrays ``words`` and ``vectors``."""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.spaces.formats.checks import Places, Vectors, check, narrow, split_words
from wordveil.spaces.formats.npy import PARSER_FAILURES, check_array_header, without_warnings
from wordveil.spaces.formats.source import DEFLATE_RATIO, plain_file

__all__ = ["ARCHIVE_DAMAGE", "read_member", "read_npz", "write_npz"]

# What the parsers of archives and arrays raise on damaged input.
ARCHIVE_DAMAGE = (*PARSER_FAILURES, zipfile.BadZipFile, zlib.error, struct.error)


def read_npz(path: Path) -> tuple[list[str], Vectors]:
    """Read the two arrays; words are text, or UTF-8 bytes with a line break between two."""
    places = Places(str(path), "word")
    with plain_file(path) as plain:
        try:
            with without_warnings(), zipfile.ZipFile(plain) as archive:
                words = _words(read_member(archive, "words", path), places)
                vectors = narrow(read_member(archive, "vectors", path), path)
        except WordveilError:
            raise
        except ARCHIVE_DAMAGE:
            raise WordveilError(f"{path} is not a whole .npz archive; fetch or save it again.") from None
    check(words, vectors, places)
    return words, vectors


def read_member(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Read one array of an archive, after a look at its header."""
    source = f"the array '{name}' of {path}"
    member = f"{name}.npy"
    if member not in archive.namelist():
        raise WordveilError(f"{path} has no array '{name}'; save it with np.savez(file, words=…, vectors=…).")
    entry = archive.getinfo(member)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # numpy writes no other
        raise zipfile.BadZipFile
    with archive.open(entry) as handle:
        check_array_header(handle, min(entry.file_size, entry.compress_size * DEFLATE_RATIO), source)
    with archive.open(entry) as handle:
        array: NDArray[Any] = npy.read_array(handle, allow_pickle=False)
        return array


def _words(array: NDArray[Any], places: Places) -> list[str]:
    if array.ndim == 1 and array.dtype == np.uint8:
        return split_words(array.tobytes(), places)
    if array.ndim == 1 and array.dtype.kind == "U":
        codes = array.astype(array.dtype.newbyteorder("=")).view(np.uint32) if array.itemsize else array
        if codes.size and codes.max() > sys.maxunicode:  # numpy would fall over it
            raise ValueError
        words: list[str] = array.tolist()
        return words
    raise WordveilError(
        f"{places.source}: 'words' must be a list of text (dtype=str) or of UTF-8 bytes (dtype=uint8), "
        f"but it has {array.ndim} axes of type {array.dtype}; save it anew."
    )


def write_npz(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write both arrays, the words as bytes: numpy would give every word the room of the longest."""
    joined = np.frombuffer("\n".join(words).encode(), np.uint8)
    with path.open("wb") as handle:
        np.savez(handle, words=joined, vectors=vectors)
