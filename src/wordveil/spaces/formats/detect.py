"""Which form a file has, told by its content first and its name second."""

from __future__ import annotations

import codecs
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.spaces.formats.header import match_header
from wordveil.spaces.formats.source import is_folder, opened
from wordveil.spaces.formats.text import count_numbers

__all__ = ["detect", "ensure_content", "form_of_name"]

_SAMPLE_BYTES = 1 << 16
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_NAMES = {
    ".npz": "npz",
    ".safetensors": "safetensors",
    ".vec": "word2vec",
    ".bin": "word2vec-binary",
    ".txt": "glove",
}
_FOREIGN = {
    b"\xba\x16\x4f\x2f": "a fastText model, not its vectors; give the .vec file that comes with it",
    b"\x93NUMPY": "an array without words; put it into a folder as vectors.npy, with words.txt beside it",
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a pickle, which is never loaded because it can run code; export the vectors as word2vec text",
    ),
}


def form_of_name(path: Path) -> str | None:
    """Return the form that the file's name announces, whether gzipped or not."""
    return _NAMES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def ensure_content(path: Path) -> bytes:
    """Return the beginning of a file, which must not be empty."""
    with opened(path) as handle:
        sample = handle.read(_SAMPLE_BYTES)
    if not sample:
        raise WordveilError(f"{path} is empty; give a file with words and vectors.")
    return sample


def detect(path: Path) -> str:
    """Return the form of a file or folder."""
    if is_folder(path):
        return "folder"
    sample = ensure_content(path)
    for start, what in _FOREIGN.items():
        if sample.startswith(start):
            raise WordveilError(f"{path} is {what}.")
    named = form_of_name(path)
    if sample.startswith(_ZIP) or named == "npz":
        return "npz"
    if sample[4:9] == b"\0\0\0\0{" or named == "safetensors":
        return "safetensors"
    first, _, rest = sample.removeprefix(codecs.BOM_UTF8).partition(b"\n")
    header = match_header(first)
    if named == "word2vec-binary":
        return named
    if header is None:
        return "glove"
    return "word2vec" if _looks_like_text(rest, header[1]) else "word2vec-binary"


def _looks_like_text(sample: bytes, dimension: int) -> bool:
    line, whole, _ = sample.partition(b"\n")
    fields = line.split()
    if not whole:
        fields = fields[:-1]
    numbers = fields[1:][-dimension:]
    if numbers and count_numbers(numbers) == len(numbers):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return b"\0" not in sample
