"""Formats whose files cannot be appended to: rows are kept in an interim form, and made a file when all are there."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wordveil.errors import InputError, WordveilError
from wordveil.files import file_errors, open_new
from wordveil.io.formats import Position, Reader, Reading, changed_since
from wordveil.io.output import FileWriter, before_whole

__all__ = ["OfficeReader", "OfficeWriter", "WholeWriter", "fingerprint"]

_ENDS = 1 << 16  # bytes at both ends of the file that go into its fingerprint; both kinds have their index at the end
_MOST_BYTES = 1 << 30  # of an office file when it is unpacked: its strings are held in memory


def fingerprint(path: Path) -> str:
    """Return a digest by which a file that is read from its end is recognised."""
    with file_errors("read", path), path.open("rb") as file:
        state = os.fstat(file.fileno())
        if state.st_size == 0:
            raise InputError(f"{path} is empty.")
        digest = hashlib.sha256(f"{state.st_size} {state.st_mtime_ns}".encode())
        digest.update(file.read(_ENDS))
        file.seek(max(0, state.st_size - _ENDS))
        digest.update(file.read())
    return digest.hexdigest()


class WholeWriter(FileWriter):
    """Keeps the interim form in the unfinished file; at the end the finished one takes its place, in one step."""

    magic: bytes  # how a finished file begins, and no interim form does

    def __init__(self, part: Path, size: int, source: Path | None, target: Path | None = None) -> None:
        del target  # such files are never packed
        # A job that was stopped just before the end has left the finished file in the place of the interim form.
        self._is_whole = _begins_with(part, self.magic)
        super().__init__(part, part.stat().st_size if self._is_whole else size, source)

    def finish(self, target: Path) -> None:
        """Write the finished file and give it its name."""
        self.sync()
        if not self._is_whole:
            whole = before_whole(self.part)
            with file_errors("write", whole), self.part.open("rb") as interim:
                with open_new(whole, 0o600) as written:
                    self._make_whole(interim, written, self._source or target)
                    written.flush()
                    os.fsync(written.fileno())
                # At no moment are there both, or neither.
                whole.replace(self.part)
        super().finish(target)

    @abstractmethod
    def _make_whole(self, interim: BinaryIO, written: BinaryIO, source: Path) -> None:
        """Write the finished file."""


def _begins_with(path: Path, start: bytes) -> bool:
    with file_errors("read", path):
        if not path.exists():
            return False
        with path.open("rb") as file:
            return file.read(len(start)) == start


class OfficeReader(Reader):
    """What readers of office files share: zip archives of XML, which are opened as a whole."""

    title: str  # what the file should be, with its article

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        if path is None or not path.is_file():
            raise InputError(f"{self.title} cannot be read from a stream; give the name of a file.")
        self._path, self._reading = path, reading
        self._fingerprint = fingerprint(path)
        self._row, self._record = (start.offset, start.record) if start else (0, 0)
        if start is not None and start.fingerprint != self._fingerprint:
            raise changed_since(path)
        with self._understood(), zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST_BYTES:
            raise InputError(f"{path} has more than {_MOST_BYTES >> 20} MiB when unpacked; export it as CSV or text.")

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Say that a file is bad, without the library's own message, which may quote values."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
            return
        except WordveilError:
            raise
        except Exception:  # noqa: BLE001, S110 - whatever a damaged file makes the library raise
            pass
        raise InputError(f"{self._path} is not {self.title}, or it is damaged or encrypted.")

    def _position(self) -> Position:
        return Position(self._row, 0, self._record, self._fingerprint)

    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes lie before `position`: nothing before the end, as the rows are not counted."""
        del position
        return 0

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        if fingerprint(self._path) != self._fingerprint:
            raise InputError(f"{self._path} changed while it was being read.")

    def close(self) -> None:
        """Close the file."""


class OfficeWriter(WholeWriter):
    """Keeps rows as lines of JSON."""

    magic = b"PK"

    def _make_whole(self, interim: BinaryIO, written: BinaryIO, source: Path) -> None:
        del source
        self._write(map(json.loads, interim), written)

    @abstractmethod
    def _write(self, rows: Iterator[Any], written: BinaryIO) -> None:
        """Write the finished file from its rows."""
