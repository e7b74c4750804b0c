"""What the adapters of tables share: veiling the cells of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordveil.errors import InputError
from wordveil.text import Veil

__all__ = ["check_texts", "veil_cells"]


def check_texts(cells: Sequence[Any], column: str, *, missing: Sequence[bool] | None = None) -> list[int]:
    """Return the places of the cells that hold text, or refuse one that neither does nor is missing.

    Parameters
    ----------
    cells : sequence
        Texts, and whatever stands for a missing one.
    column : str
        What to call the column in an error.
    missing : sequence of bool, optional
        Whether each cell is missing; none is if not given.
    """
    filled = [place for place in range(len(cells)) if missing is None or not missing[place]]
    for place in filled:
        if not isinstance(cells[place], str):
            kind = type(cells[place]).__name__
            raise InputError(f"{column} has a value of type {kind} in row {place} (counting from 0); it must be text.")
    return filled


def veil_cells(veil: Veil, cells: Sequence[Any], column: str, *, missing: Sequence[bool] | None = None) -> list[Any]:
    """Return the cells veiled, in order; missing ones stay as they are. The parameters are those of `check_texts`."""
    veiled, filled = list(cells), check_texts(cells, column, missing=missing)
    for place, release in zip(filled, veil.many(veiled[place] for place in filled), strict=True):
        veiled[place] = release.text
    return veiled
