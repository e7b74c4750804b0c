"""Where parsed embeddings, graphs and tours are kept between runs.

Only what is derived from an embedding is ever cached, never anything of a text.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.cache_room import CacheRoom
from wordveil.errors import WordveilError

__all__ = ["DAMAGE", "cached_arrays", "cached_folder", "found", "home"]

#: What reading an array raises if its file is missing, empty or cut short.
DAMAGE = (OSError, ValueError, EOFError)


def home() -> Path:
    """Return the cache's folder: ``$WORDVEIL_CACHE``, else ``wordveil`` in the user's cache folder."""
    explicit = os.environ.get("WORDVEIL_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordveil"


def cached_folder(key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder cached under `key`, filled by `fill` the first time.

    The folder appears under its name only when whole, so a crash leaves no half of one, and two processes
    that fill it at once both end with a good one. Where the cache cannot be written, a temporary folder
    serves this process.

    Parameters
    ----------
    key : str
        A name that says everything the content depends on; letters, digits, ``-`` and ``.`` only.
    fill : callable
        Writes the content into the empty folder it is given.
    """
    there = found(key)
    if there is not None:
        return there
    target, room = home() / key, CacheRoom(home())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
    except OSError:
        scratch = Path(tempfile.mkdtemp(prefix="wordveil-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        fill(scratch)
        return scratch
    try:
        fill(scratch)
        scratch.rename(target)
    except OSError as error:
        if not target.is_dir():
            reason = error.strerror or "no room is left"  # numpy does not say it
            raise WordveilError(
                f"the cache {home()} cannot be written ({reason}); set WORDVEIL_CACHE to a folder with enough room."
            ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    room.make_for(target)
    return target


def found(key: str) -> Path | None:
    """Return the folder cached under `key`, from now on the one used last, or None if there is none.

    Parameters
    ----------
    key : str
        As for `cached_folder`.
    """
    target = home() / key
    if not target.is_dir():
        return None
    with contextlib.suppress(OSError):  # a cache that is only to be read
        os.utime(target)
    return target


def cached_arrays(key: str, fill: Callable[[Path], None], *names: str) -> list[NDArray[Any]]:
    """Return arrays cached under `key`, made again where something has damaged them.

    Parameters
    ----------
    key : str
        As for `cached_folder`.
    fill : callable
        Writes the arrays, each as ``NAME.npy``, into the empty folder it is given.
    *names : str
        Which arrays.
    """
    folder = cached_folder(key, fill)
    try:
        return _load(folder, names)
    except DAMAGE:
        shutil.rmtree(folder, ignore_errors=True)
    folder = cached_folder(key, fill)
    try:
        return _load(folder, names)
    except DAMAGE:
        raise WordveilError(f"the cached folder {folder} is damaged and cannot be replaced; delete it.") from None


def _load(folder: Path, names: tuple[str, ...]) -> list[NDArray[Any]]:
    return [np.load(folder / f"{name}.npy", allow_pickle=False) for name in names]
