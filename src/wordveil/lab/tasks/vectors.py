"""Texts as the means of their words' vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.lab.tasks.task import Task
from wordveil.spaces import EuclideanSpace
from wordveil.text import tokenise

__all__ = ["Reader", "cosines"]


class Reader:
    """Reads texts as an analyst does who has public word vectors.

    Parameters
    ----------
    space : EuclideanSpace
        The words and their vectors.
    """

    def __init__(self, space: EuclideanSpace) -> None:
        self.space = space

    def ids(self, text: str) -> list[int]:
        """Return the ids of the words that are known, in order."""
        get = self.space.vocabulary.ids.get
        pieces, keys = tokenise(text)
        found = (get(word, get(key, -1)) for word, key in zip(pieces[1::2], keys, strict=True))
        return [place for place in found if place >= 0]

    def known(self, task: Task) -> Task:
        """Return the task without the examples of which a text has no known word."""
        heard = [[bool(self.ids(text)) for text in column] for column in task.columns]
        return task.only(np.flatnonzero(np.all(heard, axis=0)))

    def means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean vector of each text, a row each; zero for a text without a known word."""
        rows = [self.ids(text) for text in texts]
        lengths = np.array([len(row) for row in rows])
        words = np.fromiter((place for row in rows for place in row), np.int64, count=int(lengths.sum()))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        counts = csr_array((np.ones(len(words), np.float32), words, indptr), shape=(len(rows), len(self.space)))
        return np.asarray(counts @ self.space.matrix / np.maximum(lengths, 1)[:, None], dtype=np.float32)


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each row with the row beside it; 0 where one of them is zero."""
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    return np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0)
