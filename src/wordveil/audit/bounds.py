"""Lower confidence bounds from counts, with the event chosen on other samples."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["Event", "choose_threshold", "loss_bound", "lower", "upper"]


def lower(hits: NDArray[Any], draws: int, error: float) -> NDArray[np.float64]:
    """Return the Clopper-Pearson lower bound of a probability, wrong with at most this probability."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, scipy.stats.beta.ppf(error, np.maximum(hits, 1), draws - hits + 1), 0.0)


def upper(hits: NDArray[Any], draws: int, error: float) -> NDArray[np.float64]:
    """Return the Clopper-Pearson upper bound of a probability, wrong with at most this probability."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits < draws, scipy.stats.beta.ppf(1.0 - error, hits + 1, np.maximum(draws - hits, 1)), 1.0)


def loss_bound(left: NDArray[Any], right: NDArray[Any], draws: tuple[int, int], error: float) -> NDArray[np.float64]:
    """Return lower bounds on ``ln(Pr[left]/Pr[right])``; each is too high with at most twice the error."""
    with np.errstate(divide="ignore"):
        return np.log(lower(left, draws[0], error)) - np.log(upper(right, draws[1], error))


class Event(NamedTuple):
    """A half-line of one statistic: at least, or at most, a threshold."""

    statistic: int
    threshold: float
    at_least: bool

    def count(self, statistics: list[NDArray[np.float64]]) -> int:
        """Return how many samples lie in the event."""
        values = statistics[self.statistic]
        return int((values >= self.threshold if self.at_least else values <= self.threshold).sum())


def choose_threshold(
    left: list[NDArray[np.float64]], right: list[NDArray[np.float64]], error: float
) -> tuple[Event, float]:
    """Choose the event that tells two samples apart best, over statistics and thresholds.

    Parameters
    ----------
    left, right : list of arrays
        For each statistic its values on the samples of either side.
    error : float
        Used for the bound by which events are compared.
    """
    best, top = Event(0, np.inf, at_least=True), -np.inf
    for number, samples in enumerate(zip(left, right, strict=True)):
        ours, theirs = map(np.sort, samples)
        draws = (len(ours), len(theirs))
        levels = np.concatenate([np.geomspace(10 / len(ours), 0.5, 24), 1 - np.geomspace(10 / len(ours), 0.5, 24)])
        cuts = np.unique(np.quantile(ours, np.clip(levels, 0, 1)))
        for at_least in (True, False):
            side: Literal["left", "right"] = "left" if at_least else "right"
            below = np.searchsorted(ours, cuts, side=side), np.searchsorted(theirs, cuts, side=side)
            hits = [draws[i] - below[i] if at_least else below[i] for i in (0, 1)]
            bounds = loss_bound(hits[0], hits[1], draws, error)
            place = int(bounds.argmax())
            if bounds[place] > top:
                best, top = Event(number, float(cuts[place]), at_least), float(bounds[place])
    return best, top
