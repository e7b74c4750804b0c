"""What is counted from draws: how often each word gave each output, and what a guesser learns from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws.figures import Effort, Guess, PerWord
from wordveil._mechanisms.laws.learner import Learnt, Sightings, distances_of, success_of
from wordveil.parallel import blocks, run
from wordveil.spaces import Space
from wordveil.stats import Estimate

Floats = NDArray[np.float64]
Drawn = NDArray[np.integer[Any]]

#: Inputs behind an output are compared only if its likeliest input gave it at least this often.
SEEN = 20


def mean_error(errors: Floats, block: int) -> float:
    """Return the standard error of a mean over words whose errors are independent only between blocks.

    Within a block the errors are taken as fully correlated, the worst case.
    """
    if not len(errors):
        return 0.0
    parts = [errors[part].sum() for part in blocks(len(errors), block)]
    return float(np.sqrt(np.square(parts).sum()) / len(errors))


@dataclass(frozen=True)
class Pairs:
    """The distinct pairs of a word and an output, and how often each was drawn."""

    row: NDArray[np.int64]  # the index of the word among those drawn for
    output: NDArray[np.int64]  # the output
    count: NDArray[np.int64]  # how often it came out

    @classmethod
    def of(cls, outputs: Drawn) -> Pairs:
        """Count the outputs of each row."""
        return cls._of_sorted(np.sort(outputs, axis=1))[0]

    @classmethod
    def of_halves(cls, outputs: Drawn, half: int) -> tuple[Pairs, NDArray[np.int64]]:
        """Count the outputs of each row, and how often each came after the first `half` draws."""
        # The lowest bit marks the second half, so one sort gives both counts.
        marked = 2 * outputs.astype(np.int64)
        marked[:, half:] += 1
        marked.sort(axis=1)
        pairs, starts = cls._of_sorted(marked >> 1)
        return pairs, np.add.reduceat(marked.ravel() & 1, starts)

    @classmethod
    def _of_sorted(cls, ordered: Drawn) -> tuple[Pairs, NDArray[np.int64]]:
        begins = np.ones(ordered.shape, dtype=np.bool_)
        begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        starts = np.flatnonzero(begins)
        rows, output = starts // ordered.shape[1], ordered.ravel()[starts].astype(np.int64)
        return cls(rows, output, np.diff(starts, append=ordered.size)), starts


def _needed(pairs: Pairs, words: int, draws: float) -> Floats:
    """Return how many of each word's outputs, likeliest first, make up this many draws."""
    most = int(pairs.count.max(initial=1))
    # A histogram of the counts: far smaller than the outputs, and already in order.
    outputs = np.bincount(pairs.row * most + (most - pairs.count), minlength=words * most).reshape(words, most)
    times = np.arange(most, 0, -1)
    held = np.cumsum(outputs * times, axis=1)
    level = np.argmax(held >= draws, axis=1)
    row = np.arange(words)
    above = np.cumsum(outputs, axis=1)[row, level] - outputs[row, level]
    missing = draws - (held[row, level] - outputs[row, level] * times[level])
    return np.asarray(above + np.ceil(missing / times[level]))


@dataclass(frozen=True)
class Counts:
    """Figures counted from the outputs of a block of words, which can be joined over blocks."""

    # of shape (words,)
    distinct: Floats  # the number of distinct outputs
    effective: Floats  # the size of the smallest set that holds all but eta of the draws
    largest: Floats  # the frequency of the likeliest output
    own: Floats  # the frequency of the word itself
    singles: Floats  # the number of outputs that came once
    # of shape (outputs,)
    reached: NDArray[np.int64]  # the outputs that came at all
    reached_by: NDArray[np.int64]  # from how many words each came
    below: NDArray[np.int64]  # from how many words below it in the hierarchy each came
    # the pairs that came often
    word: NDArray[np.int64]
    output: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, ids: NDArray[np.int64], outputs: Drawn, effort: Effort, depths: Floats | None = None) -> Counts:
        """Count the outputs, of shape (words, draws), of a block of words."""
        draws = outputs.shape[1]
        pairs = Pairs.of(outputs)
        words = len(ids)
        word = ids[pairs.row]
        distinct = np.bincount(pairs.row, minlength=words)
        often = pairs.count >= SEEN / effort.gamma
        by_output = np.bincount(pairs.output)
        reached = np.flatnonzero(by_output)
        below = np.zeros(len(reached), dtype=np.int64)
        if depths is not None:
            lower = depths[word] > depths[pairs.output]
            below = np.bincount(pairs.output, weights=lower)[reached].astype(np.int64)
        return cls(
            distinct=distinct.astype(np.float64),
            effective=_needed(pairs, words, (1.0 - effort.eta) * draws * (1 - 1e-12)),
            largest=np.maximum.reduceat(pairs.count, np.cumsum(distinct) - distinct) / draws,
            own=np.bincount(pairs.row, weights=pairs.count * (word == pairs.output), minlength=words) / draws,
            singles=np.bincount(pairs.row[pairs.count == 1], minlength=words).astype(np.float64),
            reached=reached,
            reached_by=by_output[reached],
            below=below,
            word=word[often],
            output=pairs.output[often],
            count=pairs.count[often],
        )

    @classmethod
    def joined(cls, parts: list[Counts]) -> Counts:
        """Join blocks of words."""
        whole = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)}
        outputs, place = np.unique(whole["reached"], return_inverse=True)
        for name in ("reached_by", "below"):
            sums = np.bincount(place.ravel(), weights=whole[name], minlength=len(outputs))
            whole[name] = sums.astype(np.int64)
        whole["reached"] = outputs
        return cls(**whole)

    def distinct_of(self, ids: NDArray[np.int64], draws: int, block: int) -> PerWord:
        """Return the number of distinct outputs, with its jackknife error.

        Leaving out one draw lowers the number by one if its output came once, and otherwise changes nothing. With f
        outputs that came once, the jackknife variance is f·(1 - f/n), slightly above the true one.
        """
        errors = np.sqrt(self.singles * (1.0 - self.singles / draws))
        return PerWord(ids, self.distinct, errors, mean_error(errors, block), worst_is_largest=False)

    def alike(self, gamma: float) -> tuple[NDArray[np.int64], Floats]:
        """Return the outputs that came often from some input, and how many inputs gave each nearly as often."""
        outputs, place = np.unique(self.output, return_inverse=True)
        most = np.zeros(len(outputs), dtype=np.int64)
        np.maximum.at(most, place.ravel(), self.count)
        close = self.count * gamma >= most[place.ravel()]
        many = np.bincount(place.ravel()[close], minlength=len(outputs)).astype(np.float64)
        return outputs[most >= SEEN], many[most >= SEEN]


