"""What is left of the tasks when every word was drawn from a channel.

The texts are read once, as ids. What comes of them is what `wordveil.lab.tasks.evaluate` sees of a veil that selects
all words: those of the vocabulary are drawn from the channel, others are replaced by `OutsideWords`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search.channels import Sampler
from benchmarks.frontier_search.ground import Ground, Tensor
from wordveil.lab.tasks import AveragedVectors, Outcome, Reader, Task
from wordveil.lab.tasks.evaluation import right_classes
from wordveil.noise import Entropy
from wordveil.parallel import run
from wordveil.text import tokenise
from wordveil.text.replacing import OutsideWords
from wordveil.text.tokens import is_number

__all__ = ["Scorer"]

_UNKNOWN = -1

#: Replaces known words.
Draw: TypeAlias = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class _Column:
    """The words of a column of texts, one after the other: ids, and which text each is of."""

    ids: Tensor
    text: Tensor
    texts: int


class Scorer:
    """Does tasks with the texts that a channel leaves."""

    def __init__(self, ground: Ground, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self._words = len(ground)
        self._device = ground.device
        self._vectors = torch.as_tensor(np.array(ground.space.matrix), device=ground.device)
        self._outside = OutsideWords(ground.space)
        self._model = AveragedVectors(Reader(ground.space))
        ids = ground.space.vocabulary.ids
        self._columns = [[self._read(column, ids) for column in task.columns] for task in tasks]

    def _read(self, texts: Sequence[str], known: dict[str, int]) -> _Column:
        ids: list[int] = []
        text: list[int] = []
        for number, one in enumerate(texts):
            pieces, keys = tokenise(one)
            for word, key in zip(pieces[1::2], keys, strict=True):
                place = known.get(word, known.get(key, _UNKNOWN))
                # An unknown number becomes random digits, which the vocabulary does not know either.
                if place != _UNKNOWN or not is_number(word):
                    ids.append(place)
                    text.append(number)
        return _Column(torch.tensor(ids, device=self._device), torch.tensor(text, device=self._device), len(texts))

    def clean(self) -> list[Outcome]:
        """Do the tasks with the texts as they are."""
        return self._outcomes([[self._means(column, column.ids) for column in columns] for columns in self._columns], 1)

    def random(self, repeats: int, seed: int) -> list[Outcome]:
        """Do the tasks with random words in the place of all known words."""

        def anything(ids: Tensor, generator: torch.Generator) -> Tensor:
            return torch.randint(self._words, ids.shape, generator=generator, device=self._device)

        return self._drawn(anything, repeats, seed)

    def veiled(self, channel: Tensor, repeats: int, seed: int) -> list[Outcome]:
        """Do the tasks with every word drawn from a channel, in training and in testing."""
        return self._drawn(Sampler(channel), repeats, seed)

    def _drawn(self, replace: Draw, repeats: int, seed: int) -> list[Outcome]:
        generator = torch.Generator(self._device).manual_seed(seed)
        entropy = Entropy(seed)
        return self._outcomes(
            [
                [self._means(column, self._replaced(column, replace, generator, entropy)) for column in columns]
                for columns in self._columns
                for _ in range(repeats)
            ],
            repeats,
        )

    def _replaced(self, column: _Column, replace: Draw, generator: torch.Generator, entropy: Entropy) -> Tensor:
        ids = column.ids.clone()
        unknown = ids == _UNKNOWN
        ids[~unknown] = replace(ids[~unknown], generator)
        ids[unknown] = torch.as_tensor(self._outside.draw(int(unknown.sum()), entropy), device=self._device)
        return ids

    def _means(self, column: _Column, ids: Tensor) -> NDArray[np.float32]:
        known = ids != _UNKNOWN
        ids, text = ids[known], column.text[known]
        sums = torch.zeros((column.texts, self._vectors.shape[1]), device=self._device)
        sums.index_add_(0, text, self._vectors[ids])
        counts = torch.bincount(text, minlength=column.texts).clamp(min=1)
        return (sums / counts[:, None]).cpu().numpy()

    def _outcomes(self, means: list[list[NDArray[np.float32]]], repeats: int) -> list[Outcome]:
        """Learn and test; `means` has the repetitions of the first task, then those of the second, and so on."""
        jobs = [(self.tasks[number // repeats], columns) for number, columns in enumerate(means)]

        def work(job: tuple[Task, list[NDArray[np.float32]]]) -> NDArray[np.float64]:
            seen = self._model.joined(job[1])
            return right_classes(job[0], self._model, seen, seen, 0)

        answers = run(work, jobs)
        return [
            Outcome(task, np.stack(answers[number * repeats : (number + 1) * repeats]))
            for number, task in enumerate(self.tasks)
        ]
