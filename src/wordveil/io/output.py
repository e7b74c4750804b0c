"""Where the output of a job goes: unfinished files beside their targets, which get their names when they are whole."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from wordveil.errors import FileError
from wordveil.files import Lock, file_errors, name_before, sync_folder, usual_mode
from wordveil.io.inputs import Piece, Plan
from wordveil.io.streams import packer_for

__all__ = ["Destination", "FileWriter", "HeldWriter", "SyncedFiles", "Writer", "before_whole"]


class Writer:
    """Takes rendered blocks, one behind the other, to a stream: a pipe or a device, which takes nothing back."""

    def __init__(self, stream: BinaryIO, action: str = "write to", name: Path | str = "the output stream") -> None:
        self._file, self._size, self._told = stream, 0, (action, name)
        self._pack: Callable[[bytes], bytes] | None = None

    def append(self, data: bytes) -> None:
        """Write some more."""
        if data and self._pack:
            data = self._pack(data)
        with file_errors(*self._told):
            self._file.write(data)
        self._size += len(data)

    def flush(self) -> None:
        """Hand on all that was written."""
        with file_errors(*self._told):
            self._file.flush()

    def sync(self) -> int:
        """Hand on all that was written, as safely as can be, and return how many bytes that is."""
        self.flush()
        return self._size


class HeldWriter(Writer):
    """Writes nothing to its stream before it is released."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._waiting: list[bytes] = []
        self._digest = hashlib.sha256()
        #: Whether what is appended is written.
        self.is_released = False

    def append(self, content: bytes) -> None:
        """Take more, and write it if the time has come."""
        self._digest.update(content)
        if self.is_released:
            super().append(content)
        else:
            self._waiting.append(content)

    @property
    def digest(self) -> str:
        """The SHA-256 of all that was taken."""
        return self._digest.hexdigest()

    def release(self) -> None:
        """Write what waits, and from now on all that comes, at once."""
        if not self.is_released:
            self.is_released = True
            for content in self._waiting:
                super().append(content)
            self._waiting = []
            self.sync()


class FileWriter(Writer):
    """Writes an unfinished file, behind the `size` bytes of it that are kept; only `finish` gives it its final name."""

    def __init__(self, part: Path, size: int = 0, source: Path | None = None, target: Path | None = None) -> None:
        self.part, self._source = part, source
        with file_errors("write", part):
            # A link in the place of our own file would be somebody else's doing.
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
            super().__init__(os.fdopen(os.open(part, flags, 0o666), "r+b"), "write", part)
            is_short = self._file.seek(0, os.SEEK_END) < size
            if not is_short:
                self._file.truncate(size)
                self._file.seek(size)
        if is_short:
            self.close()
            raise FileError(
                f"{part} is shorter than its checkpoint says; start again with `overwrite` instead of `resume`."
            )
        self._size, self._pack = size, packer_for(target)

    def sync(self) -> int:
        """Make sure that all that was written would outlive a crash, and return how many bytes that is."""
        size = super().sync()
        with file_errors(*self._told):
            os.fsync(self._file.fileno())
        return size

    def finish(self, target: Path) -> None:
        """Give the file its name."""
        self.sync()
        self.close()
        with file_errors("write", target):
            self.part.chmod(usual_mode(0o666))
            self.part.replace(target)
            sync_folder(target.parent)

    def close(self) -> None:
        """Stop writing, and keep what was written."""
        with suppress(OSError):  # what matters was synced, and what could not be written was told
            self._file.close()


class SyncedFiles:
    """Many small files below a folder, made safe together: to sync them one by one takes far longer than to write them.

    Where the system can sync a whole file system and tell of what failed since the folder was opened (Linux), it does.
    """

    # A link in the place of our own file would be somebody else's doing.
    _FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)

    def __init__(self, folder: Path) -> None:
        self._folder, self._written, self._made = folder, list[str](), {""}
        self._syncfs = getattr(ctypes.CDLL(None), "syncfs", None) if sys.platform == "linux" else None
        with file_errors("write", folder):
            self._handle = None if self._syncfs is None else os.open(folder, os.O_RDONLY)

    def write(self, name: str, content: bytes) -> None:
        """Write a file under its name in the folder, in place of what is there, packed as the name says."""
        pack, within = packer_for(name), name.rpartition("/")[0]
        left = memoryview(pack(content) if pack and content else content)
        try:
            if within not in self._made:
                os.makedirs(os.path.join(self._folder, within), exist_ok=True)  # noqa: PTH103, PTH118 - of many files,
                self._made.add(within)  # and no Path for each
            if self._handle is None:
                path = os.path.join(self._folder, name)  # noqa: PTH118
                self._written.append(path)
                handle = os.open(path, self._FLAGS, 0o666)
            else:
                handle = os.open(name, self._FLAGS, 0o666, dir_fd=self._handle)
            try:
                while left:
                    left = left[os.write(handle, left) :]
            finally:
                os.close(handle)
            return
        except OSError as error:
            failed = error
        with file_errors("write", self._folder / name):
            raise failed

    def sync(self) -> None:
        """Make sure that all that was written would outlive a crash, names included."""
        with file_errors("write", self._folder):
            if self._syncfs is not None:
                if self._syncfs(self._handle):
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            else:
                for path in map(Path, self._written):
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                for folder in {Path(path).parent for path in self._written}:
                    sync_folder(folder)
        self._written.clear()

    def close(self) -> None:
        """Close the folder."""
        if self._handle is not None:
            os.close(self._handle)


def before_whole(part: Path) -> Path:
    """Return where a file that is made at the end of a job is written before it takes the place of its interim form."""
    return part.with_name(part.name + ".whole")


