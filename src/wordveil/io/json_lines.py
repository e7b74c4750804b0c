"""JSON: a record is an object; only the chosen values change, and all else stays byte for byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from wordveil.errors import InputError, OptionError
from wordveil.io.formats import Block, Position, Reading, Written, almost, fields_of, listed, of_person
from wordveil.io.lines import LineReader
from wordveil.text import Document, Release

__all__ = ["DECODER", "JsonReader", "Row", "find_places", "moved", "skip_space"]

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = 0  # stands for every number: their digits are never looked at, so no size of them can do harm
DECODER = json.JSONDecoder(parse_float=lambda _: _NUMBER, parse_int=lambda _: _NUMBER, parse_constant=lambda _: _NUMBER)

Spans = tuple[tuple[int, int], ...]


class Place(NamedTuple):
    """A value and where it stands: ``line[start:end]``."""

    value: Any
    start: int
    end: int


class Row(NamedTuple):
    """An object, and the values in it that will be replaced, in their order; none in a blank line."""

    line: str
    places: list[Place]
    spans: Place | None
    before: str = ""  # what stands between the objects of an array
    after: str = ""
    person: str | None = None  # whose it is, where that is asked for and said
    is_passed: bool = False  # whether it lacks a key to veil, and is passed on without it


@dataclass
class JsonBlock(Block):
    """Objects, and which of their values to replace."""

    rows: list[Row]

    @property
    def passed(self) -> int:
        """How many objects lack a key to veil."""
        return sum(row.is_passed for row in self.rows)

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the objects with the new texts in place; all else stays byte for byte."""
        left = iter(releases)
        parts: list[str] = []
        for line, places, spans, before, after, *_ in self.rows:
            new = [(place, next(left)) for place in places]
            values = [(place.start, place.end, _literal(release.text)) for place, release in new]
            if spans is not None:
                # A record with spans has one column, which is null where there is no release.
                offsets = json.dumps(moved(spans.value, new[0][1])) if new else "[]"
                values.append((spans.start, spans.end, offsets))
            parts.append(before)
            at = 0
            for start, end, value in sorted(values):
                parts += (line[at:start], value)
                at = end
            parts += (line[at:], after)
        return "".join(parts).encode("utf-8")


def _literal(text: str) -> str:
    # Half a surrogate pair can be escaped in JSON, but not written in UTF-8.
    return json.dumps(text, ensure_ascii=_HALF_PAIR.search(text) is not None)


