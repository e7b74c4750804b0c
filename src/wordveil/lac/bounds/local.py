"""What amplification starts from: the ε₀ of one record, and what a user pays who gives several."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wordveil._mechanisms import Mechanism
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion

__all__ = [
    "advanced",
    "basic",
    "check_delta",
    "check_records",
    "composed",
    "grouped",
    "local_epsilon",
    "smallest_epsilon",
]

_STEPS = 50
_LARGEST_EXPONENT = 700.0


def check_delta(delta: float) -> float:
    """Return a δ that makes sense, or refuse it."""
    if not 0.0 < delta < 1.0:
        raise OptionError("delta must lie between 0 and 1, both excluded.")
    return delta


def check_records(records: int) -> int:
    """Return a number of records that makes sense, or refuse it."""
    if records < 1:
        raise OptionError("the number of records must be 1 or more.")
    return records


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, most: float, least: float = 0.0) -> float:
    """Return an ε at which `delta_at` stays within `delta`, as small as bisection finds; `most` if none below it does.

    What is returned below `most` was itself put into `delta_at`, so it is a bound even where the function is not
    monotone. (The root finders of scipy return a point that may lie on either side.)
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
    """Return a bound on the log-ratio between any two words of the vocabulary; infinite where none is guaranteed.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces words.
    guarantee : Guarantee, optional
        What is left of its guarantee under the options of a veil; the mechanism's own if not given.
    """
    guarantee = mechanism.guarantee if guarantee is None else guarantee
    return guarantee.loss(mechanism.largest_distance) if guarantee.notion is Notion.METRIC else math.inf


def basic(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Return (ε, δ) of several releases together: their sums."""
    _check_times(times)
    return times * epsilon, times * delta


def advanced(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Return (ε, δ) of several releases together by advanced composition, with `slack` added to δ.

    Kairouz, Oh & Viswanath 2015, Theorem 3.4: ``ε√(2m ln(1/slack)) + m·ε·(e^ε-1)/(e^ε+1)``.
    """
    _check_times(times)
    if not 0.0 < slack < 1.0:
        raise OptionError("the slack of a composition must lie between 0 and 1, both excluded.")
    spread = epsilon * math.sqrt(2.0 * times * math.log(1.0 / slack))
    return spread + times * epsilon * math.tanh(epsilon / 2.0), times * delta + slack


def composed(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Return the better of `basic` and `advanced`, by ε."""
    return min(basic(epsilon, delta, times), advanced(epsilon, delta, times, slack))


def grouped(epsilon: float, delta: float, times: int, *, capped: bool = True) -> tuple[float, float]:
    """Return (ε, δ) for a user with several records in one release: all of them may change at once.

    Parameters
    ----------
    epsilon, delta : float
        What holds for one record.
    times : int
        How many records the user has.
    capped : bool
        Whether to cap δ at 1.
    """
    _check_times(times)
    once, together = min(epsilon, _LARGEST_EXPONENT), min(times * epsilon, _LARGEST_EXPONENT)
    total = delta * (times if epsilon == 0.0 else math.expm1(together) / math.expm1(once))
    return times * epsilon, min(1.0, total) if capped else total


def _check_times(times: int) -> None:
    if times < 1:
        raise OptionError("the number of a user's records must be 1 or more.")
