"""Words of many texts at once, over bytes: found, drawn once and written again by compiled code.

The tables by which compiled code knows words and gaps are filled by `wordveil.text.flow`, which also has the way
without a compiler. The numbers of the flags are those of words.c.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from copy import copy
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import compiled, plain

__all__ = [
    "CHARACTERS", "DONE", "EDIT", "FORM", "GAP", "KIND", "LONGEST", "NUMBER", "SPAN", "STRANGE", "VALUES", "Cut",
    "Spans", "StringTable", "Strings", "Values", "cut_texts", "find_values", "first_uses", "write_texts",
]  # fmt: skip

CHARACTERS = 0x20000  # how many are known, from the first on
LONGEST = 64  # bytes of a word or gap that is looked up
NUMBER = -(1 << 31)  # what stands for a word that is a number, in the place of its id
DONE, STRANGE = 0, 1  # what became of a text: it was cut, or must be cut in Python
_MISSES = 1 << 14  # words and gaps that are asked for at once
_FIRST_SIZE = 1 << 12

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class KIND:
    """Of a character: it can begin a word, be in one, join two, or show that there may be more than words."""

    SPELLS, INSIDE, APOSTROPHE, HINT = 1, 2, 4, 8


class GAP:
    """Of what lies between two words: there is nothing, a sentence or something like it begins behind it, its first is
    a dot, and it joins what is behind or before it to something, within a text or at its ends.
    """  # noqa: D205 - one sentence

    EMPTY, SENTENCE, STARTS, DOT, BEFORE_IN, BEFORE_OUT, AFTER_IN, AFTER_OUT = 1, 2, 4, 8, 16, 32, 64, 128


class FORM:
    """Of a word: it is spelt as a function word is, is written like one anywhere or where a sentence begins, has a
    single letter, and ends as words end (`ends_in_word`).
    """  # noqa: D205 - one sentence

    FUNCTION, PLAIN, CAPITAL, SINGLE, ALNUM = 1, 2, 4, 8, 16


class EDIT:
    """Of a new word: it is written with a capital, comes right behind something, which ended as words end, and is for a
    word outside the vocabulary.
    """  # noqa: D205 - one sentence

    CAPITAL, TOUCHES, AFTER_ALNUM, OUTSIDE = 1, 2, 4, 8


class SPAN:
    """Of something that is one word however it is spelt: it is markup, and ends as words end."""

    MARKUP, ALNUM = 1, 2


class StringTable:
    """Numbers different strings of bytes in the order in which they come, for compiled code to look them up.

    The secret seed of its hash keeps texts that were made for it from filling the same places.
    """

    def __init__(self) -> None:
        self.count = 0
        self._bytes = bytearray()
        self._starts = np.zeros(_FIRST_SIZE + 1, dtype=np.int32)
        self._slots = np.zeros(4 * _FIRST_SIZE, dtype=np.uint64)
        self._seed = secrets.randbits(64)

    def twin(self) -> StringTable:
        """Return a table with the same strings, to which others may be added."""
        twin = copy(self)
        twin._bytes, twin._starts, twin._slots = bytearray(self._bytes), self._starts.copy(), self._slots.copy()
        return twin

    def add(self, strings: Sequence[bytes]) -> bool:
        """Add strings that are not there; return whether all of them will be found."""
        begin, native = self.count, compiled()
        if self.count + len(strings) >= len(self._starts):
            room = 2 * (self.count + len(strings))
            self._starts = np.concatenate([self._starts[: begin + 1], np.zeros(room - begin, dtype=np.int32)])
            self._slots = np.zeros(2 << room.bit_length(), dtype=np.uint64)
            begin = 0
        ends = self._starts[self.count] + np.cumsum([len(one) for one in strings], dtype=np.int64)
        self._starts[self.count + 1 : self.count + 1 + len(strings)] = ends
        self._bytes += b"".join(strings)
        self.count += len(strings)
        return native is not None and not native.index_strings(self.native, begin)

    @property
    def native(self) -> tuple[Any, ...]:
        """The table as compiled code takes it."""
        return (self._slots, len(self._slots), self._seed, self._starts, self.count, self._bytes, len(self._bytes))


class Strings(NamedTuple):
    """Strings one behind the other: where they start, one place more than there are, and their bytes."""

    starts: Int64
    letters: bytes

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Strings:
        """Put strings one behind the other."""
        return cls(np.concatenate([[0], np.cumsum([len(one) for one in strings], dtype=np.int64)]), b"".join(strings))

    @property
    def native(self) -> tuple[Any, ...]:
        """The strings as compiled code takes them."""
        return (self.starts, len(self.starts) - 1, self.letters, len(self.letters))


class Spans(NamedTuple):
    """What is one word each: where they start and end, their `SPAN`, and where those of each text begin, and end."""

    starts: Int64
    ends: Int64
    flags: Bytes
    ranges: Int64


#: The kinds of values that compiled code finds, by their number in values.c.
VALUES = ("NUMBER", "AMOUNT", "DATE")


class Values(NamedTuple):
    """Plain values in some texts: the text of each, where it starts and ends, and of which of `VALUES` it is."""

    texts: Int32
    starts: Int64
    ends: Int64
    kinds: Bytes


class Cut(NamedTuple):
    """What is to be replaced: where, with what (an id, -1-n for a span or outside word n), how (`EDIT`); per text the
    numbers of words, of those inside and outside the vocabulary, where its edits end, and what became of it.
    """  # noqa: D205 - one sentence

    starts: Int32
    ends: Int32
    codes: Int32
    flags: Bytes
    counts: Int32
    stops: Int64
    states: Bytes


def find_values(
    native: ModuleType, data: bytes, starts: Int64, ends: Int64, kinds: Bytes
) -> tuple[Values, NDArray[np.bool_]]:
    """Find the plain values of texts, and return also which texts may hold more than these and words.

    Of those none is found.
    """
    left, room = np.empty(len(starts), dtype=np.uint8), len(data) // 8 + 64
    values = Values(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8)
    )
    found = native.find_values(
        data, len(data), plain(starts, np.int64), plain(ends, np.int64), len(starts), kinds, left, (*values, room)
    )
    texts, begins, stops, which = values
    return Values(texts[:found], begins[:found], stops[:found], which[:found]), left.astype(np.bool_)


def cut_texts(
    native: ModuleType, data: bytes, starts: Int64, ends: Int64, kinds: Bytes, spans: Spans, tables: Any,
    *, by_position: bool, strange: Sequence[int] = (),
) -> Cut:  # fmt: skip
    """Cut texts; `tables` has what is known of words and gaps, and learns what is missing.

    A text with something that compiled code cannot know is strange, like those given as such, and has no edits.
    """
    texts, room = len(starts), len(data) // 2 + 64
    at, to, codes = (np.empty(room, dtype=np.int32) for _ in range(3))
    flags = np.empty(room, dtype=np.uint8)
    states, counts = np.zeros(texts, dtype=np.uint8), np.zeros((texts, 3), dtype=np.int32)
    stops, misses = np.zeros(texts, dtype=np.int64), np.empty((_MISSES, 3), dtype=np.int32)
    starts, ends = plain(starts, np.int64), plain(ends, np.int64)
    states[list(strange)] = STRANGE
    begin = used = 0
    while True:
        reached, done, missing = native.cut_texts(
            data, len(data), starts, ends, texts, begin, kinds, (*spans, len(spans.starts)), tables.words,
            tables.gaps, by_position, tables.empty, tables.space, (at, to, codes, flags, room, used),
            (states, counts, stops, misses, _MISSES),
        )  # fmt: skip
        waiting = begin + np.flatnonzero(states[begin:reached] > STRANGE)
        if not waiting.size and reached == texts:
            break
        if waiting.size and not tables.learn(data, misses[:missing]):
            states[waiting] = STRANGE  # no room, or more of a text than is asked for at once
        begin = int(waiting[0]) if waiting.size else reached
        used = int(stops[begin - 1]) if begin else 0
    return Cut(at[:done], to[:done], codes[:done], flags[:done], counts, stops, states)


def write_texts(
    native: ModuleType, data: bytes, starts: Int64, ends: Int64, cut: Cut, words: tuple[Strings, Strings, Bytes],
    beside: Strings,
) -> tuple[bytes, Int64, Int64]:  # fmt: skip
    """Write texts with new words, by ids, or -1-n for the string n `beside`; return also where the texts stand then.

    `words` are those of the vocabulary, plain and with a capital, and whether each ends as words end.
    """
    as_listed, capital, alnum = words
    flags = cut.flags.copy()
    bounds = np.empty(len(starts), dtype=np.int64), np.empty(len(starts), dtype=np.int64)
    edits = (plain(cut.starts, np.int32), plain(cut.ends, np.int32), plain(cut.codes, np.int32), flags, len(flags))
    written: bytes = native.write_texts(
        data, len(data), plain(starts, np.int64), plain(ends, np.int64), len(starts), edits, as_listed.native,
        capital.native, alnum, beside.native, bounds,
    )  # fmt: skip
    return written, *bounds


def first_uses(groups: Int64, numbers: Int64, width: int) -> tuple[Int64, Int64]:
    """Return where each different number below `width` of each group comes first, in that order, and for each place
    which of those it is.
    """  # noqa: D205 - one sentence
    native = compiled()
    if native and len(groups) and bool((groups[1:] >= groups[:-1]).all()):
        first, place = np.empty(len(groups), dtype=np.int64), np.empty(len(groups), dtype=np.int64)
        found = native.first_uses(plain(groups, np.int64), plain(numbers, np.int64), len(groups), width, first, place)
        return first[:found], place
    _, first, place = np.unique(groups * width + numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place]
