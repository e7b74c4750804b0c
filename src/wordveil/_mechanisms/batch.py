"""The words of a batch, each once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces.space import Ids

__all__ = ["Batch"]


class Batch:
    """Ids with equal ones brought together, the rarest first.

    Attributes
    ----------
    words : array of int
        The distinct ids.
    counts : array of int
        How often each occurs.
    starts : array of int
        Word ``w`` has the places from ``starts[w]`` to ``starts[w + 1]`` in the order of the batch.
    ids : array of int
        The ids in the order of the batch.

    Parameters
    ----------
    ids : array of int
        The ids as they come.
    limit : int
        What they are all below.
    """

    def __init__(self, ids: Ids, limit: int) -> None:
        ids = np.asarray(ids, dtype=np.int64)
        counts = np.bincount(ids, minlength=limit)
        words = np.flatnonzero(counts)
        self.words = words[np.argsort(counts[words], kind="stable")]
        self.counts = counts[self.words]
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        turn = np.empty(limit, dtype=np.uint16 if len(words) <= 1 << 16 else np.uint32)
        turn[self.words] = np.arange(len(words))
        self._order = np.argsort(turn[ids], kind="stable")  # integers of 16 bits are sorted by radix
        self.ids = np.repeat(self.words, self.counts)

    def __len__(self) -> int:
        return len(self.ids)

    def restore(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put values, one for each id in the order of the batch, into the order in which the ids came."""
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored
