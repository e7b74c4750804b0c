"""What learns to classify: logistic regression on mean vectors, or a bidirectional LSTM on the words in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordveil.errors import WordveilError
from wordveil.extras import needs
from wordveil.lab.tasks.vectors import Reader

__all__ = ["AveragedVectors", "BiLstm", "Model"]


class Model(ABC):
    """Learns classes from texts.

    Parameters
    ----------
    reader : Reader
        The vectors through which texts are read.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    @abstractmethod
    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[Any]:
        """Return what the model sees of the examples, a row each."""

    @abstractmethod
    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes and tell those of others."""


class AveragedVectors(Model):
    """Logistic regression on the mean vector of a text; on ``|a-b|`` and ``a*b`` of the two of a pair."""

    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return what the model sees of the examples, a row each."""
        return self.joined([self.reader.means(column) for column in columns])

    def joined(self, means: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return what the model sees of examples whose texts have these mean vectors, an array for each column."""
        if len(means) == 1:
            return means[0]
        left, right = means
        return np.concatenate([np.abs(left - right), left * right], axis=1)

    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes and tell those of others."""
        needs("sklearn", "tasks", "this task")
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

        if len(np.unique(labels)) == 1:
            return np.full(len(test), labels[0])
        # On one scale the solver needs few steps, and the same C means the same for every mechanism.
        scale = StandardScaler().fit(train)
        fitted = LogisticRegression(C=0.1, max_iter=2000, random_state=seed)
        with threadpool_limits(limits=1, user_api="blas"):  # its products are so small that threads only wait
            fitted.fit(scale.transform(train), labels)
        return np.asarray(fitted.predict(scale.transform(test)), dtype=np.float64)


class BiLstm(Model):
    """A bidirectional LSTM over fixed word vectors, with the largest of its states over the text (PyTorch).

    Parameters
    ----------
    reader : Reader
        The vectors through which texts are read.
    words : int
        How many words of a text are read at most.
    hidden, epochs : int
        The size of the state in each direction, and how often the examples are gone through.
    """

    def __init__(self, reader: Reader, *, words: int = 120, hidden: int = 64, epochs: int = 4) -> None:
        super().__init__(reader)
        needs("torch", "gpu", "the biLSTM")
        self.words, self.hidden, self.epochs = words, hidden, epochs

    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the ids of the first words of each text plus 1, filled up with 0."""
        if len(columns) != 1:
            raise WordveilError("the biLSTM classifies single texts, not pairs.")
        rows = [self.reader.ids(text)[: self.words] for text in columns[0]]
        padded = np.zeros((len(rows), max([1, *map(len, rows)])), dtype=np.int64)
        for row, ids in zip(padded, rows, strict=True):
            row[: len(ids)] = np.array(ids, dtype=np.int64) + 1
        return padded

    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes and tell those of others."""
        from wordveil.lab.tasks.bilstm import fit_predict  # noqa: PLC0415 - an extra

        classes, targets = np.unique(labels, return_inverse=True)
        told = fit_predict(
            self.reader.space.matrix, train, targets, test, hidden=self.hidden, epochs=self.epochs, seed=seed
        )
        return np.asarray(classes[told], dtype=np.float64)
