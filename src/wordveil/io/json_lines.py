"""JSON lines: a record is an object on a line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wordveil.errors import WordveilError
from wordveil.io import json_places
from wordveil.io.json_places import Place
from wordveil.io.line_reader import LineReader
from wordveil.io.offsets import as_spans, moved
from wordveil.io.reader import listed
from wordveil.io.records import Block, Position
from wordveil.text import Document, Release

__all__ = ["JsonBlock", "JsonReader"]

_HALF_PAIR = re.compile("[\ud800-\udfff]")


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
            raise WordveilError(
                f"say with --column which keys of {self._lines.name} to veil; "
                f"its first record has: {listed(json_places.keys(line))}."
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
            found = json_places.find(line, wanted)
        except ValueError:
            found = {}
        if not found:
            raise WordveilError(f"{self._where()} is not a JSON object.")
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
            there = f"; it has: {listed(json_places.keys(line))}" if self._record == 1 else ""
            raise WordveilError(f"{self._where()} has no key {key!r}{there}.")
        if len(places) > 1:
            raise WordveilError(f"{self._where()} has the key {key!r} more than once.")
        return places[0]

    def _texts(self, line: str, column: str, places: list[Place]) -> list[Place]:
        """Return the one place of a text, or none where it is null."""
        place = self._one(line, column, places)
        if place.value is None:
            return []
        if not isinstance(place.value, str):
            raise WordveilError(f"{self._where()} has something other than text or null at {column!r}.")
        return [place]

    def _spans(self, line: str, texts: list[Place], places: list[Place]) -> Place:
        key = self._reading.spans or ""
        place = self._one(line, key, places)
        length = len(texts[0].value) if texts else 0
        spans = as_spans(_exact(line[place.start : place.end]), length)
        if spans is None:
            raise WordveilError(
                f"{self._where()} has at {key!r} something other than [[start, end], ...] within the text."
            )
        return Place(spans, place.start, place.end)

    def _block(self, rows: list[Row], end: Position) -> Block:
        records: list[list[str | Document]] = []
        for row in rows:
            if not row.line.strip(" \t\r\n"):
                continue
            texts = [place.value for place in row.places]
            records.append([Document(text, row.spans.value) for text in texts] if row.spans else texts)
        return JsonBlock(end, records, rows)


def _exact(literal: str) -> Any:
    """Return the value with its numbers, None where they are beyond all measure."""
    try:
        return json.loads(literal)
    except (ValueError, RecursionError):
        return None
