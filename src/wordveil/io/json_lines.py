"""JSON lines: a record is an object on a line; only the chosen values change, and all else stays byte for byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wordveil.errors import InputError, OptionError
from wordveil.io.formats import Block, Position, listed
from wordveil.io.lines import LineReader
from wordveil.text import Document, Release

__all__ = ["JsonReader", "find_places", "moved"]

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = 0  # stands for every number: their digits are never looked at, so no size of them can do harm
_DECODER = json.JSONDecoder(
    parse_float=lambda _: _NUMBER, parse_int=lambda _: _NUMBER, parse_constant=lambda _: _NUMBER
)

Spans = tuple[tuple[int, int], ...]


class Place(NamedTuple):
    """A value and where it stands: ``line[start:end]``."""

    value: Any
    start: int
    end: int


class Row(NamedTuple):
    """A line, and the values in it that will be replaced, in the order of the line; none in a blank line."""

    line: str
    places: list[Place]
    spans: Place | None


@dataclass
class JsonBlock(Block):
    """Objects on lines, and which of their values to replace."""

    rows: list[Row]

    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the lines with the new texts in place; all else stays byte for byte."""
        left = iter(releases)
        parts: list[str] = []
        for line, places, spans in self.rows:
            new = [(place, next(left)) for place in places]
            values = [(place.start, place.end, _literal(release.text)) for place, release in new]
            if spans is not None:
                # A record with spans has one column, which is null where there is no release.
                offsets = json.dumps(moved(spans.value, new[0][1])) if new else "[]"
                values.append((spans.start, spans.end, offsets))
            at = 0
            for start, end, value in sorted(values):
                parts += (line[at:start], value)
                at = end
            parts.append(line[at:])
        return "".join(parts).encode("utf-8")


def _literal(text: str) -> str:
    # Half a surrogate pair can be escaped in JSON, but not written in UTF-8.
    return json.dumps(text, ensure_ascii=_HALF_PAIR.search(text) is not None)


class JsonReader(LineReader[Row]):
    """Reads an object a line."""

    def _read_preamble(self) -> bytes:
        if not self._reading.columns:
            line = self._lines.decode(self._lines.read())
            raise OptionError(
                f"use `columns` to choose which keys of {self._lines.name} to veil; its first record has: "
                f"{listed(_keys(line))}."
            )
        return super()._read_preamble()

    def _read_row(self) -> Row | None:
        raw = self._lines.read()
        if not raw:
            return None
        line = self._lines.decode(raw)
        if not line.strip(" \t\r\n"):
            return Row(line, [], None)
        self._record += 1
        spans_key = self._reading.spans
        wanted = [*self._reading.columns, *([spans_key] if spans_key else [])]
        try:
            found = find_places(line, wanted)
        except ValueError:
            found = {}
        if not found:
            raise InputError(f"{self._where()} is not a JSON object.")
        places: list[Place] = []
        for column in self._reading.columns:
            places += self._texts(line, column, found[column])
        places.sort(key=lambda place: place.start)
        spans = self._spans(line, places, found[spans_key]) if spans_key else None
        return Row(line, places, spans)

    def _where(self) -> str:
        return f"line {self._lines.line} of {self._lines.name}"

    def _one(self, line: str, key: str, places: list[Place]) -> Place:
        if not places:
            there = f"; it has: {listed(_keys(line))}" if self._record == 1 else ""
            raise InputError(f"{self._where()} has no key {key!r}{there}.")
        if len(places) > 1:
            raise InputError(f"{self._where()} has the key {key!r} more than once.")
        return places[0]

    def _texts(self, line: str, column: str, places: list[Place]) -> list[Place]:
        """Return the one place of a text, or none where it is null."""
        place = self._one(line, column, places)
        if place.value is None:
            return []
        if not isinstance(place.value, str):
            raise InputError(f"{self._where()} has neither text nor null at {column!r}.")
        return [place]

    def _spans(self, line: str, texts: list[Place], places: list[Place]) -> Place:
        key = self._reading.spans or ""
        place = self._one(line, key, places)
        length = len(texts[0].value) if texts else 0
        spans = _as_spans(line[place.start : place.end], length)
        if spans is None:
            raise InputError(f"{self._where()} has no [[start, end], ...] within its text at {key!r}.")
        return Place(spans, place.start, place.end)

    def _block(self, rows: list[Row], end: Position) -> Block:
        records: list[list[str | Document]] = []
        for row in rows:
            if not row.line.strip(" \t\r\n"):
                continue
            texts = [place.value for place in row.places]
            records.append([Document(text, row.spans.value) for text in texts] if row.spans else texts)
        return JsonBlock(end, records, rows)


def find_places(line: str, columns: Iterable[str]) -> dict[str, list[Place]]:
    """Return, for each column, every place in the object on `line` where it has a value.

    A dot in a column leads into an object, unless the key itself has the dot. A line that is no JSON object raises a
    ``ValueError`` that quotes nothing.

    Examples
    --------
    >>> find_places('{"a": {"b": "x"}}', ["a.b"])
    {'a.b': [Place(value='x', start=12, end=15)]}
    """
    found: dict[str, list[Place]] = {column: [] for column in columns}
    try:
        start = _skip_space(line, 0)
        _expect(line, start, "{")
        end = _walk(line, start + 1, {column: column for column in found}, found)
        if _skip_space(line, end) == len(line):
            return found
    except (ValueError, RecursionError):
        pass
    raise ValueError("not a JSON object")


def _keys(line: str) -> list[str]:
    """Return the keys of the object on `line`, none if there is no object."""
    try:
        value = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return []
    return list(value) if isinstance(value, dict) else []


def _walk(line: str, at: int, wanted: dict[str, str], found: dict[str, list[Place]]) -> int:
    """Go through the object whose brace stands before `at`; `wanted` maps paths from here to columns."""
    at = _skip_space(line, at)
    if line[at : at + 1] == "}":
        return at + 1
    while True:
        _expect(line, at, '"')
        key, at = _DECODER.raw_decode(line, at)
        at = _skip_space(line, at)
        _expect(line, at, ":")
        start = _skip_space(line, at + 1)
        stem = key + "."
        inside = {path[len(stem) :]: column for path, column in wanted.items() if path.startswith(stem)}
        value: Any = {}
        if inside and line[start : start + 1] == "{":
            end = _walk(line, start + 1, inside, found)
        else:
            value, end = _DECODER.raw_decode(line, start)
        if key in wanted:
            found[wanted[key]].append(Place(value, start, end))
        at = _skip_space(line, end)
        if line[at : at + 1] == "}":
            return at + 1
        _expect(line, at, ",")
        at = _skip_space(line, at + 1)


def _skip_space(line: str, at: int) -> int:
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


def moved(spans: Spans, release: Release) -> list[list[int]]:
    """Return where the spans lie in the new text.

    The old offsets would be wrong there, and would give away how long the old words were.
    """
    replaced, length = release.replacements, len(release.text)
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
