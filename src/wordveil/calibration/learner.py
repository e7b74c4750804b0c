"""The best guess of the input, learnt from draws: the one learner of all who have no probabilities to go by.

A guesser who has seen few draws must decide what a single sighting teaches. Here every distinct output of a word, other
than the word itself, loses a part of one draw, and what is lost is spread as draws fall on the whole (`Kernel`),
together with some pseudo-draws::

    Pr[M(w)=y] ≈ (max(0, count - discount) + (pseudo + discount · distinct) · kernel) / (drawn + pseudo)

The discount follows from how many pairs were seen once and how many twice: where most were seen once, it is nearly a
whole draw, and one sighting teaches next to nothing. The number of pseudo-draws is the one with which the others make
each draw likeliest (absolute discounting and leaving-one-out: Ney, Essen & Kneser 1994). Sightings of a word that
stayed are kept whole.

Rules were compared on fresh draws: the largest count, the largest count less one, counts mixed with the kernel but not
discounted, and other discounts. This one was right most often, or as often within the error. It is a guesser, so that
it is right no more often than the best one, and its success is counted on draws that it did not learn from, so that it
is not flattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.calibration.kernel import Kernel
from wordveil.calibration.sightings import Sightings
from wordveil.spaces import Space

__all__ = ["Learnt", "Success", "success_of"]

_PSEUDO = np.geomspace(0.1, 1e5, 19)
_TESTED = 1 << 16
_LIKELIEST = 10  # words that are worth a guess though they never gave the output


class Learnt:
    """What a mechanism does, as far as draws tell.

    Parameters
    ----------
    space : Space
        The words that can come out.
    seen : Sightings
        The draws.
    """

    def __init__(self, space: Space, seen: Sightings) -> None:
        self._seen, self._words = seen, len(space)
        self._kernel = Kernel(space, seen)
        self._expected = self._kernel.pairs(seen.row, seen.output)
        self._discount = _discount(seen.count[~seen.stays])
        self._kept = self._less(seen.count, seen.stays)
        distinct = np.bincount(seen.row[~seen.stays], minlength=len(seen.suspects))
        self._lost = self._discount * distinct
        self._pseudo = self._best_pseudo()

    def _less(self, count: NDArray[np.float64], stays: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.maximum(count - self._discount * ~stays, 0.0)

    def _best_pseudo(self) -> float:
        """Return the number of pseudo-draws with which all other draws make each draw likeliest."""
        seen = self._seen
        test = np.arange(0, len(seen.count), max(1, len(seen.count) // _TESTED))
        row, count, stays = seen.row[test], seen.count[test], seen.stays[test]
        # Each of these as it would be without the draw.
        kept = self._less(np.maximum(count - 1.0, 0.0), stays)
        lost = self._lost[row] - self._discount * (~stays & (count <= 1.0))
        reached = self._kernel.reached[seen.output[test]]
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

    def columns(self, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of some outputs (columns) for every suspect (row)."""
        found = self._kernel.columns(outputs)
        found *= (self._pseudo + self._lost)[:, None]
        found += self._kept_table[:, outputs].toarray()
        found /= (self._seen.drawn + self._pseudo)[:, None]
        return found

    def guesses(self, prior: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the best guess for every word of the vocabulary as an output.

        Looked at are the words that gave the output, the output itself and the likeliest words.

        Parameters
        ----------
        prior : array of float
            The probability of each suspect, up to a factor.
        """
        seen = self._seen
        likeliest = np.argsort(-prior, kind="stable")[:_LIKELIEST]
        likely = np.repeat(likeliest, self._words), np.tile(np.arange(self._words), len(likeliest))
        itself = np.arange(len(seen.suspects)), seen.suspects
        # What was seen comes up again among these as if it had not been, and then loses to itself.
        row = np.concatenate([likely[0], seen.row, itself[0]])
        output = np.concatenate([likely[1], seen.output, itself[1]])
        value = np.concatenate(
            [self._unseen(*likely), self._kept + self._spread(seen.row, self._expected), self._unseen(*itself)]
        )
        value *= (prior / (seen.drawn + self._pseudo))[row]
        best = np.zeros(self._words)
        np.maximum.at(best, output, value)
        wins = value >= best[output]
        guesses = np.full(self._words, seen.suspects[likeliest[0]])
        guesses[output[wins]] = seen.suspects[row[wins]]
        return guesses

    def _unseen(self, row: NDArray[np.int64], output: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._spread(row, self._kernel.pairs(row, output))

    def _spread(self, row: NDArray[np.int64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((self._pseudo + self._lost[row]) * expected)


def _discount(counts: NDArray[np.float64]) -> float:
    """Return how much of a draw an output loses, from how many were seen once and how many twice."""
    once, twice = (counts == 1.0).sum(), (counts == 2.0).sum()
    return float(once / (once + 2 * twice)) if once else 0.0


class Success(NamedTuple):
    """How often guesses are right.

    Attributes
    ----------
    value : float
        The probability.
    error : float
        Its standard error.
    """

    value: float
    error: float


def success_of(
    folds: Sequence[tuple[NDArray[np.int64], Sightings]],
    prior: NDArray[np.float64],
    *,
    dealt: bool = False,
    blocks: NDArray[np.int64] | None = None,
) -> Success:
    """Test guesses on draws that they were not learnt from.

    Nobody need learn to guess the output itself, or always the likeliest word: success is at least that of these two.

    Parameters
    ----------
    folds : sequence of pairs
        Guesses, one for every word of the vocabulary as an output, and the draws to test them on. The mean over the
        folds counts. All have the same suspects.
    prior : array of float
        The probability of each suspect.
    dealt : bool
        Whether the numbers of draws were given to the suspects beforehand; otherwise they came as often as is likely.
    blocks : array of int, optional
        For each suspect the number of its block, where the draws were dealt and the words of a block share their
        randomness. If not given, all draws are independent.
    """

    def mean(chosen: Sequence[tuple[NDArray[np.int64], Sightings]]) -> Success:
        found = [_dealt(*fold, prior, blocks) if dealt else _came(*fold) for fold in chosen]
        values, errors = zip(*found, strict=True)
        return Success(float(np.mean(values)), float(np.linalg.norm(errors) / len(errors)))

    learnt = mean(folds)
    itself = mean([(np.arange(len(guesses)), fresh) for guesses, fresh in folds])
    return Success(max(learnt.value, itself.value, float(prior.max())), max(learnt.error, itself.error))


def _right(guesses: NDArray[np.int64], fresh: Sightings) -> NDArray[np.float64]:
    return np.asarray(fresh.count * (guesses[fresh.output] == fresh.suspects[fresh.row]))


def _came(guesses: NDArray[np.int64], fresh: Sightings) -> Success:
    draws = fresh.drawn.sum()
    value = float(_right(guesses, fresh).sum() / draws)
    return Success(value, float(np.sqrt(value * (1.0 - value) / draws)))


def _dealt(
    guesses: NDArray[np.int64], fresh: Sightings, prior: NDArray[np.float64], blocks: NDArray[np.int64] | None
) -> Success:
    rates = np.bincount(fresh.row, weights=_right(guesses, fresh), minlength=len(prior)) / fresh.drawn
    block = np.arange(len(prior)) if blocks is None else blocks
    weight, hit = (np.bincount(block, weights=each) for each in (prior, prior * rates))
    draws = np.full(len(weight), np.inf)
    np.minimum.at(draws, block, fresh.drawn)
    # As if all the words of a block were right and wrong together: no dependence of theirs can be worse.
    rate = np.clip(np.divide(hit, weight, out=np.zeros_like(hit), where=weight > 0), 0.0, 1.0)
    return Success(float(hit.sum()), float(np.sqrt((weight**2 * rate * (1.0 - rate) / draws).sum())))
