"""Shuffling, by the clones of Feldman, McMillan & Talwar ("Hiding Among the Clones", FOCS 2021).

Every report of an ε₀-private randomiser is, with probability at least ``e^{-ε₀}``, drawn as if it came from one of the
two inputs that are to be told apart: a clone. That needs one randomiser for all reports, so only records of one shape
are clones of each other, and n is the number of these. So what an observer of the shuffled reports learns is at most
what the numbers of both kinds of clones tell: ``(A + Δ, C - A + 1 - Δ)`` against ``(A + 1 - Δ, C - A + Δ)`` with ``C ~
Bin(n-1, e^{-ε₀})``, ``A ~ Bin(C, ½)``, ``Δ ~ Bern(e^{ε₀}/(e^{ε₀}+1))`` (their Theorem 3.2). `clones_delta` computes the
divergence of that pair: for each ``C`` the ratio grows with the first count, so the set that tells them apart best is a
tail, and its excess is a difference of two binomial figures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.lac.bounds.search import HOPELESS, check_delta, check_records, smallest_epsilon

__all__ = ["clones", "clones_delta", "closed_form", "closed_form_limit"]

_TAIL = 1e-3  # of δ: the share that is given to numbers of clones too rare to look at
_PARTS = 4096
_ROUNDING = 1e-6  # far above the relative error of the binomial figures


def closed_form_limit(records: int, delta: float) -> float:
    """Return the largest ε₀ for which the closed form holds; negative if there is none."""
    return math.log(check_records(records) / (16.0 * math.log(4.0 / check_delta(delta))))


def closed_form(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling, by the closed form (their Theorem 3.1); `epsilon` itself where that does not hold.

    In the form that the authors' own program computes, which lies a little above the one that is printed most often.

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
    0.0238
    """
    _check_epsilon(epsilon)
    if epsilon > closed_form_limit(records, delta):
        return epsilon
    grown = math.exp(epsilon)
    inner = 8.0 * math.sqrt(grown * math.log(4.0 / delta) / records) + 8.0 * grown / records
    return min(epsilon, math.log1p(-math.expm1(-epsilon) / (1.0 + 1.0 / (grown * (1.0 + inner))) * inner))


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
    window = _window(epsilon, check_records(records), _TAIL * check_delta(delta))
    return smallest_epsilon(lambda tried: _delta(window, epsilon, tried), delta, epsilon)


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
    return _delta(_window(epsilon, check_records(records), tail), epsilon, central)


class _Window(NamedTuple):
    """Numbers of clones, how likely they are, and how likely all others are."""

    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    tail: float


def _window(epsilon: float, records: int, tail: float) -> _Window:
    chance = math.exp(-epsilon)
    least = max(int(scipy.stats.binom.ppf(tail / 2.0, records - 1, chance)) - 1, 0)
    most = min(int(scipy.stats.binom.isf(tail / 2.0, records - 1, chance)) + 1, records - 1)
    # Numbers of clones in a row are taken together at the least of them: who sees c clones can add one at random and
    # has c+1, so fewer never hide more.
    edges = np.unique(np.linspace(least, most + 1, min(most + 1 - least, _PARTS) + 1).astype(np.int64))
    weights = np.diff(scipy.stats.binom.cdf(edges - 1, records - 1, chance))
    return _Window(edges[:-1], weights, tail)


def _delta(window: _Window, epsilon: float, central: float) -> float:
    if central >= epsilon:
        return 0.0
    if central > HOPELESS:
        return 1.0
    excess = float(window.weights @ _excess(window.counts.astype(np.float64), epsilon, central))
    return min((1.0 + _ROUNDING) * excess + window.tail, 1.0)


def _excess(count: NDArray[np.float64], epsilon: float, central: float) -> NDArray[np.float64]:
    """Return the divergence for each number of clones."""
    stays = 1.0 / (1.0 + math.exp(-epsilon))
    gain = -math.expm1(central - epsilon) * stays
    lost = (math.exp(central) - math.exp(-epsilon)) * stays
    # The first count a speaks for the one side where (c+1-a)/(c+1) < gain/(lost+gain); at least a = c+1 does.
    first = count + 2.0 - np.ceil((count + 1.0) * (gain / (lost + gain)))
    at, above = scipy.stats.binom.pmf(first - 1.0, count, 0.5), scipy.stats.binom.sf(first - 1.0, count, 0.5)
    return np.maximum(at * gain - above * math.expm1(central), 0.0)


def _check_epsilon(epsilon: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise WordveilError("shuffling amplifies a finite local epsilon above 0 only.")
