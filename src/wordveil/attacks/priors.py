"""What the adversary believes of a word before he sees its replacement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.attacks.wordlists import OUTSIDE, Words
from wordveil.errors import WordveilError
from wordveil.spaces import Space
from wordveil.text import stop_words
from wordveil.text.tokens import lookup_key

__all__ = ["Prior"]

_SMOOTHING = 0.5  # a word that the reference does not have counts as half a word (Krichevsky & Trofimov)


@dataclass(frozen=True)
class Prior:
    """Public beliefs about which word stands at a place.

    Attributes
    ----------
    name : str
        Where they come from.
    ids : array of int
        The words that are thought possible, the suspects, in the order of the vocabulary.
    everywhere : array of float
        The logarithm of the weight of every word of the vocabulary; -inf for those that a veil never replaces.
    """

    name: str
    ids: NDArray[np.int64]
    everywhere: NDArray[np.float64]

    @classmethod
    def named(cls, name: str, space: Space, words: int | None = None, *, select: str = "all") -> Prior:
        """Make a prior of the vocabulary's first, most frequent words.

        Parameters
        ----------
        name : {"uniform", "frequency"}
            All alike, or by the Zipf-Mandelbrot law of the word's place in the vocabulary.
        space : Space
            The words.
        words : int, optional
            How many suspects; all words if not given.
        select : {"content", "all"}
            Which words the veil replaces: a function word that it leaves alone is no suspect.
        """
        if name not in ("uniform", "frequency"):
            raise WordveilError("a prior is uniform or frequency, or comes from a reference text.")
        logs = log_prior(space, name)
        if select == "content":
            left_alone = stop_words()
            logs[[place for place, word in enumerate(space.vocabulary) if lookup_key(word) in left_alone]] = -np.inf
        return cls._top(name, logs, words)

    @classmethod
    def of(cls, reference: Words, space: Space, words: int | None = None) -> Prior:
        """Make a prior of how often the words that a veil replaces occur in a public reference text.

        A word that the reference has, but that a veil leaves alone wherever it stands, is no suspect.

        Parameters
        ----------
        reference : Words
            The reference text, looked up in the space's vocabulary.
        space : Space
            The words.
        words : int, optional
            How many suspects: the most frequent ones; all words if not given.
        """
        hidden = np.bincount(reference.ids[reference.targets], minlength=len(space))
        there = np.bincount(reference.ids[reference.ids != OUTSIDE], minlength=len(space))
        logs = np.log(hidden + _SMOOTHING)
        logs[(there > 0) & (hidden == 0)] = -np.inf
        return cls._top("reference text", logs, words)

    @classmethod
    def _top(cls, name: str, logs: NDArray[np.float64], words: int | None) -> Prior:
        if words is not None and words < 1:
            raise WordveilError("an adversary needs at least one suspect.")
        order = np.argsort(-logs, kind="stable")
        ids = np.sort(order[np.isfinite(logs[order])][:words]).astype(np.int64)
        if not ids.size:
            raise WordveilError("there are no suspects: no word that is known would be veiled.")
        return cls(name, ids, logs)

    def including(self, ids: NDArray[np.int64]) -> Prior:
        """Return the same beliefs with more suspects: what was seen may be what was there."""
        possible = ids[np.isfinite(self.everywhere[ids])]
        return Prior(self.name, np.union1d(self.ids, possible), self.everywhere)

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """The logarithm of the probability of each suspect; they sum to 1."""
        own = self.everywhere[self.ids]
        return np.asarray(own - np.logaddexp.reduce(own))

    @property
    def likeliest(self) -> int:
        """The word to guess without seeing anything."""
        return int(self.ids[self.logs.argmax()])
