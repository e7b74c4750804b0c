"""Embeddings in the binary form of word2vec: a header line, then each word, a space and its 32-bit floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordveil.errors import WordveilError
from wordveil.spaces.formats.checks import Places, Vectors, check_finite, check_words, reserve, row_blocks
from wordveil.spaces.formats.header import read_header
from wordveil.spaces.formats.source import opened

__all__ = ["read_word2vec_binary", "write_word2vec_binary"]

_FLOAT = np.dtype("<f4")
_BLOCK_BYTES = 1 << 20
_LONGEST_HEADER = 100
_LONGEST_WORD = 1 << 16


def read_word2vec_binary(path: Path) -> tuple[list[str], Vectors]:
    """Read records with or without a line break after each, as different programs write them."""
    places = Places(str(path), "record")
    words: list[str] = []
    with opened(path) as handle:
        header = handle.readline(_LONGEST_HEADER).removesuffix(b"\n")
        rows, dimension = read_header(path, header, number_bytes=_FLOAT.itemsize)
        vectors = reserve(path, rows, dimension)
        width = dimension * _FLOAT.itemsize
        buffer, start = b"", 0
        for row in range(rows):
            while True:
                while buffer[start : start + 1] == b"\n":
                    start += 1
                space = buffer.find(b" ", start)
                if space >= 0 and space + 1 + width <= len(buffer):
                    break
                buffer, start = buffer[start:], 0
                chunk = handle.read(max(_BLOCK_BYTES, width))
                if not chunk:
                    raise WordveilError(
                        f"{places(row)}: the file ends before this record does, but promises {rows} of them; "
                        "the file is cut short or the header is wrong, so fetch or export it again."
                    )
                if space < 0 and len(buffer) > _LONGEST_WORD:
                    raise _damaged(places(row))
                buffer += chunk
            try:
                words.append(buffer[start:space].decode())
            except UnicodeDecodeError:
                raise _damaged(places(row)) from None
            vectors[row] = np.frombuffer(buffer, _FLOAT, dimension, space + 1)
            start = space + 1 + width
        if (buffer[start:] + handle.read(_BLOCK_BYTES)).strip(b"\n"):
            raise WordveilError(
                f"{path} goes on after record {rows}, the last that its header promises; "
                "the header is wrong, so export the file again."
            )
    check_words(words, places)
    check_finite(vectors, places)
    return words, vectors


def _damaged(place: str) -> WordveilError:
    return WordveilError(
        f"{place}: no word in UTF-8 where one should begin; the file is damaged or its header "
        "has the wrong dimension, so fetch or export it again."
    )


def write_word2vec_binary(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write the header and the records, each ended by a line break as word2vec itself does."""
    for row, word in enumerate(words):
        if " " in word:
            raise WordveilError(f"word {row + 1} holds a space, which word2vec binary cannot hold; write .npz instead.")
    with path.open("wb") as handle:
        handle.write(b"%d %d\n" % vectors.shape)
        for rows in row_blocks(vectors):
            numbers = vectors[rows].astype(_FLOAT)
            pairs = zip(words[rows], numbers, strict=True)
            handle.write(b"".join(b"%s %s\n" % (word.encode(), vector.tobytes()) for word, vector in pairs))
