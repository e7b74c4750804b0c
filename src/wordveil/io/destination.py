"""Where the output of a job goes, and what lies there while it is in the making."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.io.checkpoint import fresh_name
from wordveil.io.failures import told
from wordveil.io.lock import Lock
from wordveil.io.plan import Piece, Plan
from wordveil.io.writer import parquet_in_the_making, sync_folder

__all__ = ["Destination"]


@dataclass(frozen=True)
class Destination:
    """A file or folder that appears under its name when it is whole.

    Until then ``NAME.part`` holds what is done, and ``NAME.part.json`` how far that is; ``NAME.part.learnt.json`` holds
    what the job learnt from its input beforehand, if it did.

    Parameters
    ----------
    target : Path
        The final name.
    is_folder : bool
        Whether a folder of files is written.
    """

    target: Path
    is_folder: bool

    @classmethod
    def of(cls, output: Path, plan: Plan) -> Destination:
        """Return the destination of a plan; links are followed, so that they stay links."""
        with told("write", output):
            return cls(output.resolve(), plan.folder is not None)

    @property
    def part(self) -> Path:
        """The output in the making."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def checkpoint(self) -> Path:
        """The checkpoint."""
        return self.target.with_name(self.target.name + ".part.json")

    @property
    def learnt(self) -> Path:
        """What was learnt from the input in a pass before."""
        return self.target.with_name(self.target.name + ".part.learnt.json")

    @property
    def _names(self) -> list[Path]:
        """Every name that a job writes to beside the files of a folder, at some moment."""
        made = [self.target, self.part, self.checkpoint, self.learnt, parquet_in_the_making(self.part)]
        return [*made, fresh_name(self.checkpoint), fresh_name(self.learnt)]

    def part_of(self, piece: Piece) -> Path:
        """Return the file in the making of one input."""
        return self.part / f"{piece.name}.part" if self.is_folder else self.part

    def whole_of(self, piece: Piece) -> Path:
        """Return where the file of one input goes when it is whole."""
        return self.part / piece.name if self.is_folder else self.target

    def check(self, plan: Plan, *, resume: bool, overwrite: bool) -> None:
        """Raise where nothing can or should be written."""
        if not self.target.parent.is_dir():
            raise WordveilError(f"there is no folder {self.target.parent} to write into.")
        self._check_apart(plan)
        going_on = resume and self._exists(self.checkpoint)
        if self.is_folder:
            self._check_folder()
        elif self.target.is_dir():
            raise WordveilError(f"{self.target} is a folder: give the name of a file.")
        elif self._exists(self.target) and not overwrite and (self._exists(self.part) or not going_on):
            nothing_left = " and whole, so there is nothing left to resume" * (resume and not self._exists(self.part))
            raise WordveilError(f"{self.target} is there already{nothing_left}; give --overwrite to replace it.")
        if self._exists(self.part) and not going_on and not overwrite:
            raise WordveilError(
                f"{self.part} is left from a job that did not end; "
                "go on with it with --resume, or give --overwrite to start again."
            )

    @staticmethod
    def _exists(path: Path) -> bool:
        with told("write", path):
            return path.exists()

    def _check_folder(self) -> None:
        if self._exists(self.target) and not self.target.is_dir():
            raise WordveilError(f"{self.target} is a file, but a folder is to be written.")
        finished = self._exists(self.checkpoint) and not self._exists(self.part)
        if self.target.is_dir() and any(self.target.iterdir()) and not finished:
            raise WordveilError(f"the folder {self.target} is not empty; give another, none is replaced.")

    def _check_apart(self, plan: Plan) -> None:
        taken = [path for path in self._names if self._exists(path)]
        for piece in plan.pieces:
            if piece.source and any(path.samefile(piece.source) for path in taken):
                raise WordveilError(f"{piece.source} would be read and written at once; give another output.")
        if plan.folder:
            folder = plan.folder.resolve()
            if folder == self.target or folder in self.target.parents or self.target in folder.parents:
                raise WordveilError(f"{self.target} and {plan.folder} lie one within the other; give another output.")

    def clear(self) -> None:
        """Remove what a job left that did not end."""
        with told("remove", self.part):
            if self.part.is_dir():
                if not self.checkpoint.exists():
                    raise WordveilError(f"{self.part} is no folder that wordveil made; remove it yourself.")
                shutil.rmtree(self.part)
            else:
                self.part.unlink(missing_ok=True)
                parquet_in_the_making(self.part).unlink(missing_ok=True)
            self.checkpoint.unlink(missing_ok=True)
            self.learnt.unlink(missing_ok=True)

    def begin(self) -> Lock:
        """Make the output in the making, if it is not there, and hold it."""
        with told("write", self.part):
            if self.is_folder:
                self.part.mkdir(exist_ok=True)
            else:
                self.part.touch()
        return Lock(self.part)

    def begin_piece(self, piece: Piece) -> None:
        """Make the folder for one input."""
        if self.is_folder:
            with told("write", self.part):
                self.part_of(piece).parent.mkdir(parents=True, exist_ok=True)

    def finish(self) -> None:
        """Give a folder its name; a file has it since it was whole."""
        if self.is_folder and self._exists(self.part):
            with told("write", self.target):
                for folder, _, _ in os.walk(self.part):
                    sync_folder(Path(folder))
                self.part.replace(self.target)
                sync_folder(self.target.parent)

    def forget(self) -> None:
        """Remove the checkpoint of a job that is done, and what it learnt."""
        with told("remove", self.checkpoint):
            self.checkpoint.unlink(missing_ok=True)
            self.learnt.unlink(missing_ok=True)
