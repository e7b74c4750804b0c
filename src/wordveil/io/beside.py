"""Finds columns that would be released as they are although they look like texts: to name the wrong column is easy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from wordveil.errors import InputError
from wordveil.io.formats import Reading
from wordveil.io.inputs import Piece, Plan

__all__ = ["tell_texts_beside"]

_LOOKED_AT = 200  # records of each input,
_AT_ONCE = 1 << 12  # of which about so many words are read at once
_INPUTS = 20  # of a folder that are looked at
_WORDS = 5.0  # that a text has at least, on average: names, titles and addresses have fewer


def tell_texts_beside(plan: Plan, reading: Reading, tell: Callable[[str], object]) -> None:
    """Say which other columns or keys than those to veil look like texts, once for all inputs that have the same."""
    told = set[tuple[str, ...]]()
    inputs = (piece for piece in plan.pieces if piece.format.has_columns and not piece.is_stream)
    for piece in islice(inputs, _INPUTS):
        found = _texts_beside(piece, reading)
        if found and found not in told:
            several = len(found) > 1
            tell(
                f"{piece.source} has texts that are not veiled, in the {'columns' if several else 'column'} "
                f"{', '.join(found)}: they are released as they are."
            )
        told.add(found)


def _texts_beside(piece: Piece, reading: Reading) -> tuple[str, ...]:
    looking = replace(reading, columns=(), spans=None, person=None, every_column=True, batch_words=_AT_ONCE)
    values, words = defaultdict[str, int](int), defaultdict[str, int](int)
    # What cannot be read is told of when its turn comes.
    with piece.format.open_reader(piece.source, looking) as reader, suppress(InputError):
        for record in islice((record for some, _ in reader.look() for record in some), _LOOKED_AT):
            for name, value in record.items():
                if value and value.strip():
                    values[name] += 1
                    words[name] += len(value.split())
    return tuple(name for name, count in values.items() if name not in reading.needed and words[name] >= _WORDS * count)
