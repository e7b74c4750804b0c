"""Draws from rows of weights by inversion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.loading import compiled, plain

__all__ = ["choose"]


def choose(rows: NDArray[np.floating[Any]], starts: NDArray[np.int64], aims: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each aim the first place of its row at which the cumulated weights exceed so much of the whole.

    Parameters
    ----------
    rows : array of shape (n, width)
        Weights, float32 or float64, cumulated in double precision; each row has one above 0.
    starts : array of shape (n + 1,)
        The aims of row ``r`` are those from ``starts[r]`` to ``starts[r + 1]``.
    aims : array of float
        Between 0 and 1, both excluded.
    """
    count, width = rows.shape
    if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != len(aims) or (np.diff(starts) < 0).any():
        raise ValueError("the starts must rise from 0 to the number of aims, one for each row and one more")
    found = np.empty(len(aims), dtype=np.int64)
    native = compiled()
    if native:
        wide = rows.dtype != np.float32
        rows = plain(rows, np.float64 if wide else np.float32)
        starts = plain(starts, np.int64)
        aims = plain(aims, np.float64)
        native.choose(rows, wide, count, width, starts, aims, len(aims), found)
        return found
    for row, start, stop in zip(rows, starts[:-1], starts[1:], strict=True):
        if start < stop:
            sums = np.cumsum(row, dtype=np.float64)
            found[start:stop] = np.searchsorted(sums[:-1], aims[start:stop] * sums[-1], side="right")
    return found
