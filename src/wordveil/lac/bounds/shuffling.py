"""Shuffling: nobody knows which report is whose. Three bounds from ε₀ alone, and one for each pair of words.

All n reports come from one randomiser R: from records of one shape.

Clones (Feldman, McMillan & Talwar, "Hiding Among the Clones", FOCS 2021). Every report of an ε₀-private randomiser is,
with probability at least ``e^{-ε₀}``, drawn as if it came from one of the two inputs that are to be told apart: a
clone. So what an observer of the shuffled reports learns is at most what the numbers of both kinds of clones tell:
``(A + Δ, C - A + 1 - Δ)`` against ``(A + 1 - Δ, C - A + Δ)`` with ``C ~ Bin(n-1, e^{-ε₀})``, ``A ~ Bin(C, ½)``,
``Δ ~ Bern(e^{ε₀}/(e^{ε₀}+1))`` (their Theorem 3.2). `clones_delta` computes the divergence of that pair: for each ``C``
the ratio grows with the first count, so the set that tells them apart best is a tail, and its excess is a difference of
two binomial figures.

The privacy blanket (Balle, Bell, Gascón & Nissim, CRYPTO 2019). Write each record's law as ``(1-γ)·(its own part) +
γ·ω`` with one ω for all inputs, the blanket: ``γ·ω(y) = min_x R(y|x)``. Their Lemma 5.3 says that the shuffled reports
of n records of which one is ``x`` or ``x'`` differ by at most ``δ(ε) = E[(B_1 L_1 + … + B_n L_n)₊] / (γn)``, with ``B ~
Bern(γ)``, ``L = (R(Y|x) - e^ε R(Y|x'))/ω(Y)`` and ``Y ~ ω``. What is inside the expectation is a sum of independent
terms, and ``s₊ <= e^{θs-1}/θ`` for every ``θ > 0``, so

    ``δ(ε) <= (1 + γ(E[e^{θL}] - 1))^n / (e·θ·γ·n)``.

Every θ gives a bound, so the search for the best one need not be exact. For a known law ``E[e^{θL}]`` is a sum over the
outputs: `blanket_of_rows`, a bound for one pair of words.

Where only ε₀ is known (`blanket`), write ``L = γ(r - e^ε r')`` with ``r = R(Y|x)/min R`` and ``r'`` alike. Both lie
between 1 and ``H = e^{ε₀}`` and have mean ``1/γ``. The exponential is convex, so ``E[e^{θL}]`` is largest when both are
only ever 1 or H, and, as it grows with r and falls with r', when one is H where the other is 1 as often as the means
allow. With ``t = θγ`` held, ``γ(E[e^{θL}] - 1)`` is then linear in γ on either side of ``γ = 2/(H+1)``, so over all
possible γ it is largest at ``1/H``, ``2/(H+1)`` or 1. (At ``2/(H+1)`` it is randomised response on two values.)

Pairs (`pairwise`). Near words are told apart less than far ones, before the shuffle and after it. The bound is the
blanket for the two rows of the pair; the other records may hold any words of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import OptionError
from wordveil.lac.bounds.local import check_delta, check_records, smallest_epsilon
from wordveil.parallel import blocks

__all__ = [
    "blanket",
    "blanket_delta",
    "blanket_of_rows",
    "clip_that_amplifies",
    "clones",
    "clones_delta",
    "closed_form",
    "closed_form_limit",
    "pairwise",
    "pairwise_delta",
]

Probabilities = NDArray[np.float64]

_HOPELESS = 100.0  # beyond this ε₀ no number of records on earth amplifies anything, and e^ε₀ cannot be computed with
_TAIL = 1e-3  # of δ: the share that is given to numbers of clones too rare to look at
_PARTS = 4096
_ROUNDING = 1e-6  # far above the relative error of the binomial figures
_MOST_EXPONENT = 600.0
_LEAST_GROWTH = -1.0 + 1e-12
_SCALES = (math.log(1e-12), math.log(_MOST_EXPONENT))


def closed_form_limit(records: int, delta: float) -> float:
    """Return the largest ε₀ for which the closed form holds; negative if there is none."""
    return math.log(check_records(records) / (16.0 * math.log(4.0 / check_delta(delta))))


def clip_that_amplifies(mechanism: Mechanism[Any], records: int, delta: float) -> float | None:
    """Return the largest clip at which shuffling so many records surely helps; None if none is large enough."""
    limit = closed_form_limit(records, delta)
    return limit / mechanism.epsilon if limit > 0.0 else None


def closed_form(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling, by the closed form (Theorem 3.1); `epsilon` itself where that does not hold.

    In the form that the authors' own program computes, which lies a little above the one that is printed most often.

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
    if central > _HOPELESS:
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


def blanket(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling records of which only the local ε₀ is known.

    Examples
    --------
    >>> blanket(1.0, 1_000_000, 1e-6) < 0.05
    True
    """
    check_delta(delta)
    return smallest_epsilon(lambda tried: blanket_delta(epsilon, records, tried), delta, epsilon)


def blanket_delta(epsilon: float, records: int, central: float) -> float:
    """Return a δ with which shuffling is (`central`, δ)-private, from the local ε₀ alone."""
    _check_epsilon(epsilon)
    if central >= epsilon:
        return 0.0
    if epsilon > _HOPELESS:
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


def pairwise(mechanism: Mechanism[Any], left: int, right: int, records: int, delta: float) -> float:
    """Return ε with which shuffling hides whether a record held the one word or the other.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces words; its law must be exact. A record may hold any word of its space.
    left, right : int
        The ids of the two words.
    records : int
        How many records are shuffled.
    delta : float
        The δ of the result.
    """
    check_delta(delta)
    one, other, floor = _rows_and_floor(mechanism, left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = float(np.nanmax(np.abs(np.log(one / other))))
    if not math.isfinite(most):
        return math.inf
    return smallest_epsilon(lambda tried: blanket_of_rows(one, other, floor, records, tried), delta, most)


def pairwise_delta(mechanism: Mechanism[Any], left: int, right: int, records: int, central: float) -> float:
    """Return a δ with which shuffling hides, at ε = `central`, which of two words a record held."""
    return blanket_of_rows(*_rows_and_floor(mechanism, left, right), records, central)


def _rows_and_floor(
    mechanism: Mechanism[Any], left: int, right: int
) -> tuple[Probabilities, Probabilities, Probabilities]:
    """Return the probabilities of every output for two words, and the smallest for any word: the blanket γ·ω."""
    law = mechanism.law()
    if not law.exact:
        raise OptionError(
            f"a bound for a pair of words needs a mechanism with exact probabilities, and {mechanism.name} has none."
        )
    one, other = law.rows(np.array([left, right]))
    floor = one
    for part in blocks(len(mechanism.space), 256):
        floor = np.minimum(floor, law.rows(np.arange(part.start, part.stop)).min(axis=0))
    return one, other, floor


def _smallest_delta(growth: Callable[[float], float], largest: float, records: int) -> float:
    """Return the smallest bound over t, given ``γ(E[e^{tL/γ}] - 1)`` as a function of t and the largest ``|L/γ|``."""

    def log_delta(log_scale: float) -> float:
        t = math.exp(log_scale) / largest
        return records * math.log1p(max(growth(t), _LEAST_GROWTH)) - 1.0 - math.log(t * records)

    found = scipy.optimize.minimize_scalar(log_delta, bounds=_SCALES, method="bounded")
    return float(min(1.0, math.exp(min(found.fun, 0.0))))


def _check_epsilon(epsilon: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise OptionError("shuffling amplifies only a finite local epsilon above 0.")
