"""A differentially private model of which words follow which (after Chen, Acs & Castelluccia 2012).

Texts are cut to their first ``words`` words, and sequences of one, two, … words are counted along a tree: the children
of a sequence are the sequences that go on by one word. Every count that is looked at has noise added; a sequence whose
noisy count is below a threshold is dropped and never extended, so that the noise is spent on what is frequent.

Proof. Two sets of texts differ by one text. The text has at most ``L = words`` places, and what starts at a place
counts, on every level, for one node of the tree: those of one path from the root. With two-sided geometric noise of
rate ``ε_v/L`` at node ``v``, the probabilities of all noisy counts together differ by at most
``exp(Σ_v ε_v·|Δ_v|/L)``, which is at most ``exp(Σ_places Σ_{v on its path} ε_v/L) <= exp(L·ε/L)`` as long as the
``ε_v`` of every path sum to at most ε. They do: each child takes part of what its parent has left. Which nodes are
looked at depends on noisy counts and the public vocabulary alone. ∎ The noise is that of whole numbers, so there are
no digits to read the counts from.

How what is left is shared out follows the paper: the height that the tree below a node will have is estimated from its
noisy count and the largest transition probability of its longest released suffix (the Markov assumption), and each
level takes an equal share. The threshold lets one of all words that do not occur pass by chance, on average.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.spaces import Vocabulary
from wordveil.text.selection import Document
from wordveil.text.tokens import tokenise

__all__ = ["NgramTree", "RareWords"]

_Gram = tuple[int, ...]


class NgramTree:
    """Noisy counts of sequences of words.

    Parameters
    ----------
    vocabulary : Vocabulary
        The public words; all others count as one more word.
    epsilon : float
        The privacy loss for a whole text.
    longest : int
        The length of the longest sequences.
    words : int
        How many words of a text count.

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
            raise WordveilError("epsilon must be a finite number above 0.")
        if longest < 1 or words < 1:
            raise WordveilError("a tree of word sequences needs a length and a number of words of at least 1.")
        self.vocabulary, self.epsilon, self.longest, self.words = vocabulary, float(epsilon), longest, words
        self._children: dict[_Gram, dict[int, int]] = {}
        self._count_words = len(vocabulary) + 1

    def ids(self, keys: Sequence[str]) -> list[int]:
        """Return the ids of words by what they are looked up as; the last for all that are unknown."""
        get, unknown = self.vocabulary.ids.get, self._count_words - 1
        return [get(key, unknown) for key in keys]

    def grow(self, texts: Iterable[str], entropy: Entropy | None = None) -> NgramTree:
        """Count the sequences of some texts, with noise; spends the whole ε on these texts.

        Parameters
        ----------
        texts : iterable of str
            The private texts.
        entropy : Entropy, optional
            Where the noise comes from.
        """
        entropy = entropy or Entropy()
        counts = self._counted(texts)
        self._children = {}
        level: dict[_Gram, tuple[int, float]] = {(): (0, self.epsilon)}
        for length in range(1, self.longest + 1):
            following: dict[_Gram, tuple[int, float]] = {}
            for gram, (noisy, left) in level.items():
                share = left / self._height(gram, noisy, left, length)
                found = self._noisy(counts.get(gram, {}), share, entropy)
                if found:
                    self._children[gram] = found
                if left - share > 1e-12 * self.epsilon:
                    following |= {(*gram, word): (count, left - share) for word, count in found.items()}
            level = following
        return self

    def _counted(self, texts: Iterable[str]) -> dict[_Gram, Counter[int]]:
        counts: dict[_Gram, Counter[int]] = defaultdict(Counter)
        for text in texts:
            ids = self.ids(tokenise(text).keys)[: self.words]
            for end in range(1, len(ids) + 1):
                for length in range(1, min(self.longest, end) + 1):
                    counts[tuple(ids[end - length : end - 1])][ids[end - 1]] += 1
        return counts

    def _height(self, gram: _Gram, noisy: int, left: float, length: int) -> int:
        """Estimate how many levels of children the node will have, this one included."""
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
                return max(children.values()) / sum(children.values())
            if not suffix:
                return None
            suffix = suffix[1:]

    def _threshold(self, share: float) -> int:
        return max(1, math.ceil(self.words / share * math.log(max(2.0, self._count_words / 2))))

    def _noisy(self, counts: dict[int, int], share: float, entropy: Entropy) -> dict[int, int]:
        """Add noise to the count of every word of the vocabulary and keep those above the threshold."""
        fall = math.exp(-share / self.words)
        threshold = self._threshold(share)
        generator = entropy.generator
        words = np.array(sorted(counts), dtype=np.int64)
        seen = np.array([counts[word] for word in words.tolist()], dtype=np.int64)
        draws = generator.geometric(1.0 - fall, (2, len(words)))
        noisy = seen + draws[0] - draws[1]
        kept = {int(word): int(count) for word, count in zip(words, noisy, strict=True) if count >= threshold}
        # The words that do not occur are far too many to draw for one by one: how many of them pass is binomial, which
        # ones is uniform, and by how much is geometric again.
        absent = self._count_words - len(words)
        passing = int(generator.binomial(absent, fall**threshold / (1.0 + fall)))
        if passing:
            kept |= self._by_chance(set(counts), passing, threshold, fall, entropy)
        return kept

    def _by_chance(
        self, present: set[int], passing: int, threshold: int, fall: float, entropy: Entropy
    ) -> dict[int, int]:
        chosen: set[int] = set()
        while len(chosen) < passing:
            word = int(entropy.below(np.array([self._count_words]))[0])
            if word not in present:
                chosen.add(word)
        over = entropy.generator.geometric(1.0 - fall, passing) - 1
        return {word: threshold + int(more) for word, more in zip(sorted(chosen), over, strict=True)}

    def transition(self, before: Sequence[str], word: str) -> float:
        """Return the probability of a word after others, from the longest of their ends that the tree knows.

        Parameters
        ----------
        before : sequence of str
            The words before it.
        word : str
            The word; 0 if it was too rare to be kept there.
        """
        return self._transition(tuple(self.ids(before)), self.ids([word])[0])

    def _transition(self, before: _Gram, word: int) -> float:
        context = before[-(self.longest - 1) :] if self.longest > 1 else ()
        while context and context not in self._children:
            context = context[1:]
        children = self._children.get(context)
        return children.get(word, 0) / sum(children.values()) if children else 0.0


class RareWords:
    """Finds the words of a text that are unlikely where they stand.

    Which words those are is seen in what is released, as with every selection.

    Parameters
    ----------
    tree : NgramTree
        What is likely.
    below : float
        A word is rare if its transition probability is below this.
    """

    def __init__(self, tree: NgramTree, *, below: float = 0.01) -> None:
        if not 0.0 < below <= 1.0:
            raise WordveilError("the probability below which words are rare must lie above 0 and be at most 1.")
        self.tree, self.below = tree, below

    def mark(self, text: str) -> Document:
        """Return the text with the spans of its rare words, to be veiled with the selection ``spans``."""
        pieces, keys = tokenise(text)
        ids = self.tree.ids(keys)
        spans, place = [], 0
        for number, piece in enumerate(pieces):
            if number % 2:
                word = number // 2
                if self.tree._transition(tuple(ids[:word]), ids[word]) < self.below:
                    spans.append((place, place + len(piece)))
            place += len(piece)
        return Document(text, tuple(spans))
