"""Learns the probabilities of a mechanism from its draws, for every law that must estimate them.

With few draws, what does a single sighting show? Here every distinct output of a word, other than the word itself,
loses a fraction of one draw. The lost mass, together with some pseudo-draws, is spread according to how draws fall
overall (`Falloff`)::

    Pr[M(w)=y] ≈ (max(0, count - discount) + (pseudo + discount · distinct) · falloff) / (drawn + pseudo)

The discount follows from how many pairs were seen once and how many twice: if most were seen only once, it is nearly a
whole draw, and one sighting shows next to nothing. The number of pseudo-draws maximises the likelihood of each draw
given all others (absolute discounting and leaving-one-out: Ney, Essen & Kneser 1994). Draws where a word stayed are not
discounted.

We compared rules on fresh draws: the largest count, the largest count less one, counts mixed with the falloff but not
discounted, and other discounts. This rule was right most often, or as often within the error. Like any guesser it is
right no more often than the best one, and its success is counted on draws that it did not learn from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.columns import Columns
from wordveil.parallel import blocks, renew_after_fork, run
from wordveil.progress import Watch, ignore
from wordveil.spaces import PointSpace, Space

Places = NDArray[np.int64]
Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]

_BINS = 40
_PAIRS = 1 << 17
_SAMPLE = 512
_CELLS = 1 << 24
_ROWS = 1 << 12
_TOGETHER = 64  # words whose distances to all others are computed at once
_TABLE = 1 << 13
_LEAST = 1e-12  # keeps a sum over all other words above 0 if there are none
_UNSEEN = 0.01  # the draws that every output is given before any is made
_PSEUDO = np.geomspace(0.1, 1e5, 19)
_TESTED = 1 << 16
_NEWTON, _RIDGE = 12, 1.0  # Newton steps and ridge penalty of the logistic regression
_LIKELIEST = 10  # likely words that are guessed even if they never gave the output

#: Draws each word the number of times in the second array, in the given round. Returns the pairs that came: the index
#: of the word, the output, and how often.
Draw: TypeAlias = Callable[[Places, Places, int, Watch], tuple[Places, Places, Floats]]
_LEAST_DRAWS = 2  # draws of every word, however unlikely
_ENOUGH = 0.9  # with this share of the draws that a prior asks for, the rest is not made
_REMEMBERED = 4


@dataclass(frozen=True)
class Sightings:
    """The distinct pairs of a word and an output, with their counts."""

    suspects: Places  # the words that were drawn for
    drawn: Floats  # the number of draws of each suspect
    row: Places  # for each pair the index of its word among the suspects
    output: Places  # for each pair the output
    # How often each pair came. If the probability of staying is known better than by counting, the count of a word
    # with itself is its expectation, which need not be whole.
    count: Floats
    #: For each pair the distance of the output from the word, if it was measured already.
    apart: Floats | None = None

    @classmethod
    def of(cls, suspects: Places, row: Places, output: Places) -> Sightings:
        """Count draws, given the index of the suspect and the output of each."""
        span = int(output.max(initial=0)) + 1
        pairs, count = np.unique(row * span + output, return_counts=True)
        drawn = np.bincount(row, minlength=len(suspects)).astype(np.float64)
        return cls(suspects, drawn, pairs // span, pairs % span, count.astype(np.float64))

    @property
    def stays(self) -> NDArray[np.bool_]:
        """Which pairs are a word with itself."""
        return np.asarray(self.suspects[self.row] == self.output)


class Falloff:
    """How a mechanism's draws fall overall: what to expect of a word with too few draws of its own.

    A word stays with some probability. Otherwise an output comes as often as it does over all words, times a factor
    that depends on its distance from the word.
    """

    def __init__(self, space: Space, seen: Sightings, seed: int = 0) -> None:
        self._suspects = seen.suspects
        self._space: PointSpace | None = space if isinstance(space, PointSpace) and len(space) > 2 else None
        moved = ~seen.stays
        #: How often each output came from other words.
        self.reached = np.bincount(seen.output[moved], weights=seen.count[moved], minlength=len(space)) + _UNSEEN
        self._background = self.reached / self.reached.sum()
        self._sums = np.maximum(1.0 - self._background[self._suspects], _LEAST)
        if self._space is not None:
            self._learn_distances(self._space, seen, np.flatnonzero(moved), np.random.default_rng(seed))
        self._stay = self._learn_stays(seen)

    def _learn_stays(self, seen: Sightings) -> Floats:
        """Return the probability that each suspect stays, which falls with how often the words near it are drawn.

        A word has too few draws to judge it by its own. So this is a logistic regression on two logarithms: the sum
        over all other words that `pairs` divides by, and how often the word itself comes out of others.
        """
        stays, drawn = seen.stays, seen.drawn
        stayed = np.bincount(seen.row[stays], weights=seen.count[stays], minlength=len(drawn))
        known = np.log(np.stack([self._sums, self._background[self._suspects]], axis=1))
        features = np.column_stack([np.ones(len(drawn)), known - known.mean(axis=0)])
        # One more draw of an average word, half stayed and half not, keeps the shares away from 0 and 1.
        features = np.concatenate([features, np.eye(1, 3)])
        stayed, drawn = np.concatenate([stayed, [0.5]]), np.concatenate([drawn, [1.0]])
        share = stayed.sum() / drawn.sum()
        weights = np.array([np.log(share) - np.log1p(-share), 0.0, 0.0])
        for _ in range(_NEWTON):
            chances = scipy.special.expit(features @ weights)
            slope = features.T @ (stayed - drawn * chances) - _RIDGE * weights * [0.0, 1.0, 1.0]
            curve = (features.T * (drawn * chances * (1.0 - chances))) @ features + np.diag([1e-12, _RIDGE, _RIDGE])
            weights += np.clip(np.linalg.solve(curve, slope), -1.0, 1.0)
        return np.clip(scipy.special.expit(features[:-1] @ weights), _LEAST, 1.0 - _LEAST)

    def _learn_distances(
        self, space: PointSpace, seen: Sightings, moved: Places, generator: np.random.Generator
    ) -> None:
        """Compare the distances of outputs from their words with those of outputs that are independent of the words."""
        count, output = seen.count[moved], seen.output[moved]
        draws = min(_PAIRS, int(count.sum()))
        if draws < 10 * _BINS:
            self._space = None
            return
        chosen, others = (generator.choice(len(count), draws, p=count / count.sum()) for _ in range(2))
        words = self._suspects[seen.row[moved[chosen]]]
        real = _apart(space, words, output[chosen]) if seen.apart is None else seen.apart[moved[chosen]]
        chance = _apart(space, words, output[others])
        edges = np.unique(np.quantile(np.concatenate([real, chance]), np.linspace(0, 1, _BINS + 1)))
        if len(edges) < 2:  # all at one distance, which says nothing
            self._space = None
            return
        counts = [np.histogram(found, bins=edges)[0] + 1.0 for found in (real, chance)]
        self._middles = 0.5 * (edges[1:] + edges[:-1])
        self._factors = np.log(counts[0] / counts[1])
        if len(space) <= _SAMPLE:
            sample, weights = np.arange(len(space)), self._background
        else:
            sample, weights = output[others[:_SAMPLE]], np.full(min(_SAMPLE, draws), 1.0 / min(_SAMPLE, draws))

        def sums(part: slice) -> Floats:
            found = np.zeros(len(space))
            for word, weight, away in zip(sample[part], weights[part], space.distances(sample[part]), strict=True):
                factors = self._look_up(self._table, away)
                factors[word] = 0.0
                factors *= np.float32(weight)
                found += factors
            return found

        found = np.sum(run(sums, blocks(len(sample), _TOGETHER)), axis=0)
        self._sums = np.maximum(found[self._suspects], _LEAST)

    @cached_property
    def _table(self) -> Matrix:
        """The factors at evenly spaced distances from the first bin to the last."""
        return np.exp(self._log_table)

    @cached_property
    def _log_table(self) -> Matrix:
        grid = np.linspace(self._middles[0], self._middles[-1], _TABLE)
        return np.interp(grid, self._middles, self._factors).astype(np.float32)

    def _look_up(self, table: Matrix, distances: NDArray[np.floating]) -> Matrix:
        """Return the entries of a table at these distances, which should be few enough for the processor's cache."""
        low, high = float(self._middles[0]), float(self._middles[-1])
        places = np.subtract(distances, np.float32(low), dtype=np.float32)
        places *= np.float32((_TABLE - 1) / (high - low) if high > low else 0.0)
        return np.take(table, places.astype(np.intp), mode="clip")  # nearer and farther is as at the ends

    def pairs(self, row: Places, output: Places, apart: Floats | None = None) -> Floats:
        """Return the probability of each output for the suspect at the same index of `row`.

        `apart` are the distances between the two, if they were measured already.
        """
        words, found = self._suspects[row], np.empty(len(row))
        if apart is None and self._space is not None:
            apart = _apart(self._space, words, output)
        for part in blocks(len(row), _ROWS):  # what is worked on stays in the cache
            own = row[part]
            others = (1.0 - self._stay[own]) * self._background[output[part]] / self._sums[own]
            if self._space is not None and apart is not None:
                others *= self._look_up(self._table, apart[part])
            found[part] = np.where(words[part] == output[part], self._stay[own], others)
        return found

    def rows(self, row: Places) -> Floats:
        """Return the probabilities of every output, one row per suspect."""
        words = self._suspects[row]
        others = ((1.0 - self._stay[row]) / self._sums[row])[:, None] * self._background
        if self._space is not None:
            for number, away in enumerate(self._space.distances(words)):
                others[number] *= self._look_up(self._table, away)
        others[np.arange(len(words)), words] = self._stay[row]
        return others

    def log_columns(self, outputs: Places, shift: Floats) -> Matrix:
        """Return the log probabilities of some outputs, one row per output and one column per suspect.

        `shift` is added to each: one number per suspect.
        """
        others = (np.log1p(-self._stay) - np.log(self._sums) + shift).astype(np.float32)
        base = np.log(self._background[outputs]).astype(np.float32)
        found = np.empty((len(outputs), len(others)), dtype=np.float32)
        if self._space is None:
            np.add(base[:, None], others, out=found)
        else:
            chosen = None if np.array_equal(self._suspects, np.arange(len(self._space))) else self._suspects
            for part in blocks(len(outputs), max(1, _CELLS // len(self._space))):
                # row by row, because a row stays in the processor's cache through all its steps
                for number, row in enumerate(self._space.distances(outputs[part]), part.start):
                    np.add(
                        self._look_up(self._log_table, row if chosen is None else row[chosen]),
                        others,
                        out=found[number],
                    )
                    found[number] += base[number]
        where = np.argsort(self._suspects)
        place = where[np.searchsorted(self._suspects, outputs, sorter=where).clip(max=len(where) - 1)]
        row = np.flatnonzero(self._suspects[place] == outputs)
        found[row, place[row]] = np.log(self._stay[place[row]]) + shift[place[row]]
        return found


class Learnt:
    """The probabilities of a mechanism, as learnt from draws."""

    def __init__(self, space: Space, seen: Sightings) -> None:
        self._seen, self._words, self._columns = seen, len(space), Columns()
        self._falloff = Falloff(space, seen)
        self._expected = self._falloff.pairs(seen.row, seen.output, seen.apart)
        self._discount = _discount(seen.count[~seen.stays])
        self._kept = self._less(seen.count, seen.stays)
        distinct = np.bincount(seen.row[~seen.stays], minlength=len(seen.suspects))
        self._lost = self._discount * distinct
        self._pseudo = self._best_pseudo()

    def _less(self, count: Floats, stays: NDArray[np.bool_]) -> Floats:
        return np.maximum(count - self._discount * ~stays, 0.0)

    def _best_pseudo(self) -> float:
        """Return the number of pseudo-draws that maximises the likelihood of each draw given all others."""
        seen = self._seen
        test = np.arange(0, len(seen.count), max(1, len(seen.count) // _TESTED))
        row, count, stays = seen.row[test], seen.count[test], seen.stays[test]
        # Each of these is computed as if this draw had not been made.
        kept = self._less(np.maximum(count - 1.0, 0.0), stays)
        lost = self._lost[row] - self._discount * (~stays & (count <= 1.0))
        reached = self._falloff.reached[seen.output[test]]
        expected = self._expected[test] * np.where(stays, 1.0, np.maximum(reached - 1.0, 0.0) / reached)
        drawn = np.maximum(seen.drawn[row] - 1.0, 0.0)
        fits = []
        for some in _PSEUDO:
            chances = (kept + (some + lost) * expected) / (drawn + some)
            fits.append(float(count @ np.log(np.maximum(chances, np.finfo(np.float64).tiny))))
        return float(_PSEUDO[int(np.argmax(fits))])

    @cached_property
    def _kept_table(self) -> scipy.sparse.csc_array:
        pairs = self._seen.row, self._seen.output
        return scipy.sparse.csc_array((self._kept, pairs), shape=(len(self._seen.suspects), self._words))

    @cached_property
    def _shift(self) -> Floats:
        """What the log probabilities of each suspect differ by from those of the falloff, in the same order."""
        return np.asarray(np.log(self._pseudo + self._lost) - np.log(self._seen.drawn + self._pseudo))

    def log_columns(self, outputs: Places) -> Matrix:
        """Return the log probabilities of some outputs, one row per output and one column per suspect."""
        return self._columns(outputs, self._log_columns)

    def _log_columns(self, outputs: Places) -> Matrix:
        found = self._falloff.log_columns(outputs, self._shift)
        seen = self._kept_table[:, outputs].tocoo()  # few pairs; all others have only their expectation
        with np.errstate(divide="ignore"):  # log(0), for pairs whose whole count was discounted
            more = np.log(seen.data / (self._seen.drawn[seen.row] + self._pseudo))
        found[seen.col, seen.row] = np.logaddexp(found[seen.col, seen.row], more)
        return found

    def guesses(self, prior: Floats) -> Places:
        """Return the best guess for every word of the vocabulary as an output.

        The candidates are the words that gave the output, the output itself, and the likeliest words.
        """
        seen = self._seen
        likeliest = np.argsort(-prior, kind="stable")[:_LIKELIEST]
        likely = np.repeat(likeliest, self._words), np.tile(np.arange(self._words), len(likeliest))
        itself = np.arange(len(seen.suspects)), seen.suspects
        # A pair that was seen may appear again as unseen. That entry is smaller, so it loses to the one with the count.
        row = np.concatenate([likely[0], seen.row, itself[0]])
        output = np.concatenate([likely[1], seen.output, itself[1]])
        unseen = self._spread(likely[0], self._falloff.rows(likeliest).ravel())
        own = self._spread(itself[0], self._falloff.pairs(*itself))
        value = np.concatenate([unseen, self._weights, own])
        value *= (prior / (seen.drawn + self._pseudo))[row]
        best = np.zeros(self._words)
        np.maximum.at(best, output, value)
        wins = value >= best[output]
        guesses = np.full(self._words, seen.suspects[likeliest[0]])
        guesses[output[wins]] = seen.suspects[row[wins]]
        return guesses

    @cached_property
    def _weights(self) -> Floats:
        """The weight of each pair that was seen; the same under every prior."""
        return self._kept + self._spread(self._seen.row, self._expected)

    def _spread(self, row: Places, expected: Floats) -> Floats:
        return np.asarray((self._pseudo + self._lost[row]) * expected)


def distances_of(space: Space, words: Places, outputs: Places) -> Floats | None:
    """Return the distance of each output from the word at the same index, or None if words are no points."""
    return _apart(space, words, outputs) if isinstance(space, PointSpace) else None


def _apart(space: PointSpace, words: Places, outputs: Places) -> Floats:
    found = np.empty(len(words))

    def measure(part: slice) -> None:
        found[part] = space.apart(space.points(words[part]), outputs[part])

    run(measure, blocks(len(words), _ROWS))
    return found


def _discount(counts: Floats) -> float:
    """Return the discount per output, from how many outputs were seen once and how many twice."""
    once, twice = (counts == 1.0).sum(), (counts == 2.0).sum()
    return float(once / (once + 2 * twice)) if once else 0.0


def success_of(
    folds: Sequence[tuple[Places, Sightings]], prior: Floats, block_of: Places | None = None
) -> tuple[float, float]:
    """Test guesses on draws that they were not learnt from; return how often they are right, and the standard error.

    Guessing the output itself, or always the likeliest word, takes no learning, so the success is at least theirs.

    A fold is a guess for every word of the vocabulary as an output, and the draws to test them on; the result is the
    mean over folds. Suspects with the same `block_of` share their randomness; without it all draws are independent.
    """

    def mean(chosen: Sequence[tuple[Places, Sightings]]) -> tuple[float, float]:
        values, errors = zip(*(_success(*fold, prior, block_of) for fold in chosen), strict=True)
        return float(np.mean(values)), float(np.linalg.norm(errors) / len(errors))

    learnt = mean(folds)
    itself = mean([(np.arange(len(guesses)), fresh) for guesses, fresh in folds])
    return min(max(learnt[0], itself[0], float(prior.max())), 1.0), max(learnt[1], itself[1])


def _success(guesses: Places, fresh: Sightings, prior: Floats, block_of: Places | None) -> tuple[float, float]:
    right = fresh.count * (guesses[fresh.output] == fresh.suspects[fresh.row])
    rates = np.bincount(fresh.row, weights=right, minlength=len(prior)) / fresh.drawn
    block = np.arange(len(prior)) if block_of is None else block_of
    weight, hit = (np.bincount(block, weights=each) for each in (prior, prior * rates))
    draws = np.full(len(weight), np.inf)
    np.minimum.at(draws, block, fresh.drawn)
    # The worst dependence within a block: all its words are right or wrong together.
    rate = np.clip(np.divide(hit, weight, out=np.zeros_like(hit), where=weight > 0), 0.0, 1.0)
    # With few draws all may be right by chance. One pseudo-draw at the overall rate keeps the error above 0.
    rate = (rate * draws + min(hit.sum() / weight.sum(), 1.0)) / (draws + 1.0)
    return float(hit.sum()), float(np.sqrt((weight**2 * rate * (1.0 - rate) / draws).sum()))


class Pool:
    """Draws of one mechanism, and what was learnt from them under the last few priors.

    `total` is the number of draws that a prior asks for, of each word in proportion to its probability.
    """

    def __init__(self, space: Space, draw: Draw, total: int) -> None:
        self._space, self._draw, self._total = space, draw, total
        self._drawn = np.zeros(len(space), dtype=np.int64)
        self._keys: Places = np.empty(0, dtype=np.int64)  # of the pairs, in order
        self._counts: Floats = np.empty(0)
        self._learnt: dict[tuple[bytes, bytes], Learnt] = {}
        self._rounds = 0
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock, which another thread may have held."""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Create a new lock."""
        vars(self).update(state)
        self.after_fork()
        renew_after_fork(self)

    def learnt(self, words: Places, prior: Floats | None, watch: Watch = ignore) -> Learnt:
        """Return what draws show about these words under a prior; uniform if not given.

        The draws are made at most once, even if several threads ask at the same time.
        """
        shares = np.full(len(words), 1.0 / len(words)) if prior is None else prior / prior.sum()
        key = (words.tobytes(), shares.tobytes())
        with self._lock:
            if key not in self._learnt:
                self._make(words, np.maximum(_LEAST_DRAWS, np.ceil(self._total * shares)).astype(np.int64), watch)
                while len(self._learnt) >= _REMEMBERED:
                    self._learnt.pop(next(iter(self._learnt)))
                self._learnt[key] = Learnt(self._space, self._sightings(words))
            return self._learnt[key]

    def _make(self, words: Places, wanted: Places, watch: Watch) -> None:
        """Make the missing draws, unless nearly all are there."""
        missing = np.maximum(wanted - self._drawn[words], 0)
        if (self._drawn[words] >= _LEAST_DRAWS).all() and missing.sum() <= (1.0 - _ENOUGH) * wanted.sum():
            return
        some = missing > 0
        places, output, count = self._draw(words[some], missing[some], self._rounds, watch)
        self._rounds += 1
        keys = np.concatenate([self._keys, words[some][places] * len(self._space) + output])
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.asarray(np.bincount(place, weights=np.concatenate([self._counts, count])), dtype=np.float64)
        self._drawn[words[some]] += missing[some]

    def _sightings(self, words: Places) -> Sightings:
        """Return the sightings of these words."""
        place = np.full(len(self._space), -1)
        place[words] = np.arange(len(words))
        row = place[self._keys // len(self._space)]
        known = row >= 0
        output = self._keys[known] % len(self._space)
        return Sightings(words, self._drawn[words].astype(np.float64), row[known], output, self._counts[known])
