"""What travels through a pipeline, and how many records hide each other.

A record hides among those that the same randomiser could have made, that is, those of the same shape: its label and all
of its text that is released unchanged. Neighbouring sets of records differ in the words of one record, which keeps its
shape. So neighbouring sets have the same number of records of each shape, and a guarantee may depend on these numbers.

Proof that the number of a record's own shape is what counts. Let two sets differ in one record of shape c, of which
there are n. The reports of all other shapes have the same law in both sets and are independent of those n. Anyone who
holds the n reports in random order can draw the others, put them in and mix all again. So all records together reveal
no more than n shuffled reports of one randomiser, which the bounds are about. A shape with more than n records can be
split into n of them and the rest, so what is proved for the rarest shape holds for all. ∎
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_MOST_SHAPES = 1 << 18  # as many as the records that a shuffle holds


class Record(NamedTuple):
    """One contribution of one user.

    Attributes
    ----------
    text : str
        The text; after the localizer, the veiled one.
    user : str or None
        Who gave it; None once an amplifier has removed the name.
    label : str or None
        A class that is released unchanged, for a curator that trains a classifier.
    shape : bytes or None
        After the localizer, a digest of everything released unchanged, including the label. Records hide only among
        those of their own shape. Empty if no word of the vocabulary was drawn. None elsewhere.
    """

    text: str
    user: str | None = None
    label: str | None = None
    shape: bytes | None = None


@dataclass(frozen=True)
class Crowd:
    """A number of records and their shapes.

    Attributes
    ----------
    records : int
        How many there are.
    smallest : int or None
        How many of them have the rarest shape; None if that was not counted and all are assumed to have one shape.
    shapes : int
        At least how many shapes there are.
    """

    records: int
    smallest: int | None = None
    shapes: int = 1

    @property
    def alike(self) -> int:
        """At least how many records any record hides among, including itself."""
        return self.records if self.smallest is None else self.smallest

    def sentence(self) -> str:
        """Return the assumption on which a guarantee about these records rests."""
        if self.smallest is None:
            return f"if all {self.records:,} records have one shape and label"
        if self.shapes == 1:
            return f"{self.records:,} records of one shape"
        return f"{self.records:,} records, at least {self.smallest:,} of every shape"


class Census:
    """Counts the shapes of the records that pass through it.

    A record without a word of the vocabulary may be rare without harm: what was drawn for it does not depend on it. It
    still counts as a shape.

    Parameters
    ----------
    most : int
        How many shapes to tell apart. Beyond that, or if a record has none, any record may be alone with its shape.
    """

    def __init__(self, most: int = _MOST_SHAPES) -> None:
        self._counts: Counter[bytes] = Counter()
        self._records = 0
        self._most = most
        self._is_whole = True

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass records through, without their shapes."""
        for record in records:
            self._records += 1
            if record.shape is None or (record.shape not in self._counts and len(self._counts) >= self._most):
                self._is_whole = False
            elif self._is_whole:
                self._counts[record.shape] += 1
            yield record._replace(shape=None)

    def crowd(self) -> Crowd:
        """Return the counts so far."""
        records = max(self._records, 1)
        if not self._is_whole:
            return Crowd(records, 1, max(len(self._counts) + 1, 2))
        smallest = min((count for shape, count in self._counts.items() if shape), default=records)
        return Crowd(records, smallest, max(len(self._counts), 1))
