"""Embedding files: read, write and convert them, and load them fast the second time."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from wordveil.errors import FileError, OptionError, SpaceError, WordveilError
from wordveil.files import DAMAGE, read_cached
from wordveil.spaces.formats.arrays import (
    read_folder,
    read_npz,
    read_safetensors,
    write_folder,
    write_npz,
    write_safetensors,
)
from wordveil.spaces.formats.common import Places, Vectors, check, is_folder, narrow, opened
from wordveil.spaces.formats.word_by_word import (
    count_numbers,
    match_header,
    read_glove,
    read_word2vec,
    read_word2vec_binary,
    write_glove,
    write_word2vec,
    write_word2vec_binary,
)

__all__ = ["FORMATS", "load_vectors", "read_vectors", "write_vectors"]

_Reader: TypeAlias = Callable[[Path], tuple[list[str], Vectors]]
_Writer: TypeAlias = Callable[[Path, list[str], Vectors], None]

_FORMATS: dict[str, tuple[_Reader, _Writer]] = {
    "glove": (read_glove, write_glove),
    "word2vec": (read_word2vec, write_word2vec),
    "word2vec-binary": (read_word2vec_binary, write_word2vec_binary),
    "npz": (read_npz, write_npz),
    "safetensors": (read_safetensors, write_safetensors),
    "folder": (read_folder, write_folder),
}
FORMATS = tuple(_FORMATS)
"""The names of the formats."""

_SAMPLE_BYTES = 1 << 16
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_NAMES = {".npz": "npz", ".safetensors": "safetensors", ".vec": "word2vec", ".bin": "word2vec-binary", ".txt": "glove"}
_FOREIGN = {
    b"\xba\x16\x4f\x2f": "a fastText model, not its vectors; give the .vec file that comes with it",
    b"\x93NUMPY": "an array without words; put it into a folder as vectors.npy, with words.txt beside it",
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a pickle, which is never loaded because it can run code; export the vectors as word2vec text",
    ),
}
_PARSER_VERSION = 1  # raise it when a change of the readers makes cached vectors wrong


def read_vectors(path: Path | str, *, format: str | None = None) -> tuple[list[str], Vectors]:  # noqa: A002
    r"""Read an embedding file.

    Parameters
    ----------
    path : Path or str
        A file, plain or gzipped, or a folder with ``vectors.npy`` and ``words.txt``.
    format : str, optional
        One of `FORMATS`; a fastText ``.vec`` file is ``word2vec``. Default: detected from the content and the name.

    Returns
    -------
    words : list of str
        The words, exactly as the file spells them.
    vectors : ndarray of shape (words, dimension)
        float16 if the file holds float16, else float32. Vectors of a folder are memory-mapped and read-only.

    Raises
    ------
    FileError
        If the file is missing, damaged or cannot be read.
    SpaceError
        If the file is not an embedding; the message names the line or record.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.txt")
    ...     _ = file.write_text("king 0.5 1\nqueen 0.25 1\n")
    ...     words, vectors = read_vectors(file)
    >>> words, vectors.tolist()
    (['king', 'queen'], [[0.5, 1.0], [0.25, 1.0]])
    """
    path = Path(path)
    read, _ = _FORMATS[_form(path, format)]
    return read(path)


def load_vectors(path: Path | str, *, format: str | None = None) -> tuple[list[str], Vectors]:  # noqa: A002
    """Read an embedding file, or the parsed form that an earlier call cached.

    The cached form is used as long as the file has not changed. Parameters, results and errors are those of
    `read_vectors`, but the vectors are memory-mapped and read-only.
    """
    path = Path(path)
    form = _form(path, format)
    if form == "folder":
        return read_folder(path)

    def fill(folder: Path) -> None:
        words, vectors = read_vectors(path, format=form)
        write_folder(folder, words, vectors)

    state = path.stat()
    # A modification time can be set or copied, so the key also has the change time and inode, which cannot.
    which = [str(path.resolve()), state.st_dev, state.st_ino]
    depends_on = [*which, state.st_size, state.st_mtime_ns, state.st_ctime_ns, form, _PARSER_VERSION]
    key = "vectors-" + hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:32]
    return read_cached(key, fill, lambda folder: read_folder(folder, trusted=True), (*DAMAGE, WordveilError))


def write_vectors(
    path: Path | str,
    words: Sequence[str],
    vectors: ArrayLike,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write an embedding file, atomically.

    Parameters
    ----------
    path : Path or str
        The file; compressed if it ends in ``.gz``.
    words : sequence of str
        The words, all distinct.
    vectors : array of shape (words, dimension)
        Stored as float16 or float32; the text formats and word2vec binary store 32-bit numbers.
    format : str, optional
        One of `FORMATS`. Default: determined by the name: ``.txt`` (GloVe), ``.vec`` (word2vec text), ``.bin``
        (word2vec binary), ``.npz`` or ``.safetensors``.

    Raises
    ------
    SpaceError
        If words and vectors do not match, or the format cannot represent a word.
    FileError
        If the file cannot be written.
    """
    path = Path(path)
    form = format or _form_of_name(path)
    if form is None:
        raise OptionError(f"the name {path} does not determine the format; choose one of: {', '.join(FORMATS)}.")
    _, write = _FORMATS[_known(form)]
    words = list(words)
    kept = narrow(np.asarray(vectors), "the embedding to write")
    check(words, kept, Places("the embedding to write", "word"))
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError(f"{path} is a device or a pipe; give a file to write the embedding to.")
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as scratch:
            whole = Path(scratch, "whole")
            write(whole, words, kept)
            if form != "folder" and path.name.lower().endswith(".gz"):
                whole = _gzip(whole)
            whole.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror}); choose another place.") from None


