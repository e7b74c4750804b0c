"""Rounding that never makes a figure look better than it is. It does without numpy, because the client imports it."""

from __future__ import annotations

import math
from collections.abc import Callable


def round_down(value: float, digits: int = 3) -> float:
    """Round a positive number down to this many significant digits.

    Examples
    --------
    >>> round_down(2.8699), round_down(0.012345), round_down(1234.51, 4)
    (2.86, 0.0123, 1234.0)
    """
    return _rounded(value, digits, math.floor, 1.0 + 1e-12)


def round_up(value: float, digits: int = 3) -> float:
    """Round a positive number up to this many significant digits.

    Examples
    --------
    >>> round_up(1.41421), round_up(1.4e-7, 2), round_up(2.5, 2)
    (1.42, 1.4e-07, 2.5)
    """
    return _rounded(value, digits, math.ceil, 1.0 - 1e-12)


def _rounded(value: float, digits: int, whole: Callable[[float], int], nearly: float) -> float:
    """Round to whole units of the last digit, tolerating floating-point error."""
    if not (math.isfinite(value) and value > 0):
        return value
    places = digits - 1 - math.floor(math.log10(value))
    return round(whole(value * 10.0**places * nearly) / 10.0**places, max(places, 0))


def percent(share: float) -> str:
    """Return a share as a percentage, with more digits if it is small, and 100% only if it is exactly 1.

    Examples
    --------
    >>> percent(0.1234), percent(0.00456), percent(0.99999), percent(1.0)
    ('12.3%', '0.46%', '>99.9%', '100%')
    """
    if 0.9995 <= share < 1.0:
        return ">99.9%"
    return f"{100 * share:.3g}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"
