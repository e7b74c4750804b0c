"""Embedding formats with two arrays, ``words`` and ``vectors``: numpy archives, .safetensors files, and folders."""

from __future__ import annotations

import errno
import math
import os
import struct
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordveil.errors import FileError, SpaceError, WordveilError
from wordveil.parallel import blocks
from wordveil.spaces.formats.common import (
    DEFLATE_RATIO,
    Places,
    Vectors,
    check,
    is_folder,
    is_packed,
    narrow,
    opened,
    plain_file,
    reserve,
    split_words,
    tell_counting,
    tell_reading,
)

# What the parsers of numpy and Python raise on damaged input, besides their own classes.
_PARSER_FAILURES = (
    ValueError,
    tokenize.TokenError,
    KeyError,
    TypeError,
    SyntaxError,
    EOFError,
    OverflowError,
    RuntimeError,
    MemoryError,
)
_ARCHIVE_DAMAGE = (*_PARSER_FAILURES, zipfile.BadZipFile, zlib.error, struct.error)

_VECTORS, _WORDS = "vectors.npy", "words.txt"
_WORD_BYTES = 1 << 12  # the largest mean size of words that is accepted, far above any language's
_SPARE_BYTES = 1 << 20  # an allowance, for small files with a few odd words
_TENSOR_BYTES = 1 << 25  # bytes of a .safetensors file held at once
_TENSORS: dict[str, type[np.floating[Any]]] = {"F16": np.float16, "F32": np.float32, "F64": np.float32}


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress numpy's warnings about old or odd headers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Read or map an .npy file; raise a FileError if it is damaged."""
    try:
        with path.open("rb") as handle:
            _check_header(handle, path.stat().st_size, path)
        with _without_warnings():
            array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except WordveilError:
        raise
    except (*_PARSER_FAILURES, OSError):
        raise FileError(f"{path} is cut short or damaged; make it again.") from None
    return array


def _check_header(handle: IO[bytes], available: int, source: object) -> None:
    """Read the header of an array; raise an error for pickled objects, or if the available bytes are too few."""
    try:
        with _without_warnings():
            version = npy.read_magic(handle)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            shape, _, dtype = read(handle)
    except _PARSER_FAILURES:
        raise FileError(f"{source} is not an array that numpy can read; save it again.") from None
    if dtype.hasobject:
        raise FileError(
            f"{source} holds pickled Python objects, which are never loaded because they can run code; "
            "save words as text (dtype=str) and vectors as float32."
        )
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > available:
        raise FileError(f"{source} is cut short or damaged; fetch or save it again.")


def read_npz(path: Path) -> tuple[list[str], Vectors]:
    """Read a numpy archive; its words are text, or UTF-8 bytes separated by line breaks."""
    places = Places(str(path), "word")
    tell_counting(path, 0)
    with plain_file(path) as plain:
        try:
            with _without_warnings(), zipfile.ZipFile(plain) as archive:
                words = _words_of(_read_member(archive, "words", path), places)
                vectors = narrow(_read_member(archive, "vectors", path), path)
        except WordveilError:
            raise
        except _ARCHIVE_DAMAGE:
            raise FileError(f"{path} is not a whole .npz archive; fetch or save it again.") from None
    check(words, vectors, places)
    return words, vectors


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Read one array of an archive, after checking its header."""
    member = f"{name}.npy"
    if member not in archive.namelist():
        raise SpaceError(f"{path} has no array '{name}'; save it with np.savez(file, words=…, vectors=…).")
    entry = archive.getinfo(member)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # numpy writes no other
        raise zipfile.BadZipFile
    with archive.open(entry) as handle:
        available = min(entry.file_size, entry.compress_size * DEFLATE_RATIO)
        _check_header(handle, available, f"the array '{name}' of {path}")
    with archive.open(entry) as handle:
        array: NDArray[Any] = npy.read_array(handle, allow_pickle=False)
        return array


def _words_of(array: NDArray[Any], places: Places) -> list[str]:
    if array.ndim == 1 and array.dtype == np.uint8:
        return split_words(array.tobytes(), places)
    if array.ndim == 1 and array.dtype.kind == "U":
        codes = array.astype(array.dtype.newbyteorder("=")).view(np.uint32) if array.itemsize else array
        if codes.size and codes.max() > sys.maxunicode:  # numpy fails on it
            raise ValueError
        words: list[str] = array.tolist()
        return words
    raise SpaceError(
        f"{places.source}: 'words' must be a list of text (dtype=str) or of UTF-8 bytes (dtype=uint8), "
        f"but it has {array.ndim} axes of type {array.dtype}; save it again."
    )


def _joined(words: list[str]) -> NDArray[np.uint8]:
    """Return the words as bytes; as text, numpy would give every word the size of the longest."""
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def write_npz(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write a numpy archive."""
    with path.open("wb") as handle:
        np.savez(handle, words=_joined(words), vectors=vectors)


