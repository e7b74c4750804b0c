"""Query scramblers to compare a veil with: Versatile and Incognito, the baselines of the WSDM 2020 paper.

They are re-implemented from the descriptions in that paper and in their own abstracts, because neither published code.
Where the descriptions leave something open, the simplest choice is made and documented. Neither promises anything.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wordveil.errors import OptionError
from wordveil.spaces import Space
from wordveil.text import stop_words, tokenise

if TYPE_CHECKING:
    from wordveil.lab.training.wordnet import WordNet

_NEIGHBOURS = 10


def general_words(wordnet: WordNet) -> Callable[[str], list[str]]:
    """Return a function that lists the words one step more general than a word, by its commonest meaning."""

    def above(word: str) -> list[str]:
        for synset in wordnet.by_frequency(word)[:1]:
            found = [lemma.lower() for parent in wordnet.parents(synset) for lemma in wordnet.lemmas(parent)]
            return [lemma for lemma in found if "_" not in lemma and lemma != word]
        return []

    return above


class Versatile:
    """Replaces a query by a more general one (Arampatzis, Drosatos & Efraimidis 2015).

    *Semantic*: every content word is replaced by a word that a dictionary gives as more general. A word without one
    stays. *Statistical*: the content words are replaced by as many associated words. These occur in the reference texts
    that share a word with the query, are most associated with them (pointwise mutual information), and are at least as
    common as the query's own words.

    `general` returns more general words, like `general_words`. `reference` is public texts.
    """

    def __init__(
        self,
        kind: str,
        *,
        general: Callable[[str], Sequence[str]] | None = None,
        reference: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        if kind not in ("semantic", "statistical"):
            raise OptionError("Versatile is semantic or statistical.")
        if (general if kind == "semantic" else reference) is None:
            raise OptionError("Versatile needs general to be semantic, and reference to be statistical.")
        self.kind, self._general = kind, general
        self._generator = np.random.default_rng(seed)
        self._texts = [set(_content(text)) for text in reference or ()]
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._texts):
            for word in words:
                self._where[word].append(number)

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Scramble texts."""
        scramble = self._generalised if self.kind == "semantic" else self._associated
        return [_rewritten(text, scramble) for text in texts]

    def _generalised(self, words: list[str]) -> list[str]:
        found = []
        for word in words:
            above = self._general(word) if self._general else ()
            found.append(str(self._generator.choice(list(above))) if above else word)
        return found

    def _associated(self, words: list[str]) -> list[str]:
        own = set(words)
        texts = {number for word in own for number in self._where.get(word, ())}
        with_them = Counter(other for number in texts for other in self._texts[number] if other not in own)
        common = max((len(self._where.get(word, ())) for word in own), default=0)
        scored = sorted(
            (-math.log(count * len(self._texts) / (len(self._where[other]) * len(texts))), other)
            for other, count in with_them.items()
            if len(self._where[other]) >= common
        )
        # if the reference knows none of the words, nothing is left of the query
        return [scored[place][1] if place < len(scored) else "" for place in range(len(words))]


class Incognito:
    """Replaces the words of a query that are risky to release (Masood, Vatsalan, Ikram & Kaafar 2018).

    A word's risk is how much it singles out a person: ``-ln`` of the share of people in the reference who use it,
    divided by the largest possible value. A word riskier than the threshold is replaced by the nearest of its related
    words that is less risky, or by the least risky one if none is. *With noise*, any of the less risky related words
    may be chosen at random, and every other content word is replaced likewise with a given probability.

    `reference` is public texts, each after its person. `noise` is the probability of replacing another word.
    """

    def __init__(
        self,
        space: Space,
        reference: Sequence[tuple[str, str]],
        *,
        threshold: float = 0.3,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not (0.0 <= threshold <= 1.0 and 0.0 <= noise <= 1.0):
            raise OptionError("threshold and noise must lie between 0 and 1.")
        self.threshold, self.noise = threshold, noise
        self._space = space
        self._generator = np.random.default_rng(seed)
        users: dict[str, set[str]] = defaultdict(set)
        for person, text in reference:
            for word in _content(text):
                users[word].add(person)
        self._persons = max(2, len({person for person, _ in reference}))
        self._users = {word: len(persons) for word, persons in users.items()}
        self._related: dict[str, list[str]] = {}

    def risk(self, word: str) -> float:
        """Return the risk of a word, from 0 (everybody uses it) to 1 (at most one person does)."""
        return 1.0 - math.log(max(1, self._users.get(word, 0))) / math.log(self._persons)

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Scramble texts."""
        return [_rewritten(text, lambda words: [self._replaced(word) for word in words]) for text in texts]

    def _replaced(self, word: str) -> str:
        risky = self.risk(word) > self.threshold
        if not (risky or (self.noise and self._generator.uniform() < self.noise)):
            return word
        related = self._neighbours(word)
        if not related:
            return "" if risky else word  # the word is unknown, so it has no related words
        safer = [other for other in related if self.risk(other) < self.risk(word)]
        if self.noise:
            return str(self._generator.choice(safer or related))
        return safer[0] if safer else min(related, key=self.risk)

    def _neighbours(self, word: str) -> list[str]:
        if word not in self._related:
            place = self._space.vocabulary.ids.get(word)
            if place is None:
                return []
            self._related[word] = self._space.vocabulary.take(
                self._space.neighbours(np.array([place]), _NEIGHBOURS)[0][0]
            )
        return self._related[word]


def _content(text: str) -> list[str]:
    left_alone = stop_words()
    return [key for key in tokenise(text).keys if key not in left_alone]


def _rewritten(text: str, scramble: Callable[[list[str]], list[str]]) -> str:
    """Return the text with its content words scrambled, and the others unchanged."""
    tokens, left_alone = tokenise(text), stop_words()
    places = [place for place, key in enumerate(tokens.keys) if key not in left_alone]
    pieces = list(tokens.pieces)
    for place, word in zip(places, scramble([tokens.keys[place] for place in places]), strict=True):
        pieces[2 * place + 1] = word
    return "".join(pieces)
