"""Texts in progress: cut into words, with places waiting for a draw; and the draws for many texts at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.words import first_uses
from wordveil.spaces import Vocabulary
from wordveil.text.identifiers import VALUES, placeholder
from wordveil.text.nonwords import Numbering, Numbers, drop
from wordveil.text.release import Counts, Release, Shape
from wordveil.text.replacing import WRITERS, capitals_of, random_digits
from wordveil.text.selection import Document, choose_whole
from wordveil.text.tokens import is_number, lookup_key, tokenise, visible_key

if TYPE_CHECKING:
    from wordveil.text.veil import Veil

__all__ = ["Draft", "Drawn", "Keys", "Wanted", "draw"]

_MARKUP = placeholder("MARKUP")
_STAY = frozenset((_MARKUP, *map(placeholder, VALUES)))  # kinds that stay unless they are selected


class Words(NamedTuple):
    """The words to write into texts, in order."""

    inside: Iterator[str]
    outside: Iterator[str]
    numbers: Iterator[str]
    moved: Iterator[str | None]


class Keys:
    """Numbers for the keys of words outside the vocabulary. Threads may share it.

    Attributes
    ----------
    names : dict
        The keys by their numbers.
    """

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._next = count()

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, key: str) -> int:
        """Return the number of a key, giving it one if it has none."""
        found = self._numbers.get(key)
        if found is None:
            mine = next(self._next)
            self.names[mine] = key  # before another thread can find the number
            found = self._numbers.setdefault(key, mine)  # of two threads the first
        return found


class Wanted(NamedTuple):
    """What to draw, in the order of the texts.

    The words in and outside the vocabulary are followed by where those of each text end, the others by the numbers of
    the texts that they are for.
    """

    ids: NDArray[np.int64]
    ids_stops: NDArray[np.int64]
    outside: NDArray[np.int64]  # words outside the vocabulary, by the numbers of their keys
    outside_stops: NDArray[np.int64]
    keys: Keys
    numbers: list[str]
    numbers_of: list[int]
    values: list[tuple[str, str]]  # values to shift, with their kinds
    values_of: list[int]

    @classmethod
    def of(cls, veil: Veil, drafts: Mapping[int, Draft], texts: int, keys: Keys | None = None) -> Wanted:
        """Gather what to draw for drafts, given by their numbers among so many texts."""
        replaces = veil.oov == "replace"
        keys = Keys() if keys is None else keys
        outside = {number: draft.outside_keys() if replaces else [] for number, draft in drafts.items()}
        numbers = [
            (number, draft.pieces[place]) for number, draft in drafts.items() if replaces for place in draft.numbers
        ]
        values = [(number, value) for number, draft in drafts.items() for value in draft.values(veil)]
        return cls(
            np.array([i for draft in drafts.values() for i in draft.ids], dtype=np.int64),
            _stops({number: len(draft.ids) for number, draft in drafts.items()}, texts),
            np.array([keys.number(key) for some in outside.values() for key in some], dtype=np.int64),
            _stops({number: len(some) for number, some in outside.items()}, texts),
            keys,
            [word for _, word in numbers],
            [number for number, _ in numbers],
            [value for _, value in values],
            [number for number, _ in values],
        )


def _stops(sizes: Mapping[int, int], texts: int) -> NDArray[np.int64]:
    """Return where the items of each of so many texts end; those that are not named have none."""
    each = np.zeros(texts, dtype=np.int64)
    each[list(sizes)] = list(sizes.values())
    return np.cumsum(each)


class Drawn(NamedTuple):
    """The draws for what was wanted."""

    ids: NDArray[np.int64]
    places: NDArray[np.int32] | None  # for each word which of these it has; None if each has its own
    outside: NDArray[np.int64]
    digits: list[str]
    moved: list[str | None]
    repeated: NDArray[np.int64]  # per text, how many words reused the draw of another
    numbering: Callable[[], list[Numbers]]  # returns for each text the function that numbers its identifiers

    def words(self, vocabulary: Vocabulary) -> Words:
        """Return the words to write."""
        ids = self.ids if self.places is None else self.ids[self.places]
        inside, outside = vocabulary.take(ids), vocabulary.take(self.outside)
        return Words(iter(inside), iter(outside), iter(self.digits), iter(self.moved))


def draw(veil: Veil, wanted: Wanted, groups: NDArray[np.int64], scopes: Mapping[int, Hashable]) -> Drawn:
    """Draw for many texts at once.

    Parameters
    ----------
    veil : Veil
        The veil.
    wanted : Wanted
        What to draw.
    groups : ndarray of int
        The group of each text, numbered from 0. If equal words are drawn once, they are drawn once per group.
    scopes : mapping of int to hashable
        The scope of each group; unused if equal words are drawn once per record.
    """
    ids, once = wanted.ids, veil.once
    repeated = np.zeros(len(groups), dtype=np.int64)

    def numbering() -> list[Numbers]:
        if once is None or not veil.nonwords.numbered:
            return [Numbering() for _ in groups]
        return list(once.numbering(groups.tolist(), digests))

    digests: list[bytes] = []
    if once is None:
        strangers = len(wanted.outside)
        taken = np.concatenate([ids, veil.outside_words.draw(strangers, veil.entropy)]) if strangers else ids
        both = veil.mechanism.draw(taken, veil.entropy) if taken.size else taken
        digits = random_digits(list(map(len, wanted.numbers)), veil.entropy) if wanted.numbers else []
        moved = veil.nonwords.move(wanted.values, veil.entropy)
        return Drawn(both[: len(ids)], None, both[len(ids) :], digits, moved, repeated, numbering)
    if once.is_keyed:
        digests = once.digests([scopes[number] for number in range(len(scopes))])
    drawn, places, outside, digits, moved = ids, None, ids[:0], list[str](), list[str | None]()
    if ids.size:
        drawn, uses = once.words(veil.mechanism, ids, wanted.ids_stops, groups, digests, veil.entropy)
        places = uses.places
        if once.is_keyed:
            # In a wider scope, count only what recurs within the text: taken alone, a text loses for all its words.
            uses = first_uses(ids, wanted.ids_stops, np.arange(len(groups)), len(veil.mechanism.space))
        repeated = np.diff(wanted.ids_stops, prepend=0) - uses.fresh
    if wanted.outside.size:
        words = wanted.outside, wanted.keys.names, wanted.outside_stops
        outside = once.outside(veil.mechanism, veil.outside_words, *words, groups, digests, veil.entropy)
    if wanted.numbers:
        digits = once.numbers(wanted.numbers, groups[wanted.numbers_of].tolist(), digests, veil.entropy)
    if wanted.values:
        there = groups[wanted.values_of].tolist()
        moved = once.values(veil.nonwords.move, wanted.values, there, digests, veil.entropy)
    return Drawn(drawn, places, outside, digits, moved, repeated, numbering)


class Draft:
    """One text in progress: cut into pieces, with places waiting for a draw."""

    __slots__ = ("apart", "ids", "numbers", "outside", "pieces", "places", "scope", "words")

    def __init__(self, veil: Veil, document: Document) -> None:
        self.scope = document.scope
        document = veil.selection.prepare(document)
        tokens = tokenise(document.text, veil.nonwords.apart)
        self.pieces, keys = tokens
        self.words = len(keys) - keys.count(_MARKUP)
        self.apart: list[tuple[int, str]] = []
        self.places: list[int] = []
        self.ids: list[int] = []
        self.outside: list[int] = []
        self.numbers: list[int] = []
        id_of = veil.lookup.id
        place = -1
        selected = veil.selection.choose(tokens, document.spans)
        if veil.nonwords.identifiers == "veil":
            selected = choose_whole(document.text, tokens, selected)
        elif veil.nonwords.identifiers != "selected" and veil.selection.is_narrow:
            selected = [
                chosen or (key[:1] == "<" and key not in _STAY) for chosen, key in zip(selected, keys, strict=True)
            ]
        for key, chosen in zip(keys, selected, strict=True):
            place += 2
            if chosen and key[:1] == "<":
                self.apart.append((place, key[1:-1]))
            elif chosen:
                word = self.pieces[place]
                known = id_of(word, key)
                if known is not None:
                    self.places.append(place)
                    self.ids.append(known)
                elif is_number(word):
                    self.numbers.append(place)
                else:
                    self.outside.append(place)

    def outside_keys(self) -> list[str]:
        """Return the keys of the words outside the vocabulary."""
        return [visible_key(lookup_key(self.pieces[place])) for place in self.outside]

    def values(self, veil: Veil) -> list[tuple[str, str]]:
        """Return the values to shift, each with its kind, in order."""
        return veil.nonwords.moved([(kind, self.pieces[place]) for place, kind in self.apart])

    def shape(self, veil: Veil) -> Shape:
        """Return everything that the distribution of the result depends on, except the words to draw."""
        parts = [f"={piece}" for piece in self.pieces]
        hidden = [("word", self.places)]
        if veil.oov != "keep":
            hidden.append(("outside", self.outside))
            for place in self.numbers:
                parts[place] = f"number {len(self.pieces[place])}"
        for place, kind in self.apart:
            parts[place] = veil.nonwords.shape(kind, self.pieces[place])
        for kind, places in hidden:
            for place in places:
                parts[place] = f"{kind} {capitals_of(self.pieces[place])}" if veil.case == "copy" else kind
        if veil.once is not None:
            parts += self._repetitions(veil)
        return Shape(tuple(parts), len(self.places) if veil.once is None else len(set(self.ids)))

    def _repetitions(self, veil: Veil) -> list[str]:
        """Describe which veiled words are equal, by numbering the distinct ones."""
        kinds: list[Sequence[Hashable]] = [self.ids]
        if veil.oov != "keep":
            kinds.append(self.outside_keys())
            kinds.append([self.pieces[place] for place in self.numbers])
        if veil.nonwords.mover is not None:
            kinds.append(self.values(veil))
        said = []
        for words in kinds:
            number = {word: place for place, word in enumerate(dict.fromkeys(words))}
            said.append("equal " + " ".join(str(number[word]) for word in words))
        return said

    def write(self, veil: Veil, words: Words, repeated: int, number: Numbers) -> Release:
        """Write the drawn words in their places; `repeated` of them share the draw of another."""
        pieces = self.pieces
        before = list(map(len, pieces))
        write = WRITERS[veil.case]
        dropped = kept = 0
        for place in self.places:
            pieces[place] = write(pieces, place, next(words.inside))
        strangers = self.outside + self.numbers
        if veil.oov == "replace":
            for place in self.outside:
                pieces[place] = write(pieces, place, next(words.outside))
            for place in self.numbers:
                pieces[place] = next(words.numbers)
        elif veil.oov == "drop":
            dropped = len(strangers)
            drop(pieces, strangers)
        else:
            kept = len(strangers)
        values, identifiers = self._write_apart(veil, words.moved, number)
        replaced = veil.oov == "replace"
        touched = self.places + (strangers if replaced else []) + values + identifiers
        touched += strangers if dropped else []
        counts = Counts(
            words=self.words,
            left_alone=self.words
            - len(self.places)
            - len(self.outside)
            - len(self.numbers)
            - len(values)
            - len(identifiers),
            drawn=len(self.places),
            repeated=repeated,
            outside=len(self.outside) if replaced else 0,
            numbers=(len(self.numbers) if replaced else 0) + len(values),
            identifiers=len(identifiers),
            dropped=dropped,
            kept_raw=kept,
        )
        after = list(map(len, pieces))
        return Release("".join(pieces), veil.guarantee, counts, touched, (before, after))

    def _write_apart(self, veil: Veil, moved: Iterator[str | None], number: Numbers) -> tuple[list[int], list[int]]:
        """Replace non-words; return the places of values and of identifiers."""
        if not self.apart:
            return [], []
        pieces = self.pieces
        written = veil.nonwords.write([(kind, pieces[place]) for place, kind in self.apart], moved, number)
        for (place, _), new in zip(self.apart, written, strict=True):
            pieces[place] = new
        drop(pieces, [place for place, _ in self.apart if not pieces[place]])
        return (
            [place for place, kind in self.apart if kind in VALUES],
            [place for place, kind in self.apart if kind not in VALUES and kind != "MARKUP"],
        )
