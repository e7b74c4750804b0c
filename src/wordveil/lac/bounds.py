"""What amplification is worth: every bound, with its proof or source.

Throughout, `epsilon` is the local ε₀ of a record, `records` is how many records of one shape are mixed, `delta` is the
δ of the result, and `central` is an ε of the result. A bound that is found by a search has itself been checked.

Samples of fixed size (`subsampled`): nobody knows whose record was taken. Proof (Balle, Barthe & Gaboardi 2018, for one
record replaced). With probability ``1-q`` the record that differs is not in the sample, and the two outputs have one
law. Otherwise they differ by the ε of what is done with the sample. The mixture of the two cases differs by
``ln(1 + q(e^ε - 1))``, with ``q·δ``. This requires that the output does not reveal which records were sampled, so
neither names nor the order may be kept. It also compares the record with every other one that may be sampled in its
place, so the ε must hold for all records: if some have another shape, an observer sees whether one of its shape was
sampled. ∎

Thresholds after a sample (`thresholded`; Li, Qardaji & Su 2012, Theorem 5). Each record is taken with probability β,
and what occurs at least k times in the sample comes out with its count. Adding or removing one record changes what is
seen by at most ε, except with probability

    ``δ = max over n >= ⌈k/γ - 1⌉ of Pr[Bin(n, β) > γn]``,  ``γ = 1 - (1-β)e^{-ε}``,  for ε >= -ln(1-β).

This needs no noise, and it holds with any noise. The maximum is over infinitely many n, but
``Pr[Bin(n, β) > γn] <= e^{-n·KL(γ‖β)}`` falls below any value found, and there the search ends.

Shuffling: nobody knows which report is whose. There are three bounds from ε₀ alone, and one for a pair of words. All n
reports must come from one randomiser R, that is, from records of one shape.

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
from wordveil.guarantee import Guarantee, Notion
from wordveil.parallel import blocks

Probabilities = NDArray[np.float64]

_STEPS = 50
_LARGEST_EXPONENT = 700.0
_STRIDE = 512
_LARGEST_EPSILON = 50.0
_HOPELESS = (
    100.0  # beyond this ε₀, no number of people on earth amplifies anything, and e^ε₀ is too large to compute with
)
_TAIL = 1e-3  # the share of δ for numbers of clones that are too unlikely to look at
_PARTS = 4096
_ROUNDING = 1e-6  # far above the relative error of the binomial probabilities
_MOST_EXPONENT = 600.0
_LEAST_GROWTH = -1.0 + 1e-12
_SCALES = (math.log(1e-12), math.log(_MOST_EXPONENT))


def check_delta(delta: float) -> float:
    """Return a valid δ, or refuse it."""
    if not 0.0 < delta < 1.0:
        raise OptionError("delta must lie between 0 and 1, both excluded.")
    return delta


def check_rate(rate: float) -> float:
    """Return a valid rate of a sample, or refuse it."""
    if not 0.0 < rate <= 1.0:
        raise OptionError("the rate of a sample must be above 0 and at most 1.")
    return rate


def check_records(records: int) -> int:
    """Return a valid number of records, or refuse it."""
    if records < 1:
        raise OptionError("the number of records must be 1 or more.")
    return records


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, most: float, least: float = 0.0) -> float:
    """Return an ε at which `delta_at` stays within `delta`, as small as bisection finds; `most` if none below it does.

    Any result below `most` was itself passed to `delta_at`, so it is a bound even where the function is not monotone.
    (The root finders of scipy may return a point on either side.)
    """
    low, high = least, most
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if delta_at(middle) <= delta:
            high = middle
        else:
            low = middle
        if high - low <= 1e-9 * high:
            break
    return high


def local_epsilon(mechanism: Mechanism[Any], guarantee: Guarantee | None = None) -> float:
    """Return a bound on the log-ratio between any two words of the vocabulary; infinite if nothing is guaranteed."""
    guarantee = mechanism.guarantee if guarantee is None else guarantee
    return mechanism.largest_loss if guarantee.notion is Notion.METRIC else math.inf


def basic(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Return the (ε, δ) of several releases together: their sums."""
    _check_times(times)
    return times * epsilon, times * delta


def advanced(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Return the (ε, δ) of several releases together by advanced composition, with `slack` added to δ.

    Kairouz, Oh & Viswanath 2015, Theorem 3.4: ``ε√(2m ln(1/slack)) + m·ε·(e^ε-1)/(e^ε+1)``.
    """
    _check_times(times)
    if not 0.0 < slack < 1.0:
        raise OptionError("the slack of a composition must lie between 0 and 1, both excluded.")
    spread = epsilon * math.sqrt(2.0 * times * math.log(1.0 / slack))
    return spread + times * epsilon * math.tanh(epsilon / 2.0), times * delta + slack


def grouped(epsilon: float, delta: float, times: int, *, capped: bool = True) -> tuple[float, float]:
    """Return the (ε, δ) for a user with several records in one release, all of which may change at once."""
    _check_times(times)
    once, together = min(epsilon, _LARGEST_EXPONENT), min(times * epsilon, _LARGEST_EXPONENT)
    total = delta * (times if epsilon == 0.0 else math.expm1(together) / math.expm1(once))
    return times * epsilon, min(1.0, total) if capped else total


def _check_times(times: int) -> None:
    if times < 1:
        raise OptionError("the number of a user's records must be 1 or more.")


def subsampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return the (ε, δ) of an (ε, δ)-private step that sees a random share of the records.

    Examples
    --------
    >>> epsilon, delta = subsampled(1.0, 1e-6, 0.1)
    >>> round(epsilon, 4), delta
    (0.1586, 1e-07)
    """
    check_rate(rate)
    # ln(1 + q(e^ε - 1)) in a form that does not overflow
    if epsilon > 30.0:
        return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon)), rate * delta
    return math.log1p(rate * math.expm1(epsilon)), rate * delta