@dataclass(frozen=True)
class Halves:
    """The outputs of words, counted separately in the first and second half of the draws."""

    ids: NDArray[np.int64]  # the words
    draws: NDArray[np.int64]  # the draws of each word in both halves; the first half is rounded down
    sizes: NDArray[np.int64]  # the number of words in each block
    # the distinct pairs; every word is also paired with itself
    word: NDArray[np.int32]
    output: NDArray[np.int32]
    # how often each pair came in each half
    first: NDArray[np.float32]
    second: NDArray[np.float32]

    @classmethod
    def of(cls, ids: NDArray[np.int64], outputs: Drawn, own: Floats | None = None) -> Halves:
        """Count the outputs, of shape (words, draws), of a block of words.

        `own`, of shape (words, 2), is how often each word is expected to stay in each half, if that is known better
        than by counting.
        """
        draws = outputs.shape[1]
        half = draws // 2
        if own is None:
            stayed = outputs == ids[:, None]
            own = np.stack([stayed[:, :half].sum(axis=1), stayed[:, half:].sum(axis=1)], axis=1).astype(np.float64)
        pairs, second = Pairs.of_halves(outputs, half)
        first = pairs.count - second
        others = ids[pairs.row] != pairs.output
        return cls(
            ids=ids,
            draws=np.full(len(ids), draws),
            sizes=np.array([len(ids)]),
            word=np.concatenate([ids, ids[pairs.row[others]]]).astype(np.int32),
            output=np.concatenate([ids, pairs.output[others]]).astype(np.int32),
            first=np.concatenate([own[:, 0], first[others]]).astype(np.float32),
            second=np.concatenate([own[:, 1], second[others]]).astype(np.float32),
        )

    @classmethod
    def joined(cls, parts: list[Halves]) -> Halves:
        """Join blocks of words."""
        return cls(**{one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)})

    def guesses(self, space: Space, priors: Sequence[Floats]) -> list[Guess]:
        """Return the best guess under each of several priors, once all blocks are joined.

        The interval of its success runs from what a guesser who learnt from one half achieves on the other to what the
        counted frequencies would give, widened by the errors of both.
        """
        order = np.argsort(self.ids)
        row = order[np.searchsorted(self.ids[order], self.word)]
        half, output = self.draws // 2, self.output.astype(np.int64)
        apart = distances_of(space, self.word.astype(np.int64), output)  # both halves have most pairs
        first, second = (
            self._seen(row, output, apart, count, drawn)
            for count, drawn in ((self.first, half), (self.second, self.draws - half))
        )

        def learn(half: Sightings) -> list[NDArray[np.int64]]:
            learnt = Learnt(space, half)
            return [learnt.guesses(prior) for prior in priors]

        guessed = run(learn, (first, second))
        block_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        found = []
        for prior, *guesses in zip(priors, *guessed, strict=True):
            folds = list(zip(guesses, (second, first), strict=True))
            low, error = success_of(folds, prior, block_of)
            most = np.zeros(len(space))
            np.maximum.at(most, self.output, (prior / self.draws)[row] * (self.first + self.second))
            high = min(max(low, float(most.sum())), 1.0)
            # always guessing the likeliest word succeeds with exactly this probability
            lowest = max(Estimate.around(low, error).low, float(prior.max()))
            highest = min(Estimate.around(high, error).high, 1.0)
            found.append(Guess(folds[0][0], Estimate(0.5 * (low + high), lowest, highest, len(self.ids))))
        return found

    def _seen(
        self,
        row: NDArray[np.int64],
        output: NDArray[np.int64],
        apart: Floats | None,
        count: NDArray[np.float32],
        drawn: NDArray[np.int64],
    ) -> Sightings:
        there = np.flatnonzero(count > 0)
        return Sightings(
            self.ids,
            drawn.astype(np.float64),
            row[there],
            output[there],
            count[there].astype(np.float64),
            None if apart is None else apart[there],
        )
