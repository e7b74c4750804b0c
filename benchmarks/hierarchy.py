"""What a mechanism does to words of a hierarchy: what an attacker guesses, and how related the replacements are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Mechanism
from wordveil.lab.training import Synset, WordNet
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, PointSpace

__all__ = ["Figures", "Relations", "guessed", "measure", "near_loss", "relation", "settle", "stays"]

Draws = NDArray[np.int64]


def relation(wordnet: WordNet, word: str, other: str) -> str:
    """Return how `other` is related to `word`, by the closest of their meanings.

    The relations are ``same``, ``synonym``, ``hypernym`` (more general), ``hyponym`` (more special), ``co-hyponym``
    (two kinds of one thing) and ``unrelated``.
    """
    if word == other:
        return "same"
    mine, theirs = set(wordnet.senses(word)), set(wordnet.senses(other))
    if mine & theirs:
        return "synonym"
    above = set[Synset]().union(*map(wordnet.ancestors, mine))
    if above & theirs:
        return "hypernym"
    if mine & set[Synset]().union(*map(wordnet.ancestors, theirs)):
        return "hyponym"
    if {up for one in mine for up in wordnet.parents(one)} & {up for one in theirs for up in wordnet.parents(one)}:
        return "co-hyponym"
    return "unrelated"


class Relations:
    """How replacements are related to words in WordNet, and how similar they are.

    The cosines come from `vectors`, which must have all the words.
    """

    def __init__(self, wordnet: WordNet, words: list[str], vectors: EuclideanSpace) -> None:
        self.wordnet, self.words = wordnet, words
        self._vectors = vectors.directions[[vectors.vocabulary.id(word) for word in words]]
        self._depths: dict[Synset, int] = {}

    def cosine(self, old: Draws, new: Draws) -> float:
        """Return the mean cosine of words and replacements."""
        return float(np.einsum("ij,ij->i", self._vectors[old], self._vectors[new]).mean())

    def shares(self, old: Draws, new: Draws) -> dict[str, float]:
        """Return how often a replacement has each relation to its word."""
        pairs = zip(old.tolist(), new.tolist(), strict=True)
        counts = Counter(relation(self.wordnet, self.words[a], self.words[b]) for a, b in pairs)
        return {name: count / len(old) for name, count in counts.items()}

    def similarity(self, old: Draws, new: Draws) -> float:
        """Return the mean Wu-Palmer similarity: 1 for the same meaning, near 0 if only a root is shared."""
        return float(np.mean([self._similarity(a, b) for a, b in zip(old.tolist(), new.tolist(), strict=True)]))

    def _depth(self, synset: Synset) -> int:
        if synset not in self._depths:
            above = self.wordnet.parents(synset)
            self._depths[synset] = 1 + max(map(self._depth, above), default=0)
        return self._depths[synset]

    def _similarity(self, a: int, b: int) -> float:
        if a == b:
            return 1.0
        mine, theirs = (self.wordnet.by_frequency(self.words[place])[0] for place in (a, b))
        shared = ({mine} | self.wordnet.ancestors(mine)) & ({theirs} | self.wordnet.ancestors(theirs))
        deepest = max(map(self._depth, shared), default=0)
        return 2.0 * deepest / (self._depth(mine) + self._depth(theirs))


def guessed(mechanism: Mechanism[Any], draws: int, seed: int = 0) -> tuple[float, Draws]:
    """Return how often an attacker without prior knowledge guesses the word, and the draws they were tested on.

    They see an output and name the word that gave it most often in one half of the draws of every word, or the output
    itself if they have seen too little. They are tested on the other half.
    """
    words = len(mechanism.space)
    everyone = np.arange(words)
    drawn = mechanism.draw(np.tile(everyone, draws), Entropy(seed)).reshape(draws, words)
    half = draws // 2
    right = []
    for learnt, tested in ((drawn[:half], drawn[half:]), (drawn[half:], drawn[:half])):
        keys, counts = np.unique(learnt.ravel() * words + np.tile(everyone, len(learnt)), return_counts=True)
        output, word = np.divmod(keys, words)
        score = counts - (word != output)  # seeing another word once teaches nothing
        order = np.lexsort((word != output, -score, output))
        first = order[np.unique(output[order], return_index=True)[1]]
        guess = everyone.copy()
        guess[output[first]] = np.where(score[first] > 0, word[first], output[first])
        right.append((guess[tested] == everyone).mean())
    return float(np.mean(right)), drawn


def settle(success: Callable[[float], float], low: float, high: float, wanted: float, steps: int = 9) -> float:
    """Find the setting between `low`, where the attacker succeeds too often, and `high`, with the success `wanted`."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if success(middle) > wanted:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def stays(mechanism: ExponentialMechanism[Any], words: int = 300) -> float:
    """Return how often words stay, exactly, as a mean over some words.

    If probabilities fall with the distance, the output itself is the attacker's best guess.
    """
    some = np.random.default_rng(0).choice(len(mechanism.space), min(words, len(mechanism.space)), replace=False)
    return float(mechanism.probability_rows(some)[np.arange(len(some)), some].mean())


def near_loss(space: PointSpace, epsilon: float, near: int = 10) -> float:
    """Return the largest loss allowed between a word and its ten nearest words, as the median over words."""
    some = np.arange(0, len(space), max(1, len(space) // 1000))
    return epsilon * float(np.median(space.neighbours(some, near)[1][:, -1]))


class Figures(NamedTuple):
    """What the attacker guesses, how often words stay, and how similar the replacements are."""

    guessed: float
    stays: float
    similarity: float
    cosine: float
    shares: dict[str, float]


def measure(mechanism: Mechanism[Any], relations: Relations, draws: int = 12, sample: int = 3000) -> Figures:
    """Measure a mechanism on every word of its vocabulary, and relations on a sample."""
    right, drawn = guessed(mechanism, draws)
    words = drawn.shape[1]
    old = np.tile(np.arange(words), draws)
    some = np.random.default_rng(0).choice(len(old), min(sample, len(old)), replace=False)
    new = drawn.ravel()
    return Figures(
        right,
        float((old == new).mean()),
        relations.similarity(old[some], new[some]),
        relations.cosine(old, new),
        relations.shares(old[some], new[some]),
    )
