"""Inputs and outputs that lie elsewhere, reached through fsspec: ``s3://``, ``gs://``, ``memory://`` and the like."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar, cast

from wordveil.errors import FileError, OptionError
from wordveil.extras import needs
from wordveil.io.streams import packer_for

__all__ = ["is_remote", "place", "written_remotely"]

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(?:[^/@]*@)?(.*)", re.IGNORECASE | re.DOTALL)
_HERE = ("file", "local")

Result = TypeVar("Result")


def is_remote(name: str) -> bool:
    """Whether a name is an address, such as ``s3://bucket/table.csv``, rather than a path."""
    return _ADDRESS.fullmatch(name) is not None


def place(name: str) -> Path:
    """Return what is read under a name: a path, or for an address what a job needs of one."""
    return cast("Path", _Remote(name)) if is_remote(name) else Path(name)


class _Remote:
    """What a job needs of the path of an input, for a file that lies elsewhere."""

    def __init__(self, address: str) -> None:
        needs("fsspec", "remote", "a remote path")
        found = _ADDRESS.fullmatch(address)
        scheme, rest = (found[1].lower(), found[2]) if found else ("", address)
        if scheme in _HERE:
            raise OptionError("a file on this machine is named by its path, without file://.")
        self._address, self._shown = address, f"{scheme}://{rest}"  # without a user and a password
        pure = PurePosixPath(rest)
        self.name, self.suffix, self.parents = pure.name, pure.suffix, tuple[Path, ...]()

    def __str__(self) -> str:
        return self._shown

    def __fspath__(self) -> str:
        return self._shown

    def with_suffix(self, suffix: str) -> PurePosixPath:
        """Return the name with another extension, which says what the file is."""
        return PurePosixPath(self.name).with_suffix(suffix)

    def resolve(self) -> _Remote:
        """Return itself: an address has no links to follow."""
        return self

    def exists(self) -> bool:
        """Whether there is anything."""
        return bool(self._ask(lambda system, path: system.exists(path)))

    def is_file(self) -> bool:
        """Whether it is a file, which can be read again."""
        return bool(self._ask(lambda system, path: system.isfile(path)))

    def stat(self) -> os.stat_result:
        """Return the kind, size and time of the file, as far as they are known."""
        facts = self._ask(lambda system, path: system.info(path))
        kind = stat.S_IFDIR if facts.get("type") == "directory" else stat.S_IFREG
        told = facts.get("ETag") or facts.get("mtime") or facts.get("LastModified") or facts.get("created") or 0
        return _Stat(kind, int(facts.get("size") or 0), str(told))  # type: ignore[return-value]

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open the file to be read."""
        raw = self._ask(lambda system, path: system.open(path, mode))
        return cast("BinaryIO", io.BufferedReader(raw))

    def _ask(self, ask: Callable[[Any, str], Result]) -> Result:
        """Ask the file system, and say in a sentence why it does not answer."""
        import fsspec  # noqa: PLC0415 - an extra

        reason = ""
        try:
            return ask(*fsspec.core.url_to_fs(self._address))
        except FileNotFoundError:
            reason = "there is no such file"
        except (ImportError, ValueError):
            reason = "no package is installed for such addresses, or the address is not valid"
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own, which may quote secrets
            reason = type(error).__name__
        raise FileError(f"cannot read {self._shown}: {reason}.")


class _Stat:
    """Kind, size and time of a remote file; the time may be any text that changes with the content."""

    def __init__(self, kind: int, size: int, told: str) -> None:
        self.st_mode, self.st_size, self.st_mtime_ns = kind, size, told
        self.st_ino = self.st_dev = -1  # the same as no file here


@contextmanager
def written_remotely(name: str, inputs: Iterable[object], *, overwrite: bool) -> Iterator[BinaryIO]:
    """Give a stream to a remote file, which appears under its name when the block has ended without an error.

    It is never one of the `inputs`, and another file is replaced only with `overwrite`.
    """
    target = _Remote(name)
    if str(target) in map(str, inputs):
        raise FileError(f"{target} would be both read and written; give another output.")
    if target.exists() and not overwrite:
        raise FileError(f"{target} already exists; use `overwrite` to replace it.")
    import fsspec  # noqa: PLC0415 - an extra

    system, path = fsspec.core.url_to_fs(name)
    pack = packer_for(Path(target.name))
    with system.transaction, system.open(path, "wb") as file:
        yield cast("BinaryIO", file if pack is None else _Packed(file, pack))


class _Packed:
    """Packs what is written to a stream, block by block."""

    def __init__(self, file: BinaryIO, pack: Callable[[bytes], bytes]) -> None:
        self._file, self._pack = file, pack

    def write(self, data: bytes) -> int:
        if data:
            self._file.write(self._pack(data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()