def sample_size(rate: float, records: int) -> int:
    """Return how many records a sample of this share has.

    Examples
    --------
    >>> sample_size(0.1, 1234)
    123
    """
    return max(1, round(rate * records))


def check_threshold(k: int, rate: float) -> None:
    """Refuse an invalid threshold or rate."""
    if k < 1:
        raise OptionError("the threshold k must be 1 or more.")
    if not 0.0 < rate < 1.0:
        raise OptionError("the rate β of a k-threshold must lie between 0 and 1, both excluded.")


def thresholded_delta(k: int, rate: float, epsilon: float) -> float:
    """Return the δ of a k-threshold after sampling at this rate, for one ε; 1 where the theorem does not apply.

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
    if cut >= 1.0:  # rounded up to 1: all k records are sampled
        return rate**k
    divergence = cut * math.log(cut / rate) + (1.0 - cut) * (math.log1p(-cut) - math.log1p(-rate))
    start, worst = max(math.ceil(k / cut - 1.0), 0), 0.0
    while math.exp(-start * divergence) > worst:
        counts = np.arange(start, start + _STRIDE)
        # a hair below γn counts as not above it, because rounding may only make δ larger
        worst = max(worst, float(scipy.stats.binom.sf(np.floor(cut * counts * (1.0 - 1e-14)), counts, rate).max()))
        start += _STRIDE
    return worst


def thresholded(k: int, rate: float, delta: float) -> float:
    """Return an ε that a k-threshold after sampling at this rate meets with this δ; infinite if none up to 50 does."""
    check_threshold(k, rate)
    check_delta(delta)
    found = smallest_epsilon(
        lambda tried: thresholded_delta(k, rate, tried), delta, _LARGEST_EPSILON, -math.log1p(-rate)
    )
    return math.inf if found >= _LARGEST_EPSILON else found


def closed_form_limit(records: int, delta: float) -> float:
    """Return the largest ε₀ for which the closed form holds; negative if there is none."""
    return math.log(check_records(records) / (16.0 * math.log(4.0 / check_delta(delta))))


def clip_that_amplifies(mechanism: Mechanism[Any], records: int, delta: float) -> float | None:
    """Return the largest clip at which shuffling this many records is sure to help; None if there is none."""
    limit = closed_form_limit(records, delta)
    return limit / mechanism.epsilon if limit > 0.0 else None


def closed_form(epsilon: float, records: int, delta: float) -> float:
    """Return ε after shuffling, by the closed form (Theorem 3.1); `epsilon` itself where that does not apply.

    This is the form that the authors' own program computes. It lies slightly above the one printed most often.

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
    """Return a δ with which shuffling is (`central`, δ)-private. It includes `tail`, the probability not looked at."""
    _check_epsilon(epsilon)
    return _delta(_window(epsilon, check_records(records), tail), epsilon, central)


class _Window(NamedTuple):
    """Numbers of clones, their probabilities, and the probability of all other numbers."""

    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    tail: float


def _window(epsilon: float, records: int, tail: float) -> _Window:
    chance = math.exp(-epsilon)
    least = max(int(scipy.stats.binom.ppf(tail / 2.0, records - 1, chance)) - 1, 0)
    most = min(int(scipy.stats.binom.isf(tail / 2.0, records - 1, chance)) + 1, records - 1)
    # Ranges of numbers are counted at their smallest: an observer of c clones can add one at random to simulate c+1,
    # so fewer clones never hide more.
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
    # A first count a favours one side where (c+1-a)/(c+1) < gain/(lost+gain); a = c+1 always does.
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

    `left` and `right` are the probabilities of every output for the two words. `floor` is the smallest over all words
    that a record may hold: γ·ω.
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
            # No blanket: the record counts as fully visible.
            worst = max(worst, float(np.maximum(gap, 0.0).sum()))
            continue
        if (gap[~inside] > 0.0).any():
            # An output that some word never produces has no blanket over it.
            return 1.0
        # t below is θγ, so L is divided by γ
        values, weights = gap[inside] / floor[inside], floor[inside]

        def growth(t: float, values: Probabilities = values, weights: Probabilities = weights) -> float:
            return float(weights @ np.expm1(np.minimum(t * values, _MOST_EXPONENT)))

        worst = max(worst, _smallest_delta(growth, float(np.abs(values).max()), records))
    return worst


def pairwise(mechanism: Mechanism[Any], left: int, right: int, records: int, delta: float) -> float:
    """Return the ε with which shuffling hides which of two words a record held, from the exact law."""
    check_delta(delta)
    one, other, floor = _rows_and_floor(mechanism, left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = float(np.nanmax(np.abs(np.log(one / other))))
    if not math.isfinite(most):
        return math.inf
    return smallest_epsilon(lambda tried: blanket_of_rows(one, other, floor, records, tried), delta, most)


def _rows_and_floor(
    mechanism: Mechanism[Any], left: int, right: int
) -> tuple[Probabilities, Probabilities, Probabilities]:
    """Return the probabilities of every output for two words, and the smallest over all words: the blanket γ·ω."""
    law = mechanism.law()
    if not law.exact:
        raise OptionError(
            f"a bound for a pair of words needs exact probabilities, and those of {mechanism.name} are not known."
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
