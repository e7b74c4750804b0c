"""What a job has done so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import attrgetter
from typing import Any

from wordveil.io.records import Block
from wordveil.text import Counts, Release

__all__ = ["Tally"]

_COUNTED = [counted.name for counted in fields(Counts)]


@dataclass
class Tally:
    """Sums over all inputs of a job, including those of the runs before a resume.

    Parameters
    ----------
    counts : Counts
        What happened to the words.
    records, files : int
        How many were done.
    worst_words : int
        The most words that were veiled in one record: the worst case of the guarantee over a document.
    seconds : float
        The time it took, without loading the space.
    runs : int
        1, and 1 more for each resume.
    """

    counts: Counts = field(default_factory=Counts)
    records: int = 0
    files: int = 0
    worst_words: int = 0
    seconds: float = 0.0
    runs: int = 1

    def add(self, block: Block, releases: Sequence[Release]) -> None:
        """Count a block that was veiled."""
        counts = [release.counts for release in releases]
        veiled = map(attrgetter("veiled"), counts)
        in_records = [sum(islice(veiled, len(record))) for record in block.records]
        self.worst_words = max(self.worst_words, *in_records, 0)
        self.counts += Counts(**{name: sum(map(attrgetter(name), counts)) for name in _COUNTED})
        self.records += len(block.records)

    def merge(self, other: Tally) -> None:
        """Take in what was counted elsewhere of the same run."""
        self.counts += other.counts
        self.records += other.records
        self.files += other.files
        self.worst_words = max(self.worst_words, other.worst_words)

    @property
    def words_per_second(self) -> float:
        """How many words were read in a second."""
        return self.counts.words / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain values."""
        return {**vars(self), "counts": self.counts.to_dict()}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Tally:
        """Return the sums that `to_dict` gave."""
        return cls(**{**plain, "counts": Counts.from_dict(plain["counts"])})
