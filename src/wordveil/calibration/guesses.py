"""The best guess of the input, learnt from draws.

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
from wordveil.calibration.statistics import Adversary

__all__ = ["Guesses"]


@dataclass(frozen=True)
class Guesses:
    """For each of three ways of counting (first half, second half, all), the best guess of each output so far.

    Attributes
    ----------
    way : array of int
        0 for the first half, 1 for the second, 2 for all draws.
    output : array of int
        What was seen.
    learnt : array of float
        The prior of the best guess times the frequency that made it best.
    tested : array of float
        The prior of the best guess times its frequency in the other half; for all draws, the same as `learnt`.
    weights, rights : array of float
        For each block of words, its prior and how much of it the guess "the output itself" gets right.
    """

    way: NDArray[np.int64]
    output: NDArray[np.int64]
    learnt: NDArray[np.float64]
    tested: NDArray[np.float64]
    weights: NDArray[np.float64]
    rights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        ids: NDArray[np.int64],
        prior: NDArray[np.float64],
        outputs: NDArray[np.integer[Any]],
        own: NDArray[np.float64] | None = None,
    ) -> Guesses:
        """Learn from the outputs of a block of words.

        Parameters
        ----------
        ids : array of int
            The words.
        prior : array of float
            Their prior probabilities.
        outputs : array of shape (words, draws)
            What came out.
        own : array of shape (words, draws), optional
            For each draw the probability of staying, where it is better known than by whether the word stayed.
        """
        half = outputs.shape[1] // 2
        parts = (slice(0, half), slice(half, None))
        if own is None:
            own = (outputs == ids[:, None]).astype(np.float64)
        seen = [_frequencies(ids, prior, outputs[:, part], own[:, part]) for part in parts]
        words = int(ids.max()) + 1
        lists = [
            (0, *_best(*seen[0], seen[1], words)),
            (1, *_best(*seen[1], seen[0], words)),
        ]
        everything = _frequencies(ids, prior, outputs, own)
        lists.append((2, *_best(*everything, everything, words)))
        return cls(
            way=np.concatenate([np.full(len(output), way) for way, output, _, _ in lists]),
            output=np.concatenate([output for _, output, _, _ in lists]),
            learnt=np.concatenate([learnt for _, _, learnt, _ in lists]),
            tested=np.concatenate([tested for _, _, _, tested in lists]),
            weights=np.array([prior.sum()]),
            rights=np.array([(prior * own.mean(axis=1)).sum()]),
        )

    @classmethod
    def joined(cls, parts: list[Guesses]) -> Guesses:
        """Put blocks of words together: the better of their guesses for each output."""
        whole = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)}
        key = whole["way"] * (int(whole["output"].max()) + 1) + whole["output"]
        order = np.lexsort((whole["learnt"], key))
        last = order[np.append(np.diff(key[order]) != 0, True)]
        return cls(
            **{name: whole[name][last] for name in ("way", "output", "learnt", "tested")},
            weights=whole["weights"],
            rights=whole["rights"],
        )

    def adversary(self, words: int, draws: int) -> Adversary:
        """Return the success of the best guess, after all blocks are joined."""
        low, high = float(self.tested[self.way < 2].sum() / 2), float(self.tested[self.way == 2].sum())
        # As if all the words of a block were right and wrong together: no dependence of theirs can be worse.
        rate = np.divide(self.rights, self.weights, out=np.zeros_like(self.rights), where=self.weights > 0)
        error = float(np.sqrt((self.weights**2 * rate * (1 - rate) / draws).sum()))
        return Adversary(low, max(low, high), error, words)


def _frequencies(
    ids: NDArray[np.int64], prior: NDArray[np.float64], outputs: NDArray[np.integer[Any]], own: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of word and output, each with the prior times its frequency; the word itself always among them."""
    pairs = Pairs.of(outputs)
    other = ids[pairs.row] != pairs.output
    row, output, count = pairs.row[other], pairs.output[other], pairs.count[other]
    word = np.concatenate([ids, ids[row]])
    return (
        word,
        np.concatenate([ids, output]),
        np.concatenate([prior * own.mean(axis=1), prior[row] * count / outputs.shape[1]]),
    )


def _best(
    word: NDArray[np.int64],
    output: NDArray[np.int64],
    value: NDArray[np.float64],
    other: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    words: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return for each output the largest value, and what the same pair has in the other half."""
    # of equals the output itself, which comes last by the key below
    order = np.lexsort((word == output, value, output))
    last = order[np.append(np.diff(output[order]) != 0, True)]
    key = output * words + word
    other_key = other[1] * words + other[0]
    sorted_ = np.argsort(other_key)
    place = np.minimum(np.searchsorted(other_key[sorted_], key[last]), len(sorted_) - 1)
    same = other_key[sorted_][place] == key[last]
    return output[last], value[last], np.where(same, other[2][sorted_][place], 0.0)
