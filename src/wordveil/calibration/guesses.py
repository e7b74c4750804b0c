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

# The three ways of counting.
_FIRST, _SECOND, _ALL = range(3)


@dataclass(frozen=True)
class Guesses:
    """The best guess of each output so far, for three ways of counting.

    Attributes
    ----------
    way : array of int
        0 if learnt from the first half, 1 from the second, 2 from all draws.
    output : array of int
        What was seen.
    learnt : array of float
        What made the guess the best: its prior times its frequency, less one draw where only counts tell it.
    tested : array of float
        The prior of the guess times its frequency in the other half; for all draws, in all of them.
    weights, likeliest, rights, draws : array of float
        For each block of words its prior, that of its likeliest word, how much of it the guess "the output itself" gets
        right, and the draws a word.
    """

    way: NDArray[np.int64]
    output: NDArray[np.int64]
    learnt: NDArray[np.float64]
    tested: NDArray[np.float64]
    weights: NDArray[np.float64]
    likeliest: NDArray[np.float64]
    rights: NDArray[np.float64]
    draws: NDArray[np.float64]

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
        if own is None:
            own = (outputs == ids[:, None]).astype(np.float64)
        half = outputs.shape[1] // 2
        first = _Seen.of(ids, prior, outputs[:, :half], own[:, :half])
        second = _Seen.of(ids, prior, outputs[:, half:], own[:, half:])
        both = _Seen.of(ids, prior, outputs, own)
        ways = [
            # One sighting teaches little: the frequent word that gave an output once is not yet the best guess.
            first.best(second, cautious=True),
            second.best(first, cautious=True),
            both.best(both, cautious=False),
        ]
        return cls(
            way=np.repeat(np.arange(3), [len(output) for output, _, _ in ways]),
            output=np.concatenate([output for output, _, _ in ways]),
            learnt=np.concatenate([learnt for _, learnt, _ in ways]),
            tested=np.concatenate([tested for _, _, tested in ways]),
            weights=np.array([prior.sum()]),
            likeliest=np.array([prior.max()]),
            rights=np.array([(prior * own.mean(axis=1)).sum()]),
            draws=np.array([float(outputs.shape[1])]),
        )

    @classmethod
    def joined(cls, parts: list[Guesses]) -> Guesses:
        """Put blocks of words together: the better of their guesses for each output."""
        whole = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)}
        last = _last_of_each(whole["way"] * (int(whole["output"].max()) + 1) + whole["output"], whole["learnt"])
        for name in ("way", "output", "learnt", "tested"):
            whole[name] = whole[name][last]
        return cls(**whole)

    def adversary(self, words: int) -> Adversary:
        """Return the success of the best guess, after all blocks are joined.

        Parameters
        ----------
        words : int
            Among how many words the guesser looks.
        """
        learnt, high = float(self.tested[self.way != _ALL].sum() / 2), float(self.tested[self.way == _ALL].sum())
        # Nobody need learn to guess the output itself, or always the likeliest word.
        low = max(learnt, float(self.rights.sum()), float(self.likeliest.max()))
        # As if all the words of a block were right and wrong together: no dependence of theirs can be worse.
        rate = np.divide(self.rights, self.weights, out=np.zeros_like(self.rights), where=self.weights > 0)
        error = float(np.sqrt((self.weights**2 * rate * (1 - rate) / self.draws).sum()))
        return Adversary(low, max(low, high), error, words)


@dataclass(frozen=True)
class _Seen:
    """Pairs of word and output, each with the prior times its frequency; the word itself is always among them."""

    word: NDArray[np.int64]
    output: NDArray[np.int64]
    value: NDArray[np.float64]
    cautious: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        ids: NDArray[np.int64],
        prior: NDArray[np.float64],
        outputs: NDArray[np.integer[Any]],
        own: NDArray[np.float64],
    ) -> _Seen:
        pairs = Pairs.of(outputs)
        other = ids[pairs.row] != pairs.output
        row, output, count = pairs.row[other], pairs.output[other], pairs.count[other]
        stays, one = prior * own.mean(axis=1), prior[row] / outputs.shape[1]
        return cls(
            np.concatenate([ids, ids[row]]),
            np.concatenate([ids, output]),
            np.concatenate([stays, one * count]),
            np.concatenate([stays, one * (count - 1)]),
        )

    def best(
        self, other: _Seen, *, cautious: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return for each output the largest value, and the value that the same pair has in the other half."""
        value = self.cautious if cautious else self.value
        last = _last_of_each(self.output, value)
        words = int(self.word.max()) + 1
        wanted = self.output[last] * words + self.word[last]
        known = other.output * words + other.word
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(order) - 1)]
        return self.output[last], value[last], np.where(known[place] == wanted, other.value[place], 0.0)


def _last_of_each(key: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each distinct key the place of its largest value."""
    order = np.lexsort((value, key))
    return np.asarray(order[np.append(np.diff(key[order]) != 0, True)])
