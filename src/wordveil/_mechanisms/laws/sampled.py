"""The law of any mechanism, estimated from its draws.

Rows are counted. Columns involve every word, which would take too many draws, so they are learnt (see `learner`).

The success of the best guess is bracketed. A guesser who learns from one half of the draws and is tested on the other
does no better than the best guesser: a lower bound on average. Taking the counted frequencies for the probabilities
gives an upper bound on average, because the maximum of estimates exceeds the maximum of what they estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.figures import Effort, Figures, Guess, Outputs, PerWord, Question, Spread, sample
from wordveil._mechanisms.laws.law import Ids, Law, support
from wordveil._mechanisms.laws.learner import Learnt, Pool, Sightings, distances_of, success_of
from wordveil._mechanisms.laws.store import hash_of
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore
from wordveil.spaces import Space
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism

Floats = NDArray[np.float64]
Drawn = NDArray[np.integer[Any]]
Key = tuple[float, int, int, bytes]  # an ε, a purpose, how many draws of each word, and of which words

#: How many of the worst words are measured again, and with how many times the draws.
WORST, AGAIN = 20, 4
#: Inputs behind an output are compared only if its likeliest input gave it at least this often.
SEEN = 20

#: The most memory that draws are kept in, for other figures at the same ε.
KEPT_BYTES = 1 << 28

_TOKENS = 1 << 17
_REPORTED = 1 << 14  # draws between two reports of progress
_STEPS = 4  # the likeliest words are drawn at most 2 to the power of this as often as others
_PAIRS = 512
_FIGURES, _WORST, _COLUMNS, _FRESH = range(4)  # the purposes of draws; each has its own seeds


class SampledLaw(Law):
    """The law of a mechanism, estimated by running it."""

    exact = False
    how = "Estimated: from draws of the mechanism itself."
    measured_words = 1000
    tolerance = 0.01
    loss_words = 500
    loss_is_bound = True

    def __init__(self, mechanism: Mechanism[Any], effort: Effort | None = None, watch: Watch = ignore) -> None:
        super().__init__(mechanism, effort, watch)
        self._pool = Pool(mechanism.space, self._sight, self.effort.column_draws)
        self._kept = Kept()

    def at(self, mechanisms: Sequence[Mechanism[Any]]) -> list[Law]:
        """Return the laws of the same mechanism at other ε, which share what was drawn and learnt."""
        laws = [type(self)(mechanism, self.effort, self.watch) for mechanism in mechanisms]
        for law in laws:
            law._kept = self._kept
        return [*laws]

    @property
    def block(self) -> int:
        """The number of consecutive words that share their randomness."""
        return 1

    @property
    def suspected_words(self) -> int:
        """The most suspects for which an attacker can be measured in reasonable time: the words drawn for."""
        words = self.measured_words if self.effort.words is None else self.effort.words or len(self)
        return min(words, self.effort.adversary_words)

    def _draw(
        self, ids: Ids, draws: int, purpose: int, what: str = "drawing", watch: Watch = ignore
    ) -> Iterator[tuple[slice, Drawn]]:
        """Draw for blocks of words, each with a seed derived from its words.

        So all draws are independent, within a call and between calls, and repeating a call repeats its draws: they are
        kept for that, as far as memory allows.
        """
        for part in blocks(len(ids), max(1, _TOKENS // draws)):
            watch(what, part.start / len(ids))
            key = self._key(self.mechanism.epsilon, purpose, draws, ids[part])
            outputs = self._kept.drawn.get(key)
            if outputs is None:
                entropy = self._entropy(ids[part], purpose)
                outputs = self.mechanism.draw(np.repeat(ids[part], draws), entropy).reshape(-1, draws)
                self._kept.keep(key, outputs.astype(np.min_scalar_type(len(self) - 1)))
            yield part, outputs
        watch(what, 1.0)

    def _entropy(self, ids: Ids, *purpose: int) -> Entropy:
        return Entropy(seed_of(self.effort, *purpose, int(hash_of(ids.astype("<i8")), 16)))

    def _key(self, epsilon: float, purpose: int, draws: int, ids: Ids) -> Key:
        return epsilon, purpose, draws, ids.tobytes()

    def rows(self, ids: Ids) -> Floats:
        """Return the counted frequencies of every output, one row per word."""
        found = np.empty((len(ids), len(self)))
        for part, outputs in self._draw(np.asarray(ids), self.effort.draws, _FIGURES):
            for place, drawn in enumerate(outputs, part.start):
                found[place] = np.bincount(drawn, minlength=len(self)) / self.effort.draws
        return found

    def log_columns(
        self, outputs: Ids, inputs: Ids | None = None, *, prior: Floats | None = None, watch: Watch = ignore
    ) -> NDArray[np.float32]:
        """Return ``ln Pr[M(w)=y]`` as learnt from draws, one row per output and one column per input."""
        words = np.arange(len(self)) if inputs is None else np.asarray(inputs, dtype=np.int64)
        return self._pool.learnt(words, prior, watch).log_columns(np.asarray(outputs, dtype=np.int64))

    def _sight(
        self, words: NDArray[np.int64], times: NDArray[np.int64], number: int, watch: Watch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Draw each word the given number of times, and count the pairs of a word's index and its output."""
        row = np.repeat(np.arange(len(words)), times)
        output, entropy = np.empty(len(row), dtype=np.int64), Entropy(seed_of(self.effort, _COLUMNS, number))
        for part in blocks(len(row), _REPORTED):
            output[part] = self.mechanism.draw(words[row[part]], entropy)
            watch("running the mechanism", part.stop / len(row))
        pairs, count = np.unique(row * len(self) + output, return_counts=True)
        return pairs // len(self), pairs % len(self), count.astype(np.float64)

    def information(self, prior: Floats, watch: Watch = ignore) -> Estimate:
        """Return how many bits an output reveals to an attacker who learnt the mechanism from draws.

        Whatever posterior they learnt, their average gain on fresh draws is at most the mutual information (Barber &
        Agakov 2003). So this is a lower bound on average, close if they learnt well.
        """
        inputs = support(prior, len(self))
        own = prior[inputs] / prior[inputs].sum()
        entropy = Entropy(seed_of(self.effort, _FRESH))
        place = entropy.generator.choice(len(inputs), self.effort.draws, p=own)
        outputs = self.mechanism.draw(inputs[place], entropy)
        gained = np.empty(len(place))
        for part in self._parts(len(place), len(inputs)):
            logs = self.log_columns(outputs[part], inputs, prior=own, watch=watch)
            mixed = scipy.special.logsumexp(logs, axis=1, b=own)
            gained[part] = (logs[np.arange(len(logs)), place[part]] - mixed) / np.log(2.0)
        return Estimate.mean(gained)

    def stays(self, ids: Ids) -> PerWord:
        """Return how often each word stayed itself."""
        return self._stays(np.asarray(ids, dtype=np.int64), self.effort.draws, _FIGURES)

    def _stays(self, ids: NDArray[np.int64], draws: int, purpose: int, watch: Watch = ignore) -> PerWord:
        what = "drawing" if purpose == _FIGURES else "drawing for the worst words again"
        own, errors = [np.empty(0)], []
        for part, outputs in self._draw(ids, draws, purpose, what, watch):
            own.append((outputs == ids[part][:, None]).mean(axis=1))
            errors.append(_error_of_sum(ids[part], outputs))
        return _frequency(ids, np.concatenate(own), draws, errors)

    def distinct(self, ids: Ids) -> PerWord:
        """Return how many distinct outputs each word had in `effort.draws` draws."""
        words, draws = np.asarray(ids, dtype=np.int64), self.effort.draws
        parts = self._draw(words, draws, _FIGURES)
        counts = Counts.joined([Counts.of(words[part], outputs, self.effort) for part, outputs in parts])
        return counts.distinct_of(words, draws, self.block)

    def loss(self, ids: Ids, others: NDArray[np.int64]) -> Floats:
        """Return the guaranteed bound on the loss between each word and the words in its row of `others`.

        A guarantee with a δ bounds no ratio: an output as unlikely as δ may come from only one of the words.
        """
        if self.mechanism.guarantee.notion is not Notion.METRIC:
            return np.full(others.shape, np.inf)
        left, right = np.repeat(ids, others.shape[1]), others.ravel()
        parts = [self.mechanism.allowed_loss(left[part], right[part]) for part in blocks(len(left), _PAIRS)]
        return (np.concatenate(parts) if parts else np.zeros(0)).reshape(others.shape)

    def guesses(self, inputs: Ids, priors: Sequence[Floats], watch: Watch = ignore) -> list[Guess]:
        """Return the best guess under each of several priors, learnt from draws; likely words are drawn more often."""
        words = np.asarray(inputs, dtype=np.int64)
        key = self.mechanism.epsilon, hash_of(words, *priors)
        if key not in self._kept.guessed:
            halves = Halves.joined(list(self._halves(words, np.max(priors, axis=0) * len(words), watch)))
            self._kept.guessed[key] = self._judged(words, halves, priors)
        return self._kept.guessed[key]

    def _halves(self, words: NDArray[np.int64], likely: Floats, watch: Watch) -> Iterator[Halves]:
        """Draw for a guesser: every word as often as for other figures, likely words more often, if that is enough."""
        # in the order in which words are measured, so that words measured too are not drawn again
        order = np.argsort(np.argsort(sample(len(self), len(self), self.effort.seed))[words])
        words, likely, what = words[order], likely[order], "learning to guess"
        usual = max(4.0, self.effort.draws * min(1.0, self.measured_words / len(words)))
        with np.errstate(divide="ignore"):
            steps = np.clip(np.rint(np.log2(likely)), -np.log2(usual / 4), _STEPS)
        for step in np.unique(steps[steps < 0]):
            some = np.flatnonzero(steps == step)
            for part, outputs in self._draw(words[some], int(usual * 2.0**step), int(100 + step), what, watch):
                yield Halves.of(words[some[part]], outputs)
        usual_ones = np.flatnonzero(steps >= 0)
        first: dict[int, Drawn] = {}  # the usual draws of likely words
        for part, outputs in self._draw(words[usual_ones], int(usual), _FIGURES, what, watch):
            some = usual_ones[part]
            alone = steps[some] == 0
            yield Halves.of(words[some[alone]], outputs[alone])
            first |= zip(some[~alone].tolist(), outputs[~alone], strict=True)
        for step in np.unique(steps[steps > 0]):
            some = np.flatnonzero(steps == step)
            more = int(usual) * (2 ** int(step) - 1)
            for part, outputs in self._draw(words[some], more, int(100 + step), what, watch):
                usually = np.stack([first[place] for place in some[part].tolist()])
                yield Halves.of(words[some[part]], np.concatenate([usually, outputs], axis=1))

    def _judged(self, inputs: NDArray[np.int64], halves: Halves, priors: Sequence[Floats]) -> list[Guess]:
        """Return the guesses, with the priors reordered to match `halves`."""
        order = np.argsort(inputs)
        place = order[np.searchsorted(inputs[order], halves.ids)]
        return halves.guesses(self.mechanism.space, [prior[place] for prior in priors])

    def measure(self, ask: Question, watch: Watch = ignore) -> Figures:
        """Compute all figures of a calibration; what was drawn to learn guesses is not drawn again."""
        ids, draws = ask.ids, self.effort.draws
        counts, near, errors = [], [], []
        for part, outputs in self._draw(ids, draws, _FIGURES, watch=watch):
            counts.append(Counts.of(ids[part], outputs, self.effort, ask.depths))
            near.append(near_frequency(ask.near, outputs, part))
            errors.append(_error_of_sum(ids[part], outputs))
        whole = Counts.joined(counts)
        stays = _frequency(ids, whole.own, draws, errors)
        again = self._stays(worst_words(stays), AGAIN * draws, _WORST, watch)
        guesses = self.guesses(ask.inputs, ask.priors, watch)
        return self._figures(ask, replace(stays, again=again), whole, np.concatenate(near), guesses)

    def _figures(self, ask: Question, stays: PerWord, counts: Counts, near: Floats, guesses: list[Guess]) -> Figures:
        """Assemble the figures from the counts."""
        ids, draws = stays.ids, self.effort.draws
        kept = Estimate.around(stays.mean, stays.mean_error, len(ids))
        near_error = mean_error(np.sqrt(near * (1.0 - near) / draws), self.block)
        replaced = Estimate.around(float(near.mean()), near_error, len(near))
        error = float(np.hypot(stays.mean_error, near_error))
        far = Estimate.around(max(0.0, 1.0 - kept.value - replaced.value), error, len(near))
        likeliest = np.maximum(counts.largest, 1.0 / draws)
        entropy_error = np.sqrt((1.0 - likeliest) / (likeliest * draws)) / np.log(2.0)
        spread = Spread(
            counts.distinct_of(ids, draws, self.block),
            PerWord(ids, counts.effective, worst_is_largest=False),
            PerWord(ids, -np.log2(likeliest), entropy_error, worst_is_largest=False),
            PerWord(ids, np.log2(counts.distinct), worst_is_largest=False),
        )
        outputs, alike = counts.alike(self.effort.gamma)
        below = None
        if ask.depths is not None:
            below = PerWord(counts.reached, counts.below.astype(np.float64), worst_is_largest=False)
        behind = Outputs(
            PerWord(counts.reached, counts.reached_by.astype(np.float64), worst_is_largest=False),
            PerWord(outputs, alike, worst_is_largest=False),
            below,
        )
        return Figures(stays, spread, behind, kept, replaced, far, guesses)


