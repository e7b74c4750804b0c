"""Shuffling, by the clones of Feldman, McMillan & Talwar ("Hiding Among the Clones", FOCS 2021).

Every report of an ε₀-private randomiser is, with probability at least ``e^{-ε₀}``, drawn as if it came from one of the
two inputs that are to be told apart: a clone. So what an observer of the shuffled reports learns is at most what the
numbers of both kinds of clones tell: ``(A + Δ, C - A + 1 - Δ)`` against ``(A + 1 - Δ, C - A + Δ)`` with ``C ~
Bin(n-1, e^{-ε₀})``, ``A ~ Bin(C, ½)``, ``Δ ~ Bern(e^{ε₀}/(e^{ε₀}+1))`` (their Theorem 3.2). `clones_delta` computes
the divergence of that pair: for each ``C`` the ratio grows with the first count, so the set that tells them apart best
is a tail, and its excess is a difference of two binomial figures.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, gammaln
from scipy.stats import binom

from wordveil.errors import WordveilError
from wordveil.lac.bounds.search import check_delta, check_records, smallest_epsilon

__all__ = ["closed_form", "closed_form_limit", "clones", "clones_delta"]

_TAIL = 1e-3  # of δ: the share that is given to numbers of clones too rare to look at


def closed_form_limit(records: int, delta: float) -> float:
    """Return the largest ε₀ for which the closed form holds; negative if there is none."""
    return math.log(check_records(records) / (16.0 * math.log(4.0 / check_delta(delta))))


def closed_form(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling, by the closed form (their Theorem 3.1); `epsilon` itself where that does not hold.

    Parameters
    ----------
    epsilon : float
        The local ε₀ of every record.
    records : int
        How many records are shuffled.
    delta : float
        The δ of the result.

    Examples
    --------
    >>> round(closed_form(1.0, 1_000_000, 1e-6), 4)
    0.0233
    """
    _check_epsilon(epsilon)
    if epsilon > closed_form_limit(records, delta):
        return epsilon
    grown = math.exp(epsilon)
    inner = 8.0 * math.sqrt(grown * math.log(4.0 / delta) / records) + 8.0 * grown / records
    return min(epsilon, math.log1p(math.tanh(epsilon / 2.0) * inner))


def clones(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling, by computing the divergence of the clones.

    Parameters
    ----------
    epsilon : float
        The local ε₀ of every record.
    records : int
        How many records are shuffled.
    delta : float
        The δ of the result.

    Examples
    --------
    >>> clones(1.0, 1_000_000, 1e-6) < closed_form(1.0, 1_000_000, 1e-6)
    True
    """
    _check_epsilon(epsilon)
    check_delta(delta)
    tail = _TAIL * delta
    return smallest_epsilon(lambda tried: clones_delta(epsilon, records, tried, tail=tail), delta, epsilon)


def clones_delta(epsilon: float, records: int, central: float, *, tail: float = 1e-15) -> float:
    """Return a δ with which shuffling is (`central`, δ)-private.

    Parameters
    ----------
    epsilon : float
        The local ε₀ of every record.
    records : int
        How many records are shuffled.
    central : float
        The ε of the result.
    tail : float
        The probability of numbers of clones that are not looked at; it is added to δ.
    """
    _check_epsilon(epsilon)
    check_records(records)
    if central >= epsilon:
        return 0.0
    chance = math.exp(-epsilon)
    least = max(int(binom.ppf(tail / 2.0, records - 1, chance)) - 1, 0)
    most = min(int(binom.isf(tail / 2.0, records - 1, chance)) + 1, records - 1)
    # Many numbers of clones in a row are taken together at the least of them, for fewer clones hide less.
    edges = np.unique(np.linspace(least, most + 1, min(most + 1 - least, 4096) + 1).astype(np.int64))
    below = binom.cdf(edges - 1, records - 1, chance)
    return float(np.clip(np.diff(below) @ _excess(edges[:-1], epsilon, central), 0.0, 1.0)) + tail


def _excess(count: np.ndarray, epsilon: float, central: float) -> np.ndarray:
    """Return the divergence for each number of clones."""
    stays = 1.0 / (1.0 + math.exp(-epsilon))
    gain = stays - math.exp(central) * (1.0 - stays)
    lost = math.exp(central) * stays - (1.0 - stays)
    # The first count a tells for the one side where a/(c+1-a) > lost/gain.
    first = np.floor((count + 1.0) * lost / (lost + gain)) + 1.0
    inside = first <= count + 1
    first = np.minimum(first, count + 1.0)
    at = np.exp(gammaln(count + 1.0) - gammaln(first) - gammaln(count - first + 2.0) - count * math.log(2.0))
    above = np.where(first <= count, betainc(first, np.maximum(count - first + 1.0, 0.5), 0.5), 0.0)
    return np.where(inside, np.maximum(at * gain - above * math.expm1(central), 0.0), 0.0)


def _check_epsilon(epsilon: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise WordveilError("shuffling amplifies a finite local epsilon above 0 only.")
