"""Veils many texts at once, as bytes: like `Veil.together`, but without an object for each text or word.

Compiled code finds the words to replace and writes the new texts. What it knows about words and the gaps between them
comes from the Python functions that cut texts, each called once per distinct spelling. Identifiers and other non-words
are found in Python. A text with anything else, such as a character of a rare script, is veiled in Python as a whole.
So the same seed gives the same bytes with or without compiled code.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from wordveil.kernels.native import compiled
from wordveil.kernels.words import (
    CHARACTERS,
    EDIT,
    FORM,
    KIND,
    NUMBER,
    SPAN,
    STRANGE,
    Cut,
    Growing,
    Spans,
    Strings,
    StringTable,
    Values,
    cut_texts,
    find_values,
    write_texts,
)
from wordveil.kernels.words import VALUES as PLAIN_VALUES
from wordveil.parallel import renew_after_fork
from wordveil.spaces import Vocabulary
from wordveil.text.draft import Draft, Keys, Wanted, draw
from wordveil.text.forms import INSIDE, SPELLS, ends_in_word, form_of, gap_of
from wordveil.text.identifiers import HINTS, VALUES
from wordveil.text.nonwords import Numbering
from wordveil.text.release import Counts, Release
from wordveil.text.selection import Document
from wordveil.text.tokens import APOSTROPHES, Tokens, cut_words, is_number, lookup_key, set_apart, visible_key
from wordveil.text.veil import Veil

__all__ = ["Flow", "Rewritten", "Texts", "counts_of", "kinds_of_characters"]

_COUNTED = [one.name for one in fields(Counts)]
_REMEMBERED = 1 << 18  # spellings of words, after which all are forgotten
_SMALL = 1 << 14  # for fewer bytes the tables are not worth making
_LARGE = 1 << 28  # the most bytes that compiled code takes at once
_KINDS = {SPELLS: KIND.SPELLS, INSIDE: KIND.INSIDE, APOSTROPHES: KIND.APOSTROPHE, HINTS: KIND.HINT}

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Texts in UTF-8, with the start and end of each; bytes between them belong to no text."""

    data: bytes
    starts: Int64
    ends: Int64

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Concatenate texts."""
        encoded = [_encoded(text) for text in texts]
        ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
        return cls(b"".join(encoded), np.concatenate([[0], ends])[:-1], ends)

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """Concatenate parts, with the bytes between their texts."""
        before = np.concatenate([[0], np.cumsum([len(part.data) for part in parts], dtype=np.int64)]).tolist()
        starts = np.concatenate([part.starts + at for part, at in zip(parts, before, strict=False)])
        ends = np.concatenate([part.ends + at for part, at in zip(parts, before, strict=False)])
        return cls(b"".join(part.data for part in parts), starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[str]:
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        if self.data.isascii():
            whole = self.data.decode("ascii")
            return (whole[start:end] for start, end in bounds)
        return (self.data[start:end].decode("utf-8", "surrogatepass") for start, end in bounds)

    @property
    def parts(self) -> tuple[bytes, Int64, Int64]:
        """The bytes, and the starts and ends of the texts."""
        return self.data, self.starts, self.ends

    def text(self, number: int) -> str:
        """Return one of the texts."""
        return self.data[self.starts[number] : self.ends[number]].decode("utf-8", "surrogatepass")


class Rewritten(NamedTuple):
    """Veiled texts, with the bytes between them, and their counts: one column per field of `Counts`."""

    texts: Texts
    counts: Int64

    def split(self, parts: Sequence[Texts]) -> list[Rewritten]:
        """Split the result for texts that were `joined`."""
        found, first, at = [], 0, 0
        for part in parts:
            last = first + len(part)
            # The bytes after the last text of a part keep their length.
            if last > first:
                end = int(self.texts.ends[last - 1] + len(part.data) - part.ends[-1])
            else:
                end = at + len(part.data)
            bounds = (self.texts.starts[first:last] - at, self.texts.ends[first:last] - at)
            found.append(Rewritten(Texts(self.texts.data[at:end], *bounds), self.counts[first:last]))
            first, at = last, end
        return found


def counts_of(releases: Sequence[Release]) -> Int64:
    """Return the counts of releases: one row per release, one column per field of `Counts`."""
    rows = [[getattr(release.counts, name) for name in _COUNTED] for release in releases]
    return np.array(rows, dtype=np.int64).reshape(-1, len(_COUNTED))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Flow:
    """Veils many texts at once with veils of the same settings. Threads may share it, and then share what it learns.

    Parameters
    ----------
    veil : Veil
        The veil; `rewrite` may be given another with the same settings.
    small : int
        Below this many bytes, texts are veiled in Python.
    """

    def __init__(self, veil: Veil, *, small: int = _SMALL) -> None:
        self._veil, self._small = veil, small
        self._known = _Known(veil)
        self._is_plain = (
            veil.selection.kind in ("content", "all")
            and veil.oov == "replace"
            and veil.case in ("sentence", "lower")
            and veil.nonwords.mover is None
        )

    def is_compiled_for(self, size: int) -> bool:
        """Whether compiled code does nearly all the work for this many bytes, so that threads scale."""
        is_plain = compiled() is not None and self._is_plain and self._small <= size
        return is_plain and self._veil.mechanism.draws_in_threads

    def rewrite(self, veil: Veil, texts: Texts, groups: Int64, scopes: Mapping[int, Hashable]) -> Rewritten:
        """Veil texts.

        Parameters
        ----------
        veil : Veil
            The veil.
        texts : Texts
            The texts.
        groups : ndarray of int
            The group of each text, numbered from 0; equal words of a group are drawn once.
        scopes : mapping of int to hashable
            The scope of each group.
        """
        native = compiled()
        is_plain = native is not None and self._is_plain and self._small <= len(texts.data) < _LARGE
        known = self._known
        if known.is_full:
            known = self._known = _Known(self._veil)
        found = self._find(native, texts, known) if native is not None and is_plain else _all_strange(len(texts))
        cut = found.cut
        strange = np.flatnonzero(cut.states == STRANGE).tolist()
        drafts = {number: Draft(veil, Document(texts.text(number))) for number in strange}
        of_edit = np.repeat(np.arange(len(cut.stops)), np.diff(cut.stops, prepend=0))
        is_outside = (cut.flags & EDIT.OUTSIDE) != 0
        is_inside = cut.codes >= 0
        wanted, order = _merged(
            Wanted.of(veil, drafts, known.keys),
            (cut.codes[is_inside].astype(np.int64), of_edit[is_inside]),
            (-1 - cut.codes[is_outside].astype(np.int64), of_edit[is_outside]),
        )
        drawn = draw(veil, wanted, groups, scopes)
        codes = cut.codes.copy()
        inside, outside = drawn.ids[order[0]], drawn.outside[order[1]]
        codes[is_inside] = inside[: is_inside.sum()]
        codes[is_outside] = outside[: is_outside.sum()]
        left = drawn._replace(ids=inside[is_inside.sum() :], outside=outside[is_outside.sum() :])
        words = left.words(veil.mechanism.space.vocabulary)
        named = drawn.numbering() if drafts else []
        releases = [
            draft.write(veil, words, int(drawn.repeated[number]), named[number]) for number, draft in drafts.items()
        ]
        counts = found.counts()
        counts[:, _COUNTED.index("repeated")] = drawn.repeated
        counts[strange] = counts_of(releases)
        beside = [_encoded(release.text) for release in releases]
        if native is None or not is_plain:
            return Rewritten(_between(texts, beside), counts)
        cut = _with_whole(cut._replace(codes=codes), strange, texts, len(found.written))
        spelt = _spelt(veil.mechanism.space.vocabulary)
        written = write_texts(native, *texts.parts, cut, spelt, Strings.of(found.written + beside))
        return Rewritten(Texts(*written), counts)

    def _find(self, native: ModuleType, texts: Texts, known: _Known) -> _Found:
        """Cut texts by compiled code, after finding everything that is not a word."""
        # Some things are made at first use, which takes long: one thread makes them while the others wait.
        with known.lock if known.is_empty else nullcontext():
            kinds = kinds_of_characters()
            values, left = find_values(native, *texts.parts, kinds)
            plain = self._plain_values(texts.data, values)
            strange = plain.strange
            spans, numbers, kinds_of, written = list[tuple[int, int, int]](), list[int](), list[str](), list[bytes]()
            for number in np.flatnonzero(left).tolist():
                apart = self._apart(texts, number)
                if apart is None:
                    strange.append(number)
                    continue
                for kind, span, new in apart:
                    spans.append(span)
                    numbers.append(number)
                    kinds_of.append(kind)
                    written.append(new)
        columns = np.array(spans, dtype=np.int64).reshape(-1, 3)
        of_text = np.concatenate([plain.texts, np.array(numbers, dtype=np.int64)])
        order = np.argsort(of_text, kind="stable")  # all spans of a text come from only one of the two
        starts, ends = (
            np.concatenate([one, two])[order]
            for one, two in ((plain.starts, columns[:, 0]), (plain.ends, columns[:, 1]))
        )
        flags = np.concatenate([plain.flags, columns[:, 2].astype(np.uint8)])[order]
        ranges = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(of_text, minlength=len(texts)), out=ranges[1:])
        cut = cut_texts(
            native, *texts.parts, kinds, Spans(starts, ends, flags, ranges), known,
            by_position=self._veil.case == "sentence", strange=strange,
        )  # fmt: skip
        what = plain.written + written
        is_value = np.array([kind in VALUES for kind in kinds_of], dtype=np.bool_)
        is_other = ~is_value & np.array([kind != "MARKUP" for kind in kinds_of], dtype=np.bool_)
        there = np.array(numbers, dtype=np.int64)
        return _Found(
            cut, np.concatenate([plain.texts, there[is_value]]), there[is_other], [what[at] for at in order.tolist()]
        )

    def _plain_values(self, data: bytes, values: Values) -> _Plain:
        """Return the replacements of plain values."""
        nonwords, texts = self._veil.nonwords, values.texts.astype(np.int64)
        written = nonwords.write([(kind, "") for kind in PLAIN_VALUES], iter(()), Numbering())
        are_apart = [kind in nonwords.apart for kind in PLAIN_VALUES]
        if not all(are_apart) or not all(written):
            # Either they are ordinary words, or they are dropped with the space before them, which Python must do.
            strange = np.unique(texts).tolist() if any(are_apart) else []
            return _Plain(texts[:0], values.starts[:0], values.ends[:0], values.kinds[:0], [], strange)
        encoded = [one.encode() for one in written]
        ends_in = np.frombuffer(data, np.uint8)[values.ends - 1]
        flags = np.where(ends_in == ord("."), 0, SPAN.ALNUM).astype(np.uint8)  # any other end is a letter or digit
        return _Plain(texts, values.starts, values.ends, flags, [encoded[kind] for kind in values.kinds.tolist()], [])

    def _apart(self, texts: Texts, number: int) -> list[tuple[str, tuple[int, int, int], bytes]] | None:
        """Return the kind, span and replacement of each non-word in a text; None if Python must veil the text."""
        text, start = texts.text(number), int(texts.starts[number])
        nonwords = self._veil.nonwords
        found = set_apart(text, nonwords.apart)
        if nonwords.identifiers == "veil":
            return None  # the selection then depends on more than the spelling of a word
        if not found:
            return []
        if nonwords.numbered:
            return None  # the numbers are shared by the texts of a scope
        new = nonwords.write([(one.kind, text[one.start : one.end]) for one in found], iter(()), Numbering())
        if not all(new):
            return None  # something is dropped, with the space before it
        is_ascii = text.isascii()
        apart = []
        for (kind, begin, end), put in zip(found, new, strict=True):
            flags = (SPAN.MARKUP if kind == "MARKUP" else 0) | (SPAN.ALNUM if ends_in_word(text[end - 1]) else 0)
            first, last = (begin, end) if is_ascii else (len(_encoded(text[:begin])), len(_encoded(text[:end])))
            apart.append((kind, (start + first, start + last, flags), put.encode()))
        return apart


class _Plain(NamedTuple):
    """The plain values of texts, and their replacements."""

    texts: Int64  # the text of each value
    starts: Int64
    ends: Int64
    flags: NDArray[np.uint8]  # of `SPAN`
    written: list[bytes]  # the replacement of each
    strange: list[int]  # the texts that Python must cut because of them


class _Found(NamedTuple):
    """Texts that were cut."""

    cut: Cut
    values: Int64  # the text of each value
    identifiers: Int64  # the text of each identifier
    written: list[bytes]  # the replacement of each span

    def counts(self) -> Int64:
        """Return the counts, except `repeated` and those of strange texts."""
        words, inside, outside = self.cut.counts.T.astype(np.int64)
        texts = len(words)
        values, identifiers = (np.bincount(texts_of, minlength=texts) for texts_of in (self.values, self.identifiers))
        counts = np.zeros((texts, len(_COUNTED)), dtype=np.int64)
        known = {"left_alone": words - inside - outside, "words": words + values + identifiers, "drawn": inside}
        for name, column in {**known, "outside": outside, "numbers": values, "identifiers": identifiers}.items():
            counts[:, _COUNTED.index(name)] = column
        return counts


def _all_strange(texts: int) -> _Found:
    nothing = np.empty(0, dtype=np.int32)
    counts, stops = np.zeros((texts, 3), dtype=np.int32), np.zeros(texts, dtype=np.int64)
    states = np.full(texts, STRANGE, dtype=np.uint8)
    none = stops[:0]
    return _Found(Cut(nothing, nothing, nothing, nothing.astype(np.uint8), counts, stops, states), none, none, [])


def _merged(
    wanted: Wanted, inside: tuple[Int64, Int64], outside: tuple[Int64, Int64]
) -> tuple[Wanted, tuple[Int64, Int64]]:
    """Merge the wanted words, in the order of the texts; return also the positions of `inside` and `outside`."""
    ids_of = np.concatenate([inside[1], wanted.ids_of])
    outside_of = np.concatenate([outside[1], wanted.outside_of])
    by_text = [np.argsort(numbers, kind="stable") for numbers in (ids_of, outside_of)]
    places = [np.empty_like(order) for order in by_text]
    for order, place in zip(by_text, places, strict=True):
        place[order] = np.arange(len(order))
    merged = wanted._replace(
        ids=np.concatenate([inside[0], wanted.ids])[by_text[0]],
        ids_of=ids_of[by_text[0]],
        outside=np.concatenate([outside[0], wanted.outside])[by_text[1]],
        outside_of=outside_of[by_text[1]],
    )
    return merged, (places[0], places[1])


def _with_whole(cut: Cut, strange: list[int], texts: Texts, first: int) -> Cut:
    """Add an edit for each text that was veiled in Python, with the strings from number `first` on."""
    numbers = np.array(strange, dtype=np.int64)
    there = texts.ends[numbers] > texts.starts[numbers]
    numbers, place = numbers[there], cut.stops[numbers[there]]
    codes = -1 - first - np.flatnonzero(there)
    return cut._replace(
        starts=np.insert(cut.starts, place, texts.starts[numbers]),
        ends=np.insert(cut.ends, place, texts.ends[numbers]),
        codes=np.insert(cut.codes, place, codes),
        flags=np.insert(cut.flags, place, 0),
    )


def _between(texts: Texts, new: list[bytes]) -> Texts:
    """Replace all texts by new ones, keeping the bytes between them."""
    before = np.concatenate([[0], texts.ends]).tolist()
    starts = texts.starts.tolist()
    parts, at = list[bytes](), 0
    bounds = np.empty((2, len(new)), dtype=np.int64)
    for number, text in enumerate(new):
        gap = texts.data[before[number] : starts[number]]
        parts += (gap, text)
        bounds[:, number] = at + len(gap), at + len(gap) + len(text)
        at += len(gap) + len(text)
    parts.append(texts.data[before[len(new)] :])
    return Texts(b"".join(parts), bounds[0], bounds[1])


class _Known:
    """What compiled code knows about words and gaps under the settings of a veil.

    Threads share it. Only one adds to it at a time; the others go on with `tables` as it was before.
    """

    def __init__(self, veil: Veil) -> None:
        self._lookup, self._vocabulary = veil.lookup, veil.mechanism.space.vocabulary
        self._left_alone = veil.selection.left_alone if veil.selection.kind == "content" else frozenset()
        self.empty, self.space = gap_of(""), gap_of(" ")
        self.keys = Keys()  # of words outside the vocabulary
        self._begin()
        renew_after_fork(self)

    def _begin(self) -> None:
        self._words, self._gaps = StringTable(), StringTable()
        self._first_parts, self._parts, self._gap_flags = Growing(np.int32, 0), Growing(np.int32), Growing(np.int32)
        self.lock = threading.Lock()
        self.tables = self._tables()

    def after_fork(self) -> None:
        """Start again empty if a thread that this process does not have was adding something when it forked."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self._begin()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return self._words.count == 0

    @property
    def is_full(self) -> bool:
        """Whether it has grown so large that it should be replaced by an empty one."""
        return self._words.count + self._gaps.count + len(self.keys) > _REMEMBERED

    def _tables(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the tables of words and of gaps, in the form that compiled code takes."""
        words = (self._words.native, self._first_parts.room, self._parts.room, len(self._parts) // 5)
        return words, (self._gaps.native, self._gap_flags.room)

    def learn(self, data: bytes, missing: NDArray[np.int32], tables: object) -> bool:
        """Learn words and gaps that `tables` lack; return whether all of them will be found.

        If another thread has learnt something since, nothing is learnt here: cut again with its tables first.
        """
        with self.lock:
            return tables is not self.tables or self._learn(data, missing)

    def _learn(self, data: bytes, missing: NDArray[np.int32]) -> bool:
        # Slices are cheap, and many are equal.
        is_word = missing[:, 0] != 0
        words, gaps = (
            list(dict.fromkeys([data[start:end] for start, end in missing[which, 1:].tolist()]))
            for which in (is_word, ~is_word)
        )
        ids, left_alone, outside = self._vocabulary.ids, self._left_alone, self.keys.number
        parts, counts = list[int](), list[int]()
        for word in words:
            run = word.decode("utf-8", "surrogatepass")
            if len(word) > 1 and word.isalpha():  # ASCII: most are such words
                form, key = (FORM.PLAIN, run) if word.islower() else (form_of(run), run.lower())
                code = ids.get(run)
                if code is None:
                    code = self._lookup.id(run, key)
                form |= FORM.ALNUM | (FORM.FUNCTION if key in left_alone else 0)
                parts += (len(word), 0, -1 - outside(key) if code is None else code, form, self.empty)
                counts.append(1)
            else:
                more = self._parts_of(run)
                parts += more
                counts.append(len(more) // 5)
        gap_flags = [gap_of(gap.decode("utf-8", "surrogatepass")) for gap in gaps]
        self._first_parts.extend(len(self._parts) // 5 + np.cumsum(counts, dtype=np.int64))
        self._parts.extend(parts)
        self._gap_flags.extend(gap_flags)
        are_found = self._words.add(words) & self._gaps.add(gaps)
        self.tables = self._tables()
        return are_found

    def _parts_of(self, run: str) -> list[int]:
        pieces, keys = Tokens(["", run, ""], [lookup_key(run)]) if run.isascii() and run.isalnum() else cut_words(run)
        parts = list[int]()
        for word, gap, key in zip(pieces[1::2], pieces[2::2], keys, strict=True):
            form = form_of(word) | (FORM.FUNCTION if key in self._left_alone else 0)
            form |= FORM.ALNUM if ends_in_word(word) else 0
            code = self._lookup.id(word, key)
            if code is None:
                code = NUMBER if is_number(word) else -1 - self.keys.number(visible_key(lookup_key(word)))
            behind = gap_of(gap) if gap else self.empty
            parts += (len(_encoded(word)), len(_encoded(gap)), code, form, behind)
        return parts


@lru_cache(maxsize=2)
def _spelt(vocabulary: Vocabulary) -> tuple[Strings, Strings, NDArray[np.uint8]]:
    words = list(vocabulary)
    as_listed, alnum = _packed(words)
    signs = np.frombuffer(as_listed.letters, np.uint8).copy()
    first = as_listed.starts[:-1][np.diff(as_listed.starts) > 0]
    if (signs[first] < 128).all():
        signs[first] -= np.where((signs[first] >= ord("a")) & (signs[first] <= ord("z")), 32, 0).astype(np.uint8)
        as_capital, alnum_too = Strings(as_listed.starts, signs.tobytes()), alnum
    else:
        as_capital, alnum_too = _packed([word[:1].upper() + word[1:] for word in words])
    return as_listed, as_capital, np.stack([alnum, alnum_too], axis=1)


def _packed(words: list[str]) -> tuple[Strings, NDArray[np.uint8]]:
    """Concatenate words and find which end as words end, without a call for every word."""
    signs = np.frombuffer(_encoded("\n".join(words)), np.uint8)
    ends = np.append(np.flatnonzero(signs == ord("\n")), len(signs))
    if len(ends) != len(words):  # words with line breaks in them
        alnum = np.array([ends_in_word(word) for word in words], dtype=np.uint8)
        return Strings.of(list(map(_encoded, words))), alnum
    last = signs[np.maximum(ends - 1, 0)]
    alnum = np.array([chr(sign).isalnum() for sign in range(128)] + [False] * 128, dtype=np.uint8)[last]
    for place in np.flatnonzero(last >= 128).tolist():
        alnum[place] = ends_in_word(words[place])
    starts = np.concatenate([[0], ends - np.arange(len(words))])
    return Strings(starts, signs[signs != ord("\n")].tobytes()), alnum


@lru_cache(maxsize=1)
def kinds_of_characters() -> NDArray[np.uint8]:
    """Return the `KIND` of every character that compiled code knows, from the regular expressions that cut texts."""
    every = np.arange(CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.zeros(CHARACTERS, dtype=np.uint8)
    for members, kind in _KINDS.items():
        for run in regex.finditer(rf"[{members}]+", every):
            kinds[run.start() : run.end()] |= kind
    return kinds
