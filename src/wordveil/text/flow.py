"""Veils many texts at once, as bytes: like `Veil.together`, but without an object for each text or word.

Compiled code finds the words to replace and writes the new texts. What it knows about words and the gaps between them
comes from the Python functions that cut texts, each called once per distinct spelling. Identifiers and other non-words
are found in Python. A text with anything else, such as a character of a rare script, is veiled in Python as a whole.
So the same seed gives the same bytes with or without compiled code.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.native import compiled
from wordveil.kernels.words import (
    SPAN,
    STRANGE,
    Cut,
    Draws,
    Room,
    Spans,
    Strings,
    Values,
    cut_texts,
    find_values,
    write_texts,
)
from wordveil.kernels.words import VALUES as PLAIN_VALUES
from wordveil.text.draft import Draft, Drawn, Wanted, draw
from wordveil.text.forms import ends_in_word
from wordveil.text.identifiers import VALUES
from wordveil.text.nonwords import Numbering
from wordveil.text.release import Counts, Release
from wordveil.text.selection import Document
from wordveil.text.spellings import Known, encoded, kinds_of_characters, spelt
from wordveil.text.tokens import set_apart
from wordveil.text.veil import Veil

__all__ = ["Flow", "Rewritten", "Texts", "counts_of"]

_COUNTED = [one.name for one in fields(Counts)]
_SMALL = 1 << 14  # for fewer bytes the tables are not worth making,
_SMALLEST = 1 << 10  # and for fewer than these not worth using
_LARGE = 1 << 28  # the most bytes that compiled code takes at once

Int64 = NDArray[np.int64]
Which = NDArray[np.bool_] | None


@dataclass(frozen=True)
class Texts:
    """Texts in UTF-8, with the start and end of each; bytes between them belong to no text."""

    data: bytes
    starts: Int64
    ends: Int64

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Concatenate texts."""
        each = list(map(encoded, texts))
        ends = np.cumsum(list(map(len, each)), dtype=np.int64)
        return cls(b"".join(each), np.concatenate([[0], ends])[:-1], ends)

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


class Flow:
    """Veils many texts at once with veils of the same settings. Threads may share it, and then share what it learns.

    Parameters
    ----------
    veil : Veil
        The veil; `rewrite` may be given another with the same settings.
    small : int
        Below this many bytes, texts are veiled in Python until something is known of words.
    """

    def __init__(self, veil: Veil, *, small: int = _SMALL) -> None:
        self._veil, self._small = veil, small
        self._known, self._room = Known(veil), Room()
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
        native, known = compiled(), self._known
        if known.is_full:
            known = self._known = Known(self._veil)
        small = self._small if known.is_empty else min(self._small, _SMALLEST)
        is_plain = native is not None and self._is_plain and small <= len(texts.data) < _LARGE
        room = self._room.take(len(texts.data)) if is_plain else ()
        found = self._find(native, texts, known, room) if native is not None and is_plain else _all_strange(len(texts))
        cut = found.cut
        strange = np.flatnonzero(cut.states == STRANGE).tolist()
        drafts = {number: Draft(veil, Document(texts.text(number))) for number in strange}
        wanted, are_cut = _merged(cut, Wanted.of(veil, drafts, len(texts), known.keys))
        drawn = draw(veil, wanted, groups, scopes)
        draws, left = _apart_again(drawn, are_cut)
        words = left.words(veil.mechanism.space.vocabulary)
        named = drawn.numbering() if drafts else []
        releases = [
            draft.write(veil, words, int(drawn.repeated[number]), named[number]) for number, draft in drafts.items()
        ]
        counts = found.counts()
        counts[:, _COUNTED.index("repeated")] = drawn.repeated
        counts[strange] = counts_of(releases)
        beside = [encoded(release.text) for release in releases]
        if native is None or not is_plain:
            return Rewritten(_between(texts, beside), counts)
        cut = _with_whole(cut, strange, texts, len(found.written))
        words_of = spelt(veil.mechanism.space.vocabulary)
        written = write_texts(native, *texts.parts, cut, draws, words_of, Strings.of(found.written + beside))
        self._room.give_back(room)
        return Rewritten(Texts(*written), counts)

    def _find(self, native: ModuleType, texts: Texts, known: Known, room: tuple[NDArray[Any], ...]) -> _Found:
        """Cut texts by compiled code, after finding everything that is not a word."""
        # Some things are made at first use, which takes long: one thread makes them while the others wait.
        with known.lock if known.is_empty else nullcontext():
            kinds = kinds_of_characters(texts.data)
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
            native, *texts.parts, kinds, Spans(starts, ends, flags, ranges), known, room,
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
            first, last = (begin, end) if is_ascii else (len(encoded(text[:begin])), len(encoded(text[:end])))
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
    nothing, flags = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    counts, stops = np.zeros((texts, 3), dtype=np.int32), np.zeros(texts, dtype=np.int64)
    states, none = np.full(texts, STRANGE, dtype=np.uint8), stops[:0]
    return _Found(Cut(nothing, nothing, nothing, flags, none, none, counts, stops, states), none, none, [])


def _merged(cut: Cut, drafted: Wanted) -> tuple[Wanted, tuple[Which, Which]]:
    """Add the words of texts that were cut to those of drafts, in the order of the texts.

    Returns also which of the words in and outside the vocabulary are of texts that were cut: None for all.
    """
    inside, outside = np.cumsum(cut.counts[:, 1:], axis=0, dtype=np.int64).T
    ids, ids_stops, are_ids_cut = _in_order(cut.inside, inside, drafted.ids, drafted.ids_stops)
    others, others_stops, are_others_cut = _in_order(cut.outside, outside, drafted.outside, drafted.outside_stops)
    wanted = drafted._replace(ids=ids, ids_stops=ids_stops, outside=others, outside_stops=others_stops)
    return wanted, (are_ids_cut, are_others_cut)


def _in_order(some: Int64, some_stops: Int64, others: Int64, others_stops: Int64) -> tuple[Int64, Int64, Which]:
    """Merge what is of some texts with what is of others, and return which is of the former."""
    stops = some_stops + others_stops
    if not len(others):
        return some, stops, None
    places = np.repeat(some_stops, np.diff(others_stops, prepend=0))
    are_some = np.ones(len(some) + len(others), dtype=np.bool_)
    are_some[places + np.arange(len(others))] = False
    return np.insert(some, places, others), stops, are_some


def _apart_again(drawn: Drawn, are_cut: tuple[Which, Which]) -> tuple[Draws, Drawn]:
    """Return the draws for texts that were cut, and those for drafts."""
    inside, outside = are_cut
    ids, places = drawn.ids, drawn.places
    own_ids, own_places, left_ids, left_places = ids, places, ids[:0], None
    if inside is not None:
        if places is None:
            own_ids, left_ids = ids[inside], ids[~inside]
        else:
            own_places, left_ids, left_places = places[inside], ids, places[~inside]
    own_outside, left_outside = drawn.outside, drawn.outside[:0]
    if outside is not None:
        own_outside, left_outside = drawn.outside[outside], drawn.outside[~outside]
    left = drawn._replace(ids=left_ids, places=left_places, outside=left_outside)
    return Draws(own_ids, own_places, own_outside), left


def _with_whole(cut: Cut, strange: list[int], texts: Texts, first: int) -> Cut:
    """Add an edit for each text that was veiled in Python, with the strings from number `first` on."""
    if not strange:
        return cut
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
