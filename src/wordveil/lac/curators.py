"""The third stage: what is computed on the amplified records. It sees nothing else, so it costs no privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import WordveilError
from wordveil.lac.channels import dense_channel
from wordveil.lac.classifier import Classifier
from wordveil.lac.estimate import Estimate
from wordveil.lac.records import Record
from wordveil.lac.recovery import invert, update
from wordveil.text import tokenise

__all__ = ["Curator", "Histogram", "Plain", "TopWords", "Training"]

ResultT = TypeVar("ResultT")

METHODS = ("none", "inverse", "bayes")
_MOST = 1 << 24  # entries of a histogram of n-grams


class Curator(ABC, Generic[ResultT]):
    """Computes something on records."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, records: Iterable[Record]) -> ResultT:
        """Compute it."""


class Plain(Curator[list[str]]):
    """Releases the texts as they come."""

    name = "release"

    def __call__(self, records: Iterable[Record]) -> list[str]:
        """Return the texts."""
        return [record.text for record in records]


class Histogram(Curator[Estimate]):
    """Counts words or n-grams, and recovers what the counts were before the noise.

    Words outside the vocabulary and n-grams with one are not counted.

    Parameters
    ----------
    mechanism : Mechanism
        What randomised the words: its channel is undone.
    n : int
        How many words make an n-gram.
    method : {"bayes", "inverse", "none"}
        Maximum likelihood by the iterative Bayesian update; the unbiased inverse; or the noisy counts as they are.
    replicates : int
        For ``bayes``: how many bootstrap samples the error bars come from; 0 for none.
    """

    name = "histogram"

    def __init__(self, mechanism: Mechanism[Any], *, n: int = 1, method: str = "bayes", replicates: int = 20) -> None:
        if method not in METHODS:
            raise WordveilError(f"there is no recovery {method!r}; choose one of {', '.join(METHODS)}.")
        self.words = mechanism.space.vocabulary
        if n < 1 or len(self.words) ** n > _MOST:
            raise WordveilError(f"n must be 1 or more, and the n-grams of the vocabulary at most {_MOST:,}.")
        self.n, self.method, self.replicates = n, method, replicates
        self._mechanism = mechanism

    def __call__(self, records: Iterable[Record]) -> Estimate:
        """Count and recover."""
        return self.recover(self.count(records))

    def recover(self, counts: NDArray[np.float64]) -> Estimate:
        """Estimate the true counts from noisy ones."""
        if self.method == "none":
            return Estimate(counts, np.sqrt(counts))
        channel = dense_channel(self._mechanism)
        if self.method == "inverse":
            return invert(counts, channel)
        return update(counts, channel, replicates=self.replicates)

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
        How words are counted and recovered; of single words.
    k : int
        How many words.
    """

    name = "top words"

    def __init__(self, histogram: Histogram, k: int) -> None:
        if histogram.n != 1 or k < 1:
            raise WordveilError("the top words are those of a histogram of single words, one word or more.")
        self.histogram, self.k = histogram, k

    def __call__(self, records: Iterable[Record]) -> list[tuple[str, float]]:
        """Return the words and their counts, most frequent first."""
        words = self.histogram.words
        return [(words[place[0]], count) for place, count in self.histogram(records).top(self.k)]


class Training(Curator[Classifier]):
    """Trains a classifier of texts on the labels of the records. The labels themselves are released as they are."""

    name = "training"

    def __call__(self, records: Iterable[Record]) -> Classifier:
        """Train it on the noisy words."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        sizes: Counter[str] = Counter()
        for record in records:
            if record.label is not None:
                counts[record.label].update(tokenise(record.text).keys)
                sizes[record.label] += 1
        return Classifier(counts, sizes)