def _gzip(plain: Path) -> Path:
    packed = plain.with_suffix(".gz")
    # Without name and time, so that the file is reproducible.
    with (
        plain.open("rb") as source,
        packed.open("wb") as target,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as stream,
    ):
        shutil.copyfileobj(source, stream, 1 << 20)
    return packed


def _form(path: Path, given: str | None) -> str:
    if given is None:
        return _detect(path)
    if _known(given) != "folder":
        _sample(path)
    return given


def _known(form: str) -> str:
    if form not in _FORMATS:
        raise OptionError(f"unknown format '{form}'; choose one of: {', '.join(FORMATS)}.")
    return form


def _form_of_name(path: Path) -> str | None:
    """Return the format that the file's name suggests, ignoring ``.gz``."""
    return _NAMES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def _sample(path: Path) -> bytes:
    """Return the start of a file; raise a FileError if it is empty."""
    with opened(path) as handle:
        sample = handle.read(_SAMPLE_BYTES)
    if not sample:
        raise FileError(f"{path} is empty; give a file with words and vectors.")
    return sample


def _detect(path: Path) -> str:
    """Return the format of a file or folder, by its content and then its name."""
    if is_folder(path):
        return "folder"
    sample = _sample(path)
    for start, what in _FOREIGN.items():
        if sample.startswith(start):
            raise SpaceError(f"{path} is {what}.")
    named = _form_of_name(path)
    if sample.startswith(_ZIP) or named == "npz":
        return "npz"
    if sample[4:9] == b"\0\0\0\0{" or named == "safetensors":
        return "safetensors"
    if named == "word2vec-binary":
        return named
    first, _, rest = sample.removeprefix(codecs.BOM_UTF8).partition(b"\n")
    header = match_header(first)
    if header is None:
        return "glove"
    return "word2vec" if _looks_like_text(rest, header[1]) else "word2vec-binary"


def _looks_like_text(sample: bytes, dimension: int) -> bool:
    line, whole, _ = sample.partition(b"\n")
    fields = line.split() if whole else line.split()[:-1]
    numbers = fields[1:][-dimension:]
    if numbers and count_numbers(numbers) == len(numbers):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return b"\0" not in sample
