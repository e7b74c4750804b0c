"""Where parsed embeddings, graphs and tours are kept between runs.

Only what is derived from an embedding is ever cached, never anything of a text. What is read decides what is promised,
so an entry counts only if nobody but this user and root can have written it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.cache_room import CacheRoom
from wordveil.errors import WordveilError

__all__ = ["DAMAGE", "cached_arrays", "cached_folder", "found", "home", "read_cached"]

Content = TypeVar("Content")

#: What reading an array raises if its file is missing, empty or cut short.
DAMAGE = (OSError, ValueError, EOFError)

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_HAS_OWNERS = os.name != "nt"

_aside: dict[Path, Path] = {}  # temporary folders of this process, for entries that cannot be in the cache


def home() -> Path:
    """Return the cache's folder: ``$WORDVEIL_CACHE``, else ``wordveil`` in the user's cache folder."""
    explicit = os.environ.get("WORDVEIL_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordveil"


def cached_folder(key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder cached under `key`, filled by `fill` the first time.

    The folder appears under its name only when whole, so a crash leaves no half of one, and two processes
    that fill it at once both end with a good one. Where the cache cannot be written, or holds something under that name
    that is not to be used, a temporary folder serves this process.

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
    scratch = _scratch_for(target)
    if scratch is None:
        return _fill_aside(target, fill)
    try:
        fill(scratch)
        _settle(scratch)
        scratch.rename(target)
    except OSError as error:
        if not os.path.lexists(target):
            reason = error.strerror or "no room is left"  # numpy does not say it
            raise WordveilError(
                f"the cache {home()} cannot be written ({reason}); set WORDVEIL_CACHE to a folder with enough room."
            ) from None
        if not _is_usable(target):  # another user was quicker
            return _fill_aside(target, fill)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    room.make_for(target)
    return target


def _scratch_for(target: Path) -> Path | None:
    """Make an empty folder that can take the name of an entry, or return None if there can be none."""
    scratch = target.with_name(f".making-{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _is_usable(target):  # else another process was quicker, and its entry is as good
            _clear(target)
            if os.path.lexists(target):
                return None
        scratch.mkdir(0o755)  # less what the umask takes: other users may read it, if the owner lets them
    except OSError:
        return None
    return scratch


def _settle(scratch: Path) -> None:
    """Have everything on the disk before it gets its name, and nobody else able to write it."""
    for file in scratch.iterdir():
        with file.open("r+b") as handle:
            os.fsync(handle.fileno())
        file.chmod(stat.S_IMODE(file.stat().st_mode) & ~_OTHERS_WRITE)


def _is_usable(entry: Path) -> bool:
    """Say whether an entry is there, can be read, and was written by nobody but this user or root."""
    try:
        state = entry.lstat()
        if not (stat.S_ISDIR(state.st_mode) and _is_ours(state)):
            return False
        with os.scandir(entry) as files:
            for file in files:
                state = file.stat(follow_symlinks=False)
                if not (stat.S_ISREG(state.st_mode) and _is_ours(state)):
                    return False
                with open(file.path, "rb"):  # noqa: PTH123 - not to be read here, only to see that it can be
                    pass
    except OSError:
        return False
    return True


def _is_ours(state: os.stat_result) -> bool:
    return not _HAS_OWNERS or (state.st_uid in (0, os.geteuid()) and not state.st_mode & _OTHERS_WRITE)


def _clear(target: Path) -> None:
    """Remove what has the name of an entry and is not to be used, if it is our own."""
    with contextlib.suppress(FileNotFoundError):
        state = target.lstat()
        if stat.S_ISDIR(state.st_mode) and (not _HAS_OWNERS or state.st_uid == os.geteuid()):
            shutil.rmtree(target, ignore_errors=True)


def _fill_aside(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return a temporary folder with the content, filled the first time; it goes when the process ends."""
    there = _aside.get(target)
    if there is not None and there.is_dir():
        return there
    # Imported here since hardly anybody needs it: unlike atexit, it serves the workers of multiprocessing too, and a
    # forked process does not remove what its parent still uses.
    from multiprocessing.util import Finalize  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="wordveil-"))
    Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=0)
    try:
        fill(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _aside[target] = folder
    return folder


def found(key: str) -> Path | None:
    """Return the folder cached under `key`, from now on the one used last, or None if there is none.

    Parameters
    ----------
    key : str
        As for `cached_folder`.
    """
    target = home() / key
    if not _is_usable(target):
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
    return read_cached(key, fill, lambda folder: _load(folder, names), DAMAGE)


def read_cached(
    key: str,
    fill: Callable[[Path], None],
    read: Callable[[Path], Content],
    damage: tuple[type[Exception], ...],
) -> Content:
    """Return what is read from the folder cached under `key`, made again where something has damaged it.

    Parameters
    ----------
    key : str
        As for `cached_folder`.
    fill : callable
        As for `cached_folder`.
    read : callable
        Reads the content of the folder it is given.
    damage : tuple of exception types
        What it raises if the content is damaged.
    """
    folder = cached_folder(key, fill)
    try:
        return read(folder)
    except damage:
        shutil.rmtree(folder, ignore_errors=True)
    # What another user owns cannot be replaced, but this process can do without.
    folder = _fill_aside(folder, fill) if folder.is_dir() else cached_folder(key, fill)
    try:
        return read(folder)
    except damage:
        raise WordveilError(f"the cached folder {folder} is damaged and cannot be replaced; delete it.") from None


def _load(folder: Path, names: tuple[str, ...]) -> list[NDArray[Any]]:
    return [np.load(folder / f"{name}.npy", allow_pickle=False) for name in names]
