"""Embeddings as a folder of ``vectors.npy`` and ``words.txt``, which can be mapped instead of read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordveil.errors import WordveilError
from wordveil.spaces.formats.checks import Places, Vectors, check, narrow, split_words
from wordveil.spaces.formats.npy import read_array
from wordveil.spaces.formats.source import is_folder, opened

__all__ = ["read_folder", "write_folder"]

_VECTORS, _WORDS = "vectors.npy", "words.txt"


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
    with opened(path / _WORDS) as handle:
        words = split_words(handle.read(), places)
    vectors = narrow(read_array(path / _VECTORS, mapped=True), path / _VECTORS)
    if not trusted:
        check(words, vectors, places)
    elif len(words) != len(vectors):
        raise WordveilError(f"{path} holds {len(words)} words but {len(vectors)} vectors; make it again.")
    return words, vectors


def write_folder(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write both files into the folder, which is made if need be."""
    path.mkdir(exist_ok=True)
    np.save(path / _VECTORS, vectors, allow_pickle=False)
    (path / _WORDS).write_bytes("".join(f"{word}\n" for word in words).encode())
