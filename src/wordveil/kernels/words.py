"""Words of many texts at once, over bytes: found, drawn once and written again by compiled code.

The tables by which compiled code knows words and gaps are filled by `wordveil.text.flow`, which also has the way
without a compiler. The numbers of the flags are those of words.c.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import compiled, plain

__all__ = [
    "CHARACTERS", "DONE", "EDIT", "FORM", "GAP", "KIND", "LONGEST", "NUMBER", "SPAN", "STRANGE", "VALUES", "Cut",
    "Growing", "Spans", "StringTable", "Strings", "Values", "cut_texts", "find_values", "first_uses", "write_texts",
]  # fmt: skip

CHARACTERS = 0x20000  # how many are known, from the first on
LONGEST = 64  # bytes of a word or gap that is looked up
NUMBER = -(1 << 31)  # what stands for a word that is a number, in the place of its id
DONE, STRANGE = 0, 1  # what became of a text: it was cut, or must be cut in Python
_FEWEST_MISSES, _MISSES = 1 << 9, 1 << 14  # words and gaps that are asked for at once: few at first, when most recur
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


class Growing:
    """Numbers to which others are added, while compiled code reads those that were there.

    Attributes
    ----------
    room : ndarray
        The numbers, and room for more. Where that is too little it is another array from then on.
    """

    def __init__(self, dtype: type[np.generic], first: int | None = None) -> None:
        self.room: NDArray[Any] = np.empty(_FIRST_SIZE, dtype)
        self._count = 0
        if first is not None:
            self.extend([first])

    def __len__(self) -> int:
        return self._count

    def extend(self, numbers: Sequence[int] | NDArray[Any]) -> None:
        """Add numbers behind the last."""
        before, end = self._count, self._count + len(numbers)
        if end > len(self.room):
            larger = np.empty(2 * end, self.room.dtype)
            larger[:before] = self.room[:before]
            self.room = larger
        self.room[before:end] = numbers
        self._count = end


class StringTable:
    """Numbers different strings of bytes in the order in which they come, for compiled code to look them up.

    The secret seed of its hash keeps texts that were made for it from filling the same places. One thread may add
    strings while others look some up, by what `native` was before.
    """

    def __init__(self) -> None:
        self._bytes, self._starts = Growing(np.uint8), Growing(np.int32, 0)
        self._slots = np.zeros(4 * _FIRST_SIZE, dtype=np.uint64)
        self._seed = secrets.randbits(64)

    @property
    def count(self) -> int:
        """How many strings there are."""
        return len(self._starts) - 1

    def add(self, strings: Sequence[bytes]) -> bool:
        """Add strings that are not there; return whether all of them will be found."""
        begin, native = self.count, compiled()
        if not strings:
            return native is not None
        self._starts.extend(len(self._bytes) + np.cumsum([len(one) for one in strings], dtype=np.int64))
        self._bytes.extend(np.frombuffer(b"".join(strings), np.uint8))
        if 3 * self.count > len(self._slots):
            self._slots = np.zeros(4 << self.count.bit_length(), dtype=np.uint64)
            begin = 0
        return native is not None and not native.index_strings(self.native, begin)

    @property
    def native(self) -> tuple[Any, ...]:
        """The table as compiled code takes it."""
        slots, letters = self._slots, self._bytes
        return (slots, len(slots), self._seed, self._starts.room, self.count, letters.room, len(letters))


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
    native: ModuleType, data: bytes, starts: Int64, ends: Int64, kinds: Bytes, spans: Spans, known: Any,
    *, by_position: bool, strange: Sequence[int] = (),
) -> Cut:  # fmt: skip
    """Cut texts; `known` has what is known of words and gaps, and learns what is missing.

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
    asked = _FEWEST_MISSES
    while True:
        tables = known.tables
        reached, done, missing = native.cut_texts(
            data, len(data), starts, ends, texts, begin, kinds, (*spans, len(spans.starts)), *tables,
            by_position, known.empty, known.space, (at, to, codes, flags, room, used),
            (states, counts, stops, misses, asked),
        )  # fmt: skip
        waiting = begin + np.flatnonzero(states[begin:reached] > STRANGE)
        if not waiting.size and reached == texts:
            break
        if waiting.size and not known.learn(data, misses[:missing], tables):
            states[waiting] = STRANGE  # no room, or more of a text than is asked for at once
        asked = min(2 * asked, _MISSES)
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
