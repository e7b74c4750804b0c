"""Opening an embedding file, plain or gzipped, with a sentence for everything that can go wrong."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from wordveil.errors import WordveilError

__all__ = ["DEFLATE_RATIO", "is_folder", "is_packed", "largest_content", "opened", "plain_file"]

DEFLATE_RATIO = 1032  # no deflate stream expands further than this, so it bounds what a header may promise
_GZIP_MAGIC = b"\x1f\x8b"


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise WordveilError(f"there is no file {path}; check the path.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def is_folder(path: Path) -> bool:
    """Tell a folder from a file; what is neither, or is not there, is refused."""
    mode = _mode(path)
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise WordveilError(f"{path} is not a regular file; save the embedding to a file and give that.")
    return stat.S_ISDIR(mode)


def _ensure_file(path: Path) -> None:
    if is_folder(path):
        raise WordveilError(f"{path} is a folder where a file is meant; give the file itself.")


def _unreadable(path: Path, error: Exception) -> WordveilError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is not valid"
    return WordveilError(f"{path} cannot be read ({reason}); check the path and its permissions.")


def is_packed(content: bytes) -> bool:
    """Tell a gzip stream by its first bytes."""
    return content.startswith(_GZIP_MAGIC)


def _is_gzipped(path: Path) -> bool:
    with path.open("rb") as handle:
        return is_packed(handle.read(len(_GZIP_MAGIC)))


@contextmanager
def opened(path: Path, *, packed: bool = True) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unpacked on the way where it is gzipped.

    The name does not matter: a gzip stream is known by its first bytes. What fails while the file is read
    inside the ``with`` block becomes a `WordveilError`.

    Parameters
    ----------
    path : Path
        The file.
    packed : bool
        Whether it may be gzipped; if not, the bytes come as they are.
    """
    _ensure_file(path)
    try:
        if packed and _is_gzipped(path):
            with gzip.open(path, "rb") as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            with path.open("rb") as handle:
                yield handle
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise WordveilError(f"{path} is a gzip file that is cut short or damaged; fetch or pack it again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give the path itself, or that of an unpacked temporary copy where the file is gzipped.

    For formats whose readers jump about in the file, which a gzip stream does not allow.
    """
    with opened(path) as handle:
        if not _is_gzipped(path):
            yield path
            return
        descriptor, name = tempfile.mkstemp(prefix="wordveil-")
        try:
            with os.fdopen(descriptor, "wb") as copy:
                shutil.copyfileobj(handle, copy, 1 << 20)
            yield Path(name)
        finally:
            Path(name).unlink()


def largest_content(path: Path) -> int:
    """Return how many bytes the file can at most hold when unpacked."""
    size = path.stat().st_size
    return size * DEFLATE_RATIO if _is_gzipped(path) else size
