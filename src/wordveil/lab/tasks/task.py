"""A task: texts, what is right, and how answers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from wordveil.errors import WordveilError

__all__ = ["CLASSES", "ODD", "SIMILARITY", "Task"]

#: The kinds of tasks: telling classes apart, saying how alike two texts are, finding the one that does not belong.
CLASSES, SIMILARITY, ODD = "classes", "similarity", "odd"

_FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Examples, each of one or more texts, and the right answer of each.

    Attributes
    ----------
    name : str
        What people call it.
    kind : str
        `CLASSES`, `SIMILARITY` or `ODD`.
    columns : tuple of sequences of str
        The texts: a column for each place of an example.
    gold : array
        The right answers: class numbers, ratings, or the place of the odd one.
    test : array of bool, optional
        Which examples are the test; where there is none, every example is tested once, by cross-validation.
    parts : array of int, optional
        Which of its sets an example is from, where the score is the mean over several sets.
    measure : {"accuracy", "pearson", "spearman"}
        How it is scored.
    note : str
        How it differs from the task of the same name that papers use.
    """

    name: str
    kind: str
    columns: tuple[Sequence[str], ...]
    gold: NDArray[np.float64]
    test: NDArray[np.bool_] | None = None
    parts: NDArray[np.int64] | None = field(default=None)
    measure: str = "accuracy"
    note: str = ""

    def __post_init__(self) -> None:
        if not len(self.gold) or any(len(column) != len(self.gold) for column in self.columns):
            raise WordveilError(f"the task {self.name} has no examples, or not a text for every answer.")

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def tested(self) -> NDArray[np.int64]:
        """The examples that are scored."""
        return np.arange(len(self)) if self.test is None else np.flatnonzero(self.test)

    def splits(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return which examples to learn from and which to test on, once or for each fold."""
        if self.test is not None:
            return [(np.flatnonzero(~self.test), np.flatnonzero(self.test))]
        order = np.random.default_rng(len(self)).permutation(len(self))
        folds = [np.sort(order[number::_FOLDS]) for number in range(_FOLDS)]
        return [(np.setdiff1d(order, fold), fold) for fold in folds if len(fold)]

    def limited(self, most: int, seed: int = 0) -> Task:
        """Return the task on at most so many examples, chosen at random."""
        if len(self) <= most:
            return self
        return self.only(np.sort(np.random.default_rng(seed).permutation(len(self))[:most]))

    def only(self, kept: NDArray[np.int64]) -> Task:
        """Return the task on these examples alone."""
        return replace(
            self,
            columns=tuple([column[place] for place in kept] for column in self.columns),
            gold=self.gold[kept],
            test=None if self.test is None else self.test[kept],
            parts=None if self.parts is None else self.parts[kept],
        )

    def score(self, answers: NDArray[np.float64], chosen: NDArray[np.int64] | None = None) -> float:
        """Score answers to the tested examples.

        Parameters
        ----------
        answers : array of float
            For classes and the odd one: 1 where the answer was right, 0 elsewhere. For similarity: how alike.
        chosen : array of int, optional
            Which of the tested examples to count, some perhaps more than once; all if not given.
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
