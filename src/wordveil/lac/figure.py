"""The picture of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.lac.simulation import Point

__all__ = ["check_installed", "save_figure"]


def check_installed() -> None:
    """Refuse where there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise WordveilError("pictures need matplotlib: install it with pip install 'wordveil[plots]'.")


def save_figure(points: Sequence[Point], path: Path) -> None:
    """Draw the central ε and the errors over the number of users."""
    check_installed()
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
