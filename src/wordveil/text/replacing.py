"""How replacements are written, and what replaces words outside the vocabulary.

Words are spelt as in the vocabulary. By default the first letter is capitalised at the start of a sentence, judged by
punctuation alone; whether the original had a capital does not matter.

By default a word outside the vocabulary is replaced by a draw that does not depend on it: a word of the vocabulary from
a public prior, or, for a number, the same number of random digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.text.forms import ends_in_word, starts_sentence
from wordveil.text.selection import stop_words

__all__ = ["CASES", "POLICIES", "WRITERS", "OutsideWords", "capitals_of", "random_digits"]

#: What to do with a selected word outside the vocabulary.
POLICIES = ("replace", "drop", "keep")


def capitals_of(word: str) -> str:
    """Return the capitals of a word that ``case="copy"`` copies: all, first or none."""
    if word.isupper() and len(word) > 1:
        return "all"
    return "first" if word[:1].isupper() else "none"


def _as_listed(pieces: list[str], place: int, word: str) -> str:
    # A clitic touches the word before it; its replacement must not. What touches markup stays there.
    return " " + word if place > 1 and not pieces[place - 1] and ends_in_word(pieces[place - 2]) else word


def _by_position(pieces: list[str], place: int, word: str) -> str:
    gap = pieces[place - 1]
    if gap == " " and place > 1:  # by far the most common case
        return word
    if place == 1 or starts_sentence(gap):
        return word[:1].upper() + word[1:]
    return _as_listed(pieces, place, word)


def _like_original(pieces: list[str], place: int, word: str) -> str:
    capitals = capitals_of(pieces[place])
    if capitals == "all":
        word = word.upper()
    elif capitals == "first":
        word = word[:1].upper() + word[1:]
    return _as_listed(pieces, place, word)


#: How each case writes a word, given the pieces of the text and the word's place.
WRITERS: dict[str, Callable[[list[str], int, str], str]] = {
    "sentence": _by_position,
    "lower": _as_listed,
    "copy": _like_original,
}
CASES = tuple(WRITERS)


class OutsideWords:
    """Draws content words of a space by their frequency, independently of any text."""

    def __init__(self, space: Space) -> None:
        is_stop = space.vocabulary.among(stop_words())
        self._ids = np.flatnonzero(~is_stop) if not is_stop.all() else np.arange(len(space))
        self._shares = np.exp(log_prior(space, "frequency"))
        self._sums = np.cumsum(self._shares[self._ids])

    def typical(self, count: int) -> NDArray[np.int64]:
        """Return `count` words with typical frequencies, always the same ones."""
        aim = (np.arange(count) + 0.5) / count * self._sums[-1]
        return np.asarray(self._ids[np.searchsorted(self._sums, aim)])

    def are_frequent(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which words are frequent: among the most frequent ones that make up half of the draws."""
        falling = np.sort(self._shares[self._ids])[::-1]
        least = falling[np.searchsorted(np.cumsum(falling), 0.5 * self._sums[-1])]
        return np.asarray(self._shares[ids] >= least)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Draw the ids of `count` words."""
        aim = entropy.uniform(count) * self._sums[-1]
        return np.asarray(self._ids[np.searchsorted(self._sums, aim)])


def random_digits(lengths: list[int], entropy: Entropy) -> list[str]:
    """Draw random digits of each of these lengths."""
    digits = "".join(map(str, entropy.generator.integers(0, 10, sum(lengths)).tolist()))
    ends = np.cumsum(lengths).tolist()
    return [digits[end - length : end] for end, length in zip(ends, lengths, strict=True)]
