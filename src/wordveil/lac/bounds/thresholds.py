"""Sampling, then suppression of what is rarer than k (Li, Qardaji & Su 2012, Theorem 5).

Each record is taken with probability β; of the sample, only what occurs at least k times comes out, with its count.
Adding or removing one record changes what is seen by at most ε, except with probability

    ``δ = max over n >= ⌈k/γ - 1⌉ of Pr[Bin(n, β) > γn]``,  ``γ = 1 - (1-β)e^{-ε}``,  for ε >= -ln(1-β).

No noise is needed for it, and it holds whatever noise there is. The maximum is over infinitely many n, but
``Pr[Bin(n, β) > γn] <= e^{-n·KL(γ‖β)}`` falls below any value found, and there the search ends.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from wordveil.errors import WordveilError
from wordveil.lac.bounds.search import check_delta, smallest_epsilon

__all__ = ["check_threshold", "thresholded", "thresholded_delta"]

_STRIDE = 512
_LARGEST = 50.0


def check_threshold(k: int, rate: float) -> None:
    """Refuse a threshold or a rate that makes no sense."""
    if k < 1:
        raise WordveilError("the threshold k must be 1 or more.")
    if not 0.0 < rate < 1.0:
        raise WordveilError("the rate β of a k-threshold must lie between 0 and 1, both excluded.")


def thresholded_delta(k: int, rate: float, epsilon: float) -> float:
    """Return the δ of a k-threshold after sampling at this rate, for one ε; 1 where the theorem does not reach.

    Examples
    --------
    >>> thresholded_delta(20, 0.1, 1.0) < 1e-8
    True
    """
    check_threshold(k, rate)
    if epsilon < -math.log1p(-rate):
        return 1.0
    cut = 1.0 - (1.0 - rate) * math.exp(-epsilon)
    if cut <= rate:
        return 1.0
    if cut >= 1.0:  # rounded up to 1: all of k records are sampled
        return rate**k
    divergence = cut * math.log(cut / rate) + (1.0 - cut) * (math.log1p(-cut) - math.log1p(-rate))
    start, worst = max(math.ceil(k / cut - 1.0), 0), 0.0
    while math.exp(-start * divergence) > worst:
        counts = np.arange(start, start + _STRIDE)
        # a hair below γn counts as not above it: rounding may only make δ larger
        worst = max(worst, float(scipy.stats.binom.sf(np.floor(cut * counts * (1.0 - 1e-14)), counts, rate).max()))
        start += _STRIDE
    return worst


def thresholded(k: int, rate: float, delta: float) -> float:
    """Return an ε that a k-threshold after sampling at this rate keeps with this δ; infinite if there is none to 50."""
    check_threshold(k, rate)
    check_delta(delta)
    found = smallest_epsilon(lambda tried: thresholded_delta(k, rate, tried), delta, _LARGEST, -math.log1p(-rate))
    return math.inf if found >= _LARGEST else found
