"""The header of numpy's array files, read before the array so that a false one cannot ask for the moon."""

from __future__ import annotations

import math
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from wordveil.errors import WordveilError

__all__ = ["PARSER_FAILURES", "check_array_header", "read_array", "without_warnings"]

# What numpy's and Python's own parsers raise on damaged input, beside classes of their own.
PARSER_FAILURES = (
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


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep numpy's remarks on old or odd headers from the person, who gets one sentence or none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Read an array file, or map it, and refuse what is damaged.

    Parameters
    ----------
    path : Path
        The file.
    mapped : bool
        Whether to leave the numbers on the disk until they are used.
    """
    mode: Literal["r"] | None = "r" if mapped else None
    try:
        with path.open("rb") as handle:
            check_array_header(handle, path.stat().st_size, path)
        with without_warnings():
            array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    except WordveilError:
        raise
    except (*PARSER_FAILURES, OSError):
        raise WordveilError(f"{path} is cut short or damaged; make it again.") from None
    return array


def check_array_header(handle: IO[bytes], available: int, source: object) -> None:
    """Refuse an array that holds Python objects or claims more numbers than there are bytes for.

    Parameters
    ----------
    handle : binary file
        Stands at the array's first byte; is read to the end of the header.
    available : int
        How many bytes the array and its header have at most.
    source : object
        What to call the array in an error.
    """
    shape, dtype = _read_header(handle, source)
    if dtype.hasobject:
        raise WordveilError(
            f"{source} holds pickled Python objects, which are never loaded because they can run code; "
            "save words as text (dtype=str) and vectors as float32."
        )
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > available:
        raise WordveilError(f"{source} is cut short or damaged; fetch or save it again.")


def _read_header(handle: IO[bytes], source: object) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        with without_warnings():
            version = npy.read_magic(handle)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            shape, _, dtype = read(handle)
    except PARSER_FAILURES:
        raise WordveilError(f"{source} is not an array that numpy can read; save it again.") from None
    return shape, dtype
