"""A task: texts, the right answers, how to score answers, and how certain a score is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from wordveil.errors import InputError
from wordveil.stats import Estimate, resampled

#: The kinds of tasks: predicting classes, rating how alike two texts are, finding the item that does not belong.
CLASSES, SIMILARITY, ODD = "classes", "similarity", "odd"

_FOLDS = 5
_RESAMPLES = 400


@dataclass(frozen=True)
class Task:
    """Examples, each with one or more texts and the right answer."""

    name: str
    kind: str  # `CLASSES`, `SIMILARITY` or `ODD`
    columns: tuple[Sequence[str], ...]  # the texts: a column for each place of an example
    gold: NDArray[np.float64]  # the right answers: class numbers, ratings, or the place of the odd one
    # which examples are for testing; if not given, every example is tested once, by cross-validation
    test: NDArray[np.bool_] | None = None
    # which set each example comes from, if the score is the mean over several sets
    parts: NDArray[np.int64] | None = None
    measure: str = "accuracy"  # how it is scored
    note: str = ""  # how it differs from the task of the same name in papers
    folds: int = _FOLDS  # of the cross-validation
    # the author of each example, if known; nobody's texts are used both to learn from and to test on
    authors: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if not len(self.gold) or any(len(column) != len(self.gold) for column in self.columns):
            raise InputError(f"the task {self.name} has no examples, or not a text for every answer.")

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def tested(self) -> NDArray[np.int64]:
        """The examples that are scored."""
        return np.arange(len(self)) if self.test is None else np.flatnonzero(self.test)

    @property
    def texts(self) -> list[str]:
        """All texts, column by column."""
        return [text for column in self.columns for text in column]

    def splits(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return which examples to learn from and which to test on, once or for each fold."""
        if self.test is not None:
            return [(np.flatnonzero(~self.test), np.flatnonzero(self.test))]
        generator = np.random.default_rng(len(self))
        order = generator.permutation(len(self))
        if self.authors is None:
            folds = [np.sort(order[number :: self.folds]) for number in range(self.folds)]
        else:
            people = generator.permutation(int(self.authors.max()) + 1)
            folds = [np.flatnonzero(people[self.authors] % self.folds == number) for number in range(self.folds)]
        return [(np.setdiff1d(order, fold), fold) for fold in folds if len(fold)]

    def cross_validated(self, folds: int = _FOLDS) -> Task:
        """Return the task with every example tested once, whatever its own test set is."""
        return replace(self, test=None, folds=folds)

    def limited(self, most: int, seed: int = 0) -> Task:
        """Return the task on at most `most` random examples."""
        if len(self) <= most:
            return self
        return self.only(np.sort(np.random.default_rng(seed).permutation(len(self))[:most]))

    def only(self, kept: NDArray[np.int64]) -> Task:
        """Return the task on these examples only."""
        return replace(
            self,
            columns=tuple([column[place] for place in kept] for column in self.columns),
            gold=self.gold[kept],
            test=None if self.test is None else self.test[kept],
            parts=None if self.parts is None else self.parts[kept],
            authors=None if self.authors is None else self.authors[kept],
        )

    def score(self, answers: NDArray[np.float64], chosen: NDArray[np.int64] | None = None) -> float:
        """Score answers to the tested examples.

        An answer is 1 or 0 for right or wrong, or how alike two texts are. `chosen` are the examples to count, some
        perhaps more than once.
        """
        chosen = np.arange(len(answers)) if chosen is None else chosen
        if self.measure == "accuracy":
            return float(answers[chosen].mean())
        gold = self.gold[self.tested][chosen]
        parts = np.zeros(len(chosen)) if self.parts is None else self.parts[self.tested][chosen]
        agreements = [
            _correlation(answers[chosen[parts == part]], gold[parts == part], self.measure) for part in np.unique(parts)
        ]
        return float(np.mean(agreements))


def _correlation(answers: NDArray[np.float64], gold: NDArray[np.float64], measure: str) -> float:
    if measure == "spearman":
        answers, gold = rankdata(answers), rankdata(gold)
    answers, gold = answers - answers.mean(), gold - gold.mean()
    length = float(np.linalg.norm(answers) * np.linalg.norm(gold))
    return float(answers @ gold) / length if length else 0.0


@dataclass(frozen=True)
class Outcome:
    """The answers to a task's tested examples, in every repetition."""

    task: Task
    answers: NDArray[np.float64]

    @property
    def score(self) -> float:
        """The mean score over the repetitions."""
        return float(np.mean([self.task.score(row) for row in self.answers]))

    def interval(self, seed: int = 0) -> Estimate:
        """Return the mean score with an interval, from resampled examples and repetitions (bootstrap)."""
        return _estimate(lambda score: score(self), self.score, self, seed)

    def _resampled(self, generator: np.random.Generator, chosen: NDArray[np.int64]) -> float:
        """Score the chosen examples, in as many repetitions drawn with replacement."""
        rows = generator.integers(0, len(self.answers), len(self.answers))
        return float(np.mean([self.task.score(self.answers[row], chosen) for row in rows]))


def share_of_the_way(outcome: Outcome, random: Outcome, clean: Outcome, seed: int = 0) -> Estimate:
    """Return how far an outcome is on the way from random words to clean text, with an interval.

    All three are scored on the same resampled examples, so that what is easy for all of them cancels out.
    """

    def share(score: Callable[[Outcome], float]) -> float:
        low, high = score(random), score(clean)
        return (score(outcome) - low) / (high - low) if high != low else np.nan

    return _estimate(share, share(lambda one: one.score), outcome, seed)


def share_over_veilings(outcome: Outcome, random: Outcome, clean: Outcome) -> Estimate:
    """Return the share of the way for an accuracy, with Student's interval over veilings, or over authors if known.

    The two ends of the way are taken as measured, without their errors.
    """

    def scores(one: Outcome) -> NDArray[np.float64]:
        if one.task.authors is None:
            return one.answers.mean(axis=1)
        whose = one.task.authors[one.task.tested]
        counts = np.bincount(whose)
        return np.bincount(whose, weights=one.answers.mean(axis=0))[counts > 0] / counts[counts > 0]

    low, high = scores(random).mean(), scores(clean).mean()
    return Estimate.of_runs((scores(outcome) - low) / (high - low) if high != low else np.full(1, np.nan))


def lead(one: Outcome, other: Outcome, seed: int = 0) -> Estimate:
    """Return by how much one outcome's score exceeds another's, with an interval.

    Both are scored on the same resampled examples, so that what is easy for both cancels out.
    """
    return _estimate(lambda score: score(one) - score(other), one.score - other.score, one, seed)


def mean_of(figures: Sequence[Estimate]) -> Estimate:
    """Return the mean of figures that were measured independently, with its interval."""
    value = float(np.mean([one.value for one in figures]))
    half = float(np.sqrt(np.sum([(0.5 * (one.high - one.low)) ** 2 for one in figures]))) / len(figures)
    return Estimate(value, value - half, value + half, sum(one.n for one in figures))


def _estimate(
    compute: Callable[[Callable[[Outcome], float]], float], value: float, outcome: Outcome, seed: int
) -> Estimate:
    """Return a figure computed from scores, with its interval when examples and repetitions are resampled."""
    count = outcome.answers.shape[1]
    repetitions = np.random.default_rng([seed, 1])
    ends = resampled(
        lambda chosen: compute(lambda one: one._resampled(repetitions, chosen)), count, seed, times=_RESAMPLES
    )
    return Estimate(value, *ends, count)
