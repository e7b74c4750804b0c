"""Finds words that are rare in their context, by a differentially private model of word sequences.

A word is judged by the words just before it that are left alone themselves. Those are released as they are, so the
choice depends on nothing hidden but the word itself. If it depended on veiled words, a word left alone could reveal the
veiled word before it ("York", left alone, reveals "New").

The model is a differentially private tree of word sequences (after Chen, Acs & Castelluccia 2012). A record is what one
person contributed: one or more texts. Records are cut to their first ``words`` words, and sequences of one, two, …
words are counted along a tree, in which the children of a sequence are one word longer. Every count is read with noise.
A sequence whose noisy count is below a threshold is dropped and never extended, so that the budget is spent on frequent
sequences.

Proof. Consider two sets of records that differ by one record. It has at most ``L = words`` places, and the words from a
place on count, on every level, for one node: the nodes of one path from the root. With two-sided geometric noise of
rate ``ε_v/L`` at node ``v``, the joint probabilities of all noisy counts differ by a factor of at most
``exp(Σ_v ε_v·|Δ_v|/L)``, which is at most ``exp(Σ_places Σ_{v on its path} ε_v/L) <= exp(L·ε/L)`` if the ``ε_v`` of
every path sum to at most ε. They do: each child takes a part of what its parent has left. Which nodes are read depends
only on noisy counts and the public vocabulary. ∎ The noise is an integer, so no low-order digits reveal the counts.

The remaining ε is divided as in the paper: the height of the tree below a node is estimated from its noisy count and
the largest transition probability of its longest released suffix (the Markov assumption), and each level takes an equal
share. The threshold is such that, on average, one word that does not occur passes by chance.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.spaces import Vocabulary
from wordveil.text.tokens import tokenise

__all__ = ["NgramTree", "RareWords"]

_Gram = tuple[int, ...]


class NgramTree:
    """Noisy counts of word sequences.

    Parameters
    ----------
    vocabulary : Vocabulary
        The public words; all others count as one further word.
    epsilon : float
        The privacy loss of a whole record.
    longest : int
        The length of the longest sequences: the height of the tree.
    words : int
        How many words of a record count.

    Attributes
    ----------
    secure : bool
        Whether nobody can repeat the noise: False after `grow` with a seed.

    Examples
    --------
    >>> vocabulary = Vocabulary(["sea", "the", "ship"])
    >>> tree = NgramTree(vocabulary, epsilon=5.0, longest=2, words=4)
    >>> tree = tree.grow(["the sea", "the sea", "the ship"] * 500, Entropy(1))
    >>> round(tree.transition(["the"], "sea"), 1)
    0.7
    """

    def __init__(self, vocabulary: Vocabulary, *, epsilon: float, longest: int = 3, words: int = 20) -> None:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise OptionError("the epsilon of a tree of word sequences must be a finite number above 0.")
        if longest < 1 or words < 1:
            raise OptionError("longest and words of a tree of word sequences must be at least 1.")
        self.vocabulary, self.epsilon, self.longest, self.words = vocabulary, float(epsilon), longest, words
        self.secure = True
        self._children: dict[_Gram, dict[int, int]] = {}
        self._kept: dict[_Gram, int] = {}
        self._count_words = len(vocabulary) + 1

    def __len__(self) -> int:
        return sum(map(len, self._children.values()))

    def ids(self, keys: Sequence[str]) -> list[int]:
        """Return the ids of words, given by their lookup keys; all unknown words share the last id."""
        get, unknown = self.vocabulary.ids.get, self._count_words - 1
        return [get(key, unknown) for key in keys]

    def grow(self, records: Iterable[str | Sequence[str]], entropy: Entropy | None = None) -> NgramTree:
        """Count the sequences of some records, with noise; this spends the whole ε.

        Parameters
        ----------
        records : iterable of str or sequence of str
            The private records, each as one text or several.
        entropy : Entropy, optional
            The source of the noise.
        """
        entropy = entropy or Entropy()
        self.secure = entropy.secure
        places = _Places(*self._read(records), self._count_words)
        self._children = {}
        self._kept = {}
        level: list[tuple[_Gram, int, float]] = [((), 0, self.epsilon)]
        for length in range(1, self.longest + 1):
            following: list[tuple[_Gram, int, float]] = []
            parents: list[int] = []
            counts = places.counts(length, len(level))
            for number, (gram, noisy, left) in enumerate(level):
                share = left / self._height(gram, noisy, left, length)
                found = self._noisy(*counts[number], share, entropy)
                if found:
                    self._children[gram], self._kept[gram] = found, sum(found.values())
                if left - share > 1e-12 * self.epsilon:
                    following += [((*gram, word), count, left - share) for word, count in found.items()]
                    parents += [number] * len(found)
            places.go_on(length, parents, [gram[-1] for gram, _, _ in following])
            level = following
        return self

    def _read(self, records: Iterable[str | Sequence[str]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the ids of all words that count, and for each the number of words from it to the end of its text."""
        ids, left = array("i"), array("i")
        for record in records:
            room = self.words
            for text in (record,) if isinstance(record, str) else record:
                found = self.ids(tokenise(text).keys)[:room]
                ids.extend(found)
                left.extend(range(len(found), 0, -1))
                room -= len(found)
        return np.frombuffer(ids, np.int32) if ids else np.empty(0, np.int32), np.array(left, dtype=np.int32)

    def _height(self, gram: _Gram, noisy: int, left: float, length: int) -> int:
        """Estimate how many levels the subtree of a node will have."""
        most = self.longest - length + 1
        largest = self._largest_transition(gram[1:])
        if not gram or largest is None:
            return most
        threshold = self._threshold(left / most)
        if noisy * largest <= threshold or largest >= 1.0:
            return 1 if largest < 1.0 else most
        return max(1, min(most, math.floor(math.log(threshold / noisy) / math.log(largest))))

    def _largest_transition(self, suffix: _Gram) -> float | None:
        while True:
            children = self._children.get(suffix)
            if children:
                return max(children.values()) / self._kept[suffix]
            if not suffix:
                return None
            suffix = suffix[1:]

    def _threshold(self, share: float) -> int:
        return max(1, math.ceil(self.words / share * math.log(max(2.0, self._count_words / 2))))

    def _noisy(
        self, words: NDArray[np.int64], counts: NDArray[np.int64], share: float, entropy: Entropy
    ) -> dict[int, int]:
        """Add noise to the count of every word of the vocabulary and keep those above the threshold.

        `words` and `counts` are the ids and counts of the words that occur.
        """
        rate = share / self.words
        threshold = self._threshold(share)
        noisy = counts + _geometric(rate, len(words), entropy) - _geometric(rate, len(words), entropy)
        kept = {int(word): int(count) for word, count in zip(words, noisy, strict=True) if count >= threshold}
        # There are too many words that do not occur to draw noise for each. How many of them pass is binomial, which
        # ones is uniform, and their excess over the threshold is geometric.
        absent = self._count_words - len(words)
        passing = int(entropy.generator.binomial(absent, math.exp(-rate * threshold) / (1.0 + math.exp(-rate))))
        if passing:
            kept |= self._by_chance(set(words.tolist()), passing, threshold, rate, entropy)
        return dict(sorted(kept.items()))  # sorted, because otherwise the words that occur would come first

    def _by_chance(
        self, present: set[int], passing: int, threshold: int, rate: float, entropy: Entropy
    ) -> dict[int, int]:
        chosen: set[int] = set()
        while len(chosen) < passing:
            word = int(entropy.below(np.array([self._count_words]))[0])
            if word not in present:
                chosen.add(word)
        over = _geometric(rate, passing, entropy)
        return {word: threshold + int(more) for word, more in zip(sorted(chosen), over, strict=True)}

    def transition(self, before: Sequence[str], word: str) -> float:
        """Return the probability of a word after others.

        It is the word's share of the counts after the longest suffix of `before` in the tree. If the tree has not kept
        the word there, it is the probability after a shorter suffix, times the share of counts that were not kept.
        """
        return self.transition_of(tuple(self.ids(before)), self.ids([word])[0])

    def transition_of(self, before: _Gram, word: int) -> float:
        """Return the `transition` of ids."""
        context, left = before[-(self.longest - 1) :] if self.longest > 1 else (), 1.0
        while context:
            size = self._children.get(context[:-1], {}).get(context[-1])
            if size is not None:
                kept = self._kept.get(context, 0)
                if word in (found := self._children.get(context, {})):
                    return left * found[word] / max(size, kept)
                left *= 1.0 - kept / max(size, kept)
            context = context[1:]
        common = self._children.get((), {})
        return left * common[word] / self._kept[()] if word in common else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain values: public ids and noisy counts, all covered by its ε."""
        return {
            "epsilon": self.epsilon,
            "longest": self.longest,
            "words": self.words,
            "secure": self.secure,
            "children": [[list(gram), list(found), list(found.values())] for gram, found in self._children.items()],
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any], vocabulary: Vocabulary) -> NgramTree:
        """Restore a tree from `to_dict`; the vocabulary must be the same."""
        tree = cls(vocabulary, epsilon=plain["epsilon"], longest=plain["longest"], words=plain["words"])
        tree.secure = bool(plain["secure"])
        tree._children = {
            tuple(gram): dict(zip(words, counts, strict=True)) for gram, words, counts in plain["children"]
        }
        tree._kept = {gram: sum(found.values()) for gram, found in tree._children.items()}
        return tree


class _Places:
    """Every place of the records, with the node of the tree that its words lead to."""

    def __init__(self, ids: NDArray[np.int32], left: NDArray[np.int32], count_words: int) -> None:
        self._ids, self._left, self._count_words = ids, left, count_words
        self._places = np.arange(len(ids))
        self._nodes = np.zeros(len(ids), dtype=np.int64)

    def _steps(self, length: int) -> NDArray[np.int64]:
        """Return for each place its node and the next word as one number; forget places that end before it."""
        longer = self._left[self._places] >= length
        self._places, self._nodes = self._places[longer], self._nodes[longer]
        return self._nodes * self._count_words + self._ids[self._places + (length - 1)]

    def counts(self, length: int, nodes: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return for each node of the level the words that follow, and how often."""
        steps, counts = np.unique(self._steps(length), return_counts=True)
        cuts = np.searchsorted(steps, np.arange(1, nodes) * self._count_words)
        words = np.split(steps % self._count_words, cuts)
        return list(zip(words, np.split(counts, cuts), strict=True))

    def go_on(self, length: int, parents: list[int], words: list[int]) -> None:
        """Move to the nodes of the next level, given by parent and word; drop places that lead to none."""
        kept = np.array(parents, dtype=np.int64) * self._count_words + np.array(words, dtype=np.int64)
        order = np.argsort(kept)
        steps = self._steps(length)
        found = np.searchsorted(kept[order], steps)
        found[found == len(kept)] = 0
        leads = kept[order][found] == steps if len(kept) else np.zeros(len(steps), dtype=bool)
        self._places = self._places[leads]
        self._nodes = order[found[leads]] if len(kept) else self._nodes[leads]


