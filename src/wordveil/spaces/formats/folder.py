"""Embeddings as a folder of ``vectors.npy`` and ``words.txt``, which can be mapped instead of read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from wordveil.errors import WordveilError
from wordveil.spaces.formats.checks import Places, Vectors, check, narrow, split_words
from wordveil.spaces.formats.npy import read_array
from wordveil.spaces.formats.source import is_folder, is_packed, opened

__all__ = ["read_folder", "write_folder"]

_VECTORS, _WORDS = "vectors.npy", "words.txt"
_WORD_BYTES = 1 << 12  # of a word, on average: no language has such words
_SPARE_BYTES = 1 << 20  # so that a few odd ones among few do no harm


def read_folder(path: Path, *, trusted: bool = False) -> tuple[list[str], Vectors]:
    """Read the words and map the vectors.

    Parameters
    ----------
    path : Path
        The folder.
    trusted : bool
        Skip the checks that must look at every number and word; for what was checked when it was written.
    """
    if not is_folder(path):
        raise WordveilError(f"{path} is a file where a folder is meant; give the folder that holds {_VECTORS}.")
    missing = [name for name in (_VECTORS, _WORDS) if not (path / name).is_file()]
    if missing:
        raise WordveilError(
            f"{path} is a folder but not an embedding (it lacks {' and '.join(missing)}); "
            "give the embedding file itself."
        )
    places = Places(str(path / _WORDS), "line")
    vectors = narrow(read_array(path / _VECTORS, mapped=True), path / _VECTORS)
    words = split_words(_words(path / _WORDS, None if trusted else len(vectors)), places)
    if not trusted:
        check(words, vectors, places)
    elif len(words) != len(vectors):
        raise WordveilError(f"{path} holds {len(words)} words but {len(vectors)} vectors; make it again.")
    return words, vectors


def _words(path: Path, rows: int | None) -> bytes:
    """Read a file of words that is not packed, and no more of it than words for so many vectors can take."""
    with opened(path, packed=False) as handle:
        # by its size: to ask for so many bytes would already set them aside
        if rows is not None and os.fstat(handle.fileno()).st_size > _WORD_BYTES * rows + _SPARE_BYTES:
            raise WordveilError(f"{path} is far too large for the words of {rows} vectors; export both anew.")
        joined = handle.read()
    # The vectors beside it are never packed, so there is nothing to gain; and megabytes could unpack to all memory.
    if is_packed(joined):
        raise WordveilError(f"{path} is gzipped; unpack it first, and keep the name.")
    return joined


def write_folder(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write both files into the folder, which is made if need be."""
    path.mkdir(exist_ok=True)
    np.save(path / _VECTORS, vectors, allow_pickle=False)
    (path / _WORDS).write_bytes("".join(f"{word}\n" for word in words).encode())