class JsonReader(LineReader[Row]):
    """Reads an object a line."""

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        if reading.missing not in ("refuse", "pass"):
            raise OptionError(f"`missing` cannot be {reading.missing!r}; choose refuse or pass.")
        if reading.spans and "[*]" in "".join((*reading.columns, reading.spans)):
            raise OptionError("`spans` belong to one text of a record; choose a key without [*] in `columns`.")
        if "[*]" in (reading.person or ""):
            raise OptionError("a record belongs to one person; choose a key without [*] in `person`.")
        self._is_whole, self._met = start is None, set[str]()
        super().__init__(path, reading, start)

    def _read_preamble(self) -> bytes:
        if not self._reading.columns and not self._reading.every_column:
            raise OptionError(
                f"use `columns` to choose which keys of {self._lines.name} to veil; its first record has "
                f"{len(_keys(self._first_record())):,} keys."
            )
        return super()._read_preamble()

    def _first_record(self) -> str:
        return self._lines.decode(self._lines.read())

    def blocks(self) -> Iterator[Block]:
        """Read the records that are left; where keys may be missing, each must be met in at least one record."""
        yield from super().blocks()
        unmet = [column for column in self._reading.needed if column not in self._met]
        if self._is_whole and unmet and self._record:
            raise InputError(f"no record of {self._lines.name} has the key {listed(unmet)}; check how it is spelt.")

    def _read_row(self) -> Row | None:
        raw = self._lines.read()
        if not raw:
            return None
        line = self._lines.decode(raw)
        if not line.strip(" \t\r\n"):
            return Row(line, [], None)
        self._record += 1
        return self._row(line)

    def _row(self, line: str) -> Row:
        """Find the texts in an object."""
        spans_key = self._reading.spans
        try:
            found = search(line, [*self._reading.needed, *([spans_key] if spans_key else [])])
        except ValueError:
            found = None
        if found is None:
            raise InputError(f"{self._where()} is not a JSON object.")
        texts: dict[int, Place] = {}  # by where they stand, so that none is replaced twice
        for column in self._reading.columns:
            texts |= {place.start: place for place in self._texts(line, column, found)}
        for column, start in found.strays:
            if start not in texts and ("[*]" in column or not found.places[column]):
                raise InputError(f"{self._where()} does not have the structure that the path {column!r} says.")
        places = [texts[start] for start in sorted(texts)]
        spans = self._spans(line, places, found) if spans_key else None
        is_passed = any(found.lacks(column) for column in self._reading.columns)
        return Row(line, places, spans, person=self._person(line, found), is_passed=is_passed)

    def _person(self, line: str, found: Search) -> str | None:
        """Return whose an object is, as far as it says so."""
        key = self._reading.person
        places = [] if key is None else self._found(line, key, found)
        if not places or places[0].value is None:
            return None
        value, start, end = places[0]
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return line[start:end]  # a number as it is written
        raise InputError(f"{self._where()} has neither text nor a number nor null at {key!r}.")

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the objects that are left with all their values by path."""
        for block in self.blocks():
            rows = block.rows if isinstance(block, JsonBlock) else []
            # As text, and not as numbers, of which a very long one is refused.
            read = (json.loads(row.line, parse_int=str, parse_float=str) for row in rows if row.line.strip(" \t\r\n"))
            yield [fields_of(record) for record in read], self.bytes_done(block.end)

    def _where(self) -> str:
        return f"line {self._lines.line} of {self._lines.name}"

    def _found(self, line: str, key: str, found: Search) -> list[Place]:
        """Return where the values of a key stand, after a look whether they are there as they should be."""
        places = found.places[key]
        if key in found.twice or (len(places) > 1 and "[*]" not in key):
            raise InputError(f"{self._where()} has the key {key!r} more than once.")
        if found.lacks(key) and (self._reading.missing == "refuse" or key == self._reading.spans):
            there = almost(key, _keys(line)) if self._record == 1 else ""
            raise InputError(f"{self._where()} has no key {key!r}{there}.")
        if places or not found.lacks(key):
            self._met.add(key)
        return places

    def _texts(self, line: str, column: str, found: Search) -> list[Place]:
        """Return the places of texts, leaving out where there is null, or what another column leads into."""
        places = self._found(line, column, found)
        for place in places:
            if place.value is not None and not isinstance(place.value, str) and place.start not in found.entered:
                raise InputError(f"{self._where()} has neither text nor null at {column!r}.")
        return [place for place in places if isinstance(place.value, str)]

    def _spans(self, line: str, texts: list[Place], found: Search) -> Place:
        key = self._reading.spans or ""
        place = self._found(line, key, found)[0]
        length = len(texts[0].value) if texts else 0
        spans = _as_spans(line[place.start : place.end], length)
        if spans is None:
            raise InputError(f"{self._where()} has no [[start, end], ...] within its text at {key!r}.")
        return Place(spans, place.start, place.end)

    def _block(self, rows: list[Row], end: Position) -> Block:
        records: list[list[str | Document]] = []
        for row in rows:
            if not row.line.strip(" \t\r\n"):  # a blank line, or what stands around no object
                continue
            texts = [place.value for place in row.places]
            record = [Document(text, row.spans.value) for text in texts] if row.spans else texts
            records.append(of_person(record, row.person))
        return JsonBlock(end, records, rows)


@dataclass
class Search:
    """What was found of some columns in an object."""

    places: dict[str, list[Place]]  # the values of each column
    missing: set[str] = field(default_factory=set)  # columns of which an object has no key
    twice: set[str] = field(default_factory=set)  # columns that lead through a key that an object has twice
    strays: list[tuple[str, int]] = field(
        default_factory=list
    )  # where a column leads on, but there is nothing to enter
    entered: set[int] = field(default_factory=set)  # where the objects and lists stand that a column leads into

    def lacks(self, column: str) -> bool:
        """Whether the object, or one in a list that the column leads through, has no such key."""
        return column in self.missing and ("[*]" in column or not self.places[column])


def find_places(line: str, columns: Iterable[str]) -> dict[str, list[Place]]:
    """Return, for each column, every place in the object on `line` where it has a value.

    A dot in a column leads into an object, and ``[*]`` into every element of a list, unless the key itself has them. A
    line that is no JSON object raises a ``ValueError`` that quotes nothing.

    Examples
    --------
    >>> find_places('{"a": {"b": "x"}}', ["a.b"])
    {'a.b': [Place(value='x', start=12, end=15)]}
    >>> find_places('{"a": [{"b": "x"}, {"b": null}]}', ["a[*].b"])
    {'a[*].b': [Place(value='x', start=13, end=16), Place(value=None, start=25, end=29)]}
    """
    return search(line, columns).places


def search(line: str, columns: Iterable[str]) -> Search:
    """Look for columns in the object on `line`, as `find_places` does, and say what is not as it should be."""
    found = Search({column: [] for column in columns})
    try:
        start = skip_space(line, 0)
        _expect(line, start, "{")
        end = _walk(line, start + 1, {column: column for column in found.places}, found)
        if skip_space(line, end) == len(line):
            return found
    except (ValueError, RecursionError):
        pass
    raise ValueError("not a JSON object")


def _keys(line: str) -> list[str]:
    """Return the keys of the object on `line`, none if there is no object."""
    try:
        value = DECODER.decode(line)
    except (ValueError, RecursionError):
        return []
    return list(value) if isinstance(value, dict) else []


def _walk(line: str, at: int, wanted: dict[str, str], found: Search) -> int:
    """Go through the object whose brace stands before `at`; `wanted` maps paths from here to columns."""
    met: set[str] = set()  # the paths whose first key is there
    keys: set[str] = set()
    at = skip_space(line, at)
    while line[at : at + 1] != "}":
        if keys:
            _expect(line, at, ",")
            at = skip_space(line, at + 1)
        _expect(line, at, '"')
        key, at = DECODER.raw_decode(line, at)
        at = skip_space(line, at)
        _expect(line, at, ":")
        start = skip_space(line, at + 1)
        rests = {path: path[len(key) :] for path in wanted if path.startswith(key)}
        leading = {path: rest for path, rest in rests.items() if not rest or rest.startswith((".", "[*]"))}
        if key in keys:
            found.twice |= {wanted[path] for path in leading}
        keys.add(key)
        met |= leading.keys()
        at = _value(line, start, {rest: wanted[path] for path, rest in leading.items()}, found)
        at = skip_space(line, at)
    found.missing |= {wanted[path] for path in wanted.keys() - met}
    return at + 1


def _walk_list(line: str, at: int, wanted: dict[str, str], found: Search) -> int:
    """Go through the list whose bracket stands before `at`; `wanted` maps paths from its elements to columns."""
    at = skip_space(line, at)
    is_first = True
    while line[at : at + 1] != "]":
        if not is_first:
            _expect(line, at, ",")
            at = skip_space(line, at + 1)
        is_first = False
        at = skip_space(line, _value(line, at, wanted, found))
    return at + 1


def _value(line: str, start: int, wanted: dict[str, str], found: Search) -> int:
    """Go through a value; `wanted` maps paths from it ("" is itself, ".key" and "[*]" lead into it) to columns."""
    kind = line[start : start + 1]
    here = wanted.get("")
    in_object = {path[1:]: column for path, column in wanted.items() if path.startswith(".")}
    in_list = {path[3:]: column for path, column in wanted.items() if path.startswith("[*]")}
    value: Any = {}
    if in_object and kind == "{":
        found.entered.add(start)
        end = _walk(line, start + 1, in_object, found)
    elif in_list and kind == "[":
        found.entered.add(start)
        end = _walk_list(line, start + 1, in_list, found)
    else:
        value, end = DECODER.raw_decode(line, start)
    if here is not None:
        found.places[here].append(Place(value, start, end))
    for paths, opening in ((in_object, "{"), (in_list, "[")):
        for column in paths.values():
            if kind == opening:
                continue
            if "[*]" not in column:
                found.missing.add(column)
            if value is not None:
                found.strays.append((column, start))
    return end


def skip_space(line: str, at: int) -> int:
    """Return the place behind the spaces of JSON."""
    match = _SPACE.match(line, at)
    return match.end() if match else at


def _expect(line: str, at: int, character: str) -> None:
    if line[at : at + 1] != character:
        raise ValueError("not a JSON object")


def _as_spans(literal: str, length: int) -> Spans | None:
    """Read JSON as spans of a text of this length; None if it is no list of such pairs, or its numbers are too long."""
    try:
        pairs = json.loads(literal)
    except (ValueError, RecursionError):
        return None
    fit = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(offset) is int for offset in pair)
        and 0 <= pair[0] <= pair[1] <= length
        for pair in pairs
    )
    return tuple((start, end) for start, end in pairs) if fit else None


def moved(spans: Spans, release: Written) -> list[list[int]]:
    """Return where the spans lie in the new text.

    The old offsets would be wrong there, and would give away how long the old words were.
    """
    # With spans a release is a whole one.
    replaced, length = cast("Release", release).replacements, len(release.text)
    starts = [change.start for change in replaced]

    def place(offset: int, *, is_end: bool) -> int:
        before = bisect_right(starts, offset - 1 if is_end else offset) - 1
        if before < 0:
            return min(offset, length)  # dropping a word takes a space before it along
        change = replaced[before]
        if offset < change.end or (is_end and offset == change.end):  # in a replaced word: all of the new one
            return change.new_end if is_end else change.new_start
        return min(offset - change.end + change.new_end, length)

    places = [(place(start, is_end=False), place(end, is_end=True)) for start, end in spans]
    return [[start, max(start, end)] for start, end in places]
