"""A language model of word n-grams: what words follow which, learnt from a public text.

Interpolated absolute discounting (Ney, Essen & Kneser 1994). With ``c`` the counts and ``D`` the discount,

    p(w|v)   = max(c(v,w)-D, 0)/c(v)     + D·n(v)/c(v)·p(w)
    p(w|u,v) = max(c(u,v,w)-D, 0)/c(u,v) + D·n(u,v)/c(u,v)·p(w|v)

where ``n`` says how many different words follow. So a probability is a few entries that were seen, plus a product of
what depends on the context alone and what depends on the word alone; `decoding` rests on that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.attacks.wordlists import Words
from wordveil.errors import WordveilError

__all__ = ["NgramModel"]

_DISCOUNT = 0.75
_SMOOTHING = 0.5


class NgramModel:
    """Probabilities of a word after the one or two words before it.

    Parameters
    ----------
    reference : Words
        The text to learn from. A word outside the vocabulary ends a stretch of words, and the next begins anew.
    words : int
        How many words the vocabulary has.

    Attributes
    ----------
    start : int
        The id of the context at the beginning of a stretch: one more than the last word's.
    unigram : array of float
        The probability of each word.
    seen : sparse array of shape (words + 1, words)
        What seeing a pair of words adds to the second's probability after the first.
    escape : array of float
        For each context the weight of the unigram.

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
            raise WordveilError("the reference text has no word that is in the space; give another one.")
        self.words, self.start = words, words
        current = np.concatenate(stretches)
        before = np.concatenate([np.concatenate([[words], stretch[:-1]]) for stretch in stretches])
        earlier = np.concatenate(
            [np.concatenate([[words, words], stretch[:-2]])[: len(stretch)] for stretch in stretches]
        )
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
        self.seen = csr_array((self._pair_seen, (context, word)), (self.words + 1, self.words))
        self.escape = np.where(total > 0, _DISCOUNT * kinds / np.maximum(total, 1), 1.0)

    def _count_triples(self, earlier: NDArray[np.int64], before: NDArray[np.int64], current: NDArray[np.int64]) -> None:
        contexts = earlier * (self.words + 1) + before
        self._triples, counts = np.unique(contexts * self.words + current, return_counts=True)
        of = self._triples // self.words
        self._contexts, place, kinds = np.unique(of, return_inverse=True, return_counts=True)
        total = np.bincount(place, weights=counts)
        self._triple_seen = (counts - _DISCOUNT) / total[place]
        self._triple_escape = _DISCOUNT * kinds / total

    def after(self, before: NDArray[np.int64] | int, word: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return the probability of words after one word; arrays are taken together as numpy does."""
        before, word = np.broadcast_arrays(before, word)
        seen = _looked_up(self._pairs, self._pair_seen, before * self.words + word, 0.0)
        return np.asarray(seen + self.escape[before] * self.unigram[word])

    def after_two(
        self, earlier: NDArray[np.int64] | int, before: NDArray[np.int64] | int, word: NDArray[np.int64] | int
    ) -> NDArray[np.float64]:
        """Return the probability of words after two words; arrays are taken together as numpy does."""
        earlier, before, word = np.broadcast_arrays(earlier, before, word)
        contexts = earlier * (self.words + 1) + before
        seen = _looked_up(self._triples, self._triple_seen, contexts * self.words + word, 0.0)
        escape = _looked_up(self._contexts, self._triple_escape, contexts, 1.0)
        return np.asarray(seen + escape * self.after(before, word))


def _looked_up(
    keys: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64], otherwise: float
) -> NDArray[np.float64]:
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], otherwise)
