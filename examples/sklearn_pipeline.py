"""A transformer in a scikit-learn Pipeline: a classifier that only ever sees veiled texts.

Run it with ``python examples/sklearn_pipeline.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import wordveil


class VeilTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Veils texts. Every call draws anew: training and test texts are both veiled.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    mechanism : str
        How words are replaced.
    space : str
        The words.
    """

    def __init__(self, epsilon: float = 3.0, mechanism: str = "graph", space: str = "glove-50k") -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.space = space

    def fit(self, texts: Sequence[str], labels: Any = None) -> VeilTransformer:  # noqa: ARG002 - nothing is learnt
        """Open the space; nothing is learnt from the texts."""
        made = wordveil.mechanism(self.mechanism, wordveil.load_space(self.space), epsilon=self.epsilon)
        self.veil_ = wordveil.Veil(made)
        return self

    def transform(self, texts: Sequence[str]) -> list[str]:
        """Veil each text."""
        return [release.text for release in self.veil_.many(texts)]


GOOD = ["a wonderful film", "great acting and a lovely story", "brilliant, funny and moving", "an excellent picture"]
BAD = ["a terrible film", "awful acting and a boring story", "dull, slow and stupid", "a horrible picture"]


def main() -> None:
    """Train on veiled reviews, and judge veiled ones."""
    pipeline = Pipeline(
        [("veil", VeilTransformer(epsilon=4.0)), ("count", TfidfVectorizer()), ("judge", LogisticRegression())]
    )
    texts, labels = (GOOD + BAD) * 50, ([1] * len(GOOD) + [0] * len(BAD)) * 50
    pipeline.fit(texts, labels)
    print(f"right on freshly veiled reviews: {pipeline.score(texts, labels):.0%}")


if __name__ == "__main__":
    main()
