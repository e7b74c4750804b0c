"""Files on disk: errors in one sentence, atomic writes, locks, and the cache.

Only data derived from an embedding is cached, never anything from a text. Guarantees depend on what is read from the
cache, so an entry is used only if nobody but this user and root can have written it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import platformdirs
from numpy.typing import NDArray

from wordveil.errors import FileError, OptionError
from wordveil.parallel import renew_after_fork

if sys.platform != "win32":
    import fcntl

Content = TypeVar("Content")

#: What reading an array raises if its file is missing, empty or truncated.
DAMAGE = (OSError, ValueError, EOFError)

#: The prefixes of cache keys, one for each kind of cached data.
KINDS = (
    "vectors",
    "graph",
    "ring",
    "neighbours",
    "density",
    "peaks",
    "laid",
    "bayes-remap",
    "blahut-arimoto",
    "calibration",
    "hearst",
    "reading",
    "custext",
    "diffractor",
    "blocked",
)

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_HAS_OWNERS = os.name != "nt"
_SIZE_VARIABLE = "WORDVEIL_CACHE_SIZE"
_DEFAULT_SIZE = 8192  # MiB: more than the vectors and the graph of two million words
_HOUR = 3600.0
# Nothing else is ever removed, because other programs may use the folder too.
_ENTRY = re.compile(rf"(?:{'|'.join(KINDS)})-(?:.*-)?[0-9a-f]{{32,}}")
_SCRATCH = re.compile(r"\.(making|going)-[\w.]+")  # if it is old, a killed process left it
_LARGE = 1 << 24  # bytes: smaller entries are cheap to make again
_LOOKS = 16  # how often the size is checked while the cache fills up once; each check visits every entry

_aside: dict[Path, Path] = {}  # temporary folders of this process, for entries that cannot be cached
_held: dict[tuple[Path, int], int] = {}  # locks on the large entries that this process uses, by folder and inode
_lent: list[Path] = []  # read-only folders with further entries
_written: dict[Path, int] = {}  # bytes that this process has written to each cache since the last check


@contextlib.contextmanager
def file_errors(action: str, path: Path | str) -> Iterator[None]:
    """Turn an ``OSError`` into a FileError that says which `action` ("read", "write") failed on which file, and why.

    A broken pipe is re-raised: it only means that the reader of the output has stopped.
    """
    try:
        yield
        return
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise FileError(f"cannot {action} {path}: {reason}.")


def digest_of(value: Any) -> str:
    """Return a digest of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of what is in a file."""
    digest = hashlib.sha256()
    with file_errors("read", path), path.open("rb") as file:
        while some := file.read(1 << 20):
            digest.update(some)
    return digest.hexdigest()


def name_before(path: Path) -> Path:
    """Return the temporary name that `write_whole` uses before it renames the file."""
    return path.with_name(f".{path.name}.wordveil-new")


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file atomically: after a crash it is either complete or as it was before.

    The folder is not synced, which would double the time: after a crash, the old file is fine. A link stays a link, and
    a pipe or a device is written to, not replaced by a file.
    """
    with file_errors("write", path):
        path = path.resolve()
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        with whole_file(path, mode) as file:
            file.write(text.encode())


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file for an atomic write: it takes its name at the end of the block, if nothing fails."""
    with file_errors("write", path):
        path = path.resolve()
        fresh = name_before(path)
        try:
            with open_new(fresh, mode) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


def open_new(path: Path, mode: int = 0o666) -> BinaryIO:
    """Create a new file, removing anything under its name, such as the remains of a crash."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, mode)
    except FileExistsError:
        path.unlink()
        handle = os.open(path, flags, mode)
    return os.fdopen(handle, "wb")


def usual_mode(most: int) -> int:
    """Return the permissions that a new file (0o666) or folder (0o777) of this user gets."""
    mask = os.umask(0o077)
    os.umask(mask)
    return most & ~mask


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a crash, if the system supports it."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Lock:
    """Locks a file or folder until it is released or the process ends.

    Systems without such locks (Windows, some network file systems) lock nothing. A forked process releases the lock at
    once: only the parent writes, and if workers held the lock, a killed job could not be resumed until they have ended.
    (We do not use the library filelock: it locks a second file, which would need cleaning up, and ignores forks.)
    """

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        if sys.platform == "win32":
            return
        with file_errors("write", path):
            self._handle = os.open(path, os.O_RDONLY)
        is_taken = False
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            is_taken = isinstance(error, BlockingIOError)
            self.release()
        if is_taken:
            raise FileError(f"another job is writing {path}; wait until it is done.")
        renew_after_fork(self)

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    after_fork = release


