"""Shuffling, by the privacy blanket of Balle, Bell, Gascón & Nissim (CRYPTO 2019).

All n reports come from one randomiser R: from records of one shape. Write each record's law as ``(1-γ)·(its own part) +
γ·ω`` with one ω for all inputs, the blanket: ``γ·ω(y) = min_x R(y|x)``. Their Lemma 5.3 says that the shuffled reports
of n records of which one is ``x`` or ``x'`` differ by at most ``δ(ε) = E[(B_1 L_1 + … + B_n L_n)₊] / (γn)``, with ``B ~
Bern(γ)``, ``L = (R(Y|x) - e^ε R(Y|x'))/ω(Y)`` and ``Y ~ ω``.

What is inside the expectation is a sum of independent terms, and ``s₊ <= e^{θs-1}/θ`` for every ``θ > 0``, so

    ``δ(ε) <= (1 + γ(E[e^{θL}] - 1))^n / (e·θ·γ·n)``.

Every θ gives a bound, so the search for the best one need not be exact. For a known channel ``E[e^{θL}]`` is a sum over
the outputs: `blanket_of_rows`, a bound for one pair of words.

Where only ε₀ is known (`blanket`), write ``L = γ(r - e^ε r')`` with ``r = R(Y|x)/min R`` and ``r'`` alike. Both lie
between 1 and ``H = e^{ε₀}`` and have mean ``1/γ``. The exponential is convex, so ``E[e^{θL}]`` is largest when both are
only ever 1 or H, and, as it grows with r and falls with r', when one is H where the other is 1 as often as the means
allow. With ``t = θγ`` held, ``γ(E[e^{θL}] - 1)`` is then linear in γ on either side of ``γ = 2/(H+1)``, so over all
possible γ it is largest at ``1/H``, ``2/(H+1)`` or 1. (At ``2/(H+1)`` it is randomised response on two values.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.lac.bounds.search import HOPELESS, check_delta, check_records, smallest_epsilon

__all__ = ["blanket", "blanket_delta", "blanket_of_rows"]

Probabilities = NDArray[np.float64]
_MOST_EXPONENT = 600.0
_LEAST_GROWTH = -1.0 + 1e-12
_SCALES = (math.log(1e-12), math.log(_MOST_EXPONENT))


def blanket(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling records of which only the local ε₀ is known.

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
    >>> blanket(1.0, 1_000_000, 1e-6) < 0.05
    True
    """
    check_delta(delta)
    return smallest_epsilon(lambda tried: blanket_delta(epsilon, records, tried), delta, epsilon)


def blanket_delta(epsilon: float, records: int, central: float) -> float:
    """Return a δ with which shuffling is (`central`, δ)-private, from the local ε₀ alone."""
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise WordveilError("shuffling amplifies a finite local epsilon above 0 only.")
    if central >= epsilon:
        return 0.0
    if epsilon > HOPELESS:
        return 1.0
    check_records(records)
    high, grown = math.exp(epsilon), math.exp(central)
    share = 2.0 / (high + 1.0)
    values = np.array([high - grown, 1.0 - grown * high, 1.0 - grown, high - grown * high])

    def growth(t: float) -> float:
        one_high, other_high, both_low, both_high = np.expm1(np.minimum(t * values, _MOST_EXPONENT)).tolist()
        return max(share * (one_high + other_high) / 2.0, both_low, both_high / high)

    return _smallest_delta(growth, float(np.abs(values).max()), records)


def blanket_of_rows(
    left: Probabilities, right: Probabilities, floor: Probabilities, records: int, central: float
) -> float:
    """Return a δ with which shuffling hides, at ε = `central`, which of two words one record held.

    Parameters
    ----------
    left, right : array of float
        The probabilities of every output for the two words.
    floor : array of float
        The smallest probability of every output over all words that a record may hold: γ·ω.
    records : int
        How many records are shuffled.
    central : float
        The ε of the result.
    """
    check_records(records)
    share = float(floor.sum())
    worst = 0.0
    for one, other in ((left, right), (right, left)):
        gap = one - math.exp(central) * other
        if gap.max() <= 0.0:
            continue
        inside = floor > 0.0
        if share <= 0.0:
            # No blanket at all: the record counts as seen in full.
            worst = max(worst, float(np.maximum(gap, 0.0).sum()))
            continue
        if (gap[~inside] > 0.0).any():
            # An output that some word never gives has no blanket over it.
            return 1.0
        # here θ stands for itself times γ, so that L is divided by γ
        values, weights = gap[inside] / floor[inside], floor[inside]

        def growth(t: float, values: Probabilities = values, weights: Probabilities = weights) -> float:
            return float(weights @ np.expm1(np.minimum(t * values, _MOST_EXPONENT)))

        worst = max(worst, _smallest_delta(growth, float(np.abs(values).max()), records))
    return worst


def _smallest_delta(growth: Callable[[float], float], largest: float, records: int) -> float:
    """Return the smallest bound over t, given ``γ(E[e^{tL/γ}] - 1)`` as a function of t and the largest ``|L/γ|``."""

    def log_delta(log_scale: float) -> float:
        t = math.exp(log_scale) / largest
        return records * math.log1p(max(growth(t), _LEAST_GROWTH)) - 1.0 - math.log(t * records)

    found = scipy.optimize.minimize_scalar(log_delta, bounds=_SCALES, method="bounded")
    return float(min(1.0, math.exp(min(found.fun, 0.0))))
