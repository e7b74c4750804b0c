"""A word n-gram language model, and decoders that find the likeliest words behind a veiled sentence.

The model is learnt from a public text by interpolated absolute discounting (Ney, Essen & Kneser 1994). With counts
``c`` and discount ``D``,

    p(w|v)   = max(c(v,w)-D, 0)/c(v)     + D·n(v)/c(v)·p(w)
    p(w|u,v) = max(c(u,v,w)-D, 0)/c(u,v) + D·n(u,v)/c(u,v)·p(w|v)

where ``n`` is the number of distinct words that follow.

Bigrams are decoded exactly over a vocabulary of tens of thousands of words. The probability of a pair that was never
seen is a product ``escape(v)·unigram(w)``, so a step of the forward pass is one sparse product and one inner product.
For a step of the Viterbi algorithm, let ``v*`` be the word with the largest ``score(v)·escape(v)``. No word that was
never seen before ``w`` beats ``score(v*)·escape(v*)·unigram(w)``, and ``v*`` itself reaches at least that. So the best
predecessor of ``w`` is ``v*`` or a word seen before ``w``.

A trigram model has pairs of words as states, which are too many for exact decoding. Its candidates at every place are
the likeliest words under the exact bigram posterior; the share of the posterior that they hold is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import InputError
from wordveil.reading.phrases import Phrases
from wordveil.reading.places import Words

__all__ = ["BigramDecoder", "Decoded", "NgramModel", "PhraseModel", "decode_trigrams"]

_DISCOUNT = 0.75
_SMOOTHING = 0.5


class NgramModel:
    """The probability of a word given the one or two words before it.

    Parameters
    ----------
    reference : Words
        The text to learn from. A word outside the vocabulary ends a stretch of words.
    words : int
        The size of the vocabulary.

    Attributes
    ----------
    start : int
        The id of the context at the start of a stretch: the last word's id plus 1.
    unigram : array of float
        The probability of each word.
    seen : sparse array of shape (words + 1, words)
        What having seen a pair adds to the probability of its second word after its first.
    escape : array of float
        The weight of the unigram in each context.

    Examples
    --------
    >>> from wordveil.attacks import words_of
    >>> from wordveil.spaces import Vocabulary
    >>> vocabulary = Vocabulary(["red", "wine", "sea"])
    >>> model = NgramModel(words_of(["red wine", "red wine", "red sea"], vocabulary, "all"), len(vocabulary))
    >>> bool(model.after(0, 1) > model.after(0, 2))
    True
    """

    def __init__(self, reference: Words, words: int) -> None:
        stretches = [reference.ids[run] for run in reference.runs()]
        if not stretches:
            raise InputError("the reference text has no word of the space; choose another text.")
        self.words, self.start = words, words
        current = np.concatenate(stretches)
        starts = np.cumsum([0, *(len(stretch) for stretch in stretches[:-1])])
        before = np.roll(current, 1)
        before[starts] = words
        earlier = np.roll(before, 1)
        earlier[starts] = words
        counted = np.bincount(current, minlength=words) + _SMOOTHING
        self.unigram = counted / counted.sum()
        self._count_pairs(before, current)
        self._count_triples(earlier, before, current)

    def _count_pairs(self, before: NDArray[np.int64], current: NDArray[np.int64]) -> None:
        self._pairs, counts = np.unique(before * self.words + current, return_counts=True)
        context, word = np.divmod(self._pairs, self.words)
        total = np.bincount(context, weights=counts, minlength=self.words + 1)
        kinds = np.bincount(context, minlength=self.words + 1)
        self._pair_seen = (counts - _DISCOUNT) / total[context]
        self.seen = scipy.sparse.csr_array((self._pair_seen, (context, word)), (self.words + 1, self.words))
        self.escape = np.where(total > 0, _DISCOUNT * kinds / np.maximum(total, 1), 1.0)

    def _count_triples(self, earlier: NDArray[np.int64], before: NDArray[np.int64], current: NDArray[np.int64]) -> None:
        contexts = earlier * (self.words + 1) + before
        self._triples, counts = np.unique(contexts * self.words + current, return_counts=True)
        self._contexts, place, kinds = np.unique(self._triples // self.words, return_inverse=True, return_counts=True)
        total = np.bincount(place, weights=counts)
        self._triple_seen = (counts - _DISCOUNT) / total[place]
        self._triple_escape = _DISCOUNT * kinds / total

    def after(self, before: NDArray[np.int64] | int, word: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return the probability of `word` after `before`; arrays are broadcast."""
        before, word = np.broadcast_arrays(before, word)
        seen = _look_up(self._pairs, self._pair_seen, before * self.words + word, 0.0)
        return np.asarray(seen + self.escape[before] * self.unigram[word])

    def after_two(
        self, earlier: NDArray[np.int64] | int, before: NDArray[np.int64] | int, word: NDArray[np.int64] | int
    ) -> NDArray[np.float64]:
        """Return the probability of `word` after `earlier` and `before`; arrays are broadcast."""
        earlier, before, word = np.broadcast_arrays(earlier, before, word)
        contexts = earlier * (self.words + 1) + before
        seen = _look_up(self._triples, self._triple_seen, contexts * self.words + word, 0.0)
        escape = _look_up(self._contexts, self._triple_escape, contexts, 1.0)
        return np.asarray(seen + escape * self.after(before, word))


