"""What the adapters share: checking the veil they are given, and veiling the cells of columns."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from wordveil.errors import InputError, OptionError
from wordveil.text import Document, Veil

__all__ = ["check_given", "check_texts", "check_veil", "veil_rows"]


def check_veil(veil: Any) -> None:
    """Refuse anything but a `Veil`."""
    if not isinstance(veil, Veil):
        raise OptionError(f"expected a veil, such as wordveil.Veil(epsilon=4), not {type(veil).__name__}.")


def check_given(veil: Any, columns: Sequence[Any]) -> None:
    """Refuse anything but a `Veil`, and an empty list of columns: the originals would come back as if veiled."""
    check_veil(veil)
    if not columns:
        raise OptionError("columns is empty, so nothing would be veiled: name at least one.")


def check_texts(cells: Sequence[Any], column: str, *, missing: Sequence[bool] | None = None) -> list[int]:
    """Return the places of the cells that hold text. Refuse a cell that is neither text nor missing."""
    filled = [place for place in range(len(cells)) if missing is None or not missing[place]]
    for place in filled:
        if not isinstance(cells[place], str):
            kind = type(cells[place]).__name__
            raise InputError(f"{column} has a value of type {kind} in row {place} (counting from 0); it must be text.")
    return filled


def veil_rows(
    veil: Veil,
    columns: Sequence[Sequence[Any]],
    names: Sequence[str],
    *,
    missing: Sequence[Sequence[bool]] | None = None,
    people: Sequence[Any] | None = None,
) -> list[list[Any]]:
    """Return the columns of a table veiled. Missing cells stay as they are. Each row is a record.

    `names` are for errors. `people`, for a veil with ``once="person"``, says whose each row is.
    """
    once = None if veil.once is None else veil.once.scope
    if (once == "person") != (people is not None):
        raise OptionError("a veil with once='person' and the column of the person go together: give both or neither.")
    veiled = [list(cells) for cells in columns]
    filled = [
        (row, number)
        for number, (cells, name) in enumerate(zip(veiled, names, strict=True))
        for row in check_texts(cells, name, missing=None if missing is None else missing[number])
    ]
    filled.sort()  # by row, so that the texts of a record are veiled together

    def scope(row: int) -> str | None:
        if once == "record":
            return str(row)
        if people is None:
            return None
        return f"row {secrets.token_hex(16)}" if people[row] is None else f"person {people[row]}"

    scopes = {row: scope(row) for row, _ in filled}
    documents = (Document(veiled[number][row], scope=scopes[row]) for row, number in filled)
    for (row, number), release in zip(filled, veil.many(documents), strict=True):
        veiled[number][row] = release.text
    return veiled
