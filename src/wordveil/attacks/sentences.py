"""Inference of the words of a sentence, with the words around each as context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Mechanism
from wordveil.attacks.knowledge import Prior
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore
from wordveil.reading.ngrams import BigramDecoder, NgramModel, decode_trigrams
from wordveil.reading.places import Words
from wordveil.stats import Estimate, plain

_LONGEST = 64  # words of a stretch that are decoded together; a longer one is cut


@dataclass(frozen=True)
class SentenceAttack:
    """How well words are guessed with their context.

    Attributes
    ----------
    order : int
        2 for a bigram model, 3 for a trigram model.
    exact : bool
        Whether the mechanism's exact probabilities were used.
    suspects : int
        Among how many words the originals were looked for.
    kept : Estimate
        How often the output is the original.
    alone : Estimate
        How often the likeliest word is right without context, knowing the same word frequencies.
    in_context : Estimate
        How often the likeliest word at each place is right, all others summed out.
    as_a_whole : Estimate
        How often the words of the likeliest stretch are right.
    whole_stretches : Estimate
        How often a whole stretch is right, among those with at least two hidden words.
    held : Estimate
        The share of the exact bigram posterior that the trigram model's candidates hold; 1 for a bigram model, which
        looks at all words.
    stretches : array of shape (stretches, 3)
        For each stretch, how many hidden words it has, and how many of them are guessed right without context and with
        it. The same texts, seed and number of tokens give the same stretches, so that two attacks can be compared.
    """

    order: int
    exact: bool
    suspects: int
    kept: Estimate
    alone: Estimate
    in_context: Estimate
    as_a_whole: Estimate
    whole_stretches: Estimate
    held: Estimate
    stretches: NDArray[np.int64] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain({name: value for name, value in vars(self).items() if name != "stretches"})


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

    Words that the veil leaves alone are known to the attacker, as context. A word outside the vocabulary ends a
    stretch. `wordveil.attacks` says what else is given; the probabilities of `prior` are those of the guess without
    context.

    Parameters
    ----------
    model : NgramModel
        What the attacker knows about the language.
    order : {2, 3}
        Bigrams, over the whole vocabulary, or trigrams, among candidates.
    candidates : int
        How many candidates each place has with trigrams.
    """
    if order not in (2, 3):
        raise OptionError("order must be 2 (bigrams) or 3 (trigrams).")
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    stretches = _choose(words, tokens, choosing)
    outputs = words.ids.copy()
    hidden = np.concatenate([np.arange(len(words.ids))[part][words.hidden[part]] for part in stretches])
    outputs[hidden] = mechanism.draw(words.ids[hidden], veiling)
    seen = np.unique(outputs[hidden])
    prior = prior.including(seen)
    weights = np.exp(prior.logs)
    law = mechanism.law(Effort(column_draws=draws, seed=int(learning.generator.integers(1 << 62))), watch)
    table = law.log_columns(seen, prior.ids, prior=weights, watch=watch)
    table = np.exp(table - table.max(axis=1, keepdims=True))
    decoder, trials, held = BigramDecoder(model), [], []
    hits: dict[str, list[int]] = {name: [] for name in ("kept", "alone", "in_context", "as_a_whole")}
    for number, part in enumerate(stretches):
        watch("decoding", number / len(stretches))
        known, places = np.flatnonzero(~words.hidden[part]), np.flatnonzero(words.hidden[part])
        shown, originals = outputs[part], words.ids[part][places]
        likely = table[np.searchsorted(seen, shown[places])]
        rows = np.zeros((len(shown), model.words))
        rows[known, shown[known]] = 1.0
        rows[np.ix_(places, prior.ids)] = likely
        decoded = decoder.decode(rows)
        if order == 3:
            decoded = decode_trigrams(model, rows, decoded.belief, candidates)
        alone = prior.ids[(likely * weights).argmax(axis=1)]
        guesses = (shown[places], alone, decoded.likeliest[places], decoded.path[places])
        for counted, guess in zip(hits.values(), guesses, strict=True):
            counted.append(int((guess == originals).sum()))
        trials.append(len(places))
        held.append(decoded.held[places])
    counts, long = np.array(trials), np.array(trials) > 1
    whole = (np.array(hits["as_a_whole"]) == counts)[long]
    return SentenceAttack(
        order=order,
        exact=law.exact,
        suspects=len(prior.ids),
        **{name: Estimate.share_of_groups(np.array(found), counts) for name, found in hits.items()},
        whole_stretches=Estimate.share(int(whole.sum()), len(whole)),
        held=Estimate.mean(np.concatenate(held)),
        stretches=np.column_stack([counts, hits["alone"], hits["in_context"]]),
    )


def _choose(words: Words, tokens: int, entropy: Entropy) -> list[slice]:
    """Choose stretches at random until they have enough hidden words."""
    stretches = [
        slice(start, min(start + _LONGEST, run.stop))
        for run in words.runs()
        for start in range(run.start, run.stop, _LONGEST)
    ]
    stretches = [part for part in stretches if words.hidden[part].any()]
    if not stretches:
        raise InputError("the text has no word that would be veiled and is in the space; choose another text or space.")
    order = entropy.generator.permutation(len(stretches)).tolist()
    counts = np.cumsum([words.hidden[stretches[place]].sum() for place in order])
    return [stretches[place] for place in order[: int(np.searchsorted(counts, tokens)) + 1]]