class PhraseModel(NgramModel):
    """An existing back-off model, such as that of pocketsphinx, in the same form.

    The probability of a pair or triple that was seen is split into the back-off part and what having seen it adds. If
    the latter would be negative for a pair, it is 0.

    `words` are the words to number; other words of the model are left out. `usual` is the frequency of each word, for
    those that the model lacks.
    """

    def __init__(self, phrases: Phrases, words: Sequence[str], usual: NDArray[np.float64]) -> None:
        self.words = self.start = len(words)
        number = {word: place for place, word in enumerate(words)}
        number["<s>"] = self.start
        place = np.array([number.get(word, -1) for word in phrases.words], dtype=np.int64)
        known = np.flatnonzero((place >= 0) & (place < self.words))
        self.unigram = np.zeros(self.words)
        self.unigram[place[known]] = np.exp(phrases.log_word[known])
        missing = self.unigram == 0
        lacking = float(usual[missing].sum() / usual.sum())
        self.unigram *= (1.0 - lacking) / self.unigram.sum()
        self.unigram[missing] = lacking * usual[missing] / max(float(usual[missing].sum()), 1e-300)
        self.escape = np.ones(self.words + 1)
        self.escape[place[place >= 0]] = np.exp(phrases.escape_word[place >= 0])
        self._take_pairs(phrases, place)
        self._take_triples(phrases, place)

    def _take_pairs(self, phrases: Phrases, place: NDArray[np.int64]) -> None:
        before, word = place[phrases.pairs].T
        kept = (before >= 0) & (word >= 0) & (word < self.words)
        keys = before[kept] * self.words + word[kept]
        order = np.argsort(keys)
        self._pairs = keys[order]
        context, word = np.divmod(self._pairs, self.words)
        more = np.exp(phrases.log_pair[kept][order]) - self.escape[context] * self.unigram[word]
        self._pair_seen = np.maximum(more, 0.0)
        self.seen = scipy.sparse.csr_array((self._pair_seen, (context, word)), (self.words + 1, self.words))
        contexts = before[kept] * (self.words + 1) + place[phrases.pairs[:, 1]][kept]
        order = np.argsort(contexts)
        self._contexts, self._triple_escape = contexts[order], np.exp(phrases.escape_pair[kept][order])

    def _take_triples(self, phrases: Phrases, place: NDArray[np.int64]) -> None:
        earlier, before, word = place[phrases.triples].T
        kept = (earlier >= 0) & (before >= 0) & (word >= 0) & (before < self.words) & (word < self.words)
        earlier, before, word = earlier[kept], before[kept], word[kept]
        contexts = earlier * (self.words + 1) + before
        keys = contexts * self.words + word
        order = np.argsort(keys)
        self._triples = keys[order]
        otherwise = _look_up(self._contexts, self._triple_escape, contexts, 1.0) * self.after(before, word)
        self._triple_seen = (np.exp(phrases.log_triple[kept]) - otherwise)[order]


def _look_up(
    keys: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64], otherwise: float
) -> NDArray[np.float64]:
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], otherwise)


class Decoded(NamedTuple):
    """A decoded stretch of words."""

    likeliest: NDArray[np.int64]  # the word with the largest marginal at each place, which is right most often
    path: NDArray[np.int64]  # the likeliest stretch as a whole (Viterbi)
    belief: NDArray[np.float64]  # the posterior of each word at each place
    held: NDArray[np.float64]  # the share of the exact bigram posterior that the candidates of each place hold


