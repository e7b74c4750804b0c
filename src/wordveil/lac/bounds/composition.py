"""What a user pays who gives several records."""

from __future__ import annotations

import math

from wordveil.errors import WordveilError

__all__ = ["advanced", "basic", "composed", "grouped"]


def _check(times: int) -> None:
    if times < 1:
        raise WordveilError("the number of records of a user must be 1 or more.")


def basic(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Return (ε, δ) of several releases together: their sums."""
    _check(times)
    return times * epsilon, times * delta


def advanced(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Return (ε, δ) of several releases together by advanced composition, with `slack` added to δ.

    Kairouz, Oh & Viswanath 2015, Theorem 3.4: ``ε√(2m ln(1/slack)) + m·ε·(e^ε-1)/(e^ε+1)``.
    """
    _check(times)
    if not 0.0 < slack < 1.0:
        raise WordveilError("the slack of a composition must lie between 0 and 1, both excluded.")
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
        The promise for one record.
    times : int
        How many records the user has.
    capped : bool
        Whether δ is cut off at 1.
    """
    _check(times)
    factor = times if epsilon == 0.0 else math.expm1(min(times * epsilon, 700.0)) / math.expm1(min(epsilon, 700.0))
    return times * epsilon, min(1.0, delta * factor) if capped else delta * factor
