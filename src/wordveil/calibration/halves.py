"""The best guess of the input, from draws that were made block by block.

With counts instead of probabilities there are two honest answers, and the truth lies between them. A guesser who learns
his guesses from one half of the draws and is tested on the other does no better than the best guesser. And the success
that the counted frequencies promise, if taken for the probabilities, is too high on average, since a maximum of
estimates exceeds the maximum of what they estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.calibration.counts import Pairs
from wordveil.calibration.learner import Learnt, success_of
from wordveil.calibration.sightings import Sightings
from wordveil.calibration.statistics import Adversary
from wordveil.spaces import Space

__all__ = ["Halves"]


@dataclass(frozen=True)
class Halves:
    """What came out of which words, in the first and in the second half of the draws.

    Attributes
    ----------
    ids : array of int
        The words.
    draws : array of int
        For each of them how many draws it had in all; the first half is rounded down.
    sizes : array of int
        How many words each block has.
    word, output : array of int
        The distinct pairs; each word has one with itself.
    first, second : array of float
        How often each pair came in either half.
    """

    ids: NDArray[np.int64]
    draws: NDArray[np.int64]
    sizes: NDArray[np.int64]
    word: NDArray[np.int32]
    output: NDArray[np.int32]
    first: NDArray[np.float32]
    second: NDArray[np.float32]

    @classmethod
    def of(
        cls, ids: NDArray[np.int64], outputs: NDArray[np.integer[Any]], own: NDArray[np.float64] | None = None
    ) -> Halves:
        """Count the outputs of a block of words.

        Parameters
        ----------
        ids : array of int
            The words.
        outputs : array of shape (words, draws)
            What came out.
        own : array of shape (words, draws), optional
            For each draw the probability of staying, where it is better known than by whether the word stayed.
        """
        if own is None:
            own = (outputs == ids[:, None]).astype(np.float64)
        draws = outputs.shape[1]
        half = draws // 2
        pairs = Pairs.of(outputs)
        early = Pairs.of(outputs[:, :half])
        span = int(outputs.max(initial=0)) + 1
        first = np.zeros(len(pairs.count))
        first[np.searchsorted(pairs.row * span + pairs.output, early.row * span + early.output)] = early.count
        others = ids[pairs.row] != pairs.output
        return cls(
            ids=ids,
            draws=np.full(len(ids), draws),
            sizes=np.array([len(ids)]),
            word=np.concatenate([ids, ids[pairs.row[others]]]).astype(np.int32),
            output=np.concatenate([ids, pairs.output[others]]).astype(np.int32),
            first=np.concatenate([own[:, :half].sum(axis=1), first[others]]).astype(np.float32),
            second=np.concatenate([own[:, half:].sum(axis=1), (pairs.count - first)[others]]).astype(np.float32),
        )

    @classmethod
    def joined(cls, parts: list[Halves]) -> Halves:
        """Put blocks of words together."""
        return cls(**{one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)})

    def adversaries(self, space: Space, priors: list[NDArray[np.float64]]) -> list[Adversary]:
        """Return the success of the best guess under each of some priors, after all blocks are joined.

        Parameters
        ----------
        space : Space
            The words that can come out.
        priors : list of array of float
            Each the probabilities of the words, in their order.
        """
        order = np.argsort(self.ids)
        row = order[np.searchsorted(self.ids[order], self.word)]
        half = self.draws // 2
        first, second = self._seen(row, self.first, half), self._seen(row, self.second, self.draws - half)
        halves = [(Learnt(space, first), second), (Learnt(space, second), first)]
        blocks = np.repeat(np.arange(len(self.sizes)), self.sizes)
        found = []
        for prior in priors:
            folds = [(learnt.guesses(prior), fresh) for learnt, fresh in halves]
            low = success_of(folds, prior, dealt=True, blocks=blocks)
            high = np.zeros(len(space))
            np.maximum.at(high, self.output, (prior / self.draws)[row] * (self.first + self.second))
            found.append(Adversary(low.value, max(low.value, float(high.sum())), low.error, len(self.ids)))
        return found

    def _seen(self, row: NDArray[np.int64], count: NDArray[np.float32], drawn: NDArray[np.int64]) -> Sightings:
        there = count > 0
        return Sightings(
            self.ids,
            drawn.astype(np.float64),
            row[there],
            self.output[there].astype(np.int64),
            count[there].astype(np.float64),
        )