class BigramDecoder:
    """Decodes stretches of words with a bigram model, over the whole vocabulary.

    `likelihoods` has one row per place and one column per word: how likely the word makes what was observed there, up
    to a factor per place.
    """

    def __init__(self, model: NgramModel) -> None:
        self.model = model
        self._seen = model.seen[: model.words]
        self._onward = scipy.sparse.csc_array(self._seen)
        self._escape = model.escape[: model.words]
        self._begin = model.after(model.start, np.arange(model.words))

    def marginals(self, likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posterior of each place (forward and backward pass)."""
        model, known = self.model, _known(likelihoods)
        forward = np.empty_like(likelihoods)
        forward[0] = likelihoods[0] * self._begin
        forward[0] /= forward[0].sum()
        for place in range(1, len(forward)):
            last, before = forward[place - 1], known[place - 1]
            if known[place] is not None:  # a known word has posterior 1, whatever came before
                forward[place] = likelihoods[place] > 0
                continue
            if before is None:
                arriving = last @ self._onward + (last @ self._escape) * model.unigram
            else:
                arriving = self._row(self._seen, before) + self._escape[before] * model.unigram
            np.multiply(likelihoods[place], arriving, out=forward[place])
            forward[place] /= forward[place].sum()
        backward = np.ones(model.words)
        for place in range(len(forward) - 1, 0, -1):
            after = known[place]
            if known[place - 1] is not None:
                backward = np.ones(model.words)
                continue
            if after is None:
                pulled = likelihoods[place] * backward
                backward = self._seen @ pulled + self._escape * (model.unigram @ pulled)
            else:
                backward = self._row(self._onward, after) + self._escape * model.unigram[after]
            backward /= backward.max()
            forward[place - 1] *= backward
            forward[place - 1] /= forward[place - 1].sum()
        return forward

    def _row(self, pairs: scipy.sparse.csr_array | scipy.sparse.csc_array, number: int) -> NDArray[np.float64]:
        """Return one row (or column) of the table of seen pairs, as a dense array."""
        entries, found = slice(*pairs.indptr[number : number + 2]), np.zeros(self.model.words)
        found[pairs.indices[entries]] = pairs.data[entries]
        return found

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The words with seen predecessors, where each one's predecessors start, the predecessors, and their logs."""
        counts = np.diff(self._onward.indptr)
        word = np.repeat(np.arange(self.model.words), counts)
        before = self._onward.indices.astype(np.int64)
        logs = np.log(self._onward.data + self._escape[before] * self.model.unigram[word])
        followed = np.flatnonzero(counts)
        return followed, self._onward.indptr[followed].astype(np.int64), before, logs

    def viterbi(self, likelihoods: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the likeliest stretch of words."""
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

    def decode(self, likelihoods: NDArray[np.float64]) -> Decoded:
        """Return the marginal guesses, the Viterbi path and the posteriors."""
        found = self.marginals(likelihoods)
        return Decoded(found.argmax(axis=1), self.viterbi(likelihoods), found, np.ones(len(found)))


def _known(likelihoods: NDArray[np.float64]) -> list[int | None]:
    """Return the only possible word of each place, or None if there are several."""
    counts = np.count_nonzero(likelihoods, axis=1)
    return [int(row.argmax()) if count == 1 else None for row, count in zip(likelihoods, counts.tolist(), strict=True)]


def decode_trigrams(
    model: NgramModel, likelihoods: NDArray[np.float64], belief: NDArray[np.float64], most: int
) -> Decoded:
    """Decode a stretch with a trigram model, over the likeliest words of the bigram posterior `belief`.

    At most `most` words are candidates at a place; all others keep their bigram posterior. See `BigramDecoder` for
    `likelihoods`.
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
    chances = _sum_pairs(steps)
    found = belief.copy()
    for row, chosen, part, share in zip(found, candidates, chances, held.tolist(), strict=True):
        row[chosen] = share * part
    path = np.array([chosen[place] for chosen, place in zip(candidates, _best_pairs(steps), strict=True)])
    likeliest = np.array([chosen[part.argmax()] for chosen, part in zip(candidates, chances, strict=True)])
    return Decoded(likeliest, path, found, held)


def _largest(row: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    possible = np.flatnonzero(row)
    if len(possible) <= most:
        return possible
    return possible[np.sort(np.argpartition(-row[possible], most - 1)[:most])]


def _sum_pairs(steps: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return the posterior of each place's candidates; states are pairs of adjacent candidates."""
    forward = [np.zeros((1, 1))]
    for step in steps:
        forward.append(np.logaddexp.reduce(forward[-1][:, :, None] + step, axis=0))
    backward = np.zeros_like(forward[-1])
    found: list[NDArray[np.float64]] = []
    for step, reached in zip(reversed(steps), reversed(forward[1:]), strict=True):
        logs = np.logaddexp.reduce(reached + backward, axis=0)
        chances = np.exp(logs - logs.max())
        found.append(chances / chances.sum())
        backward = np.logaddexp.reduce(step + backward[None], axis=2)
    return found[::-1]


def _best_pairs(steps: list[NDArray[np.float64]]) -> list[int]:
    """Return the candidates on the likeliest path."""
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
