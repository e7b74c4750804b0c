"""Monotone searches for an ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.rounding import round_down

_SMALLEST, _LARGEST = 1e-6, 1e6  # the range of the search

_DIGITS = 3
_FINE = 513  # points between two ε at which the interpolated curve is evaluated

Ask = Callable[[Sequence[float]], Sequence[bool]]
Measure = Callable[[Sequence[float]], Sequence[float]]


def largest_epsilon(
    holds: Ask,
    low: float,
    high: float,
    *,
    batch: int = 1,
    tolerance: float = 0.002,
    narrowed: Callable[[float, float], None] | None = None,
) -> float:
    """Return the largest ε at which a monotone condition holds; 0 if it never does, infinity if it always does.

    `holds` takes `batch` ε at once; it raises a WordveilError if an ε is too small for the mechanism. The search starts
    between `low` and `high` and extends the range if necessary. The result is within the relative `tolerance`, and
    always an ε at which `holds` returned true. `narrowed` is called whenever the answer is known to lie between two ε.

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
    """Evaluates and caches a condition; it counts as true at an ε that is too small for the mechanism."""

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
    """Ask about the whole range at once, and return the part of it where the answer changes, or its end."""
    tried = [float(epsilon) for epsilon in np.geomspace(low, high, batch + 2)]
    answers = asker(tried)
    bad = answers.index(False) if False in answers else len(answers)
    return tried[max(bad - 1, 0)], tried[min(max(bad, 1), len(tried) - 1)]


def crossing(measure: Measure, bound: float, first: Sequence[float], *, tolerance: float, batch: int = 1) -> float:
    """Return the largest ε, to three digits, at which a rising share is at most `bound`; 0 if none, infinity if all.

    It is for shares that are costly to measure and rise smoothly. `measure` is called for the `first` ε at once, and
    then for `batch` ε around the point where a curve through all known shares reaches the bound. The result is an ε
    that was measured, and within the relative `tolerance` and the third digit of one at which the share (or the curve)
    exceeds the bound. `measure` raises a WordveilError if an ε is too small for the mechanism.

    Examples
    --------
    >>> crossing(lambda tried: [epsilon / (1 + epsilon) for epsilon in tried], 0.75, [1.0, 2.0, 8.0], tolerance=0.01)
    2.99
    """
    known: dict[float, float] = {}
    asked, followed = [float(epsilon) for epsilon in first], set[float]()
    while True:
        known |= zip(asked, _measured(measure, asked), strict=True)
        tried = sorted(known)
        bad = next((place for place, epsilon in enumerate(tried) if known[epsilon] > bound), len(tried))
        if bad == 0:
            if tried[0] / 4.0 < _SMALLEST:
                return 0.0
            asked = [tried[0] / 4.0 ** (step / batch) for step in range(batch, 0, -1)]
            continue
        if bad == len(tried):
            if tried[-1] * 4.0 > _LARGEST:
                return np.inf
            asked = [tried[-1] * 4.0 ** (step / batch) for step in range(1, batch + 1)]
            continue
        low, high = tried[bad - 1], tried[bad]
        middle = _reached(known, bound, low, high)
        unit = 10.0 ** (np.floor(np.log10(middle)) - (_DIGITS - 1))
        around = middle * (1.0 + tolerance * (np.arange(batch) - batch // 2 - 1.0 / 3.0))
        least = low + 1.001 * unit
        near = sorted({round_down(max(float(one), least), _DIGITS) for one in around})
        near = [epsilon for epsilon in near if low < epsilon < high]
        is_near = high <= low * (1.0 + tolerance) or (low in followed and middle <= low * (1.0 + tolerance))
        if is_near or not near:
            return round_down(low, _DIGITS) if np.isfinite(known[low]) else 0.0
        asked = near
        followed.update(near)


def _measured(measure: Measure, epsilons: list[float]) -> list[float]:
    """Measure; an ε that is too small for the mechanism counts as a share of -inf."""
    try:
        return [float(value) for value in measure(epsilons)]
    except WordveilError:
        if len(epsilons) > 1:
            return [value for epsilon in epsilons for value in _measured(measure, [epsilon])]
        if epsilons[0] > _LARGEST / 4:
            raise
        return [-np.inf]


def _reached(known: dict[float, float], bound: float, low: float, high: float) -> float:
    """Return the ε between `low` and `high` at which a monotone curve through all known shares reaches the bound."""
    points = [epsilon for epsilon in sorted(known) if np.isfinite(known[epsilon])]
    if low not in points:
        return float(np.sqrt(low * high))
    curve = scipy.interpolate.PchipInterpolator(np.log(points), _logits([known[epsilon] for epsilon in points]))
    places = np.linspace(np.log(low), np.log(high), _FINE)
    return float(np.exp(places[np.argmax(curve(places) > _logits([bound])[0])]))


def _logits(shares: Sequence[float]) -> NDArray[np.float64]:
    inside = np.clip(shares, 1e-9, 1.0 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def smallest_accepted(make: Callable[[float], object], start: float) -> float:
    """Return the smallest ε that a mechanism accepts, to within 1%, starting from one that it accepts."""
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