@dataclass(frozen=True)
class Destination:
    """A file or folder that appears under its name when it is whole.

    Until then ``NAME.part`` holds what is done, and ``NAME.part.json`` how far that is; ``NAME.part.learnt.json`` holds
    what the job learnt from its input beforehand, if it did.
    """

    target: Path
    is_folder: bool

    @classmethod
    def of(cls, output: Path, plan: Plan) -> Destination:
        """Return the destination of a plan; links are followed, so that they stay links."""
        with file_errors("write", output):
            return cls(output.resolve(), plan.is_many)

    @property
    def part(self) -> Path:
        """The unfinished output."""
        return self._beside(".part")

    @property
    def checkpoint(self) -> Path:
        """The checkpoint."""
        return self._beside(".part.json")

    @property
    def learnt(self) -> Path:
        """What was learnt from the input in a pass before."""
        return self._beside(".part.learnt.json")

    def _beside(self, ending: str) -> Path:
        return self.target.with_name(self.target.name + ending)

    def part_of(self, piece: Piece) -> Path:
        """Return the unfinished file of one input."""
        return self.part / f"{piece.name}.part" if self.is_folder else self.part

    def whole_of(self, piece: Piece) -> Path:
        """Return where the file of one input goes when it is whole."""
        return self.part / piece.name if self.is_folder else self.target

    def check(self, plan: Plan, *, resume: bool, overwrite: bool) -> None:
        """Raise if nothing can or should be written."""
        if not self.target.parent.is_dir():
            raise FileError(f"cannot write {self.target}: its folder does not exist.")
        self._check_apart(plan)
        going_on = resume and _exists(self.checkpoint)
        if self.is_folder:
            self._check_folder()
        elif self.target.is_dir():
            raise FileError(f"{self.target} is a folder; give the name of a file.")
        elif _exists(self.target) and not overwrite and (_exists(self.part) or not going_on):
            if resume and not _exists(self.part):
                raise FileError(
                    f"{self.target} is complete, so there is nothing to resume; use `overwrite` to make it again."
                )
            raise FileError(f"{self.target} already exists; use `overwrite` to replace it.")
        if _exists(self.part) and not going_on and not overwrite:
            raise FileError(
                f"{self.part} was left by a job that did not finish; continue it with `resume`, or start again with "
                "`overwrite`."
            )

    def _check_folder(self) -> None:
        if _exists(self.target) and not self.target.is_dir():
            raise FileError(f"{self.target} is a file, but the output is a folder; give another name.")
        finished = _exists(self.checkpoint) and not _exists(self.part)
        if self.target.is_dir() and any(self.target.iterdir()) and not finished:
            raise FileError(f"the folder {self.target} is not empty, and no folder is replaced; give another name.")

    def _check_apart(self, plan: Plan) -> None:
        names = [self.target, self.part, self.checkpoint, self.learnt, before_whole(self.part)]
        taken = filter(_exists, [*names, name_before(self.checkpoint), name_before(self.learnt)])
        for path in taken:
            for piece in plan.pieces:
                if piece.source and path.samefile(piece.source):
                    raise FileError(f"{piece.source} would be both read and written; give another output.")

        @lru_cache  # many files lie in the same folder
        def is_written(folder: str) -> bool:
            lies = Path(folder).resolve()
            return self.target in (lies, *lies.parents)

        for piece in plan.pieces if self.is_folder else ():
            if piece.place is None:
                continue
            is_link = os.path.islink(piece.place) if piece.is_link is None else piece.is_link  # noqa: PTH114
            name = str(piece.source.resolve() if is_link and piece.source else piece.place)
            if is_written(os.path.dirname(name)):  # noqa: PTH120 - of many files, and no Path for each
                raise FileError(f"{piece.source} lies in {self.target}, which would be written; give another output.")
        if plan.folder:
            folder = plan.folder.resolve()
            if folder == self.target or folder in self.target.parents or self.target in folder.parents:
                raise FileError(f"{self.target} and {plan.folder} lie one inside the other; give another output.")

    def clear(self) -> None:
        """Remove what a job left that did not finish."""
        with file_errors("remove", self.part):
            if self.part.is_dir():
                if not self.checkpoint.exists():
                    raise FileError(f"the folder {self.part} was not made by wordveil; remove it yourself.")
                shutil.rmtree(self.part)
            else:
                self.part.unlink(missing_ok=True)
                before_whole(self.part).unlink(missing_ok=True)
        self.forget()

    def begin(self) -> Lock:
        """Make the unfinished output, if it is not there, and hold it.

        Only its owner may read it: if it is left and begun anew, whoever has both has two draws of each record.
        """
        with file_errors("write", self.part):
            if self.is_folder:
                self.part.mkdir(mode=0o700, exist_ok=True)
            else:
                self.part.touch(mode=0o600)
        return Lock(self.part)

    def finish(self) -> None:
        """Give a folder its name; a file has it since it was whole."""
        if self.is_folder and _exists(self.part):
            with file_errors("write", self.target):
                for folder, _, _ in os.walk(self.part):
                    sync_folder(Path(folder))
                self.part.chmod(usual_mode(0o777))
                self.part.replace(self.target)
                sync_folder(self.target.parent)

    def forget(self) -> None:
        """Remove the checkpoint of a job that is done, and what it learnt."""
        with file_errors("remove", self.checkpoint):
            self.checkpoint.unlink(missing_ok=True)
            self.learnt.unlink(missing_ok=True)


def _exists(path: Path) -> bool:
    with file_errors("write", path):
        return path.exists()
