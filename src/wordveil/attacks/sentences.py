"""Inference of the words of a sentence, using the other words as context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Mechanism
from wordveil.attacks.knowledge import Prior
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore
from wordveil.reading.ngrams import BigramDecoder, NgramModel, decode_trigrams
from wordveil.reading.places import Words, nothing_to_find
from wordveil.stats import Estimate, plain
from wordveil.text import Once

_LONGEST = 64  # words decoded together; longer stretches are cut


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
        The number of words among which the originals were looked for.
    kept : Estimate
        How often the output is the original.
    alone : Estimate
        How often the likeliest word is right without context, knowing the same word frequencies.
    in_context : Estimate
        How often the word with the largest marginal posterior is right.
    as_a_whole : Estimate
        How often the words of the likeliest stretch are right.
    whole_stretches : Estimate
        How often a whole stretch is right, among those with at least two hidden words.
    held : Estimate
        The share of the exact bigram posterior that the trigram model's candidates hold; 1 for a bigram model, which
        considers all words.
    records : array of shape (records, 3)
        For each record, the number of hidden words, and how many of them are guessed right without and with context.
        The same texts, seed and number of tokens give the same records, so that two attacks can be compared.
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
    records: NDArray[np.int64] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain({name: value for name, value in vars(self).items() if name != "records"})


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
    once: bool = True,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> SentenceAttack:
    """Veil records and guess the words of each stretch together.

    The attacker knows the words that the veil leaves alone, as context. A word outside the vocabulary ends a stretch.
    If equal words of a record are drawn once, the attacker knows which words are equal, as the guarantee assumes: such
    a word has one draw, and the context of all its places. The guess without context uses `prior`. See
    `wordveil.attacks` for the other parameters.

    Parameters
    ----------
    model : NgramModel
        What the attacker knows about the language.
    order : {2, 3}
        2 for bigrams, over the whole vocabulary; 3 for trigrams, over candidates.
    candidates : int
        The number of candidates per place, for trigrams.
    once : bool
        Whether equal words of a record are drawn once.
    """
    if order not in (2, 3):
        raise OptionError("order must be 2 (bigrams) or 3 (trigrams).")
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    stretches = _choose(words, tokens, choosing)
    outputs = words.ids.copy()
    hidden = np.concatenate([np.arange(len(words.ids))[part][words.hidden[part]] for part in stretches])
    record = words.records[hidden]
    if once:
        stops = np.arange(1, len(hidden) + 1)
        outputs[hidden] = Once("record").words(mechanism, words.ids[hidden], stops, record, (), veiling).each
        same = np.column_stack([record, words.ids[hidden]])
        _, draw, places_of = np.unique(same, axis=0, return_inverse=True, return_counts=True)
    else:
        outputs[hidden] = mechanism.draw(words.ids[hidden], veiling)
        draw, places_of = np.arange(len(hidden)), np.ones(len(hidden), dtype=np.int64)
    seen = np.unique(outputs[hidden])
    prior = prior.including(seen)
    weights = np.exp(prior.logs)
    law = mechanism.law(Effort(column_draws=draws, seed=int(learning.generator.integers(1 << 62))), watch)
    table = law.log_columns(seen, prior.ids, prior=weights, watch=watch)
    table = np.exp(table - table.max(axis=1, keepdims=True))
    decoder, done, held = BigramDecoder(model), 0, []
    hits: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in ("kept", "alone", "in_context", "as_a_whole")}
    shared = _Shared(draw.ravel(), places_of, np.log(np.maximum(model.unigram, np.finfo(float).tiny)))
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
            counted.append(guess == originals)
        shared.add(done, decoded.belief[places], rows[places])
        done += len(places)
        held.append(decoded.held[places])
    whole = np.array([right.all() for right in hits["as_a_whole"] if len(right) > 1])
    right = {name: np.concatenate(found) for name, found in hits.items()}
    for place, guess in shared.guesses.items():
        right["in_context"][place] = guess == words.ids[hidden[place]]
    owner = np.unique(record, return_inverse=True)[1].ravel()
    return SentenceAttack(
        order=order,
        exact=law.exact,
        suspects=len(prior.ids),
        **{name: Estimate.share_within(found, record) for name, found in right.items()},
        whole_stretches=Estimate.share(int(whole.sum()), len(whole)),
        held=Estimate.mean(np.concatenate(held)),
        records=np.column_stack(
            [np.bincount(owner), *(np.bincount(owner, right[name]) for name in ("alone", "in_context"))]
        ).astype(np.int64),
    )


class _Shared:
    """Combines the contexts of the places of a record that show the same draw.

    The belief in w at one place is ``Pr[y|w]·c(w)``, where c is the evidence of its context, including w's frequency.
    For n places with one draw it is ``Pr[y|w]·Πᵢ cᵢ(w)/π(w)ⁿ⁻¹``.
    """

    def __init__(self, draw: NDArray[np.int64], places: NDArray[np.int64], frequency: NDArray[np.float64]) -> None:
        self._draw, self._places, self._frequency = draw, places, frequency
        self._sums: dict[int, NDArray[np.float64]] = {}
        self._seen: dict[int, list[int]] = {}
        #: The likeliest word at each place that shares its draw with others.
        self.guesses: dict[int, int] = {}

    def add(self, first: int, belief: NDArray[np.float64], likely: NDArray[np.float64]) -> None:
        """Add the beliefs about the places of a stretch, numbered consecutively from `first`."""
        for place, (believed, own) in enumerate(zip(belief, likely, strict=True), first):
            draw = int(self._draw[place])
            if self._places[draw] < 2:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                around = np.where(own > 0, np.log(believed) - np.log(own), -np.inf) - self._frequency
                if draw in self._sums:
                    self._sums[draw] += around
                else:
                    self._sums[draw] = around + np.log(own) + self._frequency
            self._seen.setdefault(draw, []).append(place)
            if len(self._seen[draw]) == self._places[draw]:
                guess = int(self._sums.pop(draw).argmax())
                self.guesses.update(dict.fromkeys(self._seen.pop(draw), guess))


def _choose(words: Words, tokens: int, entropy: Entropy) -> list[slice]:
    """Choose records at random until they have `tokens` hidden words, and return their stretches."""
    stretches = [
        slice(start, min(start + _LONGEST, run.stop))
        for run in words.runs()
        for start in range(run.start, run.stop, _LONGEST)
    ]
    stretches = [part for part in stretches if words.hidden[part].any()]
    if not stretches:
        raise nothing_to_find()
    of_record: dict[int, list[slice]] = {}
    for part in stretches:
        of_record.setdefault(int(words.records[part.start]), []).append(part)
    own = list(of_record.values())
    order = [part for number in entropy.generator.permutation(len(own)).tolist() for part in own[number]]
    counts = np.cumsum([words.hidden[part].sum() for part in order])
    return order[: int(np.searchsorted(counts, tokens)) + 1]
