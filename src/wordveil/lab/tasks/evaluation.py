"""Doing a task on texts of which some, all or none are veiled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.lab.tasks.models import Model
from wordveil.lab.tasks.outcome import Outcome
from wordveil.lab.tasks.rewriting import Rewriter
from wordveil.lab.tasks.task import CLASSES, SIMILARITY, Task
from wordveil.lab.tasks.vectors import cosines

__all__ = ["WHEN", "evaluate", "right_classes"]

Columns: TypeAlias = tuple[Sequence[str], ...]

#: When texts are veiled: those that are learnt from, those that are tested on, or both.
WHEN = ("train", "test", "both")


def evaluate(
    task: Task, model: Model, rewrite: Rewriter | None = None, *, when: str = "both", repeats: int = 3, seed: int = 0
) -> Outcome:
    """Do a task.

    Parameters
    ----------
    task : Task
        What to do.
    model : Model
        What learns; tasks of similarity and of the odd one use its vectors alone.
    rewrite : callable, optional
        What the texts go through; if not given they stay as they are, and one repetition tells all.
    when : {"train", "test", "both"}
        Which texts go through it. Nothing is learnt in tasks of similarity and of the odd one, so there it is the test.
    repeats : int
        How often to rewrite, learn and test anew.
    seed : int
        Which random numbers.
    """
    if when not in WHEN:
        raise WordveilError(f"texts are veiled at one of {', '.join(WHEN)}, not {when!r}.")
    if task.kind != CLASSES and when == "train":
        raise WordveilError(f"nothing is learnt in the task {task.name}, so it cannot be veiled at training time.")
    if rewrite is None:
        answers = [_answers(task, model, task.columns, task.columns, when, seed)]
        return Outcome(task, np.stack(answers))
    answers = []
    for number in np.random.SeedSequence(seed).generate_state(repeats).tolist():
        rewritten = tuple(rewrite(column, number + place) for place, column in enumerate(task.columns))
        answers.append(_answers(task, model, task.columns, rewritten, when, number))
    return Outcome(task, np.stack(answers))


def _answers(task: Task, model: Model, clean: Columns, rewritten: Columns, when: str, seed: int) -> NDArray[np.float64]:
    if task.kind == CLASSES:
        return _right_classes(task, model, clean, rewritten, when, seed)
    means = [model.reader.means(column) for column in rewritten]
    if task.kind == SIMILARITY:
        return cosines(*means)
    return (_odd_ones(means) == task.gold).astype(np.float64)


def _right_classes(
    task: Task, model: Model, clean: Columns, rewritten: Columns, when: str, seed: int
) -> NDArray[np.float64]:
    other = model.features(rewritten)
    plain = other if when == "both" or rewritten is clean else model.features(clean)
    learnt, tested = {"train": (other, plain), "test": (plain, other), "both": (other, other)}[when]
    return right_classes(task, model, learnt, tested, seed)


def right_classes(
    task: Task, model: Model, learnt: NDArray[Any], tested: NDArray[Any], seed: int
) -> NDArray[np.float64]:
    """Learn classes and tell them, and return 1 for each tested example whose class was told, 0 elsewhere.

    Parameters
    ----------
    task : Task
        Which examples are learnt from and which are tested.
    model : Model
        What learns.
    learnt, tested : array
        What the model sees of each example of the task where it learns from it, and where it is tested on it.
    seed : int
        Which random numbers.
    """
    right = np.empty(len(task))
    for train, test in task.splits():
        right[test] = model.predict(learnt[train], task.gold[train], tested[test], seed % 2**31) == task.gold[test]
    return right[task.tested]


def _odd_ones(means: list[NDArray[np.float32]]) -> NDArray[np.int64]:
    """Return for each set the place without which the others are most alike."""
    alike = {pair: cosines(means[pair[0]], means[pair[1]]) for pair in combinations(range(len(means)), 2)}
    without = [np.sum([alike[pair] for pair in alike if place not in pair], axis=0) for place in range(len(means))]
    return np.argmax(without, axis=0)
