"""Character offsets that say what to veil, and where they lie after the veil."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from wordveil.text import Release

__all__ = ["as_spans", "moved"]

Spans = tuple[tuple[int, int], ...]


def as_spans(value: Any, length: int) -> Spans | None:
    """Return a JSON value as spans of a text of this length, None where it is no list of such pairs."""
    if not isinstance(value, list):
        return None
    spans = []
    for pair in value:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(offset) is int for offset in pair)):
            return None
        if not 0 <= pair[0] <= pair[1] <= length:
            return None
        spans.append((pair[0], pair[1]))
    return tuple(spans)


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
