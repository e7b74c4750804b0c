"""The law of any mechanism, estimated from its draws.

Rows are counted. Columns involve every word, which would take too many draws, so they are learnt (see `learner`).

The success of the best guess is bracketed. A guesser who learns from one half of the draws and is tested on the other
does no better than the best guesser: a lower bound on average. Taking the counted frequencies for the probabilities
gives an upper bound on average, because the maximum of estimates exceeds the maximum of what they estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.counts import Counts, Halves, mean_error
from wordveil._mechanisms.laws.figures import Effort, Figures, Guess, Outputs, PerWord, Question, Spread, sample
from wordveil._mechanisms.laws.law import Ids, Law, support
from wordveil._mechanisms.laws.learner import Pool
from wordveil._mechanisms.laws.store import hash_of
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism

Floats = NDArray[np.float64]
Drawn = NDArray[np.integer[Any]]
Key = tuple[float, int, int, bytes]  # an ε, a purpose, how many draws of each word, and of which words

#: How many of the worst words are measured again, and with how many times the draws.
WORST, AGAIN = 20, 4

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


def seed_of(effort: Effort, *purpose: int) -> int:
    """Return the seed of the draws made for a purpose."""
    return int(np.random.SeedSequence([effort.seed, *purpose]).generate_state(1, np.uint64)[0])


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
