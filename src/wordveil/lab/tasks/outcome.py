"""How well a task was done, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil.bootstrap import interval
from wordveil.lab.tasks.task import Task

__all__ = ["Interval", "Outcome", "lead", "mean_of", "share_of_the_way"]

_RESAMPLES = 400


@dataclass(frozen=True)
class Interval:
    """A figure and where it lies with 95% confidence.

    Attributes
    ----------
    value, low, high : float
        The figure and the ends.
    """

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """Return it as plain values."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Outcome:
    """The answers to a task's tested examples, in every repetition.

    Attributes
    ----------
    task : Task
        The task.
    answers : array of shape (repetitions, examples)
        See `Task.score`.
    """

    task: Task
    answers: NDArray[np.float64]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each repetition."""
        return np.array([self.task.score(row) for row in self.answers])

    @property
    def score(self) -> float:
        """The mean score."""
        return float(self.scores.mean())

    def resampled(self, generator: np.random.Generator, chosen: NDArray[np.int64]) -> float:
        """Score the examples chosen, in as many repetitions drawn with replacement."""
        rows = generator.integers(0, len(self.answers), len(self.answers))
        return float(np.mean([self.task.score(self.answers[row], chosen) for row in rows]))

    def interval(self, seed: int = 0) -> Interval:
        """Return the mean score with an interval, from examples and repetitions drawn again (bootstrap)."""
        count = self.answers.shape[1]
        ends = interval(
            lambda generator: self.resampled(generator, _drawn(generator, count)), times=_RESAMPLES, seed=seed
        )
        return Interval(self.score, *ends)


def share_of_the_way(outcome: Outcome, random: Outcome, clean: Outcome, seed: int = 0) -> Interval:
    """Return how far an outcome is on the way from random words to clean text, with an interval.

    All three are scored on the same drawn examples, so that what is easy for all of them cancels.

    Parameters
    ----------
    outcome, random, clean : Outcome
        Of one task.
    seed : int
        Which examples are drawn.
    """
    count = outcome.answers.shape[1]

    def share(generator: np.random.Generator) -> float:
        chosen = _drawn(generator, count)
        low, high = random.resampled(generator, chosen), clean.resampled(generator, chosen)
        return (outcome.resampled(generator, chosen) - low) / (high - low) if high != low else np.nan

    way = clean.score - random.score
    ends = interval(share, times=_RESAMPLES, seed=seed)
    return Interval((outcome.score - random.score) / way if way else np.nan, *ends)


def lead(one: Outcome, other: Outcome, seed: int = 0) -> Interval:
    """Return by how much one outcome's score exceeds another's, with an interval.

    Both are scored on the same drawn examples, so that what is easy for both cancels.

    Parameters
    ----------
    one, other : Outcome
        Of one task.
    seed : int
        Which examples are drawn.
    """
    count = one.answers.shape[1]

    def difference(generator: np.random.Generator) -> float:
        chosen = _drawn(generator, count)
        return one.resampled(generator, chosen) - other.resampled(generator, chosen)

    return Interval(one.score - other.score, *interval(difference, times=_RESAMPLES, seed=seed))


def mean_of(intervals: Sequence[Interval]) -> Interval:
    """Return the mean of figures that were measured apart, with an interval as wide as chance makes it.

    Parameters
    ----------
    intervals : sequence of Interval
        The figures.
    """
    value = float(np.mean([one.value for one in intervals]))
    half = float(np.sqrt(np.sum([(0.5 * (one.high - one.low)) ** 2 for one in intervals]))) / len(intervals)
    return Interval(value, value - half, value + half)


def _drawn(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    return generator.integers(0, count, size=(count,))
