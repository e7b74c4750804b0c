"""The words most similar to some words: what "replaced by a near word" and the near loss are about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import blocks
from wordveil.spaces import EuclideanSpace, Space

__all__ = ["Surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """Some words and the words most similar to each.

    Attributes
    ----------
    ids : array of int
        The words.
    near : array of shape (words, k)
        The words most similar to each, most similar first: by cosine where the space has vectors, else by distance.
    """

    ids: NDArray[np.int64]
    near: NDArray[np.int64]

    @classmethod
    def of(cls, space: Space, ids: NDArray[np.int64], k: int) -> Surroundings:
        """Look up the `k` most similar words of these words, or as many as there are."""
        if isinstance(space, EuclideanSpace):
            return cls(ids, space.similar(ids, k)[0])
        size = max(1, (1 << 23) // len(space))
        found = [space.neighbours(ids[part], k)[0] for part in blocks(len(ids), size)]
        return cls(ids, np.concatenate(found))
