"""Authorship attribution in the wild (Koppel, Schler & Argamon 2011).

Texts are vectors of the frequencies of *space-free character 4-grams*: four characters without a space between them, or
a shorter word as a whole. Again and again a random part of the features is chosen and the author is found whose known
text has the largest cosine with the unknown one. An author's score is the share of these times that it was he; below a
threshold the answer is "don't know".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.extras import needs

__all__ = ["Koppel", "space_free_ngrams"]


def space_free_ngrams(text: str, length: int = 4) -> list[str]:
    """Return the character n-grams of each word, or the word itself if it is shorter.

    Examples
    --------
    >>> space_free_ngrams("the ships")
    ['the', 'ship', 'hips']
    """
    return [
        word[start : start + length] for word in text.lower().split() for start in range(max(1, len(word) - length + 1))
    ]


class Koppel:
    """Attributes texts to authors by repeated nearest neighbours on random parts of the features.

    Parameters
    ----------
    features : int
        How many of the most frequent n-grams are used.
    times : int
        How often features are chosen.
    share : float
        The share of the features that is chosen each time.
    threshold : float
        An author is named only if his score is above this; 0 to name one always.
    seed : int
        Of the random choices.
    """

    name = "koppel"

    def __init__(
        self,
        features: int = 100_000,
        times: int = 100,
        share: float = 0.4,
        threshold: float = 0.0,
        seed: int = 0,
    ) -> None:
        needs("sklearn", "tasks", "this attack")
        if features < 1 or times < 1 or not 0.0 < share <= 1.0:
            raise WordveilError("Koppel's method needs features, at least one round, and a share above 0, at most 1.")
        self.features, self.times, self.share = features, times, share
        self.threshold, self.seed = threshold, seed

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> Koppel:
        """Learn the known texts of the authors; each author's texts count as one."""
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - an extra

        self.authors = sorted(set(authors))
        joined: dict[str, list[str]] = {author: [] for author in self.authors}
        for text, author in zip(texts, authors, strict=True):
            joined[author].append(text)
        self._counter = CountVectorizer(analyzer=space_free_ngrams, max_features=self.features)
        try:
            counts = self._counter.fit_transform([" ".join(joined[author]) for author in self.authors])
        except ValueError:
            raise WordveilError("the known texts have no words to learn from.") from None
        self._known = counts.toarray().astype(np.float64)
        return self

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of times that each author (column) was the nearest to each text (row)."""
        unknown = self._counter.transform(texts).astype(np.float64)
        generator = np.random.default_rng(self.seed)
        size = self._known.shape[1]
        known, squares, part = np.ascontiguousarray(self._known.T), self._known**2, unknown.copy()
        won = np.zeros((len(texts), len(self.authors)))
        for _ in range(self.times):
            chosen = np.zeros(size)
            chosen[generator.permutation(size)[: max(1, round(self.share * size))]] = 1.0
            part.data = unknown.data * chosen[unknown.indices]
            lengths = np.sqrt(squares @ chosen)
            cosines = part @ known / np.maximum(lengths, 1e-300)
            # a text without any of the chosen features is near nobody: an author at random, not the first
            cosines += 1e-12 * generator.uniform(size=cosines.shape)
            won[np.arange(len(texts)), cosines.argmax(axis=1)] += 1
        return won / self.times
