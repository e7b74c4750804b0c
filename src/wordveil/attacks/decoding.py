"""What the words of a sentence most likely were, given how likely each makes what was seen.

Over the whole vocabulary and exactly, though it has tens of thousands of words: in an interpolated bigram model all but
the pairs that were seen are a product ``escape(v)·unigram(w)``. So a step of the forward pass is one sparse product and
one product of two vectors. For a step of Viterbi's, let ``v*`` be the word with the largest ``score(v)·escape(v)``.
Among the words never seen before ``w`` none beats ``score(v*)·escape(v*)·unigram(w)``, and ``v*`` itself reaches at
least that; so the best predecessor of ``w`` is ``v*`` or one of the words seen before ``w``.

A trigram model has pairs of words for states, too many for that. There the candidates of every place are cut down to
those that are likeliest under the exact bigram posterior, and the share of it that they hold is returned.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from wordveil.attacks.ngrams import NgramModel

__all__ = ["BigramDecoder", "Decoded", "decode_trigrams"]


class Decoded(NamedTuple):
    """What a decoder says of a stretch of words.

    Attributes
    ----------
    likeliest : array of int
        The likeliest word at each place, all others summed out: right most often.
    path : array of int
        The likeliest stretch as a whole (Viterbi).
    """

    likeliest: NDArray[np.int64]
    path: NDArray[np.int64]


class BigramDecoder:
    """Decodes stretches of words with a bigram model, over the whole vocabulary.

    Parameters
    ----------
    model : NgramModel
        The model.
    """

    def __init__(self, model: NgramModel) -> None:
        self.model = model
        self._seen = model.seen[: model.words]
        self._onward = csc_array(self._seen)
        self._escape = model.escape[: model.words]
        first = np.arange(model.words)
        self._begin = model.after(model.start, first)

    def marginals(self, likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posterior of each place (forward and backward pass).

        Parameters
        ----------
        likelihoods : array of shape (places, words)
            How likely each word makes what was seen at each place, up to a factor for each place.
        """
        model = self.model
        forward = np.empty_like(likelihoods)
        forward[0] = likelihoods[0] * self._begin
        forward[0] /= forward[0].sum()
        for place in range(1, len(forward)):
            last = forward[place - 1]
            forward[place] = likelihoods[place] * (last @ self._onward + (last @ self._escape) * model.unigram)
            forward[place] /= forward[place].sum()
        backward = np.ones(model.words)
        for place in range(len(forward) - 1, 0, -1):
            pulled = likelihoods[place] * backward
            backward = self._seen @ pulled + self._escape * (model.unigram @ pulled)
            backward /= backward.max()
            forward[place - 1] *= backward
            forward[place - 1] /= forward[place - 1].sum()
        return forward

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The words with predecessors that were seen, where each one's begin, these, and their log probabilities."""
        counts = np.diff(self._onward.indptr)
        word = np.repeat(np.arange(self.model.words), counts)
        before = self._onward.indices.astype(np.int64)
        logs = np.log(self._onward.data + self._escape[before] * self.model.unigram[word])
        followed = np.flatnonzero(counts)
        return followed, self._onward.indptr[followed].astype(np.int64), before, logs

    def viterbi(self, likelihoods: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the likeliest stretch of words.

        Parameters
        ----------
        likelihoods : array of shape (places, words)
            How likely each word makes what was seen at each place, up to a factor for each place.
        """
        followed, begins, before, logs = self._pairs
        with np.errstate(divide="ignore"):
            scores = np.log(likelihoods)
            unigram, escape = np.log(self.model.unigram), np.log(self._escape)
        scores[0] += np.log(self._begin)
        for place in range(1, len(scores)):
            last = scores[place - 1]
            arriving = unigram + (last + escape).max()
            if len(before):
                best = np.maximum.reduceat(last[before] + logs, begins)
                arriving[followed] = np.maximum(arriving[followed], best)
            scores[place] += arriving
        path = np.empty(len(scores), dtype=np.int64)
        path[-1] = scores[-1].argmax()
        for place in range(len(scores) - 1, 0, -1):
            word = path[place]
            entries = slice(self._onward.indptr[word], self._onward.indptr[word + 1])
            leaving = scores[place - 1] + escape + unigram[word]
            leaving[before[entries]] = scores[place - 1][before[entries]] + logs[entries]
            path[place - 1] = leaving.argmax()
        return path

    def decode(self, likelihoods: NDArray[np.float64]) -> tuple[Decoded, NDArray[np.float64]]:
        """Return both guesses, and the posterior of each place."""
        found = self.marginals(likelihoods)
        return Decoded(found.argmax(axis=1), self.viterbi(likelihoods)), found


def decode_trigrams(
    model: NgramModel, likelihoods: NDArray[np.float64], belief: NDArray[np.float64], most: int
) -> tuple[Decoded, NDArray[np.float64]]:
    """Decode a stretch with a trigram model, among the words that are likeliest by another belief.

    Parameters
    ----------
    model : NgramModel
        The model.
    likelihoods : array of shape (places, words)
        How likely each word makes what was seen at each place.
    belief : array of shape (places, words)
        By what the candidates are chosen: the bigram posterior.
    most : int
        How many candidates a place has at most.

    Returns
    -------
    Decoded
        Both guesses.
    array of float
        Which share of the belief the candidates of each place hold.
    """
    candidates = [_largest(row, most) for row in belief]
    held = np.array([row[chosen].sum() for row, chosen in zip(belief, candidates, strict=True)])
    start = np.array([model.start])
    with np.errstate(divide="ignore"):
        own = [np.log(row[chosen]) for row, chosen in zip(likelihoods, candidates, strict=True)]
        before = [start, start, *candidates]
        steps = [
            np.log(model.after_two(a[:, None, None], b[:, None], c)) + logs
            for a, b, c, logs in zip(before, before[1:], candidates, own, strict=False)
        ]
    return (
        Decoded(_named(candidates, _sum_pairs(steps)), _named(candidates, _best_pairs(steps))),
        held,
    )


def _largest(row: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    possible = np.flatnonzero(row)
    if len(possible) <= most:
        return possible
    return possible[np.sort(np.argpartition(-row[possible], most - 1)[:most])]


def _sum_pairs(steps: list[NDArray[np.float64]]) -> list[int]:
    """Return the candidate of largest posterior at each place; a state is a pair of neighbouring candidates."""
    forward = [np.zeros((1, 1))]
    for step in steps:
        forward.append(np.logaddexp.reduce(forward[-1][:, :, None] + step, axis=0))
    backward = np.zeros_like(forward[-1])
    found: list[int] = []
    for step, reached in zip(reversed(steps), reversed(forward[1:]), strict=True):
        found.append(int(np.logaddexp.reduce(reached + backward, axis=0).argmax()))
        backward = np.logaddexp.reduce(step + backward[None], axis=2)
    return found[::-1]


def _best_pairs(steps: list[NDArray[np.float64]]) -> list[int]:
    """Return the candidates of the likeliest stretch."""
    scores, back = np.zeros((1, 1)), []
    for step in steps:
        arriving = scores[:, :, None] + step
        back.append(arriving.argmax(axis=0))
        scores = arriving.max(axis=0)
    before, current = np.unravel_index(int(scores.argmax()), scores.shape)
    found = [int(current)]
    for pointers in reversed(back[1:]):
        before, current = pointers[before, current], before
        found.append(int(current))
    return found[::-1]


def _named(candidates: list[NDArray[np.int64]], places: list[int]) -> NDArray[np.int64]:
    return np.array([chosen[place] for chosen, place in zip(candidates, places, strict=True)])
