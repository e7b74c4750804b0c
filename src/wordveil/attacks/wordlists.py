"""Texts as the adversary and the mechanism see them: rows of word ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from wordveil.spaces import Vocabulary
from wordveil.text.lookup import Lookup
from wordveil.text.selection import Selection
from wordveil.text.tokens import tokenise

__all__ = ["OUTSIDE", "Words", "sentences_of", "words_of"]

_SENTENCE_END = regex.compile(r"(?<=[.!?…][\p{Pe}\p{Pf}\"']*)\s+")

#: The id of a word outside the vocabulary.
OUTSIDE = -1


@dataclass(frozen=True)
class Words:
    """The words of some texts, one after the other.

    Attributes
    ----------
    ids : array of int
        Each word's id, -1 if the vocabulary does not have it.
    hidden : array of bool
        Whether a veil would replace the word; the others are released as they are.
    text : array of int
        Which text each word is of.
    """

    ids: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    text: NDArray[np.int64]

    @property
    def targets(self) -> NDArray[np.int64]:
        """The places of the words that a mechanism replaces: hidden, and in the vocabulary."""
        return np.flatnonzero(self.hidden & (self.ids != OUTSIDE))

    def runs(self) -> list[slice]:
        """Return the longest stretches of one text without a word outside the vocabulary."""
        inside = self.ids != OUTSIDE
        begins = inside & np.concatenate([[True], (self.text[1:] != self.text[:-1]) | ~inside[:-1]])
        ends = inside & np.concatenate([(self.text[1:] != self.text[:-1]) | ~inside[1:], [True]])
        stops = np.flatnonzero(ends) + 1
        return [slice(start, stop) for start, stop in zip(np.flatnonzero(begins).tolist(), stops.tolist(), strict=True)]


def words_of(texts: Iterable[str], vocabulary: Vocabulary, select: str = "content") -> Words:
    """Look up the words of texts as a veil does.

    Parameters
    ----------
    texts : iterable of str
        The texts; a line or a sentence each, if sentences are to be attacked.
    vocabulary : Vocabulary
        The words of the mechanism's space.
    select : {"content", "all"}
        Which words the veil replaces.

    Examples
    --------
    >>> found = words_of(["The sea is wide.", "Sea!"], Vocabulary(["the", "sea", "is"]))
    >>> found.ids.tolist(), found.hidden.tolist(), found.text.tolist()
    ([0, 1, 2, -1, 1], [False, True, False, True, True], [0, 0, 0, 0, 1])
    """
    selection = Selection(select)
    lookup = Lookup(vocabulary)
    ids: list[int] = []
    hidden: list[bool] = []
    lengths: list[int] = []
    for text in texts:
        tokens = tokenise(text)
        for word, key in zip(tokens.pieces[1::2], tokens.keys, strict=True):
            known = lookup.id(word, key)
            ids.append(OUTSIDE if known is None else known)
        hidden += selection.choose(tokens, None)
        lengths.append(len(tokens.keys))
    return Words(
        np.array(ids, dtype=np.int64),
        np.array(hidden, dtype=np.bool_),
        np.repeat(np.arange(len(lengths)), lengths),
    )


def sentences_of(text: str) -> list[str]:
    """Cut a text where a sentence seems to end: after a full stop, question or exclamation mark and a space.

    Examples
    --------
    >>> sentences_of('He said "Go." She went! And I?')
    ['He said "Go."', 'She went!', 'And I?']
    """
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
