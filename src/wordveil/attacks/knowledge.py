"""What an attacker starts from: the words of texts as the veil sees them, and a prior over the originals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import regex
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.errors import InputError, OptionError
from wordveil.reading.places import OUTSIDE, Cutter, Words
from wordveil.spaces import Space, Vocabulary
from wordveil.stats import Estimate, Facts
from wordveil.text import stop_words
from wordveil.text.tokens import lookup_key

_SENTENCE_END = regex.compile(r"(?<=[.!?…][\p{Pe}\p{Pf}\"']*)\s+")
_SMOOTHING = 0.5  # occurrences added to every word's count (Krichevsky & Trofimov)


def words_of(texts: Iterable[str], vocabulary: Vocabulary, select: str = "content") -> Words:
    """Look up the words of texts as a veil does.

    Parameters
    ----------
    texts : iterable of str
        The texts; to attack sentences, one line or sentence each.
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
    return Words.of(Cutter(vocabulary, select).cut(texts))


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences: after a full stop, question or exclamation mark followed by a space.

    Examples
    --------
    >>> sentences_of('He said "Go." She went! And I?')
    ['He said "Go."', 'She went!', 'And I?']
    """
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


@dataclass(frozen=True)
class Guesses(Facts):
    """The figures of every attack that guesses words from their outputs.

    Attributes
    ----------
    prior : str
        What the attacker knew about words beforehand.
    exact : bool
        Whether the guesses are the best possible. If not, they were learnt from draws, and better ones may exist.
    suspects : int
        The number of words among which the original was looked for.
    beyond : Estimate
        The share of the originals that are not among the suspects, so that no guess can be right. More suspects would
        raise success by at most this.
    blind : Estimate
        How often the likeliest word of the prior is right, without seeing an output.
    """

    prior: str
    exact: bool
    suspects: int
    beyond: Estimate
    blind: Estimate


@dataclass(frozen=True)
class Prior:
    """What an attacker believes about a word before seeing its output, from public knowledge.

    Attributes
    ----------
    name : str
        The source of the beliefs.
    ids : array of int
        The suspects: the words considered possible, in the order of the vocabulary.
    everywhere : array of float
        The log weight of every word of the vocabulary; -inf for words that a veil never replaces.
    """

    name: str
    ids: NDArray[np.int64]
    everywhere: NDArray[np.float64]

    @classmethod
    def named(cls, name: str, space: Space, words: int | None = None, *, select: str = "all") -> Prior:
        """Make a prior over the first, most frequent words of the vocabulary.

        Parameters
        ----------
        name : {"uniform", "frequency"}
            All words alike, or the Zipf-Mandelbrot law of a word's rank in the vocabulary.
        space : Space
            The words.
        words : int, optional
            The number of suspects. Default: all words.
        select : {"content", "all"}
            Which words the veil replaces; function words that it leaves alone are not suspects.
        """
        if name not in ("uniform", "frequency"):
            raise OptionError("prior must be uniform or frequency.")
        logs = log_prior(space, name)
        if select == "content":
            left_alone = stop_words()
            logs[[place for place, word in enumerate(space.vocabulary) if lookup_key(word) in left_alone]] = -np.inf
        return cls._top(name, logs, words)

    @classmethod
    def of(cls, reference: Words, space: Space, words: int | None = None) -> Prior:
        """Make a prior from how often the words that a veil replaces occur in a public reference text.

        A word that the veil leaves alone everywhere in the reference is not a suspect.

        Parameters
        ----------
        reference : Words
            The reference text, looked up in the space's vocabulary.
        space : Space
            The words.
        words : int, optional
            The number of suspects, the most frequent words. Default: all words.
        """
        hidden = np.bincount(reference.ids[reference.targets], minlength=len(space))
        there = np.bincount(reference.ids[reference.ids != OUTSIDE], minlength=len(space))[: len(space)]
        logs = np.log(hidden + _SMOOTHING)
        logs[(there > 0) & (hidden == 0)] = -np.inf
        return cls._top("reference text", logs, words)

    @classmethod
    def _top(cls, name: str, logs: NDArray[np.float64], words: int | None) -> Prior:
        if words is not None and words < 1:
            raise OptionError("the number of suspects must be at least 1.")
        order = np.argsort(-logs, kind="stable")
        ids = np.sort(order[np.isfinite(logs[order])][:words]).astype(np.int64)
        if not ids.size:
            raise InputError("there are no suspects: a veil would not replace any of the known words.")
        return cls(name, ids, logs)

    def including(self, ids: NDArray[np.int64]) -> Prior:
        """Return the same beliefs with more suspects; an output may be its own original."""
        possible = ids[np.isfinite(self.everywhere[ids])]
        return Prior(self.name, np.union1d(self.ids, possible), self.everywhere)

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """The logarithm of the probability of each suspect; the probabilities sum to 1."""
        own = self.everywhere[self.ids]
        return np.asarray(own - np.logaddexp.reduce(own))

    @property
    def likeliest(self) -> int:
        """The best guess before anything is seen."""
        return int(self.ids[self.logs.argmax()])
