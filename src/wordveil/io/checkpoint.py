"""What a job has done and how far it has come, kept beside its output so that it can go on after a crash."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError
from wordveil.files import file_errors, write_whole
from wordveil.io.formats import Position
from wordveil.io.inputs import Piece
from wordveil.text import Counts

__all__ = ["Checkpoint", "DoneInputs", "Identity", "Tally"]

_LAYOUT = 4  # of the checkpoint file
_MOST = 1 << 62  # bytes, records, seconds: no job has as many
_COUNTED = [counted.name for counted in fields(Counts)]


@dataclass
class Tally:
    """Sums over all inputs of a job, including those of the runs before a resume."""

    counts: Counts = field(default_factory=Counts)
    records: int = 0
    files: int = 0
    passed: int = 0  # records that lack a key to veil, and were passed on without it
    worst_words: int = 0  # veiled in one record, at most, equal ones once if drawn once: the worst case over a document
    seconds: float = 0.0  # without loading the space
    runs: int = 1  # one more for each resume

    def add(self, counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Count texts that were veiled, a row of `Counts` for each, and as many of them as each record has."""
        of_record = np.repeat(np.arange(len(sizes)), sizes)
        columns = dict(zip(_COUNTED, counts.T, strict=True))
        losing = Counts(**columns).losing  # of each text: counts of arrays are arrays
        self.worst_words = max(self.worst_words, int(np.bincount(of_record, losing).max(initial=0)))
        self.counts += Counts(*counts.sum(axis=0).tolist())
        self.records += len(sizes)

    def merge(self, other: Tally) -> None:
        """Take in what was counted elsewhere of the same run."""
        self.counts += other.counts
        self.records += other.records
        self.files += other.files
        self.passed += other.passed
        self.worst_words = max(self.worst_words, other.worst_words)

    @property
    def words_per_second(self) -> float:
        """How many words were read in a second."""
        return self.counts.words / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Identity:
    """What must be the same when a job goes on, as digests."""

    veil: str = ""  # how texts are veiled
    options: str = ""  # the columns and how to read them
    inputs: str = ""  # their names and formats


@dataclass
class Checkpoint:
    """How far a job has come.

    It holds counts and digests, never text. But those who can guess the whole input can check the guess against
    its digest, and those who have the secret of draws made once can find the words of the output; so the file is
    readable by its owner only and is removed when the job is done.
    """

    identity: Identity = field(default_factory=Identity)
    piece: int = 0  # which input is being read; as many as there are when all are done
    position: Position | None = None  # how far that input is done
    size: int = 0  # how many bytes of its unfinished file belong to that
    batch: int = 0  # how many blocks of it are done
    is_read: bool = False  # whether all of it is done, and only the name of its output is missing
    secret: str = ""  # from which words are drawn once, beyond a record
    done: str = ""  # digest of the names, sizes and times of the inputs before it
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
        tally = {**vars(self.tally), "counts": self.tally.counts.to_dict()}
        write_whole(path, json.dumps({**asdict(self), "layout": _LAYOUT, "tally": tally}), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint."""
        try:
            with file_errors("read", path):
                plain = json.loads(path.read_text("utf-8"))
            if plain.pop("layout") == _LAYOUT:
                tally, position = plain["tally"], plain["position"]
                plain["identity"] = Identity(**plain["identity"])
                plain["tally"] = Tally(**{**tally, "counts": Counts(**tally["counts"])})
                plain["position"] = None if position is None else Position(**position)
                state = cls(**plain)
                if all(map(_is_sound, (state, state.identity, state.tally, state.tally.counts, state.position))):
                    return state
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            pass
        raise FileError(
            f"{path} is not a checkpoint of this version of wordveil; start again with `overwrite` instead of `resume`."
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


class DoneInputs:
    """The digest of the inputs that are done, by their names, sizes and times."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._is_begun = False

    @property
    def digest(self) -> str:
        """The digest of those so far, "" if there are none."""
        return self._hash.hexdigest() if self._is_begun else ""

    def add(self, piece: Piece, known: os.stat_result | None = None) -> None:
        """Take in the next, of which the state when it was read may be known."""
        state = known
        if state is None:
            if piece.source is None:
                return
            with file_errors("read", piece.source):
                state = piece.source.stat()
        told = f"{state.st_size}/{state.st_mtime_ns}/{piece.name}\0"  # no name has a NUL in it
        self._hash.update(told.encode("utf-8", "surrogateescape"))
        self._is_begun = True
