"""Does a task on texts that are veiled in training, in testing, in both or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee
from wordveil.lab.tasks.models import AveragedVectors, Model, cosines
from wordveil.lab.tasks.task import CLASSES, SIMILARITY, Outcome, Task
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.spaces.space import Ids
from wordveil.text import RareWords, Veil

Vectors = NDArray[np.float32]

#: Rewrites texts. The number is a seed.
Rewriter: TypeAlias = Callable[[Sequence[str], int], list[str]]

#: Which texts are veiled: those to learn from, those to test on, or both.
WHEN = ("train", "test", "both")

_LEAST = 1e-9  # the smallest ε that mechanisms accept


class RandomWords(Mechanism[Space]):
    """Replaces every word by one drawn uniformly from the vocabulary: perfect privacy, least utility."""

    name = "random"
    family = "draws from exact probabilities"
    summary = "draws every word uniformly, whatever the input"
    in_brief = "the output says nothing about the input"
    source = "the lower bound of the papers' utility experiments"

    def __init__(self, space: Space) -> None:
        super().__init__(space, _LEAST)  # the promise holds at every ε above 0

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by a uniform one."""
        return (entropy or Entropy()).below(np.full(len(ids), len(self.space)))

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""
        return self.make_guarantee()


def veiled(
    mechanism: Mechanism[Any], *, select: str = "all", oov: str = "replace", rare: RareWords | None = None
) -> Rewriter:
    """Return a rewriter that veils texts with a mechanism, whatever it promises."""

    def rewrite(texts: Sequence[str], seed: int) -> list[str]:
        # Each word is drawn separately, as in the papers.
        veil = Veil(mechanism, select=select, rare=rare, oov=oov, case="lower", once=None, seed=seed, unproven=True)
        return [release.text for release in veil.many(texts)]

    return rewrite


def random_words(space: Space, **options: Any) -> Rewriter:
    """Return a rewriter that replaces the selected words by random ones. Its options are those of `veiled`."""
    return veiled(RandomWords(space), **options)


def remembered(rewrite: Rewriter) -> Rewriter:
    """Return a rewriter that remembers its results, so that the same texts and seed are rewritten only once."""
    known: dict[tuple[int, int], list[str]] = {}

    def recall(texts: Sequence[str], seed: int) -> list[str]:
        key = hash(tuple(texts)), seed
        if key not in known:
            known[key] = rewrite(texts, seed)
        return known[key]

    return recall


def evaluate(
    task: Task, model: Model, rewrite: Rewriter | None = None, *, when: str = "both", repeats: int = 3, seed: int = 0
) -> Outcome:
    """Do a task.

    Without `rewrite`, the texts stay as they are and the task is done once. Tasks of similarity and of the odd one out
    use only the model's vectors and learn nothing, so `when` must be ``test`` or ``both`` for them.
    """
    if when not in WHEN:
        raise OptionError(f"when must be one of {', '.join(WHEN)}, not {when!r}.")
    if task.kind != CLASSES and when == "train":
        raise OptionError(f"the task {task.name} learns nothing, so it cannot be veiled at training time.")
    if rewrite is None:
        return Outcome(task, _predictions(task, model, task.columns, when, seed)[None])
    answers = []
    for number in np.random.SeedSequence(seed).generate_state(repeats).tolist():
        rewritten = tuple(rewrite(column, number + place) for place, column in enumerate(task.columns))
        answers.append(_predictions(task, model, rewritten, when, number))
    return Outcome(task, np.stack(answers))


def _predictions(
    task: Task, model: Model, rewritten: tuple[Sequence[str], ...], when: str, seed: int
) -> NDArray[np.float64]:
    if task.kind == CLASSES:
        other = model.features(rewritten)
        plain = other if when == "both" or rewritten is task.columns else model.features(task.columns)
        learnt, tested = {"train": (other, plain), "test": (plain, other), "both": (other, other)}[when]
        return right_classes(task, model, learnt, tested, seed)
    return _by_likeness(task, [model.means(column) for column in rewritten])


def answers_to(
    task: Task, model: AveragedVectors, learnt: list[Vectors], tested: list[Vectors], seed: int
) -> NDArray[np.float64]:
    """Do a task, given the mean vectors of its texts for learning and for testing.

    Both are lists of arrays, one for each place of an example.
    """
    if task.kind != CLASSES:
        return _by_likeness(task, tested)
    seen = model.joined(learnt)
    return right_classes(task, model, seen, seen if tested is learnt else model.joined(tested), seed)


def _by_likeness(task: Task, means: list[Vectors]) -> NDArray[np.float64]:
    """Do a task in which nothing is learnt: how alike two texts are, or which text is not like the others."""
    if task.kind == SIMILARITY:
        return cosines(*means)
    return (_odd_ones(means) == task.gold).astype(np.float64)


def right_classes(
    task: Task, model: Model, learnt: NDArray[Any], tested: NDArray[Any], seed: int
) -> NDArray[np.float64]:
    """Learn classes and predict them. Return 1 for each tested example that was predicted correctly, otherwise 0.

    `learnt` and `tested` are the features of each example for learning and for testing.
    """
    right = np.empty(len(task))
    for train, test in task.splits():
        right[test] = model.predict(learnt[train], task.gold[train], tested[test], seed % 2**31) == task.gold[test]
    return right[task.tested]


def _odd_ones(means: list[Vectors]) -> NDArray[np.int64]:
    """Return for each set the place without which the others are most alike."""
    alike = {pair: cosines(means[pair[0]], means[pair[1]]) for pair in combinations(range(len(means)), 2)}
    without = [np.sum([alike[pair] for pair in alike if place not in pair], axis=0) for place in range(len(means))]
    return np.argmax(without, axis=0)
