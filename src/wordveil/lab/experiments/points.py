"""The points of a comparison as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable

from wordveil.lab.experiments.comparison import Point
from wordveil.lab.experiments.result import Cell, Table

__all__ = ["points_table"]

_HEADINGS = ("level", "ε", "guess right", "words kept", "near loss", "mean share")


def points_table(title: str, who: str, points: Iterable[Point], tasks: Iterable[str]) -> Table:
    """Return a table with a row for each point; what was not reached has no figures.

    Parameters
    ----------
    title, who : str
        The titles of the table and of its first column.
    points : iterable of Point
        What was measured.
    tasks : iterable of str
        The names of the tasks, whose shares stand in the last columns.
    """
    headings = (who, *_HEADINGS, *tasks)
    return Table(title, headings, [_row(point, len(headings)) for point in points])


def _row(point: Point, width: int) -> list[Cell]:
    if point.adversary is None:
        return [point.label, point.level, *[None] * (width - 2)]
    shares = [f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in point.shares.values()]
    bound = "≤ " if point.near_loss_is_bound else ""
    loss = None if point.near_loss is None else f"{bound}{point.near_loss:.1f}"
    guess = f"{point.adversary.low:.3f}"
    return [point.label, point.level, point.epsilon, guess, point.kept, loss, point.mean_share, *shares]
