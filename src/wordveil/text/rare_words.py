"""Which words of a text are rare where they stand, by a private model of which words follow which.

A word is judged after the words just before it that are left alone themselves: those are released as they are, so the
choice looks at nothing that is hidden but the word itself. If it looked at the true words before, a word that is left
alone would tell what the veiled word before it was ("York", left alone, says "New").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from wordveil.errors import WordveilError
from wordveil.text.ngram_tree import NgramTree

__all__ = ["RareWords"]


class RareWords:
    """Finds the words of a text that are unlikely where they stand, for the selection ``rare``.

    A word outside the tree's vocabulary is always rare: that such words are frequent says nothing of this one.

    Parameters
    ----------
    tree : NgramTree
        What is likely.
    below : float
        A word is rare if its transition probability is below this.

    Examples
    --------
    >>> import wordveil
    >>> from wordveil.noise import Entropy
    >>> space = wordveil.load_space("glove-50k")
    >>> records = ["thank you for your letter"] * 3000 + ["the whale sank"]
    >>> tree = NgramTree(space.vocabulary, epsilon=1.0, longest=2, words=5).grow(records, Entropy(1))
    >>> rare = RareWords(tree)
    >>> rare.choose(["thank", "you", "for", "your", "whale"])
    [False, False, False, False, True]
    >>> veil = wordveil.Veil(wordveil.mechanism("graph", space, epsilon=6.0), select="rare", rare=rare)
    >>> veil("Thank you for your whale.").text.startswith("Thank you for your ")
    True
    """

    def __init__(self, tree: NgramTree, *, below: float = 0.01) -> None:
        if not 0.0 < below <= 1.0:
            raise WordveilError("the probability below which words are rare must lie above 0 and be at most 1.")
        self.tree, self.below = tree, float(below)

    def choose(self, keys: Sequence[str]) -> list[bool]:
        """Return for each word of a text, by what it is looked up as, whether it is rare."""
        chosen: list[bool] = []
        unknown = len(self.tree.vocabulary)
        context: tuple[int, ...] = ()
        for word in self.tree.ids(keys):
            rare = word == unknown or self.tree.transition_of(context, word) < self.below
            context = () if rare else (*context[-self.tree.longest :], word)
            chosen.append(rare)
        return chosen

    def describe(self) -> dict[str, Any]:
        """Say how words are chosen, in plain values."""
        return {
            "tree_epsilon_per_record": self.tree.epsilon,
            "tree_height": self.tree.longest,
            "tree_words_of_a_record": self.tree.words,
            "tree_sequences": len(self.tree),
            "below": self.below,
            "promise": self.sentence(),
        }

    def sentence(self) -> str:
        """Say in one sentence what is promised about the choice of words."""
        if not self.tree.secure:
            return "Which words are common was learnt with a seed, so nothing is promised about the choice of words."
        return (
            "Which words are common was learnt under differential privacy: whether a record was there or not changes "
            f"the probability of any choice in other records by a factor of at most e^{self.tree.epsilon:g}."
        )

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of the tree and of how it is used."""
        told = json.dumps([self.tree.to_dict(), len(self.tree.vocabulary), self.below])
        return hashlib.sha256(told.encode()).hexdigest()