def home() -> Path:
    """Return the cache's folder: ``$WORDVEIL_CACHE``, else ``wordveil`` in the user's cache folder."""
    explicit = os.environ.get("WORDVEIL_CACHE")
    return Path(explicit) if explicit else platformdirs.user_cache_path("wordveil", appauthor=False)


def found(key: str) -> Path | None:
    """Return the folder cached under `key`, marking it as just used, or None if there is none."""
    target = next((folder / key for folder in (home(), *_lent) if _is_usable(folder / key)), None)
    if target is None:
        return None
    with contextlib.suppress(OSError):  # the cache may be read-only
        os.utime(target)
    _hold(target)
    return target


def lend(folder: Path) -> None:
    """Make this process find entries in another folder too, such as those sent by another machine."""
    if folder not in _lent:
        _lent.append(folder)


def _hold(entry: Path) -> None:
    """Keep others from removing a large entry as long as this process lives, if the system has such locks."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        key = entry, entry.stat().st_ino
        if key not in _held and _size(entry) >= _LARGE:
            _held[key] = os.open(entry, os.O_RDONLY)
            fcntl.flock(_held[key], fcntl.LOCK_SH | fcntl.LOCK_NB)


def _is_held(entry: Path) -> bool:
    """Return whether any process uses an entry."""
    if sys.platform == "win32":
        return False
    handle = os.open(entry, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def _turn(target: Path) -> Iterator[None]:
    """Keep other processes from making this entry within the block, if the system has such locks."""
    handle = None
    path = target.with_name(f".making-{hashlib.sha256(target.name.encode()).hexdigest()[:16]}.lock")
    try:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # the cache cannot be written, or the file system has no locks
                target.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(handle)


def cached_folder(key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder cached under `key`; `fill` writes its content into an empty folder the first time.

    The folder appears atomically, so a crash leaves no partial one. If several processes need it at once, one fills it
    and the others wait. If the cache is not writable, or has an entry under that name that must not be used, this
    process uses a temporary folder.

    The key must determine the content, and may have only letters, digits, ``-`` and ``.``.
    """
    there = found(key)
    if there is not None:
        return there
    size = _most_bytes()
    with _turn(home() / key):
        there = found(key)  # another process may have filled it by now
        return _filled(home() / key, fill, size) if there is None else there


def _filled(target: Path, fill: Callable[[Path], None], size: int) -> Path:
    scratch = _scratch_for(target)
    if scratch is None:
        return _fill_aside(target, fill)
    try:
        fill(scratch)
        _settle(scratch)
        scratch.rename(target)
    except OSError as error:
        if not os.path.lexists(target):
            reason = error.strerror or "no room is left"  # the reason that numpy does not give
            raise FileError(
                f"the cache {home()} cannot be written ({reason}); set WORDVEIL_CACHE to a folder with enough room."
            ) from None
        if not _is_usable(target):  # another user was quicker
            return _fill_aside(target, fill)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _hold(target)
    _make_room(target, size)
    return target


def forget(key: str) -> None:
    """Remove what is cached under `key`, if anything is."""
    _clear(home() / key)


def cached_arrays(key: str, fill: Callable[[Path], None], *names: str) -> list[NDArray[Any]]:
    """Return the arrays of these names cached under `key`, making them again if they are damaged.

    `fill` writes each as ``NAME.npy``; see `cached_folder`.
    """

    def read(folder: Path) -> list[NDArray[Any]]:
        return [np.load(folder / f"{name}.npy", allow_pickle=False) for name in names]

    return read_cached(key, fill, read, DAMAGE)


def read_cached(
    key: str, fill: Callable[[Path], None], read: Callable[[Path], Content], damage: tuple[type[Exception], ...]
) -> Content:
    """Return what `read` returns for the folder cached under `key`, making the folder again if it is damaged.

    `damage` are the errors that `read` raises for a damaged folder; see `cached_folder`.
    """
    folder = cached_folder(key, fill)
    try:
        return read(folder)
    except damage:
        shutil.rmtree(folder, ignore_errors=True)
    # An entry of another user cannot be replaced, so this process uses a temporary folder.
    folder = _fill_aside(folder, fill) if folder.is_dir() else cached_folder(key, fill)
    try:
        return read(folder)
    except damage:
        raise FileError(f"the cached folder {folder} is damaged and cannot be replaced; delete it.") from None


