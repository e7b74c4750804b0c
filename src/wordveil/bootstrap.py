"""Confidence intervals by drawing again (percentile bootstrap)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["CONFIDENCE", "interval"]

#: The confidence of every interval.
CONFIDENCE = 0.95


def interval(draw: Callable[[np.random.Generator], float], *, times: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the ends between which a statistic lies in 95 of 100 samples drawn again.

    Parameters
    ----------
    draw : callable
        Computes the statistic of one sample, drawn with replacement by the generator it is given; NaN where the sample
        has none, and such samples are left out.
    times : int
        How many samples.
    seed : int
        Which ones.

    Examples
    --------
    >>> values = np.arange(1000)
    >>> low, high = interval(lambda generator: values[generator.integers(0, 1000, 1000)].mean())
    >>> low < 499.5 < high
    True
    """
    generator = np.random.default_rng(seed)
    found = np.array([draw(generator) for _ in range(times)], dtype=np.float64)
    if np.isnan(found).all():
        return math.nan, math.nan
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(found, [tail, 1 - tail]).tolist()
    return low, high