def _geometric(rate: float, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw integers from 0, each ``exp(-rate)`` times as likely as the one before it."""
    return np.floor(np.log(entropy.uniform(count)) / -rate).astype(np.int64)


class RareWords:
    """Finds the words of a text that are unlikely in their context, for the selection ``rare``.

    A word outside the tree's vocabulary is always rare: such words share one id, whose frequency says nothing about
    this word.

    Parameters
    ----------
    tree : NgramTree
        The model of likely words.
    below : float
        A word is rare if its transition probability is below this.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k")
    >>> records = ["thank you for your letter"] * 3000 + ["the whale sank"]
    >>> tree = NgramTree(space.vocabulary, epsilon=1.0, longest=2, words=5).grow(records, wordveil.Entropy(1))
    >>> rare = RareWords(tree)
    >>> rare.choose(["thank", "you", "for", "your", "whale"])
    [False, False, False, False, True]
    >>> veil = wordveil.Veil(epsilon=4, space=space, select="rare", rare=rare)
    >>> veil("Thank you for your whale.").text.startswith("Thank you for your ")
    True
    """

    def __init__(self, tree: NgramTree, *, below: float = 0.01) -> None:
        if not 0.0 < below <= 1.0:
            raise OptionError("below, the probability under which a word is rare, must be above 0 and at most 1.")
        self.tree, self.below = tree, float(below)

    def choose(self, keys: Sequence[str]) -> list[bool]:
        """Return whether each word of a text, given by its lookup key, is rare."""
        chosen: list[bool] = []
        unknown = len(self.tree.vocabulary)
        context: tuple[int, ...] = ()
        for word in self.tree.ids(keys):
            rare = word == unknown or self.tree.transition_of(context, word) < self.below
            context = () if rare else (*context[-self.tree.longest :], word)
            chosen.append(rare)
        return chosen

    def describe(self) -> dict[str, Any]:
        """Describe how words are chosen, in plain values."""
        return {
            "tree_epsilon_per_record": self.tree.epsilon,
            "tree_height": self.tree.longest,
            "tree_words_of_a_record": self.tree.words,
            "tree_sequences": len(self.tree),
            "below": self.below,
            "promise": self.sentence(),
        }

    def sentence(self) -> str:
        """Return the guarantee about the choice of words, in a sentence."""
        if not self.tree.secure:
            return "Which words are common was learnt with a seed, so nothing is guaranteed about the choice of words."
        return (
            "Which words are common was learnt under differential privacy: adding or removing a record changes the "
            f"probability of any choice in other records by a factor of at most e^{self.tree.epsilon:g}."
        )

    @property
    def fingerprint(self) -> str:
        """A SHA-256 digest of the tree and the threshold."""
        settings = json.dumps([self.tree.to_dict(), len(self.tree.vocabulary), self.below])
        return hashlib.sha256(settings.encode()).hexdigest()
