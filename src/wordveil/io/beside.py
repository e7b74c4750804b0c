"""Finds columns that would be released as they are although they look like texts: to name the wrong column is easy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from wordveil.errors import InputError
from wordveil.io.formats import TABLES, Reading, listed
from wordveil.io.inputs import Piece, Plan

__all__ = ["tell_texts_beside"]

_LOOKED_AT = 200  # records of each input,
_AT_ONCE = 1 << 12  # of which about so many words are read at once
_INPUTS = 20  # of a folder that are looked at
_USUAL = 0.5  # share of them that have a key by which all may be known
_WORDS = 5.0  # that a text has at least, on average: names, titles and addresses have fewer


class _Found(NamedTuple):
    names: tuple[str, ...] = ()  # of the columns or keys that most records have
    has_others: bool = False  # whether others have texts: where people's names are keys, these say who is in the data

    def __str__(self) -> str:
        """Say where the texts are."""
        kind = "columns" if len(self.names) > 1 else "column"
        named = [f"the {kind} {listed(self.names)}"] if self.names else []
        return " and ".join(named + ["keys that few records have"] * self.has_others)


def tell_texts_beside(plan: Plan, reading: Reading, tell: Callable[[str], object]) -> None:
    """Say which other columns or keys than those to veil look like texts, once for all inputs that have the same."""
    told = {_Found()}
    inputs = (piece for piece in plan.pieces if piece.format.has_columns and not piece.is_stream)
    for piece in islice(inputs, _INPUTS):
        found = _texts_beside(piece, reading)
        if found not in told:
            tell(f"{piece.source} has texts that are not veiled, in {found}: they are released as they are.")
        told.add(found)


def _texts_beside(piece: Piece, reading: Reading) -> _Found:
    # What separates the fields of a table is found out by the columns that it must have.
    columns = reading.needed if piece.format.name in TABLES else ()
    looking = replace(reading, columns=columns, spans=None, person=None, every_column=True, batch_words=_AT_ONCE)
    met, values, words = defaultdict[str, int](int), defaultdict[str, int](int), defaultdict[str, int](int)
    records = 0
    # What cannot be read is told of when its turn comes.
    with piece.format.open_reader(piece.source, looking) as reader, suppress(InputError):
        for record in islice((record for some, _ in reader.look() for record in some), _LOOKED_AT):
            records += 1
            for name, value in record.items():
                met[name] += 1
                if value and value.strip():
                    values[name] += 1
                    words[name] += len(value.split())
    found = [name for name, count in values.items() if name not in reading.needed and words[name] >= _WORDS * count]
    usual = tuple(name for name in found if met[name] >= _USUAL * records)
    return _Found(usual, len(usual) < len(found))
