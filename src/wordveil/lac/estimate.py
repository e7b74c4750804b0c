"""Estimated counts with their error bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """Counts of words, or of n-grams with an axis for each word.

    Attributes
    ----------
    values : array of float
        The estimated counts.
    errors : array of float or None
        One standard error of each; None where none were asked for.
    """

    values: NDArray[np.floating[Any]]
    errors: NDArray[np.floating[Any]] | None

    def top(self, k: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the `k` most frequent entries, most frequent first: their places and their counts."""
        flat = self.values.ravel()
        order = np.argsort(-flat, kind="stable")[: max(k, 0)]
        places = zip(*(axis.tolist() for axis in np.unravel_index(order, self.values.shape)), strict=True)
        return list(zip(places, flat[order].tolist(), strict=True))
