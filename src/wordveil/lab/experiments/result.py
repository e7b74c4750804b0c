"""What an experiment is given, and what it gives: tables beside the paper's, pictures, and our reading of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wordveil.errors import WordveilError
from wordveil.lab.tasks import DataFolder
from wordveil.progress import Watch, ignore

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Result", "Setting", "Table", "written"]

Cell: TypeAlias = str | float | int | None


@dataclass(frozen=True)
class Setting:
    """How an experiment is run.

    Attributes
    ----------
    folder : Path, optional
        The folder of data sets.
    quick : bool
        Whether to use few words, examples and repetitions.
    seed : int
        Which random numbers.
    watch : callable
        Told how far it is.
    workers : int
        How many mechanisms are measured at once, where an experiment compares several.
    engine : {"local", "gpu"}
        Where mechanisms with noise draw, where an experiment compares several.
    """

    folder: Path | None = None
    quick: bool = False
    seed: int = 0
    watch: Watch = ignore
    workers: int = 1
    engine: str = "local"

    @cached_property
    def data(self) -> DataFolder:
        """The data sets, for experiments that need them."""
        if self.folder is None:
            raise WordveilError("this experiment needs data sets; give their folder with --data.")
        return DataFolder(self.folder)

    def pick(self, quick: int, full: int) -> int:
        """Return one of two numbers: for a quick run, or for a full one."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    title : str
        What it shows.
    columns : sequence of str
        The headings.
    rows : sequence of sequences
        The cells; None for what is not known.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}

    def markdown(self) -> str:
        """Write it as Markdown."""
        lines = [f"**{self.title}**", "", _line(self.columns), "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(_line([written(cell) for cell in row]) for row in self.rows)])


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes
    ----------
    tables : sequence of Table
        The paper's figures beside ours.
    reading : str
        Why they agree or differ, as we see it.
    changed : str
        What stands in for what the paper used; empty if nothing does.
    facts : dict
        Everything that was measured, as plain values.
    figures : dict
        Pictures by a short name; the main one has an empty name.
    """

    tables: Sequence[Table]
    reading: str
    changed: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)


def written(cell: Cell) -> str:
    """Write a cell: numbers to three digits, a dash for what is not known.

    Examples
    --------
    >>> written(0.12345), written(None), written(1234), written("as it is")
    ('0.123', '–', '1,234', 'as it is')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 999.5 else f"{cell:.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
