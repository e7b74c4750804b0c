"""Finding an ε by a monotone search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wordveil.errors import WordveilError

_SMALLEST, _LARGEST = 1e-6, 1e6  # the range in which an ε is looked for

Ask = Callable[[Sequence[float]], Sequence[bool]]


def largest_epsilon(
    holds: Ask,
    low: float,
    high: float,
    *,
    batch: int = 1,
    tolerance: float = 0.002,
    narrowed: Callable[[float, float], None] | None = None,
) -> float:
    """Return the largest ε at which something holds that holds below it and not above; 0 if none, infinity if all do.

    `holds` is asked about `batch` ε at once; where it raises WordveilError, an ε is too small for the mechanism. The
    search begins between `low` and `high` and goes on outside if need be. The answer, to within the relative
    `tolerance`, is always an ε that was asked about and at which it holds. `narrowed` is told whenever the answer is
    known to lie between two ε that were asked about.

    Examples
    --------
    >>> round(largest_epsilon(lambda tried: [epsilon <= 3 for epsilon in tried], 0.1, 1.0), 2)
    3.0
    """
    asker = _Asker(holds)
    if batch > 1:
        low, high = _first_look(asker, low, high, batch)
    while not asker([low])[0]:
        high, low = low, low / 4.0
        if low < _SMALLEST:
            return 0.0
    while asker([high])[0]:
        low, high = high, high * 4.0
        if high > _LARGEST:
            return np.inf
    while high / low > 1.0 + tolerance:
        if narrowed is not None and asker.usable >= {low, high}:
            narrowed(low, high)
        inner = [float(epsilon) for epsilon in np.geomspace(low, high, batch + 2)[1:-1]]
        tried, answers = [low, *inner, high], [True, *asker(inner), False]
        bad = answers.index(False)
        low, high = tried[bad - 1], tried[bad]
    return low if low in asker.usable else 0.0


class _Asker:
    """Asks whether something holds; an ε too small to be used counts as one where it holds, and is remembered."""

    def __init__(self, holds: Ask) -> None:
        self._holds = holds
        self._known: dict[float, bool] = {}
        self.usable: set[float] = set()

    def __call__(self, epsilons: list[float]) -> list[bool]:
        new = [epsilon for epsilon in epsilons if epsilon not in self._known]
        if new:
            self._known |= zip(new, self._ask(new), strict=True)
        return [self._known[epsilon] for epsilon in epsilons]

    def _ask(self, epsilons: list[float]) -> list[bool]:
        try:
            answers = [bool(answer) for answer in self._holds(epsilons)]
        except WordveilError:
            if len(epsilons) > 1:
                return [answer for epsilon in epsilons for answer in self._ask([epsilon])]
            if epsilons[0] > _LARGEST / 4:
                raise
            return [True]
        self.usable.update(epsilons)
        return answers


def _first_look(asker: _Asker, low: float, high: float, batch: int) -> tuple[float, float]:
    """Ask about the whole range at once, and return the part of it, or its end, where the answer changes."""
    tried = [float(epsilon) for epsilon in np.geomspace(low, high, batch + 2)]
    answers = asker(tried)
    bad = answers.index(False) if False in answers else len(answers)
    return tried[max(bad - 1, 0)], tried[min(max(bad, 1), len(tried) - 1)]


def smallest_accepted(make: Callable[[float], object], start: float) -> float:
    """Return the smallest ε that a mechanism accepts, to within a hundredth, from one that it does."""
    low = start
    while _accepts(make, low):
        low /= 4.0
        if low < _SMALLEST:
            return _SMALLEST
    high = min(4.0 * low, start)
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if _accepts(make, middle) else (middle, high)
    return high


def _accepts(make: Callable[[float], object], epsilon: float) -> bool:
    try:
        make(epsilon)
    except WordveilError:
        return False
    return True
