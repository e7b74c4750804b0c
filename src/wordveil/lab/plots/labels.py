"""Labels that do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["put_labels"]

_ANGLES = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
_REACHES = (5.0, 11.0, 18.0, 27.0, 38.0)  # in points
_LETTER = 0.6  # mean width of a letter, in parts of the size of the font


def put_labels(
    axes: Axes, places: NDArray[np.float64], texts: Sequence[str], sizes: Sequence[float], points: float
) -> None:
    """Write each text beside its place, where no label written before is; the first ones have the best choice.

    Parameters
    ----------
    axes : Axes
        Where to write.
    places : array of shape (texts, 2)
        What the texts belong to, in the coordinates of the axes.
    texts : sequence of str
        The labels.
    sizes : sequence of float
        The sizes of their fonts, in points.
    points : float
        How many points a unit of the axes is wide.
    """
    taken: list[tuple[float, float, float, float]] = []
    dots = places * points
    for dot, text, size in zip(dots, texts, sizes, strict=True):
        half = np.array([0.5 * _LETTER * size * len(text), 0.6 * size])
        outward = np.arctan2(dot[1], dot[0])
        best, least = np.zeros(2), np.inf
        for reach in _REACHES:
            for angle in sorted(_ANGLES, key=lambda a: abs(np.angle(np.exp(1j * (a - outward))))):
                way = np.array([np.cos(angle), np.sin(angle)])
                centre = dot + way * (reach + np.abs(way) * half)
                covered = sum(_overlap((*(centre - half), *(centre + half)), box) for box in taken)
                covered += 4.0 * ((np.abs(dots - centre) < half + 1.0).all(axis=1)).sum()
                if covered < least:
                    best, least = centre, covered
            if least == 0.0:
                break
        taken.append((*(best - half), *(best + half)))
        axes.annotate(
            text,
            (dot[0] / points, dot[1] / points),
            (best[0] / points, best[1] / points),
            size=size,
            ha="center",
            va="center",
            zorder=5,
            arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.4, "shrinkA": 0, "shrinkB": 0},
            bbox={"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none", "alpha": 0.75},
        )


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
