"""How often a guess of a word is right on real text, and the ε at which it is right a given share of the time.

There are three attackers, and every comparison of mechanisms can use any of them. One looks at each word alone. They
know the mechanism and either how often each word occurs in the text, or nothing about that. If the mechanism's law is
exact, so is their success: the sum over outputs of the largest ``π(w)·Pr[M(w)=y]``. Otherwise the guesses are learnt
from draws and tested on fresh ones, so the success is not flattered; with endless draws it would be a little higher.

The second reads the whole release in context (`wordveil.Reader`), and has only the release and what is public. The
third knows half of the texts in clear, and guesses the words of the other half together, with trigrams.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws import Effort, Law
from wordveil.attacks.knowledge import Prior
from wordveil.attacks.sentences import attack_sentences
from wordveil.calibration import Maker, Meter, meter_for
from wordveil.errors import WordveilError
from wordveil.lab.tasks import Reading, TaskTexts
from wordveil.noise import Entropy
from wordveil.reading.ngrams import NgramModel
from wordveil.reading.places import Words
from wordveil.spaces import Space
from wordveil.stats import Estimate

#: What an attacker who looks at one word at a time may know: how often each occurs in the text, or nothing about that.
PRIORS = ("text", "uniform")

_KEPT = 20_000  # draws to measure how many words stay
_TRIES = 14
_ALIKE, _KEPT_ALL = 4, 0.9  # ε in a row with equal success, and the share of kept words from which that means no change
_SMALLEST, _LARGEST = 1e-4, 1e5


@dataclass(frozen=True)
class Attacker(ABC):
    """Guesses the words behind the outputs of one mechanism, at any ε."""

    make: Maker
    space: Space  # the space that was asked for
    chances: NDArray[np.float64]  # the probability of every word as input
    prior: str = "text"  # which attacker: one of `PRIORS`, or ``context``
    draws: int = 150_000  # how many draws to learn from, and how many to test on, if the law is not exact
    seed: int = 0

    #: The relative error of the success that is acceptable.
    tolerance: ClassVar[float] = 0.02

    @property
    def weights(self) -> NDArray[np.float64]:
        """How likely each word is, as far as the attacker knows."""
        return self.chances if self.prior == "text" else np.full(len(self.space), 1.0 / len(self.space))

    @property
    def floor(self) -> float:
        """The success of always guessing the likeliest word. No mechanism can push it lower."""
        return float(self.weights.max())

    def meter(self) -> Meter:
        """Return a meter for the mechanism at any ε, which shares what does not depend on ε."""
        words = int(np.count_nonzero(self.weights))
        each = max(2, math.ceil(2 * self.draws / words))  # half of them to learn from
        shared = max(1, words // 1000)  # a law that draws for all words draws each less often
        return meter_for(self.make, self.space, Effort(draws=each * shared, adversary_draws=each, seed=self.seed))

    @abstractmethod
    def success(self, law: Law) -> Estimate:
        """Return how often the best guess is right."""

    def kept(self, law: Law) -> float:
        """Return the share of the texts' words that stay the same, from draws."""
        words = self._tokens(self.chances, _KEPT)
        return float((law.mechanism.draw(words, Entropy(self.seed)) == words).mean())

    def _tokens(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        return np.random.default_rng([self.seed, count]).choice(len(weights), count, p=weights)


@dataclass(frozen=True)
class TokenAttacker(Attacker):
    """Looks at one word at a time.

    With the prior ``uniform``, every word of the vocabulary is equally likely. With ``text``, words are as likely as in
    the texts.
    """

    def success(self, law: Law) -> Estimate:
        """Return how often the best guess is right."""
        guess = law.best_guess(self.weights)
        if law.exact:
            return guess.success
        words = self._tokens(self.weights, self.draws)
        drawn = law.mechanism.draw(words, Entropy(self.seed))
        return Estimate.share(int((guess.words[drawn] == words).sum()), self.draws)


@dataclass(frozen=True, kw_only=True)
class ContextAttacker(Attacker):
    """Reads the whole release in context, with a reader that is fitted on it."""

    texts: TaskTexts  # what is released
    vectors: NDArray[np.float32]  # the vectors of the words
    reading: Reading
    reader: str = "context"  # the name of the reader

    tolerance: ClassVar[float] = 0.04  # each success comes from one veiling and one fit

    @property
    def weights(self) -> NDArray[np.float64]:
        """How often each word occurs, to compare their success with. They do not know this."""
        return self.chances

    def success(self, law: Law) -> Estimate:
        """Return how often the likeliest word is right, on one veiling."""
        return self.texts.guessed(self.reader, law.mechanism, self.reading, self.seed, self.vectors)


@dataclass(frozen=True, kw_only=True)
class SentenceAttacker(Attacker):
    """Knows some of the texts, and guesses the words of the others together, with a trigram model of the known ones."""

    known: Words
    veiled: Words

    tolerance: ClassVar[float] = 0.04  # each success comes from one veiling

    @property
    def weights(self) -> NDArray[np.float64]:
        """How often each word occurs, to compare their success with. They do not know this."""
        return self.chances

    @cached_property
    def _model(self) -> NgramModel:
        return NgramModel(self.known, len(self.space))

    def success(self, law: Law) -> Estimate:
        """Return how often the likeliest word is right, on one veiling."""
        found = attack_sentences(
            law.mechanism,
            self.veiled,
            self._model,
            Prior.of(self.known, self.space, len(self.space)),
            tokens=len(self.veiled.ids),
            draws=self.draws,
            once=False,
            entropy=Entropy(self.seed),
        )
        return found.in_context


def at_levels(
    attacker: Attacker, meter: Meter, levels: Sequence[float], tolerance: float = 0.0
) -> dict[float, tuple[Law | None, Estimate | None]]:
    """Return, for each level, the law and the success at the ε that reaches it, or None if no ε does.

    The level is reached to within `tolerance`, relative to it, or as closely as is worth the time with this attacker.
    """
    seen: dict[float, tuple[Law, Estimate]] = {}

    def success(epsilon: float) -> float:
        law = meter.laws([epsilon])[0]
        seen[epsilon] = law, attacker.success(law)
        return seen[epsilon][1].value

    reachable = [level for level in levels if level > attacker.floor * 1.02]
    start, close = meter.probe.epsilon, max(tolerance, attacker.tolerance)
    found = matched(success, reachable, start, tolerance=close) if reachable else {}
    epsilons = {level: found.get(level) for level in levels}
    return {level: (None, None) if one is None else seen[one] for level, one in epsilons.items()}


def matched(
    success: Callable[[float], float], levels: Sequence[float], start: float, *, tolerance: float = 0.02
) -> dict[float, float | None]:
    """Find an ε for each level of success, or None.

    What is learnt for one level helps with the others. Success rises with ε: its log-odds are nearly a straight line
    in the logarithm of ε, so a few measurements are enough.

    `start` is an ε that the mechanism accepts, and `tolerance` the relative error of the success.

    >>> found = matched(lambda epsilon: epsilon / (1 + epsilon), [0.5, 0.25], start=8.0)
    >>> round(found[0.5], 1), round(found[0.25], 2)
    (1.0, 0.33)
    """
    known: dict[float, float] = {start: success(start)}

    def search(level: float) -> float | None:
        for _ in range(_TRIES):
            closest = min(known, key=lambda epsilon: abs(known[epsilon] - level))
            if abs(known[closest] - level) <= tolerance * level:
                return closest
            tried = _next(known, level)
            if not _SMALLEST < tried < _LARGEST or tried in known:
                return None
            if tried < min(known) and _is_flat(known, tolerance):  # as when words of different groups never mix
                return None
            try:
                known[tried] = success(tried)
            except WordveilError:  # an ε too small for this mechanism
                return None
        return None

    return {level: search(level) for level in levels}


def _is_flat(known: dict[float, float], tolerance: float) -> bool:
    """Whether success no longer falls, however small ε is, although there are words left to hide."""
    lowest = [known[epsilon] for epsilon in sorted(known)[:_ALIKE]]
    return len(lowest) == _ALIKE and max(lowest) < _KEPT_ALL and max(lowest) - min(lowest) <= tolerance * max(lowest)


def _next(known: dict[float, float], level: float) -> float:
    below = [epsilon for epsilon, success in known.items() if success <= level]
    above = [epsilon for epsilon, success in known.items() if success > level]
    if not below:
        return min(above) / 2.0
    if not above:
        return max(below) * 2.0
    low, high = max(below), min(above)
    if low >= high:  # the estimates cross, so the ε cannot be found more closely
        return math.sqrt(low * high)
    odds = [_odds(known[low]), _odds(known[high])]
    part = (_odds(level) - odds[0]) / (odds[1] - odds[0])
    return float(low * (high / low) ** np.clip(part, 0.05, 0.95))


def _odds(success: float) -> float:
    inside = min(max(success, 1e-6), 1 - 1e-6)
    return math.log(inside) - math.log1p(-inside)
