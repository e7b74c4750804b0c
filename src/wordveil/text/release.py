"""The release: a veiled text with its guarantee and counts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from itertools import accumulate
from operator import add, attrgetter
from typing import NamedTuple

from wordveil.guarantee import Guarantee

__all__ = ["Counts", "Release", "Replacement", "Shape"]

_SHOWN = 60  # characters of the text in the repr
#: The meaning and the style of replaced words in a notebook, by the field of `Counts` that counts them.
_MARKS = {
    "drawn": ("drawn by the mechanism", "background:#cfe8ff;color:#000"),
    "outside": ("outside the vocabulary, replaced", "background:#ffe2b8;color:#000"),
    "numbers": ("number, amount, date or time, replaced", "background:#e6dcff;color:#000"),
    "identifiers": ("identifier, replaced or left out", "background:#d5f0d0;color:#000"),
}


@dataclass(frozen=True)
class Counts:
    """How many words were replaced, left alone or dropped.

    The counts are exact and not private, so show them only to those who may see the original. Words that stayed are not
    counted, because that would reveal something about the draws.

    Attributes
    ----------
    words : int
        All words of the text.
    left_alone : int
        Not selected, so released as they are.
    drawn : int
        Replaced by the mechanism.
    outside : int
        Outside the vocabulary, replaced by a draw that does not depend on them.
    numbers : int
        Numbers, amounts, dates and times, replaced or dropped.
    identifiers : int
        Addresses, links, handles, phones and other identifiers, replaced or dropped.
    dropped : int
        Outside the vocabulary, dropped.
    kept_raw : int
        Outside the vocabulary, released as they are.
    repeated : int
        Of the drawn words, how many reused the draw of an equal word of their text or record; 0 unless equal words are
        drawn once.
    """

    words: int = 0
    left_alone: int = 0
    drawn: int = 0
    outside: int = 0
    numbers: int = 0
    identifiers: int = 0
    dropped: int = 0
    kept_raw: int = 0
    repeated: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, _numbers_of(self), _numbers_of(other)))

    @property
    def veiled(self) -> int:
        """The number of words that were replaced or dropped."""
        return self.drawn + self.outside + self.numbers + self.identifiers + self.dropped

    @property
    def draws(self) -> int:
        """The number of draws that the mechanism made."""
        return self.drawn - self.repeated

    @property
    def losing(self) -> int:
        """The number of words whose losses add up: the veiled ones, equal words that were drawn once counted once."""
        return self.veiled - self.repeated

    @property
    def coverage(self) -> float | None:
        """The share of the selected words that are in the vocabulary, itself or by base form; None if none is selected.

        Numbers and identifiers do not count.
        """
        selected = self.words - self.left_alone - self.numbers - self.identifiers
        return self.drawn / selected if selected else None

    def to_dict(self) -> dict[str, int]:
        """Return the counts as plain values."""
        return dict(self.__dict__)  # much faster than `asdict`, which copies deeply


_numbers_of = attrgetter(*(field.name for field in fields(Counts)))


class Replacement(NamedTuple):
    """The span of a replaced word in the original and in the released text, in characters.

    The word has not necessarily changed: the draw may have returned the original.
    """

    start: int
    end: int
    new_start: int
    new_end: int


class Release:
    """A veiled text with its guarantee. Of the original it holds only the lengths of its pieces.

    In a notebook it shows the text with the replaced words marked.

    Attributes
    ----------
    text : str
        The veiled text.
    guarantee : Guarantee
        The guarantee for each veiled word.
    counts : Counts
        How many words were replaced, left alone or dropped.
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
        self.text, self.guarantee, self.counts = text, guarantee, counts
        # In this order: drawn words, words outside the vocabulary, numbers, identifiers, dropped words.
        self._places = places
        self._old_lengths, self._new_lengths = lengths

    @property
    def replacements(self) -> list[Replacement]:
        """The replaced words, in the order of the text."""
        old, new = list(accumulate(self._old_lengths)), list(accumulate(self._new_lengths))
        return [Replacement(old[p - 1], old[p], new[p - 1], new[p]) for p in sorted(self._places)]

    @property
    def kinds(self) -> list[str]:
        """The kind of each of the `replacements`: drawn, outside, numbers, identifiers or dropped."""
        kind_of = self._kind_of
        return [kind_of.get(place, "dropped") for place in sorted(self._places)]

    @property
    def _kind_of(self) -> dict[int, str]:
        kinds = [kind for kind in _MARKS for _ in range(getattr(self.counts, kind))]
        return dict(zip(self._places, kinds, strict=False))  # any further places are of dropped words

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + "…"
        return f"<Release: {self.counts.veiled:,} of {self.counts.words:,} words veiled, {shown!r}>"

    def _repr_html_(self) -> str:
        kind_of = self._kind_of
        start, parts = 0, []
        for place, length in enumerate(self._new_lengths):
            piece = escape(self.text[start : start + length])
            start += length
            if place in kind_of:
                meaning, style = _MARKS[kind_of[place]]
                piece = f'<mark title="{meaning}" style="{style}">{piece}</mark>'
            parts.append(piece)
        key = " · ".join(
            f'<span style="{style}">{meaning}</span> {count:,}'
            for kind, (meaning, style) in _MARKS.items()
            if (count := getattr(self.counts, kind))
        )
        key += " · " if key else ""
        return (
            f'<div style="white-space:pre-wrap">{"".join(parts)}</div>'
            f"<small>{key}left alone {self.counts.left_alone:,}. {escape(self.guarantee.sentence())}</small>"
        )


class Shape(NamedTuple):
    """What a veil does not hide of a text. The guarantee compares only texts with the same shape.

    It holds the words left alone and everything between words. For a veiled word it holds only what the output depends
    on besides the word: whether it is in the vocabulary, outside it or a number of some length, and its capitals if
    they are copied.

    Attributes
    ----------
    parts : tuple of str
        The pieces of the text, each with a mark of its kind.
    drawn : int
        The number of draws for words of the vocabulary, in which texts of the same shape may differ.
    """

    parts: tuple[str, ...]
    drawn: int
