"""Estimates with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

#: The confidence of every interval.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% confidence interval.

    Attributes
    ----------
    value : float
        The figure; NaN if there are no data.
    low, high : float
        The interval; both equal to the value if it is exact.
    n : int
        The number of trials, values or words that it was computed from.

    Examples
    --------
    >>> rate = Estimate.share(8, 10)
    >>> rate.value, round(rate.low, 3), round(rate.high, 3)
    (0.8, 0.49, 0.943)
    """

    value: float
    low: float
    high: float
    n: int = 0

    @classmethod
    def exactly(cls, value: float, n: int = 0) -> Estimate:
        """Return an exact figure."""
        return cls(value, value, value, n)

    @classmethod
    def around(cls, value: float, error: float, n: int = 0) -> Estimate:
        """Return a figure with the interval of its standard error."""
        reach = _z() * error
        return cls(value, value - reach, value + reach, n)

    @classmethod
    def share(cls, hits: int, trials: int) -> Estimate:
        """Return the share of hits among independent trials, with Wilson's interval."""
        if trials == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        ends = scipy.stats.binomtest(hits, trials).proportion_ci(CONFIDENCE, method="wilson")
        return cls(hits / trials, float(ends.low), float(ends.high), trials)

    @classmethod
    def share_of_groups(cls, hits: NDArray[Any], trials: NDArray[Any], seed: int = 0) -> Estimate:
        """Return the share of hits among trials that come in groups, such as the words of a sentence.

        The groups are resampled, so their dependence widens the interval. If all groups are alike, a bootstrap sees no
        spread; the interval is then at least that of Wilson with each group as one trial.

        Parameters
        ----------
        hits, trials : array of int
            The numbers of hits and trials in each group.
        seed : int
            Random seed of the bootstrap.
        """
        total = int(trials.sum())
        if total == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        share = float(hits.sum() / total)
        low, high = resampled_shares(hits, trials, seed)
        if low == high:
            alone = cls.share(round(share * len(hits)), len(hits))
            low, high = min(share, alone.low), max(share, alone.high)
        return cls(share, low, high, total)

    @classmethod
    def share_within(cls, hits: NDArray[Any], group: NDArray[np.int64], seed: int = 0) -> Estimate:
        """Return the share of hits among trials that belong to groups; see `share_of_groups`.

        If every trial is its own group, the trials are independent.

        Parameters
        ----------
        hits : array of bool
            Whether each trial was a hit.
        group : array of int
            The group of each trial.
        seed : int
            Random seed of the bootstrap.

        Examples
        --------
        >>> rate = Estimate.share_within(np.array([True, True, False, False]), np.array([7, 7, 9, 9]))
        >>> rate.value, rate.n
        (0.5, 4)
        """
        _, which, trials = np.unique(group, return_inverse=True, return_counts=True)
        if len(trials) == len(hits):
            return cls.share(int(hits.sum()), len(hits))
        return cls.share_of_groups(np.bincount(which, weights=hits, minlength=len(trials)), trials, seed)

    @classmethod
    def mean(
        cls, values: NDArray[Any], statistic: Callable[[NDArray[Any]], float] | None = None, seed: int = 0
    ) -> Estimate:
        """Return the mean of independent values, or another statistic of them, with a bootstrap interval.

        Parameters
        ----------
        values : array
            The values.
        statistic : callable, optional
            The statistic. Default: the mean.
        seed : int
            Random seed of the bootstrap.
        """
        if not len(values):
            return cls(math.nan, math.nan, math.nan, 0)
        compute = statistic or (lambda some: float(some.mean()))
        low, high = resampled(lambda chosen: compute(values[chosen]), len(values), seed)
        return cls(float(compute(values)), low, high, len(values))

    @classmethod
    def of_runs(cls, values: NDArray[Any]) -> Estimate:
        """Return the mean of a few repeated runs, with Student's interval; a single run has no interval.

        Examples
        --------
        >>> found = Estimate.of_runs(np.array([0.5, 0.6, 0.7]))
        >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
        (0.6, 0.35, 0.85)
        """
        count, mean = len(values), float(np.mean(values)) if len(values) else math.nan
        if count < 2:
            return cls(mean, math.nan, math.nan, count)
        error = float(np.std(values, ddof=1)) / math.sqrt(count)
        reach = float(scipy.stats.t.ppf(0.5 + 0.5 * CONFIDENCE, count - 1)) * error
        return cls(mean, mean - reach, mean + reach, count)

    @classmethod
    def area(cls, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Estimate:
        """Return the probability that one of ours scores above one of theirs: the area under the ROC curve.

        Parameters
        ----------
        ours, theirs : array of float
            The scores.

        Examples
        --------
        >>> found = Estimate.area(np.arange(16.0) + 100.0, np.arange(16.0))
        >>> found.value, round(found.low, 2), found.high
        (1.0, 0.87, 1.0)
        """
        count = len(ours) + len(theirs)
        if not (len(ours) and len(theirs)):
            return cls(math.nan, math.nan, math.nan, count)
        difference = ours[:, None] - theirs
        found = float(((difference > 0) + 0.5 * (difference == 0)).mean())
        return cls(found, *area_interval(found, len(ours), len(theirs)), count)

    @classmethod
    def area_within(
        cls, scores: NDArray[np.float64], ours: NDArray[np.bool_], group: NDArray[np.int64], seed: int = 0
    ) -> Estimate:
        """Return `area` for scores that come in groups, such as the words of a text.

        The groups are resampled, and the interval is at least `area_interval`, that of independent scores.

        Parameters
        ----------
        scores : array of float
            The scores of ours and theirs.
        ours : array of bool
            Which scores are ours.
        group : array of int
            The group of each score.
        seed : int
            Random seed of the bootstrap.

        Examples
        --------
        >>> found = Estimate.area_within(np.arange(8.0), np.arange(8) > 3, np.arange(8) % 4)
        >>> found.value, found.high, found.n
        (1.0, 1.0, 8)
        """
        count, mine = len(scores), int(ours.sum())
        if not 0 < mine < count:
            return cls(math.nan, math.nan, math.nan, count)
        _, rank = np.unique(scores, return_inverse=True)
        groups, which = np.unique(group, return_inverse=True)

        def area(weights: NDArray[Any]) -> float:
            up = np.bincount(rank, weights=weights * ours)
            down = np.bincount(rank, weights=weights * ~ours)
            pairs = up.sum() * down.sum()
            return float(up @ (np.cumsum(down) - down / 2.0) / pairs) if pairs else math.nan

        found = area(np.ones(count))
        low, high = resampled(lambda chosen: area(np.bincount(chosen, minlength=len(groups))[which]), len(groups), seed)
        least, most = area_interval(found, mine, count - mine)
        return cls(found, float(np.fmin(low, least)), float(np.fmax(high, most)), count)

    @property
    def error(self) -> float:
        """The standard error that corresponds to the width of the interval."""
        return (self.high - self.low) / (2.0 * _z())

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the estimate as plain values, with None for numbers that JSON lacks."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        return {**{name: end if math.isfinite(end) else None for name, end in ends.items()}, "n": self.n}


def plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures as plain values, converting estimates and tuples of figures."""
    return {name: _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (Estimate, Facts)):
        return value.to_dict()
    if isinstance(value, float) and math.isnan(value):
        return None
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


class Facts:
    """Base of dataclasses of figures."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain(vars(self))


def resampled(
    compute: Callable[[NDArray[np.int64]], float], count: int, seed: int = 0, *, times: int = 1000
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a statistic of `count` items.

    Examples
    --------
    >>> values = np.arange(1000)
    >>> low, high = resampled(lambda chosen: values[chosen].mean(), 1000)
    >>> low < 499.5 < high
    True
    """
    return _middle([compute(chosen) for block in _choices(count, seed, times) for chosen in block])


def resampled_shares(hits: NDArray[Any], trials: NDArray[Any], seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval of the share of hits (0 if negative) among trials in groups, vectorised."""

    def shares(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.maximum(0, hits[chosen].sum(axis=1)) / np.maximum(1, trials[chosen].sum(axis=1))
        return found

    return _middle(np.concatenate([shares(chosen) for chosen in _choices(len(hits), seed, 1000)]))


def _choices(count: int, seed: int, times: int) -> Iterator[NDArray[np.int64]]:
    """Yield bootstrap samples, one per row, as many at once as fit into the processor's cache."""
    generator, rows = np.random.default_rng(seed), max(1, (1 << 16) // max(1, count))
    for start in range(0, times, rows):
        yield generator.integers(0, count, (min(rows, times - start), count))


def _middle(found: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    if np.isnan(found).all():
        return math.nan, math.nan
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(np.asarray(found, np.float64), [tail, 1 - tail]).tolist()
    return low, high


def area_interval(area: float, ours: int, theirs: int) -> tuple[float, float]:
    """Return Newcombe's interval (2006, method 5) of an area under the ROC curve.

    It contains the areas under which this one would not be surprising. Unlike a bootstrap interval, it has a width even
    if all of ours are above all of theirs.
    """
    more, z2 = (ours + theirs) / 2.0 - 1.0, _z() ** 2

    def surprise(true: float) -> float:
        spread = 1.0 + more * ((1.0 - true) / (2.0 - true) + true / (1.0 + true))
        return (true - area) ** 2 - z2 * true * (1.0 - true) * spread / (ours * theirs)

    def edge(end: float) -> float:
        if surprise(end) <= 0.0:
            return end
        inside = min(max(area, 1e-9), 1.0 - 1e-9)  # at exactly 0 and 1 nothing is surprising
        return float(scipy.optimize.brentq(surprise, *sorted((inside, end)), xtol=1e-12))

    return edge(0.0), edge(1.0)


def lower_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """Return the Clopper-Pearson lower bound of a probability, which is wrong with probability at most `error`."""
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    return np.where(hits > 0, scipy.special.betaincinv(np.maximum(hits, 1), trials - hits + 1, error), 0.0)


def upper_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """Return the Clopper-Pearson upper bound of a probability, which is wrong with probability at most `error`."""
    return 1.0 - lower_bound(np.subtract(trials, hits), trials, error)


def _z() -> float:
    """Return the half-width of an interval in standard errors."""
    return float(scipy.special.ndtri(0.5 + CONFIDENCE / 2))