def _scratch_for(target: Path) -> Path | None:
    """Create an empty folder that can be renamed to the entry; return None if that is impossible."""
    scratch = target.with_name(f".making-{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _is_usable(target):  # otherwise another process was faster, and its entry is fine
            _clear(target)
            if os.path.lexists(target):
                return None
        scratch.mkdir(0o755)  # readable by other users, unless the umask forbids it
    except OSError:
        return None
    return scratch


def _settle(scratch: Path) -> None:
    """Sync all files before the folder gets its name, and make them writable only by the owner."""
    for file in scratch.iterdir():
        with file.open("r+b") as handle:
            os.fsync(handle.fileno())
        file.chmod(stat.S_IMODE(file.stat().st_mode) & ~_OTHERS_WRITE)


def _is_usable(entry: Path) -> bool:
    """Return whether an entry exists, is readable, and can only have been written by this user or root."""
    try:
        state = entry.lstat()
        if not (stat.S_ISDIR(state.st_mode) and _is_ours(state)):
            return False
        with os.scandir(entry) as files:
            for file in files:
                state = file.stat(follow_symlinks=False)
                if not (stat.S_ISREG(state.st_mode) and _is_ours(state)):
                    return False
                with open(file.path, "rb"):  # noqa: PTH123 - only checks that it is readable
                    pass
    except OSError:
        return False
    return True


def _is_ours(state: os.stat_result) -> bool:
    return not _HAS_OWNERS or (state.st_uid in (0, os.geteuid()) and not state.st_mode & _OTHERS_WRITE)


def _clear(target: Path) -> None:
    """Remove what is under the name of an entry, if this user owns it."""
    with contextlib.suppress(FileNotFoundError):
        state = target.lstat()
        if stat.S_ISDIR(state.st_mode) and (not _HAS_OWNERS or state.st_uid == os.geteuid()):
            shutil.rmtree(target, ignore_errors=True)


def _fill_aside(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return a temporary folder with the content, filled the first time and removed when the process ends."""
    there = _aside.get(target)
    if there is not None and there.is_dir():
        return there
    # Unlike atexit, Finalize also runs in workers of multiprocessing, and a forked process does not remove what its
    # parent still uses. Imported here because it is rarely needed.
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


def _most_bytes() -> int:
    """Return the largest size of the cache in bytes: ``$WORDVEIL_CACHE_SIZE`` MiB, else 8 GiB."""
    chosen = os.environ.get(_SIZE_VARIABLE) or str(_DEFAULT_SIZE)
    if not (chosen.isascii() and chosen.isdigit()):
        raise OptionError(f"{_SIZE_VARIABLE} must be a whole number of MiB.")
    return int(chosen) << 20


def _make_room(new: Path, most: int) -> None:
    """Remove the least recently used entries if the cache is too full after writing a new one.

    Entries used within the last hour stay, because a process may be about to read them, and so do large entries that a
    process uses. Entries that are mapped or open can still be read after they are removed.
    """
    cache = new.parent
    with contextlib.suppress(OSError):  # other processes may remove entries too
        _written[cache] = _written.get(cache, most) + _size(new)
        if _written[cache] < most // _LOOKS:
            return
        _written[cache] = 0
        now, entries = time.time(), list[tuple[float, int, Path]]()
        for path in cache.iterdir():
            with contextlib.suppress(OSError):
                used = path.stat().st_mtime
                if _SCRATCH.fullmatch(path.name) and now - used > 24 * _HOUR:
                    shutil.rmtree(path, ignore_errors=True)
                elif _ENTRY.fullmatch(path.name) and path.is_dir():
                    entries.append((used, _size(path), path))
        total = sum(size for _, size, _ in entries)
        for used, size, path in sorted(entries):
            if total <= most or now - used < _HOUR:
                break
            if _is_held(path):
                continue
            # Renamed first, so that nobody sees a partial entry.
            with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix=".going-", dir=cache) as away:
                path.rename(Path(away, path.name))
            total -= size


def _size(entry: Path) -> int:
    with os.scandir(entry) as files:  # closed also if another process removes a file meanwhile
        return sum(file.stat().st_size for file in files)  # entries have no subfolders
