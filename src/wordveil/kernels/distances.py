"""Straight-line distances in single precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import blocks

__all__ = ["squared_distances", "straight_distances", "worst_error"]

#: A squared distance below this part of the two squared lengths is measured anew from the differences.
_NEARLY_EQUAL = 0.1
_ENTRIES = 1 << 22  # differences that are held at once
_TOGETHER = 1 << 17  # products that are made distances at once


def worst_error(dimension: int, longest: float) -> float:
    """Return how far a distance that is computed here may be from the true one, whatever the vectors.

    With ``s`` the sum of the two squared lengths, the expanded square is off by at most ``(n+5)·2^-24·s``: n
    roundings of products, and those of the stored squares and of three sums. Where it is at least ``0.1·s`` its root
    is off by at most ``(n+5)·2^-24·s/(2·√(0.1·s))``, and ``s <= 2·longest²``; elsewhere differences are measured,
    which are off by less. What is left of ``n+12`` is for the root, the rate and the exponent.
    """
    return (dimension + 12) * 2.0**-24 * math.sqrt(0.5 / _NEARLY_EQUAL) * longest


def squared_distances(
    matrix: NDArray[np.float32], squares: NDArray[np.float32], ids: NDArray[np.integer[Any]], least: float = 0.0
) -> NDArray[np.float32]:
    """Return the squared distances, at least `least`, from some rows of a matrix to every row, by one product."""
    rows = matrix[ids] @ matrix.T
    for some in blocks(len(rows), max(1, _TOGETHER // len(matrix))):  # what is worked on stays in the cache
        _expand(rows[some], matrix, squares, ids[some])
        if least:  # 0 is the least anyway
            np.maximum(rows[some], np.float32(least), out=rows[some])
    return rows


def _expand(
    rows: NDArray[np.float32], matrix: NDArray[np.float32], squares: NDArray[np.float32], ids: NDArray[np.integer[Any]]
) -> None:
    """Make squared distances of products."""
    both = squares[ids][:, None] + squares
    rows *= -2.0
    rows += both
    # The expanded square loses its digits between (nearly) equal vectors: those few are measured directly. They are
    # taken in blocks, because in a cloud far from the origin they are not few.
    both *= np.float32(_NEARLY_EQUAL)
    row, column = np.nonzero(rows < both)
    for part in blocks(len(row), max(1, _ENTRIES // matrix.shape[1])):
        exact = matrix[ids[row[part]]].astype(np.float64) - matrix[column[part]]
        rows[row[part], column[part]] = np.einsum("ij,ij->i", exact, exact)


def straight_distances(
    matrix: NDArray[np.float32], squares: NDArray[np.float32], ids: NDArray[np.integer[Any]]
) -> NDArray[np.float32]:
    """Return the distances from some rows of a matrix to every row; see `squared_distances`."""
    rows = squared_distances(matrix, squares, ids)
    return np.asarray(np.sqrt(rows, out=rows))
