"""Embeddings as .safetensors with the tensors ``words`` (UTF-8 bytes, one word a line) and ``vectors``."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from wordveil.errors import WordveilError
from wordveil.parallel import blocks
from wordveil.spaces.formats.checks import Places, Vectors, check, narrow, reserve, split_words
from wordveil.spaces.formats.source import plain_file

__all__ = ["read_safetensors", "write_safetensors"]

_BLOCK_BYTES = 1 << 25
_FLOATS: dict[str, type[np.floating[Any]]] = {"F16": np.float16, "F32": np.float32, "F64": np.float32}


def read_safetensors(path: Path) -> tuple[list[str], Vectors]:
    """Read the two tensors."""
    places = Places(str(path), "word")
    with plain_file(path) as plain:
        try:
            words = split_words(_words(plain, path), places)
            vectors = _vectors(plain, path)
        except SafetensorError:
            raise WordveilError(f"{path} is not a whole .safetensors file; fetch or save it again.") from None
    check(words, vectors, places)
    return words, vectors


def _shape(tensors: Any, name: str, path: Path) -> tuple[list[int], str]:
    if name not in tensors.keys():  # noqa: SIM118  (not a dictionary)
        raise WordveilError(f"{path} has no tensor '{name}'; save it with the tensors 'words' and 'vectors'.")
    tensor = tensors.get_slice(name)
    return tensor.get_shape(), tensor.get_dtype()


def _words(plain: Path, path: Path) -> bytes:
    with safe_open(plain, "numpy") as tensors:
        shape, dtype = _shape(tensors, "words", path)
        if len(shape) != 1 or dtype != "U8":
            raise WordveilError(f"{path}: 'words' must be one row of UTF-8 bytes (uint8); save it anew.")
        joined: NDArray[np.uint8] = tensors.get_tensor("words")
        return joined.tobytes()


def _vectors(plain: Path, path: Path) -> Vectors:
    with safe_open(plain, "numpy") as tensors:
        shape, dtype = _shape(tensors, "vectors", path)
    if len(shape) != 2 or dtype not in _FLOATS:
        raise WordveilError(
            f"{path}: 'vectors' must be a table of 16-, 32- or 64-bit floats with one row a word, "
            f"but it has {len(shape)} axes of type {dtype}; save it anew."
        )
    rows, dimension = shape
    vectors = reserve(path, rows, dimension, _FLOATS[dtype])
    if vectors.size:
        for part in blocks(rows, max(1, _BLOCK_BYTES // (8 * dimension))):
            # The library maps the file; opened anew for each part, it never keeps all of it in memory.
            with safe_open(plain, "numpy") as tensors:
                vectors[part] = narrow(tensors.get_slice("vectors")[part], path)
    return vectors


def write_safetensors(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write the two tensors."""
    joined = np.frombuffer("\n".join(words).encode(), np.uint8)
    try:
        save_file({"words": joined, "vectors": vectors}, path)
    except SafetensorError:  # what the library makes of a full disk
        raise OSError(errno.EIO, os.strerror(errno.EIO)) from None
