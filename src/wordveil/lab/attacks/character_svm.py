"""Authorship attribution as it is done today: a linear SVM on character n-grams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.extras import needs

__all__ = ["CharacterSvm"]


class CharacterSvm:
    """Attributes texts to authors by a linear support vector machine on tf-idf weights of character n-grams.

    Parameters
    ----------
    shortest, longest : int
        The lengths of the n-grams.
    features : int
        How many of the most frequent ones are used.
    seed : int
        Of the solver.
    """

    name = "svm"
    threshold = None

    def __init__(self, shortest: int = 2, longest: int = 4, features: int = 100_000, seed: int = 0) -> None:
        needs("sklearn", "tasks", "this attack")
        self.shortest, self.longest, self.features, self.seed = shortest, longest, features, seed

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> CharacterSvm:
        """Learn from texts with their authors."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - an extra
        from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra

        self.authors = sorted(set(authors))
        if len(self.authors) < 2:
            raise WordveilError("an attribution needs texts of at least two authors.")
        self._vectors = TfidfVectorizer(
            analyzer="char",
            ngram_range=(self.shortest, self.longest),
            max_features=self.features,
            sublinear_tf=True,
        )
        try:
            vectors = self._vectors.fit_transform(texts)
        except ValueError:
            raise WordveilError("the known texts have no characters to learn from.") from None
        self._machine = LinearSVC(random_state=self.seed, dual="auto").fit(vectors, list(authors))
        return self

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return each author's (column) distance from the boundary, for each text (row)."""
        found = self._machine.decision_function(self._vectors.transform(texts))
        return np.stack([-found, found], axis=1) if found.ndim == 1 else np.asarray(found)
