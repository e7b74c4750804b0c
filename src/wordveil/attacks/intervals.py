"""Shares and means with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from wordveil.stats import CONFIDENCE, resampled

__all__ = ["Mean", "Rate", "area_interval", "plain"]


@dataclass(frozen=True)
class Rate:
    """A share of trials, with a confidence interval of 95%.

    Attributes
    ----------
    value : float
        The share; NaN if there were no trials.
    low, high : float
        The interval.
    trials : int
        Out of how many.
    """

    value: float
    low: float
    high: float
    trials: int

    @classmethod
    def of(cls, hits: int, trials: int) -> Rate:
        """Make the rate of independent trials, with Wilson's interval.

        Examples
        --------
        >>> rate = Rate.of(8, 10)
        >>> rate.value, round(rate.low, 3), round(rate.high, 3)
        (0.8, 0.49, 0.943)
        """
        if trials == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        z2 = float(ndtri(0.5 + CONFIDENCE / 2)) ** 2
        share = hits / trials
        middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
        reach = math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
        return cls(share, max(0.0, middle - reach), min(1.0, middle + reach), trials)

    @classmethod
    def of_groups(cls, hits: NDArray[Any], trials: NDArray[Any], seed: int = 0) -> Rate:
        """Make the rate of trials that come in groups, such as the words of a sentence, which are right together.

        The groups are drawn anew with replacement (bootstrap), so that their dependence widens the interval. Where
        all groups are alike a bootstrap sees no spread: the interval is then never narrower than Wilson's would be if
        each group were one trial.

        Parameters
        ----------
        hits, trials : array of int
            How many trials each group had, and how many of them were right.
        seed : int
            Of the bootstrap.
        """
        total = int(trials.sum())
        if total == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        share = float(hits.sum() / total)
        low, high = resampled(lambda chosen: hits[chosen].sum() / max(1, trials[chosen].sum()), len(hits), seed)
        if low == high:
            alone = cls.of(round(share * len(hits)), len(hits))
            low, high = min(share, alone.low), max(share, alone.high)
        return cls(share, low, high, total)

    def to_dict(self) -> dict[str, Any]:
        """Return the rate as plain values."""
        return _without_nan(asdict(self))


@dataclass(frozen=True)
class Mean:
    """A mean or another statistic of a sample, with a bootstrap interval of 95%.

    Attributes
    ----------
    value : float
        The statistic.
    low, high : float
        The interval.
    count : int
        Of how many values.
    """

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: NDArray[Any], statistic: Callable[[NDArray[Any]], float] | None = None, seed: int = 0) -> Mean:
        """Make the mean of independent values, or another statistic of them.

        Parameters
        ----------
        values : array
            The values.
        statistic : callable, optional
            What to compute of them; the mean if not given.
        seed : int
            Of the bootstrap.
        """
        if not len(values):
            return cls(math.nan, math.nan, math.nan, 0)
        compute = statistic or (lambda some: float(some.mean()))
        low, high = resampled(lambda chosen: compute(values[chosen]), len(values), seed)
        return cls(float(compute(values)), low, high, len(values))

    @classmethod
    def of_ranks(cls, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Mean:
        """Make the probability that one of ours scores above one of theirs (the area under the ROC curve).

        The interval is Newcombe's (2006, method 5): the areas that would not be surprised by this one. It is never of
        no width, as that of a bootstrap is where all of ours are above all of theirs.

        Parameters
        ----------
        ours, theirs : array of float
            The scores of both.

        Examples
        --------
        >>> found = Mean.of_ranks(np.arange(16.0) + 100.0, np.arange(16.0))
        >>> found.value, round(found.low, 2), found.high
        (1.0, 0.87, 1.0)
        """
        count = len(ours) + len(theirs)
        if not (len(ours) and len(theirs)):
            return cls(math.nan, math.nan, math.nan, count)
        difference = ours[:, None] - theirs
        area = float(((difference > 0) + 0.5 * (difference == 0)).mean())
        return cls(area, *area_interval(area, len(ours), len(theirs)), count)

    def to_dict(self) -> dict[str, Any]:
        """Return the mean as plain values."""
        return _without_nan(asdict(self))


def area_interval(area: float, ours: int, theirs: int) -> tuple[float, float]:
    """Return Newcombe's interval of an area under the ROC curve, given how many scores there were of both kinds."""
    more, z2 = (ours + theirs) / 2.0 - 1.0, float(ndtri(0.5 + CONFIDENCE / 2)) ** 2

    def surprised(true: float) -> bool:
        spread = 1.0 + more * ((1.0 - true) / (2.0 - true) + true / (1.0 + true))
        return (true - area) ** 2 > z2 * true * (1.0 - true) * spread / (ours * theirs)

    def edge(end: float) -> float:
        inside, outside = area, end
        if not surprised(outside):
            return outside
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            inside, outside = (inside, middle) if surprised(middle) else (middle, outside)
        return inside

    return edge(0.0), edge(1.0)


def plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures by name with every rate and mean among them as plain values."""
    return {name: value.to_dict() if isinstance(value, (Rate, Mean)) else value for name, value in facts.items()}


def _without_nan(facts: dict[str, Any]) -> dict[str, Any]:
    """Put None where JSON has no number."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in facts.items()}
