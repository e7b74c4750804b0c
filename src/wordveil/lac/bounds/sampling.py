"""Samples, and thresholds after them: nobody knows whose record was taken.

Samples of fixed size. Proof (Balle, Barthe & Gaboardi 2018, for one record replaced). With probability ``1-q`` the
record that differs is not in the sample, and the two outputs have one law. Otherwise they differ by the ε of what is
done with the sample. The mixture of the two cases differs by ``ln(1 + q(e^ε - 1))``, with ``q·δ``. This requires that
the output does not tell which records were sampled: neither names nor the order may be kept. It also compares the
record with every other one that may be sampled in its place, so the ε must hold for all records: where some of them are
of another shape, it is seen whether one of its shape was sampled. ∎

Thresholds (Li, Qardaji & Su 2012, Theorem 5). Each record is taken with probability β; of the sample, only what occurs
at least k times comes out, with its count. Adding or removing one record changes what is seen by at most ε, except with
probability

    ``δ = max over n >= ⌈k/γ - 1⌉ of Pr[Bin(n, β) > γn]``,  ``γ = 1 - (1-β)e^{-ε}``,  for ε >= -ln(1-β).

That needs no noise, and it holds whatever noise there is. The maximum is over infinitely many n, but
``Pr[Bin(n, β) > γn] <= e^{-n·KL(γ‖β)}`` falls below any value found, and there the search ends.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from wordveil.errors import OptionError
from wordveil.lac.bounds.local import check_delta, smallest_epsilon

__all__ = ["check_threshold", "sample_size", "subsampled", "thresholded", "thresholded_delta"]

_STRIDE = 512
_LARGEST = 50.0


def subsampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return (ε, δ) of an (ε, δ)-private step that sees a random share of the records.

    Examples
    --------
    >>> epsilon, delta = subsampled(1.0, 1e-6, 0.1)
    >>> round(epsilon, 4), delta
    (0.1586, 1e-07)
    """
    if not 0.0 < rate <= 1.0:
        raise OptionError("the rate of a sample must be above 0 and at most 1.")
    # ln(1 + q(e^ε - 1)) in a form that does not overflow
    if epsilon > 30.0:
        return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon)), rate * delta
    return math.log1p(rate * math.expm1(epsilon)), rate * delta


def sample_size(rate: float, records: int) -> int:
    """Return how many records a sample of a share of them has.

    Examples
    --------
    >>> sample_size(0.1, 1234)
    123
    """
    return max(1, round(rate * records))


def check_threshold(k: int, rate: float) -> None:
    """Refuse a threshold or a rate that makes no sense."""
    if k < 1:
        raise OptionError("the threshold k must be 1 or more.")
    if not 0.0 < rate < 1.0:
        raise OptionError("the rate β of a k-threshold must lie between 0 and 1, both excluded.")


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
    """Return an ε that a k-threshold after sampling at this rate keeps with this δ; infinite if none up to 50 does."""
    check_threshold(k, rate)
    check_delta(delta)
    found = smallest_epsilon(lambda tried: thresholded_delta(k, rate, tried), delta, _LARGEST, -math.log1p(-rate))
    return math.inf if found >= _LARGEST else found
