"""The ε at which a mechanism lets the adversary be right just so often."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wordveil.errors import WordveilError

__all__ = ["matched"]

_TRIES = 14
_SMALLEST, _LARGEST = 1e-4, 1e5


def matched(
    success: Callable[[float], float], levels: Sequence[float], start: float, *, tolerance: float = 0.02
) -> dict[float, float | None]:
    """Find an ε for each level of success.

    What is learnt for one level serves the others: success rises with ε, nearly as a straight line of log-odds against
    the logarithm of ε, so that a few measurements are enough.

    Parameters
    ----------
    success : callable
        Measures the adversary's success at an ε.
    levels : sequence of float
        The successes wanted.
    start : float
        An ε that the mechanism accepts.
    tolerance : float
        The relative error of the success.

    Returns
    -------
    dict
        For each level the ε, or None where no ε was found.

    Examples
    --------
    >>> found = matched(lambda epsilon: epsilon / (1 + epsilon), [0.5, 0.25], start=8.0)
    >>> round(found[0.5], 1), round(found[0.25], 2)
    (1.0, 0.33)
    """
    known: dict[float, float] = {}

    def ask(epsilon: float) -> None:
        known[epsilon] = success(epsilon)

    ask(start)
    return {level: _one(ask, known, level, tolerance) for level in levels}


def _one(ask: Callable[[float], None], known: dict[float, float], level: float, tolerance: float) -> float | None:
    for _ in range(_TRIES):
        closest = min(known, key=lambda epsilon: abs(known[epsilon] - level))
        if abs(known[closest] - level) <= tolerance * level:
            return closest
        tried = _next(known, level)
        if not _SMALLEST < tried < _LARGEST or tried in known:
            return None
        try:
            ask(tried)
        except WordveilError:  # an ε too small for this mechanism
            return None
    return None


def _next(known: dict[float, float], level: float) -> float:
    below = [epsilon for epsilon, success in known.items() if success <= level]
    above = [epsilon for epsilon, success in known.items() if success > level]
    if not below:
        return min(above) / 2.0
    if not above:
        return max(below) * 2.0
    low, high = max(below), min(above)
    if low >= high:  # estimates that cross: between them is as good as it gets
        return float(np.sqrt(low * high))
    odds = [_odds(known[low]), _odds(known[high])]
    part = (_odds(level) - odds[0]) / (odds[1] - odds[0])
    return float(low * (high / low) ** np.clip(part, 0.05, 0.95))


def _odds(success: float) -> float:
    inside = min(max(success, 1e-6), 1 - 1e-6)
    return float(np.log(inside) - np.log1p(-inside))
