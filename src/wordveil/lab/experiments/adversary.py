"""How often the best guess of a token is right, on real text.

The adversary knows the mechanism and how often each word occurs in the text, and sees one token at a time. Where the
mechanism states its probabilities his success is exact: the sum over outputs of the largest ``π(w)·Pr[M(w)=y]``. Where
it does not, he learns his guesses from draws, and his success is counted on fresh ones, so that it is not flattered;
what he would have with endless draws lies a little above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws.learner import Learnt, Sightings, success_of
from wordveil.attacks import words_of
from wordveil.calibration import Effort, Maker, Meter, meter_for
from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore
from wordveil.spaces import Space

__all__ = ["PRIORS", "TokenAdversary", "word_chances"]

#: What the adversary may know of the words: nothing, or how often each occurs in the text.
PRIORS = ("text", "uniform")

_KEPT = 20_000  # draws that tell how many words stay


def word_chances(texts: Iterable[str], space: Space, *, select: str = "all") -> NDArray[np.float64]:
    """Return how often each word of a space occurs among the veiled words of some texts.

    Parameters
    ----------
    texts : iterable of str
        The texts.
    space : Space
        The words.
    select : {"all", "content"}
        Which words are veiled.
    """
    words = words_of(texts, space.vocabulary, select)
    counts = np.bincount(words.ids[words.targets], minlength=len(space))
    if not counts.any():
        raise WordveilError("no word of the texts is in the vocabulary, so there is nothing to guess.")
    return counts / counts.sum()


@dataclass(frozen=True)
class TokenAdversary:
    """Measures the best guess against one mechanism, at any ε.

    Parameters
    ----------
    make : callable
        Makes the mechanism for an ε.
    space : Space
        The space it was asked for on.
    chances : array of float
        The probability of every word as input.
    prior : {"text", "uniform"}
        What the adversary knows of them; with ``uniform``, every word of the vocabulary is as likely an input.
    draws : int
        How many draws are learnt from, and how many fresh ones are tested on, where the probabilities are not known.
    seed : int
        Which random numbers.
    watch : callable, optional
        Told how far it is.
    """

    make: Maker
    space: Space
    chances: NDArray[np.float64]
    prior: str = "text"
    draws: int = 150_000
    seed: int = 0
    watch: Watch = ignore

    def meter(self) -> Meter:
        """Return what else measures the mechanism, told of the same prior."""
        meter = meter_for(self.make, self.space, Effort(seed=self.seed), self.watch)
        if meter.exact and self.prior == "text":
            meter.tell("text", self.chances)
        return meter

    @property
    def floor(self) -> float:
        """The success of always guessing the likeliest word, below which no mechanism can press it."""
        return float(self._prior.max())

    def __call__(self, epsilon: float, meter: Meter) -> Adversary:
        """Return how often the best guess is right.

        Parameters
        ----------
        epsilon : float
            The privacy parameter.
        meter : Meter
            From `meter`; what it looked up once serves every ε.
        """
        if meter.exact:
            return meter.adversary([epsilon], self.prior)[0]
        return self._learnt(epsilon)

    def _learnt(self, epsilon: float) -> Adversary:
        mechanism = self.make(epsilon)
        learning, testing = Entropy(self.seed).spawn(2)
        seen = Sightings.of_runs(mechanism, self._prior, self.draws, learning)
        prior = self._prior[seen.suspects]
        guesses = Learnt(mechanism.space, seen).guesses(prior)
        success = success_of([(guesses, Sightings.of_runs(mechanism, self._prior, self.draws, testing))], prior)
        return Adversary(success.value, success.value, success.error, len(seen.suspects))

    def kept(self, epsilon: float) -> float:
        """Return how many of the texts' words stay what they are, from draws."""
        seen = Sightings.of_runs(self.make(epsilon), self.chances, _KEPT, Entropy(self.seed))
        return float(seen.count[seen.stays].sum() / _KEPT)

    @property
    def _prior(self) -> NDArray[np.float64]:
        return self.chances if self.prior == "text" else np.full(len(self.space), 1.0 / len(self.space))
