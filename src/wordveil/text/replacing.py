"""How a replacement is written, and what replaces a word outside the vocabulary.

The vocabulary decides how a word is spelt. By default the first letter becomes a capital where a sentence begins,
judged by the punctuation alone; whether the original had a capital plays no part.

A word outside the vocabulary is by default replaced by a draw that does not depend on it: a word of the vocabulary from
a public prior, or, for a number, as many random digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.text.forms import starts_sentence
from wordveil.text.selection import stop_words

__all__ = ["CASES", "POLICIES", "WRITERS", "OutsideWords", "capitals_of", "random_digits"]

#: What may become of a selected word outside the vocabulary.
POLICIES = ("replace", "drop", "keep")


def capitals_of(word: str) -> str:
    """Return which letters of a word are capitals, as far as ``case="copy"`` copies them: all, first or none."""
    if word.isupper() and len(word) > 1:
        return "all"
    return "first" if word[:1].isupper() else "none"


def _as_listed(pieces: list[str], place: int, word: str) -> str:
    # A clitic touches the word before it; its replacement must not. What touches markup stays there.
    return " " + word if place > 1 and not pieces[place - 1] and pieces[place - 2][-1:].isalnum() else word


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


#: How each case writes a word, given the pieces of the text and the place it goes to.
WRITERS: dict[str, Callable[[list[str], int, str], str]] = {
    "sentence": _by_position,
    "lower": _as_listed,
    "copy": _like_original,
}
CASES = tuple(WRITERS)


class OutsideWords:
    """Draws content words of a space, frequent ones more often, that depend on nothing but how many are wanted."""

    def __init__(self, space: Space) -> None:
        is_stop = space.vocabulary.among(stop_words())
        self._ids = np.flatnonzero(~is_stop) if not is_stop.all() else np.arange(len(space))
        self._shares = np.exp(log_prior(space, "frequency"))
        self._sums = np.cumsum(self._shares[self._ids])

    def typical(self, count: int) -> NDArray[np.int64]:
        """Return this many words, as frequent as draws would be: the same ones every time."""
        aim = (np.arange(count) + 0.5) / count * self._sums[-1]
        return np.asarray(self._ids[np.searchsorted(self._sums, aim)])

    def are_frequent(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which of the words are among the most frequent ones that make up half of the draws."""
        falling = np.sort(self._shares[self._ids])[::-1]
        least = falling[np.searchsorted(np.cumsum(falling), 0.5 * self._sums[-1])]
        return np.asarray(self._shares[ids] >= least)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Draw the ids of this many words."""
        aim = entropy.uniform(count) * self._sums[-1]
        return np.asarray(self._ids[np.searchsorted(self._sums, aim)])


def random_digits(lengths: list[int], entropy: Entropy) -> list[str]:
    """Draw a number of each of these lengths."""
    digits = "".join(map(str, entropy.generator.integers(0, 10, sum(lengths)).tolist()))
    ends = np.cumsum(lengths).tolist()
    return [digits[end - length : end] for end, length in zip(ends, lengths, strict=True)]
