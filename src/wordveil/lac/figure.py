"""The picture of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordveil.extras import check_can_draw
from wordveil.lac.simulation import Point

__all__ = ["save_figure"]


def save_figure(points: Sequence[Point], path: Path) -> None:
    """Draw the central ε and the errors over the number of users."""
    check_can_draw()
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    users = [point.users for point in points]
    left.loglog(users, [point.central_epsilon for point in points], marker="o", label="shuffled")
    left.loglog(
        users, [point.local_epsilon for point in points], linestyle="--", label="if the shuffler is not trusted"
    )
    left.set(xlabel="users", ylabel="ε", title="Promise")
    left.legend()
    for name in ("no_privacy", "shuffled", "local_only"):
        right.loglog(users, [getattr(point, name) for point in points], marker="o", label=name.replace("_", " "))
    right.set(xlabel="users", ylabel="total variation distance", title="Error of the recovered frequencies")
    right.legend()
    figure.savefig(path, dpi=150)
