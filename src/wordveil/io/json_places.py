"""Finds where a value stands in a line of JSON, so that everything around it can stay as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["Place", "find", "keys"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = 0  # stands for every number: their digits are never looked at, so no size of them can do harm
_DECODER = json.JSONDecoder(
    parse_float=lambda _: _NUMBER, parse_int=lambda _: _NUMBER, parse_constant=lambda _: _NUMBER
)


class Place(NamedTuple):
    """A value and where it stands: ``line[start:end]``."""

    value: Any
    start: int
    end: int


def find(line: str, columns: Iterable[str]) -> dict[str, list[Place]]:
    """Return, for each column, every place in the object on `line` where it has a value.

    Parameters
    ----------
    line : str
        One object.
    columns : iterable of str
        Keys; a dot leads into an object, unless the key itself has the dot.

    Raises
    ------
    ValueError
        If the line is not one JSON object. The error quotes nothing.

    Examples
    --------
    >>> find('{"a": {"b": "x"}}', ["a.b"])
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


def keys(line: str) -> list[str]:
    """Return the keys of the object on `line`, none where there is no object."""
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
