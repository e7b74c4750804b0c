"""From a bound on δ at every ε to the smallest ε for one δ."""

from __future__ import annotations

from collections.abc import Callable

from wordveil.errors import WordveilError

__all__ = ["HOPELESS", "check_delta", "check_records", "smallest_epsilon"]

#: A local ε₀ beyond which no number of records on earth amplifies anything, and e^ε₀ is no number to compute with.
HOPELESS = 100.0

_STEPS = 50


def check_delta(delta: float) -> float:
    """Return a δ that makes sense, or refuse it."""
    if not 0.0 < delta < 1.0:
        raise WordveilError("delta must lie between 0 and 1, both excluded.")
    return delta


def check_records(records: int) -> int:
    """Return a number of records that makes sense, or refuse it."""
    if records < 1:
        raise WordveilError("the number of records must be 1 or more.")
    return records


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, most: float, least: float = 0.0) -> float:
    """Return an ε at which `delta_at` stays within `delta`, as small as halving finds; `most` if none below it does.

    What is returned below `most` was itself put into `delta_at`, so it is a bound even where the function is not
    monotone.
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