def read_safetensors(path: Path) -> tuple[list[str], Vectors]:
    """Read a .safetensors file, whose words are UTF-8 bytes separated by line breaks."""
    from safetensors import SafetensorError  # noqa: PLC0415 - only this format needs it

    places = Places(str(path), "word")
    with plain_file(path) as plain:
        try:
            words = split_words(_tensor_of_words(plain, path), places)
            vectors = _tensor_of_vectors(plain, path)
        except SafetensorError:
            raise FileError(f"{path} is not a whole .safetensors file; fetch or save it again.") from None
    check(words, vectors, places)
    return words, vectors


def _open_tensors(plain: Path) -> Any:
    from safetensors import safe_open  # noqa: PLC0415 - only this format needs it

    return safe_open(plain, "numpy")


def _shape_and_type(tensors: Any, name: str, path: Path) -> tuple[list[int], str]:
    if name not in tensors.keys():  # noqa: SIM118  (not a dictionary)
        raise SpaceError(f"{path} has no tensor '{name}'; save it with the tensors 'words' and 'vectors'.")
    tensor = tensors.get_slice(name)
    return tensor.get_shape(), tensor.get_dtype()


def _tensor_of_words(plain: Path, path: Path) -> bytes:
    with _open_tensors(plain) as tensors:
        shape, dtype = _shape_and_type(tensors, "words", path)
        if len(shape) != 1 or dtype != "U8":
            raise SpaceError(f"{path}: 'words' must be one row of UTF-8 bytes (uint8); save it again.")
        joined: NDArray[np.uint8] = tensors.get_tensor("words")
        return joined.tobytes()


def _tensor_of_vectors(plain: Path, path: Path) -> Vectors:
    with _open_tensors(plain) as tensors:
        shape, dtype = _shape_and_type(tensors, "vectors", path)
    if len(shape) != 2 or dtype not in _TENSORS:
        raise SpaceError(
            f"{path}: 'vectors' must be a table of 16-, 32- or 64-bit floats with one row per word, "
            f"but it has {len(shape)} axes of type {dtype}; save it again."
        )
    rows, dimension = shape
    vectors = reserve(path, rows, dimension, _TENSORS[dtype])
    if vectors.size:
        report = tell_reading(path, rows, dimension)
        for part in blocks(rows, max(1, _TENSOR_BYTES // (8 * dimension))):
            # The library maps the file; reopening it for each part keeps memory small.
            with _open_tensors(plain) as tensors:
                vectors[part] = narrow(tensors.get_slice("vectors")[part], path)
            report(part.stop)
    return vectors


def write_safetensors(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write a .safetensors file."""
    from safetensors import SafetensorError  # noqa: PLC0415 - only this format needs it
    from safetensors.numpy import save_file  # noqa: PLC0415

    try:
        save_file({"words": _joined(words), "vectors": vectors}, path)
    except SafetensorError:  # raised for a full disk, for example
        raise OSError(errno.EIO, os.strerror(errno.EIO)) from None


def read_folder(path: Path, *, trusted: bool = False) -> tuple[list[str], Vectors]:
    """Read the words of a folder and map its vectors.

    With `trusted`, skip the checks of every number and word; they were made when the folder was written.
    """
    if not is_folder(path):
        raise FileError(f"{path} is a file; give the folder that holds {_VECTORS}.")
    missing = [name for name in (_VECTORS, _WORDS) if not (path / name).is_file()]
    if missing:
        raise FileError(
            f"{path} is a folder but not an embedding (it lacks {' and '.join(missing)}); give the embedding file."
        )
    places = Places(str(path / _WORDS), "line")
    vectors = narrow(read_array(path / _VECTORS, mapped=True), path / _VECTORS)
    words = split_words(_lines(path / _WORDS, None if trusted else len(vectors)), places)
    if not trusted:
        check(words, vectors, places)
    elif len(words) != len(vectors):
        raise SpaceError(f"{path} holds {len(words)} words but {len(vectors)} vectors; make it again.")
    return words, vectors


def _lines(path: Path, rows: int | None) -> bytes:
    """Read an uncompressed file of words; raise an error if it is too large for the words of `rows` vectors."""
    with opened(path, packed=False) as handle:
        # checked by size, because read() would allocate that many bytes
        if rows is not None and os.fstat(handle.fileno()).st_size > _WORD_BYTES * rows + _SPARE_BYTES:
            raise SpaceError(f"{path} is far too large for the words of {rows} vectors; export both again.")
        joined = handle.read()
    # The vectors are never compressed, so compressing words gains little; and megabytes could decompress to gigabytes.
    if is_packed(joined):
        raise FileError(f"{path} is gzipped; unpack it first, and keep the name.")
    return joined


def write_folder(path: Path, words: list[str], vectors: Vectors) -> None:
    """Write both files into the folder, creating it if necessary."""
    path.mkdir(exist_ok=True)
    np.save(path / _VECTORS, vectors, allow_pickle=False)
    (path / _WORDS).write_bytes("".join(f"{word}\n" for word in words).encode())
