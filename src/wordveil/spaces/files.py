"""Embedding files: read, write and convert them, and load them fast the second time."""

from __future__ import annotations

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

from wordveil.errors import WordveilError
from wordveil.files import DAMAGE, read_cached
from wordveil.spaces.formats.binary import read_word2vec_binary, write_word2vec_binary
from wordveil.spaces.formats.checks import Places, Vectors, check, narrow
from wordveil.spaces.formats.detect import detect, ensure_content, form_of_name
from wordveil.spaces.formats.folder import read_folder, write_folder
from wordveil.spaces.formats.npz import read_npz, write_npz
from wordveil.spaces.formats.tensors import read_safetensors, write_safetensors
from wordveil.spaces.formats.text import read_glove, read_word2vec, write_glove, write_word2vec

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

_PARSER_VERSION = 1  # to be raised when a change of the readers makes cached vectors wrong


def read_vectors(path: Path | str, *, format: str | None = None) -> tuple[list[str], Vectors]:  # noqa: A002
    r"""Read an embedding file.

    Parameters
    ----------
    path : Path or str
        A file, plain or gzipped, or a folder with ``vectors.npy`` and ``words.txt``.
    format : str, optional
        One of `FORMATS`; told from the content and the name where not given. A fastText ``.vec`` file is
        ``word2vec``.

    Returns
    -------
    words : list of str
        The words, exactly as the file spells them.
    vectors : ndarray of shape (words, dimension)
        float16 where the file holds float16, else float32. Those of a folder are mapped and read-only.

    Raises
    ------
    WordveilError
        If the file is missing, damaged or not an embedding; the sentence names the line or record.

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
    """Read an embedding file, or the copy of its parsed form that an earlier call left in the cache.

    The cached copy is used as long as it is the same file, of the same size, and nothing has changed it since.

    Parameters
    ----------
    path : Path or str
        As for `read_vectors`.
    format : str, optional
        As for `read_vectors`.

    Returns
    -------
    words : list of str
        The words.
    vectors : ndarray of shape (words, dimension)
        The vectors, mapped from disk and read-only.

    See Also
    --------
    read_vectors : Does the reading.
    """
    path = Path(path)
    form = _form(path, format)
    if form == "folder":
        return read_folder(path)

    def fill(folder: Path) -> None:
        words, vectors = read_vectors(path, format=form)
        write_folder(folder, words, vectors)

    state = path.stat()
    # A time of change can be set, and a copy or an unpacked archive has that of another file: so also what cannot be.
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
    """Write an embedding file, under its name only when it is whole.

    Parameters
    ----------
    path : Path or str
        Where to write; gzipped if it ends in ``.gz``.
    words : sequence of str
        The words, all different.
    vectors : array of shape (words, dimension)
        Kept as float16 or float32; the text formats and word2vec binary hold 32-bit numbers.
    format : str, optional
        One of `FORMATS`; where not given, the name tells it: ``.txt`` (GloVe), ``.vec`` (word2vec text),
        ``.bin`` (word2vec binary), ``.npz`` or ``.safetensors``.

    Raises
    ------
    WordveilError
        If words and vectors do not fit together, the format cannot hold a word, or writing fails.
    """
    path = Path(path)
    form = format or form_of_name(path)
    if form is None:
        raise WordveilError(f"the name {path} tells no format; give one of: {', '.join(FORMATS)}.")
    _, write = _FORMATS[_known(form)]
    words = list(words)
    kept = narrow(np.asarray(vectors), "the embedding to write")
    check(words, kept, Places("the embedding to write", "word"))
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise WordveilError(f"{path} is a device or a pipe, which an embedding cannot be written to; give a file.")
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as scratch:
            whole = Path(scratch, "whole")
            write(whole, words, kept)
            if form != "folder" and path.name.lower().endswith(".gz"):
                whole = _gzip(whole)
            whole.replace(path)
    except OSError as error:
        raise WordveilError(f"{path} cannot be written ({error.strerror}); choose another place.") from None


def _gzip(plain: Path) -> Path:
    packed = plain.with_suffix(".gz")
    # Neither name nor time inside, so that the same embedding always makes the same file.
    with (
        plain.open("rb") as source,
        packed.open("wb") as target,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as stream,
    ):
        shutil.copyfileobj(source, stream, 1 << 20)
    return packed


def _form(path: Path, given: str | None) -> str:
    if given is None:
        return detect(path)
    if _known(given) != "folder":
        ensure_content(path)
    return given


def _known(form: str) -> str:
    if form not in _FORMATS:
        raise WordveilError(f"there is no format '{form}'; choose one of: {', '.join(FORMATS)}.")
    return form
