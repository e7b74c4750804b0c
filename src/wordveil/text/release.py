"""What comes out of a veil."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from typing import NamedTuple

from wordveil.guarantee import Guarantee

__all__ = ["Counts", "Release", "Replacement"]


@dataclass(frozen=True)
class Counts:
    """How many words went which way. Exact, and so to be kept with whoever may see the original.

    There is no count of words that came out unchanged: that would tell about the draws themselves.

    Attributes
    ----------
    words : int
        All words of the text.
    left_alone : int
        Not selected, released as they are.
    drawn : int
        Replaced by the mechanism.
    outside : int
        Not in the vocabulary, replaced by a draw that does not depend on them.
    numbers : int
        Numbers outside the vocabulary, replaced by as many random digits.
    dropped : int
        Not in the vocabulary, left out.
    kept_raw : int
        Not in the vocabulary, released as they are.
    """

    words: int = 0
    left_alone: int = 0
    drawn: int = 0
    outside: int = 0
    numbers: int = 0
    dropped: int = 0
    kept_raw: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def veiled(self) -> int:
        """How many words were replaced or dropped."""
        return self.drawn + self.outside + self.numbers + self.dropped

    @property
    def coverage(self) -> float | None:
        """Which share of the words to veil the space knows, itself or by their base forms; None if there were none."""
        selected = self.words - self.left_alone
        return self.drawn / selected if selected else None

    def to_dict(self) -> dict[str, int]:
        """Return the counts as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, int]) -> Counts:
        """Make counts of what `to_dict` gave."""
        return cls(**plain)


class Replacement(NamedTuple):
    """Where one word was replaced: places in characters of the input and of the output.

    That a word stands here does not say that it changed: the draw may have returned the original.
    """

    start: int
    end: int
    new_start: int
    new_end: int


class Release:
    """A veiled text and what is promised of it. Holds nothing of the original but the lengths of its pieces.

    Attributes
    ----------
    text : str
        The veiled text.
    guarantee : Guarantee
        What is promised for each veiled word.
    counts : Counts
        How many words went which way.
    """

    __slots__ = ("_new_lengths", "_old_lengths", "_places", "counts", "guarantee", "text")

    def __init__(
        self,
        text: str,
        guarantee: Guarantee,
        counts: Counts,
        places: list[int],
        lengths: tuple[list[int], list[int]],
    ) -> None:
        self.text = text
        self.guarantee = guarantee
        self.counts = counts
        self._places = places
        self._old_lengths, self._new_lengths = lengths

    @property
    def replacements(self) -> list[Replacement]:
        """Every replaced word, in the order of the text."""
        old, new = list(accumulate(self._old_lengths)), list(accumulate(self._new_lengths))
        return [Replacement(old[p - 1], old[p], new[p - 1], new[p]) for p in sorted(self._places)]

    def __str__(self) -> str:
        return self.text
