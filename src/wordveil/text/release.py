"""What comes out of a veil, and what of a text it leaves as it is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from itertools import accumulate
from operator import add, attrgetter
from typing import NamedTuple

from wordveil.guarantee import Guarantee

__all__ = ["Counts", "Release", "Replacement", "Shape"]

_SHOWN = 60  # how many characters of a text its repr shows
#: How a notebook shows what replaced a word, by the field of `Counts` that counts it.
_MARKS = {
    "drawn": ("drawn by the mechanism", "background:#cfe8ff;color:#000"),
    "outside": ("outside the vocabulary, replaced", "background:#ffe2b8;color:#000"),
    "numbers": ("number, amount, date or time, replaced", "background:#e6dcff;color:#000"),
    "identifiers": ("identifier, replaced or left out", "background:#d5f0d0;color:#000"),
}


@dataclass(frozen=True)
class Counts:
    """What happened to how many words. The counts are exact, so keep them with those who may see the original.

    There is no count of words that came out unchanged: that would reveal something about the draws themselves.

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
        Numbers, amounts, dates and times, replaced or left out.
    identifiers : int
        Addresses, links, handles, phones and other identifiers, replaced or left out.
    dropped : int
        Not in the vocabulary, left out.
    kept_raw : int
        Not in the vocabulary, released as they are.
    repeated : int
        Of those drawn, how many took the draw of an equal word of their text, or of another text of their record; 0
        unless equal words are drawn once.
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
        """How many words were replaced or dropped."""
        return self.drawn + self.outside + self.numbers + self.identifiers + self.dropped

    @property
    def draws(self) -> int:
        """How many draws the mechanism made: one for each drawn word, or for each that differs where drawn once."""
        return self.drawn - self.repeated

    @property
    def losing(self) -> int:
        """How many words count where losses add up: those veiled, equal ones once where they are drawn once."""
        return self.veiled - self.repeated

    @property
    def coverage(self) -> float | None:
        """The share of the selected words that the space knows, itself or by base form; None if none was selected.

        Numbers and identifiers are not counted.
        """
        selected = self.words - self.left_alone - self.numbers - self.identifiers
        return self.drawn / selected if selected else None

    def to_dict(self) -> dict[str, int]:
        """Return the counts as plain values."""
        return dict(self.__dict__)  # `asdict` copies deeply, which takes longer than many a draw


_numbers_of = attrgetter(*(field.name for field in fields(Counts)))


class Replacement(NamedTuple):
    """Where one word was replaced: places in characters of the input and of the output.

    A word listed here has not necessarily changed: the draw may have returned the original.
    """

    start: int
    end: int
    new_start: int
    new_end: int


class Release:
    """A veiled text and what is promised about it. Holds nothing of the original but the lengths of its pieces.

    In a notebook it shows the text with the replaced words marked.

    Attributes
    ----------
    text : str
        The veiled text.
    guarantee : Guarantee
        What is promised for each veiled word.
    counts : Counts
        What happened to how many words.
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
        self._places = (
            places  # of drawn words, of words outside the vocabulary, of numbers, of identifiers, of dropped words
        )
        self._old_lengths, self._new_lengths = lengths

    @property
    def replacements(self) -> list[Replacement]:
        """Every replaced word, in the order of the text."""
        old, new = list(accumulate(self._old_lengths)), list(accumulate(self._new_lengths))
        return [Replacement(old[p - 1], old[p], new[p - 1], new[p]) for p in sorted(self._places)]

    @property
    def kinds(self) -> list[str]:
        """What each of the replacements was: drawn, outside, numbers, identifiers or dropped."""
        kind_of = self._kind_of
        return [kind_of.get(place, "dropped") for place in sorted(self._places)]

    @property
    def _kind_of(self) -> dict[int, str]:
        kinds = [kind for kind in _MARKS for _ in range(getattr(self.counts, kind))]
        return dict(zip(self._places, kinds, strict=False))  # places beyond those counts are of dropped words

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
        told = f"{key} · " if key else ""
        return (
            f'<div style="white-space:pre-wrap">{"".join(parts)}</div>'
            f"<small>{told}left alone {self.counts.left_alone:,}. {escape(self.guarantee.sentence())}</small>"
        )


class Shape(NamedTuple):
    """What a veil does not hide of a text: its promise compares only texts of one shape.

    Words left alone and everything between words are in it as they are. In the place of a veiled word is only what the
    draw depends on besides the word: whether it is in the vocabulary, outside it or a number of some length, and its
    capitals where they are copied.

    Attributes
    ----------
    parts : tuple of str
        The pieces of the text, each with a sign of its kind.
    drawn : int
        How many of them are words of the vocabulary that are drawn; texts of one shape can differ in these and still
        be told apart a little.
    """

    parts: tuple[str, ...]
    drawn: int
