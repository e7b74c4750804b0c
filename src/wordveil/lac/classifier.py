"""A classifier small enough to be trained in one pass: multinomial naive Bayes with add-one smoothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from wordveil.errors import WordveilError
from wordveil.text import tokenise

__all__ = ["Classifier"]


class Classifier:
    """Says which label a text most likely has.

    Parameters
    ----------
    counts : mapping of str to Counter
        How often each word stood under each label.
    sizes : Counter
        How many texts had each label.
    """

    def __init__(self, counts: Mapping[str, Counter[str]], sizes: Counter[str]) -> None:
        if not counts:
            raise WordveilError("a classifier needs records with labels.")
        words = len({word for counted in counts.values() for word in counted})
        self.labels = sorted(counts)
        self._counts = {label: counts[label] for label in self.labels}
        self._log_sizes = {label: math.log(sizes[label]) for label in self.labels}
        self._log_totals = {label: math.log(counts[label].total() + words) for label in self.labels}

    def __call__(self, text: str) -> str:
        """Return the most likely label."""
        return max(self.labels, key=lambda label: self._score(label, tokenise(text).keys))

    def _score(self, label: str, words: list[str]) -> float:
        counted, total = self._counts[label], self._log_totals[label]
        return self._log_sizes[label] + sum(math.log(counted[word] + 1) - total for word in words)
