"""How far a job has come, kept beside its output so that it can go on after a crash."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from wordveil.errors import WordveilError
from wordveil.io.failures import told
from wordveil.io.records import Position
from wordveil.io.tally import Tally
from wordveil.io.writer import open_new

__all__ = ["Checkpoint", "Identity", "digest_of", "fresh_name", "write_whole"]

_LAYOUT = 1  # of the checkpoint file
_MOST = 1 << 62  # bytes, records, seconds: no job has as many


@dataclass(frozen=True)
class Identity:
    """What must be the same when a job goes on, as digests.

    Parameters
    ----------
    veil : str
        The configuration of the veil.
    options : str
        The columns and how to read them.
    inputs : str
        The names and formats of the inputs.
    """

    veil: str
    options: str
    inputs: str


@dataclass
class Checkpoint:
    """How far a job has come.

    It holds counts and digests, never text. But whoever can guess the whole input can check the guess against
    its digest, so the file is readable by its owner only and is removed when the job is done.

    Parameters
    ----------
    identity : Identity
        What must be the same to go on.
    piece : int
        Which input is being read; as many inputs as there are when all are done.
    position : Position, optional
        How far that input is done.
    size : int
        How many bytes of its file in the making belong to that.
    batch : int
        How many blocks of that input are done.
    is_read : bool
        Whether that input is done, and only its name is missing.
    done : str
        Digest of the names, sizes and times of the inputs before it.
    tally : Tally
        The sums so far.
    """

    identity: Identity
    piece: int = 0
    position: Position | None = None
    size: int = 0
    batch: int = 0
    is_read: bool = False
    done: str = ""
    tally: Tally = field(default_factory=Tally)

    @property
    def is_begun(self) -> bool:
        """Whether anything is done that would be lost."""
        return self.piece > 0 or self.position is not None

    def next_piece(self, done: str) -> None:
        """Go on to the next input."""
        self.piece += 1
        self.position, self.size, self.batch, self.is_read, self.done = None, 0, 0, False, done

    def save(self, path: Path) -> None:
        """Write the checkpoint, whole or not at all."""
        plain = {**asdict(self), "layout": _LAYOUT, "tally": self.tally.to_dict()}
        write_whole(path, json.dumps(plain), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint."""
        try:
            with told("read", path):
                plain = json.loads(path.read_text("utf-8"))
            if plain.pop("layout") == _LAYOUT:
                plain["identity"] = Identity(**plain["identity"])
                plain["tally"] = Tally.from_dict(plain["tally"])
                plain["position"] = None if plain["position"] is None else Position(**plain["position"])
                state = cls(**plain)
                if all(map(_is_sound, (state, state.identity, state.tally, state.tally.counts, state.position))):
                    return state
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            pass
        raise WordveilError(
            f"{path} is no checkpoint of this version of wordveil; start again with --overwrite instead of --resume."
        )


def _is_sound(record: object) -> bool:
    """Whether a dataclass holds what its fields say: text, a truth, or a number of 0 or more."""
    kinds: dict[str, type | tuple[type, ...]] = {"int": int, "str": str, "bool": bool, "float": (int, float)}
    for one in fields(record) if is_dataclass(record) else ():  # a position may be missing
        value, kind = getattr(record, one.name), kinds.get(str(one.type))
        if kind is not None and (not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool)):
            return False
        if isinstance(value, (int, float)) and not 0 <= value < _MOST:
            return False
    return True


def digest_of(value: Any) -> str:
    """Return a digest of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def fresh_name(path: Path) -> Path:
    """Return where `write_whole` writes a file before it takes its place: a name that is nobody else's."""
    return path.with_name(f".{path.name}.wordveil-new")


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file so that it is there whole, or as it was before, whatever happens.

    The folder is not synced, which would take as long again: the file as it was before is as good. A link stays a
    link, and a pipe or a device, which must not be replaced by a file, is written to.
    """
    with told("write", path):
        path = path.resolve()
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        fresh = fresh_name(path)
        try:
            with open_new(fresh, mode) as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
