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
    "CHARACTERS", "DONE", "EDIT", "FORM", "GAP", "KIND", "LONGEST", "NUMBER", "SHORT", "SPAN", "STRANGE", "VALUES",
    "Cut", "Draws", "Growing", "Room", "ShortTable", "Spans", "StringTable", "Strings", "Uses", "Values", "cut_texts",
    "find_values", "first_uses", "write_texts",
]  # fmt: skip

CHARACTERS = 0x20000  # how many are known, from the first on
LONGEST, SHORT = 64, 16  # bytes of a word or gap that is looked up, and of a short word
_SLOT, _LINE = 4, 64  # numbers of a slot of that table, and bytes of memory that are fetched together
NUMBER = -(1 << 31)  # what stands for a word that is a number, in the place of its id
DONE, STRANGE = 0, 1  # what became of a text: it was cut, or must be cut in Python
_FEWEST_MISSES, _MISSES = 1 << 9, 1 << 14  # words and gaps that are asked for at once: few at first, when most recur
_FIRST_SIZE = 1 << 12

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class KIND:
    """Of a character: it can begin a word, be in one, join two, or show that there may be more than words; or nothing
    is known of it, and a text that has it is strange.
    """  # noqa: D205 - one sentence

    SPELLS, INSIDE, APOSTROPHE, HINT, UNKNOWN = 1, 2, 4, 8, 16


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


