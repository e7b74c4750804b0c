"""Statistics of the records of an input: what recurs in them and what singles them out, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordveil.plan.sketches import Hasher, Recurring
from wordveil.text import Veil
from wordveil.text.tokens import is_number, tokenise

__all__ = ["People", "PeopleWatch", "RecordWatch", "Records"]

_ALL = 1 << 64


@dataclass(frozen=True)
class Records:
    """Statistics of the texts that would be veiled, by record."""

    records: int  # the number of records
    words: int  # the number of words
    veiled: int  # the number of words that would be veiled
    recurring: float  # the share of the records in which some word to veil occurs more than once
    draws: float  # how often such a word occurs in its record, on average
    # The share of the records with a unique shape: the words left alone, the punctuation and the number of words, which
    # are released as they are.
    singled_out: float
    singled_out_bare: float  # the same if all words were veiled, so that the shape has no words
    is_exact: bool  # whether the last two were counted on all records, not on a sample of the shapes

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as plain values."""
        return asdict(self)


class RecordWatch:
    """Collects statistics of the texts of records that `veil` would veil."""

    def __init__(self, veil: Veil, hasher: Hasher) -> None:
        self._veil, self._hash = veil, hasher
        self._bare = Veil(veil.mechanism, select="all", oov=veil.oov, case=veil.case, unproven=True)
        self.records = self.words = self.veiled = 0
        self._recurring = self._places = self._words = 0
        self._shapes, self._bare_shapes = Recurring(), Recurring()

    def add(self, texts: Sequence[str]) -> None:
        """Add the texts of a record."""
        self.records += 1
        seen: Counter[str] = Counter()
        for text in texts:
            words, veiled = veiled_words(self._veil, text)
            self.words += words
            seen.update(veiled)
        again = [count for count in seen.values() if count > 1]
        self.veiled += seen.total()
        self._recurring += bool(again)
        self._places += sum(again)
        self._words += len(again)
        for veil, shapes in ((self._veil, self._shapes), (self._bare, self._bare_shapes)):
            parts = (part for text in texts for part in (*veil.shape(text).parts, ""))
            shapes.add(self._hash("\x1f".join(parts)))

    def found(self) -> Records:
        """Return the statistics."""
        count = max(1, self.records)
        return Records(
            records=self.records,
            words=self.words,
            veiled=self.veiled,
            recurring=self._recurring / count,
            draws=self._places / self._words if self._words else 1.0,
            singled_out=min(1.0, self._shapes.values(most=1) / count),
            singled_out_bare=min(1.0, self._bare_shapes.values(most=1) / count),
            is_exact=self._shapes.is_exact and self._bare_shapes.is_exact,
        )


def veiled_words(veil: Veil, text: str) -> tuple[int, list[str]]:
    """Return the number of words of a text, and the keys of those that a veil would replace, without numbers."""
    tokens = tokenise(text)
    chosen = veil.selection.choose(tokens, None)
    words = zip(tokens.pieces[1::2], tokens.keys, chosen, strict=True)
    return len(tokens.keys), [key for word, key, is_veiled in words if is_veiled and not is_number(word)]


@dataclass(frozen=True)
class People:
    """Statistics of the people whose records these are."""

    people: int  # the number of people, perhaps approximate
    records: float  # the mean number of records per person
    recurring: float  # the share of the people for whom some word would be drawn more than once, over all their records
    draws: float  # how often such a word would be drawn, on average
    most: int  # the most draws of one word of a person, among the sampled people

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as plain values."""
        return asdict(self)


class PeopleWatch:
    """Keeps all texts of a fair sample of people, with at most `room` records."""

    def __init__(self, veil: Veil, room: int) -> None:
        self._veil, self._room, self._limit, self._kept = veil, room, _ALL, 0
        self._texts: dict[int, list[tuple[str, ...]]] = {}
        self._people = Recurring()

    def add(self, person: int, texts: tuple[str, ...]) -> None:
        """Add a record of a person, given by a hash."""
        self._people.add(person)
        if person >= self._limit:
            return
        self._texts.setdefault(person, []).append(texts)
        self._kept += 1
        while self._kept > self._room and len(self._texts) > 1:
            self._limit = sorted(self._texts)[len(self._texts) // 2]
            self._texts = {one: records for one, records in self._texts.items() if one < self._limit}
            self._kept = sum(map(len, self._texts.values()))

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the records of each sampled person, each record as one text."""
        for records in self._texts.values():
            yield ["\n".join(texts) for texts in records]

    def found(self) -> People:
        """Return the statistics."""
        recurring, places, words, most = 0, 0, 0, 0
        once = set if self._veil.once is not None else list  # in a record, equal words are drawn once, or each time
        for texts in self:
            seen = Counter(key for text in texts for key in once(veiled_words(self._veil, text)[1]))
            again = [count for count in seen.values() if count > 1]
            recurring += bool(again)
            places, words, most = places + sum(again), words + len(again), max(most, *again, 0)
        count = max(1, len(self._texts))
        return People(
            people=self._people.distinct,
            records=self._kept / count,
            recurring=recurring / count,
            draws=places / words if words else 1.0,
            most=most,
        )
