"""What the records of an input have in common, and what tells them apart, in bounded memory."""

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
    """What was found of the texts that would be veiled, record by record."""

    records: int  # how many there are
    # How many words they have, and how many of these would be veiled.
    words: int
    veiled: int
    recurring: float  # the share of the records in which a word to be veiled stands more than once
    draws: float  # how often such a word stands in its record, on average
    # The share of the records whose shape no other record has: the words left alone, the punctuation and the number of
    # words, which are released as they are.
    singled_out: float
    # The same if all words were veiled, so that only the punctuation and the number of words are released.
    singled_out_bare: float
    is_exact: bool  # whether the last two were counted on all records, not on a sample of the shapes

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


class RecordWatch:
    """Looks at the texts of records that would be veiled.

    `veil`: what would veil them. `hasher`: for what is counted.
    """

    def __init__(self, veil: Veil, hasher: Hasher) -> None:
        self._veil, self._hash = veil, hasher
        self._bare = Veil(veil.mechanism, select="all", oov=veil.oov, case=veil.case, unproven=True)
        self.records = self.words = self.veiled = 0
        self._recurring = self._places = self._words = 0
        self._shapes, self._bare_shapes = Recurring(), Recurring()

    def add(self, texts: Sequence[str]) -> None:
        """Look at the texts of a record."""
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
        """Return what was found."""
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
    """Return how many words a text has, and the keys of those that a veil would replace, numbers aside."""
    tokens = tokenise(text)
    chosen = veil.selection.choose(tokens, None)
    words = zip(tokens.pieces[1::2], tokens.keys, chosen, strict=True)
    return len(tokens.keys), [key for word, key, is_veiled in words if is_veiled and not is_number(word)]


@dataclass(frozen=True)
class People:
    """What was found of those who wrote, or are written about."""

    people: int  # how many there are, or about how many
    records: float  # how many records a person has on average
    recurring: float  # the share of the people for whom some word would be drawn more than once, over all their records
    draws: float  # how often such a word would be drawn, on average
    most: int  # how often the most frequent word of a person would be drawn, among the people looked at

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


class PeopleWatch:
    """Keeps all texts of some people, chosen fairly.

    `veil`: what would veil the texts. `room`: how many records to keep at most.
    """

    def __init__(self, veil: Veil, room: int) -> None:
        self._veil, self._room, self._limit, self._kept = veil, room, _ALL, 0
        self._texts: dict[int, list[tuple[str, ...]]] = {}
        self._people = Recurring()

    def add(self, person: int, texts: tuple[str, ...]) -> None:
        """Look at a record of a person, given by a hash."""
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
        """Give the records of each person that was kept, each as one text."""
        for records in self._texts.values():
            yield ["\n".join(texts) for texts in records]

    def found(self) -> People:
        """Return what was found."""
        recurring, places, words, most = 0, 0, 0, 0
        once = set if self._veil.once is not None else list  # of a record a word is drawn once, or each time
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
