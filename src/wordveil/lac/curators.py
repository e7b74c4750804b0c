"""The third stage: computes from the amplified records. It sees nothing else, so it costs no privacy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError
from wordveil.lac.records import Record
from wordveil.lac.recovery import Recovered, dense_law, invert, update
from wordveil.text import tokenise

ResultT = TypeVar("ResultT")

METHODS = ("none", "inverse", "bayes")
_MOST = 1 << 24  # entries of a histogram of n-grams


class Curator(ABC, Generic[ResultT]):
    """Computes a result from records."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, records: Iterable[Record]) -> ResultT:
        """Compute the result."""


class Plain(Curator[list[str]]):
    """Releases the texts unchanged."""

    name = "release"

    def __call__(self, records: Iterable[Record]) -> list[str]:
        """Return the texts."""
        return [record.text for record in records]


class Histogram(Curator[Recovered]):
    """Counts words or n-grams, and recovers what the counts were before the noise.

    Words outside the vocabulary are not counted, nor are n-grams that contain one.

    Parameters
    ----------
    n : int
        The number of words in an n-gram.
    method : {"bayes", "inverse", "none"}
        Maximum likelihood by the iterative Bayesian update; the unbiased inverse; or the noisy counts themselves.
    replicates : int
        For ``bayes``: how many bootstrap samples to use for error bars; 0 for none.
    """

    name = "histogram"

    def __init__(
        self,
        mechanism: Mechanism[Any],
        *,
        n: int = 1,
        method: str = "bayes",
        replicates: int = 20,
        draws: int | None = None,
    ) -> None:
        if method not in METHODS:
            raise OptionError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}.")
        self.words = mechanism.space.vocabulary
        if n < 1 or len(self.words) ** n > _MOST:
            raise OptionError(f"n must be 1 or more, and the vocabulary may have at most {_MOST:,} n-grams.")
        self.n, self.method, self.replicates, self.draws = n, method, replicates, draws
        self._mechanism = mechanism

    def __call__(self, records: Iterable[Record]) -> Recovered:
        """Count and recover."""
        return self.recover(self.count(records))

    def recover(self, counts: NDArray[np.float64]) -> Recovered:
        """Estimate the true counts from noisy ones."""
        if self.method == "none":
            return Recovered(counts, np.sqrt(counts))
        law = dense_law(self._mechanism, draws=self.draws)
        if self.method == "inverse":
            return invert(counts, law)
        return update(counts, law, replicates=self.replicates)

    def count(self, records: Iterable[Record]) -> NDArray[np.float64]:
        """Count the noisy words or n-grams."""
        seen: Counter[tuple[int | None, ...]] = Counter()
        get = self.words.ids.get
        for record in records:
            ids = [get(key) for key in tokenise(record.text).keys]
            seen.update(zip(*(ids[start:] for start in range(self.n)), strict=False))
        counts = np.zeros((len(self.words),) * self.n)
        for place, count in seen.items():
            if None not in place:
                counts[place] = count
        return counts


class TopWords(Curator[list[tuple[str, float]]]):
    """Finds the most frequent words, by their recovered counts.

    Parameters
    ----------
    histogram : Histogram
        How words are counted and recovered; its n must be 1.
    k : int
        How many words to return.
    """

    name = "top words"

    def __init__(self, histogram: Histogram, k: int) -> None:
        if histogram.n != 1 or k < 1:
            raise OptionError("top words need a histogram of single words (n = 1), and k must be 1 or more.")
        self.histogram, self.k = histogram, k

    def __call__(self, records: Iterable[Record]) -> list[tuple[str, float]]:
        """Return the words and their counts, most frequent first."""
        words = self.histogram.words
        return [(words[place[0]], count) for place, count in self.histogram(records).top(self.k)]


class Classifier:
    """Predicts the most likely label of a text, by multinomial naive Bayes with add-one smoothing.

    Parameters
    ----------
    counts : mapping of str to Counter
        How often each word occurred under each label.
    sizes : Counter
        How many texts had each label.
    """

    def __init__(self, counts: Mapping[str, Counter[str]], sizes: Counter[str]) -> None:
        if not counts:
            raise InputError("a classifier needs records with labels.")
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


class Training(Curator[Classifier]):
    """Trains a text classifier on the labels of the records. The labels themselves are released unchanged."""

    name = "training"

    def __call__(self, records: Iterable[Record]) -> Classifier:
        """Train on the noisy words."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        sizes: Counter[str] = Counter()
        for record in records:
            if record.label is not None:
                counts[record.label].update(tokenise(record.text).keys)
                sizes[record.label] += 1
        return Classifier(counts, sizes)