class Kept:
    """What a law drew and learnt, for other figures and for the laws at other ε."""

    def __init__(self) -> None:
        self.drawn: dict[Key, Drawn] = {}
        #: The best guesses, by ε and a digest of the question.
        self.guessed: dict[tuple[float, str], list[Guess]] = {}

    def keep(self, key: Key, outputs: Drawn) -> None:
        """Keep draws, and let the oldest go when there are too many."""
        self.drawn[key] = outputs
        while sum(one.nbytes for one in list(self.drawn.values())) > KEPT_BYTES:
            self.drawn.pop(next(iter(self.drawn)), None)  # another thread may have been quicker


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


def seed_of(effort: Effort, *purpose: int) -> int:
    """Return the seed of the draws made for a purpose."""
    return int(np.random.SeedSequence([effort.seed, *purpose]).generate_state(1, np.uint64)[0])


def mean_error(errors: Floats, block: int) -> float:
    """Return the standard error of a mean over words whose errors are independent only between blocks.

    Within a block the errors are taken as fully correlated, the worst case.
    """
    if not len(errors):
        return 0.0
    parts = [errors[part].sum() for part in blocks(len(errors), block)]
    return float(np.sqrt(np.square(parts).sum()) / len(errors))


def near_frequency(near: NDArray[np.int64], outputs: Drawn, part: slice) -> Floats:
    """Return how often each word of a block became one of its near words; words that `near` lacks are left out."""
    listed = np.sort(near[part.start : part.stop], axis=1)
    found = np.zeros(len(listed))
    for place, own in enumerate(listed):
        if own.size:
            where = np.minimum(np.searchsorted(own, outputs[place]), own.size - 1)
            found[place] = (own[where] == outputs[place]).mean()
    return found


def worst_words(stays: PerWord) -> NDArray[np.int64]:
    """Return the words that stay most often."""
    return np.asarray(stays.ids[np.argsort(-stays.values, kind="stable")[:WORST]])


def _error_of_sum(ids: NDArray[np.int64], outputs: Drawn) -> float:
    """Return the standard error of the sum, over the words of a block, of how often each stays.

    It is measured over draws, so it holds whether or not words share their randomness.
    """
    draws = outputs.shape[1]
    return float((outputs == ids[:, None]).sum(axis=0).std(ddof=min(1, draws - 1)) / np.sqrt(draws))


def _frequency(ids: NDArray[np.int64], shares: Floats, draws: int, sums: Sequence[float]) -> PerWord:
    likely = (shares * draws + 0.5) / (draws + 1.0)  # so that a share of 0 or 1 has an error too
    errors = np.sqrt(likely * (1.0 - likely) / draws)
    together = float(np.linalg.norm(sums)) / max(1, len(ids))  # never below that of independent words
    return PerWord(ids, shares, errors, max(mean_error(errors, 1), together))