class ShortTable:
    """Short strings without a NUL, each with a number, so that compiled code finds it by one look at memory.

    Threads share it as they do a `StringTable`. That some of them see a string earlier than others does no harm, as all
    that is known of it stands in one place.
    """

    def __init__(self) -> None:
        self._bytes, self._starts, self._known = Growing(np.uint8), Growing(np.int64, 0), Growing(np.uint64)
        self._seed = secrets.randbits(64)
        self._slots = _aligned(_FIRST_SIZE)

    @property
    def count(self) -> int:
        """How many strings there are."""
        return len(self._known)

    def add(self, strings: Strings, known: NDArray[np.uint64]) -> bool:
        """Add strings that are not there, with a number of each; return whether all of them will be found."""
        begin, native = self.count, compiled()
        if not len(known):
            return native is not None
        self._starts.extend(strings.starts[1:] + len(self._bytes))
        self._bytes.extend(np.frombuffer(strings.letters, np.uint8))
        self._known.extend(known)
        if 3 * self.count > 2 * len(self._slots) // _SLOT:
            self._slots = _aligned(2 << (3 * self.count // 2).bit_length())
            begin = 0
        if native is None:
            return False
        every = (self._starts.room, self.count, self._bytes.room, len(self._bytes))
        return not native.index_short(self.native, every, self._known.room, begin)

    @property
    def native(self) -> tuple[Any, ...]:
        """The table as compiled code takes it."""
        return (self._slots, len(self._slots) // _SLOT, self._seed)


def _aligned(slots: int) -> NDArray[np.uint64]:
    """Make room for slots of which none lies in two lines of memory."""
    room = np.zeros(_SLOT * slots + _LINE // 8, dtype=np.uint64)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + _SLOT * slots]


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
    """What is to be replaced: where, with what (-1-n for span n, or 0 for the next of the words `inside` or outside the
    vocabulary), and how (`EDIT`); the ids of the former and the numbers of the latter; per text the numbers of words,
    of those inside and outside, where its edits end, and what became of it.
    """  # noqa: D205 - one sentence

    starts: Int32
    ends: Int32
    codes: Int32
    flags: Bytes
    inside: Int64
    outside: Int64
    counts: Int32
    stops: Int64
    states: Bytes


class Room:
    """Memory for what is to be replaced, kept from one call to the next: new memory costs more than what is done in it.

    Of the threads that share it, each takes a part of it for itself while it is at work.
    """

    def __init__(self) -> None:
        self._free = list[tuple[NDArray[Any], ...]]()

    def take(self, size: int) -> tuple[NDArray[Any], ...]:
        """Return arrays for all of a `Cut` of so many bytes but what is of texts."""
        room = size // 2 + 64
        try:
            arrays = self._free.pop()
        except IndexError:
            arrays = ()
        if arrays and len(arrays[0]) >= room:
            return arrays
        kinds = (np.int32, np.int32, np.int32, np.uint8, np.int64, np.int64)
        return tuple(np.empty(room, dtype=kind) for kind in kinds)

    def give_back(self, arrays: tuple[NDArray[Any], ...]) -> None:
        """Take arrays back, in which nothing is of use any more."""
        self._free.append(arrays)


class Draws(NamedTuple):
    """The words drawn for those of a `Cut`: ids, and which of these each word inside has (None: each its own)."""

    inside: Int64
    places: Int32 | None
    outside: Int64


class Uses(NamedTuple):
    """Where each different number of each group comes first, for each place which of those it is, and how many of each
    text come first there.
    """  # noqa: D205 - one sentence

    first: Int64
    places: Int32
    fresh: Int64


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
    arrays: tuple[NDArray[Any], ...], *, by_position: bool, strange: Sequence[int] = (),
) -> Cut:  # fmt: skip
    """Cut texts, into the arrays of a `Room`; `known` has what is known of words and gaps, and learns what is missing.

    A text with something that compiled code cannot know is strange, like those given as such, and has no edits.
    """
    texts, (at, to, codes, flags, inside, outside), room = len(starts), arrays, len(arrays[0])
    states, counts = np.zeros(texts, dtype=np.uint8), np.zeros((texts, 3), dtype=np.int32)
    stops, misses = np.zeros(texts, dtype=np.int64), np.empty((_MISSES, 3), dtype=np.int32)
    starts, ends = plain(starts, np.int64), plain(ends, np.int64)
    states[list(strange)] = STRANGE
    begin, used = 0, (0, 0, 0)
    asked = _FEWEST_MISSES
    while True:
        tables = known.tables
        reached, *done, missing = native.cut_texts(
            data, len(data), starts, ends, texts, begin, kinds, (*spans, len(spans.starts)), *tables,
            by_position, known.empty, known.space, (at, to, codes, flags, inside, outside, room, *used),
            (states, counts, stops, misses, asked),
        )  # fmt: skip
        waiting = begin + np.flatnonzero(states[begin:reached] > STRANGE)
        if not waiting.size and reached == texts:
            break
        if waiting.size and not known.learn(data, misses[:missing], tables):
            states[waiting] = STRANGE  # no room, or more of a text than is asked for at once
        asked = min(2 * asked, _MISSES)
        begin = int(waiting[0]) if waiting.size else reached
        _, *words = counts[:begin].sum(axis=0, dtype=np.int64).tolist()
        used = (int(stops[begin - 1]) if begin else 0, *words)
    edits, *words = done
    return Cut(
        at[:edits], to[:edits], codes[:edits], flags[:edits], inside[: words[0]], outside[: words[1]], counts, stops,
        states,
    )  # fmt: skip


def write_texts(
    native: ModuleType, data: bytes, starts: Int64, ends: Int64, cut: Cut, draws: Draws,
    words: tuple[Strings, Strings, Bytes], beside: Strings,
) -> tuple[bytes, Int64, Int64]:  # fmt: skip
    """Write texts with the words that were drawn, and -1-n as the string n `beside`; return also where the texts stand.

    `words` are those of the vocabulary, plain and with a capital, and whether each ends as words end. What is in `cut`
    is of no use afterwards.
    """
    as_listed, capital, alnum = words
    bounds = np.empty(len(starts), dtype=np.int64), np.empty(len(starts), dtype=np.int64)
    edits = (plain(cut.starts, np.int32), plain(cut.ends, np.int32), cut.codes, cut.flags, len(cut.flags))
    inside, outside = plain(draws.inside, np.int64), plain(draws.outside, np.int64)
    places = None if draws.places is None else plain(draws.places, np.int32)
    written: bytes = native.write_texts(
        data, len(data), plain(starts, np.int64), plain(ends, np.int64), len(starts), edits,
        (inside, len(inside), places, 0 if places is None else len(places), outside, len(outside)),
        (as_listed.native, capital.native, alnum, beside.native), bounds,
    )  # fmt: skip
    return written, *bounds


def first_uses(numbers: Int64, stops: Int64, groups: Int64, width: int) -> Uses:
    """Find the first uses of numbers below `width` in groups of texts, those of each text up to its `stops`."""
    native = compiled()
    if native and len(numbers) and bool((groups[1:] >= groups[:-1]).all()):
        uses = Uses(np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int32), np.empty(len(stops), np.int64))
        found = native.first_uses(
            plain(numbers, np.int64), len(numbers), plain(stops, np.int64), plain(groups, np.int64), len(stops), width,
            *uses,
        )  # fmt: skip
        return uses._replace(first=uses.first[:found])
    of_text = np.repeat(np.arange(len(stops)), np.diff(stops, prepend=0))
    _, first, place = np.unique(groups[of_text] * width + numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)[place].astype(np.int32)
    return Uses(first[order], places, np.bincount(of_text[first], minlength=len(stops)))
