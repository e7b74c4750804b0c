"""Inference of the words of a sentence, with the words around each as context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.attacks.decoding import BigramDecoder, Decoded, decode_trigrams
from wordveil.attacks.intervals import Mean, Rate, plain
from wordveil.attacks.likelihood import Likelihood, likelihood_of
from wordveil.attacks.ngrams import NgramModel
from wordveil.attacks.priors import Prior
from wordveil.attacks.wordlists import Words
from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore

__all__ = ["SentenceAttack", "attack_sentences"]

_LONGEST = 64  # words of a stretch that are decoded together; a longer one is cut


@dataclass(frozen=True)
class SentenceAttack:
    """How well words are guessed with their context.

    Attributes
    ----------
    order : int
        2 for a bigram model, 3 for a trigram model.
    exact : bool
        Whether the mechanism's own probabilities were used.
    suspects : int
        Among how many words the originals were looked for.
    kept : Rate
        How often the output is the original.
    alone : Rate
        How often the likeliest word is right without context, knowing the same word frequencies.
    in_context : Rate
        How often the likeliest word of each place is right, all others summed out.
    as_a_whole : Rate
        How often the words of the likeliest stretch are right.
    whole_stretches : Rate
        How often a whole stretch is right, of those with at least two hidden words.
    held : Mean
        Which share of the exact bigram posterior the trigram model's candidates hold; 1 for a bigram model, which
        looks at all words.
    """

    order: int
    exact: bool
    suspects: int
    kept: Rate
    alone: Rate
    in_context: Rate
    as_a_whole: Rate
    whole_stretches: Rate
    held: Mean

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain(vars(self))


class _Score:
    """Right guesses, stretch by stretch."""

    def __init__(self) -> None:
        self.trials: list[int] = []
        self.hits: dict[str, list[int]] = {}
        self.held: list[NDArray[np.float64]] = []

    def add(
        self, originals: NDArray[np.int64], guesses: dict[str, NDArray[np.int64]], held: NDArray[np.float64]
    ) -> None:
        self.trials.append(len(originals))
        self.held.append(held)
        for name, guess in guesses.items():
            self.hits.setdefault(name, []).append(int((guess == originals).sum()))

    def rate(self, name: str) -> Rate:
        return Rate.of_groups(np.array(self.hits[name]), np.array(self.trials))

    def whole(self, name: str) -> Rate:
        hits, trials = np.array(self.hits[name]), np.array(self.trials)
        long = trials > 1
        return Rate.of(int((hits[long] == trials[long]).sum()), int(long.sum()))


def attack_sentences(
    mechanism: Mechanism[Any],
    words: Words,
    model: NgramModel,
    prior: Prior,
    *,
    order: int = 3,
    tokens: int = 1000,
    candidates: int = 16,
    draws: int = 200_000,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> SentenceAttack:
    """Veil stretches of a text and guess their words together.

    Words that the veil leaves alone are known to the adversary, as context. A word outside the vocabulary ends a
    stretch.

    Parameters
    ----------
    mechanism : Mechanism
        What veils.
    words : Words
        The text's words.
    model : NgramModel
        What the adversary knows of the language.
    prior : Prior
        The suspects: hidden words are looked for among them and the outputs that are seen. Its probabilities are used
        for the guess without context.
    order : {2, 3}
        Bigrams, over the whole vocabulary, or trigrams, among candidates.
    tokens : int
        About how many hidden words to attack, in whole stretches drawn at random.
    candidates : int
        How many candidates a place has with trigrams.
    draws : int
        How many words the adversary veils himself to learn the mechanism, where it does not state its probabilities.
    entropy : Entropy, optional
        Where all randomness comes from.
    watch : callable
        Told how far it is.
    """
    if order not in (2, 3):
        raise WordveilError("a sentence is attacked with an order of 2 (bigrams) or 3 (trigrams).")
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    stretches = _choose(words, tokens, choosing)
    decoder, score = BigramDecoder(model), _Score()
    outputs = words.ids.copy()
    hidden = np.concatenate([np.arange(len(words.ids))[part][words.hidden[part]] for part in stretches])
    outputs[hidden] = mechanism.draw(words.ids[hidden], veiling)
    prior = prior.including(np.unique(outputs[hidden]))
    likelihood = likelihood_of(mechanism, prior, draws=draws, entropy=learning, watch=watch)
    seen = _Seen(likelihood, prior, len(mechanism.space), outputs[hidden], watch)
    for number, part in enumerate(stretches):
        watch("decoding", number / len(stretches))
        places = np.flatnonzero(words.hidden[part])
        rows = seen.rows(outputs[part], words.hidden[part])
        decoded, belief = decoder.decode(rows)
        held = np.ones(len(rows))
        if order == 3:
            decoded, held = decode_trigrams(model, rows, belief, candidates)
        score.add(words.ids[part][places], _guesses(decoded, outputs[part], rows, prior, places), held[places])
    return SentenceAttack(
        order=order,
        exact=likelihood.exact,
        suspects=len(prior.ids),
        kept=score.rate("kept"),
        alone=score.rate("alone"),
        in_context=score.rate("in_context"),
        as_a_whole=score.rate("as_a_whole"),
        whole_stretches=score.whole("as_a_whole"),
        held=Mean.of(np.concatenate(score.held)),
    )


def _guesses(
    decoded: Decoded,
    outputs: NDArray[np.int64],
    rows: NDArray[np.float64],
    prior: Prior,
    places: NDArray[np.int64],
) -> dict[str, NDArray[np.int64]]:
    alone = (rows[np.ix_(places, prior.ids)] * np.exp(prior.logs)).argmax(axis=1)
    return {
        "kept": outputs[places],
        "alone": prior.ids[alone],
        "in_context": decoded.likeliest[places],
        "as_a_whole": decoded.path[places],
    }


def _choose(words: Words, tokens: int, entropy: Entropy) -> list[slice]:
    """Choose stretches at random until they have enough hidden words."""
    stretches = [
        slice(start, min(start + _LONGEST, run.stop))
        for run in words.runs()
        for start in range(run.start, run.stop, _LONGEST)
    ]
    stretches = [part for part in stretches if words.hidden[part].any()]
    if not stretches:
        raise WordveilError("none of the words would be veiled and is in the space; give another text or space.")
    chosen: list[slice] = []
    count = 0
    for place in entropy.generator.permutation(len(stretches)).tolist():
        chosen.append(stretches[place])
        count += int(words.hidden[stretches[place]].sum())
        if count >= tokens:
            break
    return chosen


class _Seen:
    """The likelihoods of all outputs of the veiled stretches."""

    def __init__(
        self, likelihood: Likelihood, prior: Prior, words: int, outputs: NDArray[np.int64], watch: Watch
    ) -> None:
        self._suspects, self._words, self._outputs = prior.ids, words, np.unique(outputs)
        logs = likelihood.columns(self._outputs, watch)
        self._table = np.exp(logs - logs.max(axis=0)).T

    def rows(self, outputs: NDArray[np.int64], hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how likely each word of the vocabulary makes each place: a known place leaves its own word alone."""
        found = np.zeros((len(outputs), self._words))
        known, unknown = np.flatnonzero(~hidden), np.flatnonzero(hidden)
        found[known, outputs[known]] = 1.0
        found[np.ix_(unknown, self._suspects)] = self._table[np.searchsorted(self._outputs, outputs[unknown])]
        return found
