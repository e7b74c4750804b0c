"""Words on a closed tour, with the steps along it as distance."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import cached_arrays
from wordveil.errors import WordveilError
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.space import HopSpace, Ids, Rows
from wordveil.spaces.tour import closed_tour
from wordveil.spaces.vocabulary import Vocabulary

__all__ = ["RingSpace"]


class RingSpace(HopSpace):
    """Words in a circle; the distance is the number of steps, by the shorter way.

    Every word sees one word at distance 0, two at 1, two at 2 and so on, which is what makes the mechanism on it
    simple. Use `RingSpace.of` to lay (and cache) a short tour through an embedding.

    Parameters
    ----------
    name : str
        What people call it.
    vocabulary : Vocabulary
        The words.
    tour : array of int
        The ids in the order of the circle.
    """

    metric = "steps along a closed tour of the words"
    unit = "step"
    shells_are_alike = True

    def __init__(self, name: str, vocabulary: Vocabulary, tour: NDArray[Any]) -> None:
        super().__init__(name, vocabulary)
        words, tour = len(vocabulary), np.asarray(tour)
        if tour.shape != (words,) or tour.dtype.kind not in "iu" or not np.array_equal(np.sort(tour), np.arange(words)):
            raise WordveilError("a tour must visit every word once; if it was cached, delete it from the cache.")
        self.tour = tour.astype(np.int64)
        self.place = np.empty(words, dtype=np.int64)
        self.place[self.tour] = np.arange(words)
        beside = [self.tour[(self.place + step) % words] for step in range(-1, 2, 2)[: words - 1]]
        self.indices = np.sort(np.array(beside, dtype=np.int32).reshape(-1, words), axis=0).ravel(order="F")
        self.indptr = len(beside) * np.arange(words + 1, dtype=np.int32)

    @classmethod
    def of(cls, space: EuclideanSpace) -> RingSpace:
        """Lay a short closed tour through an embedding, or take it from the cache."""

        def fill(folder: Path) -> None:
            np.save(folder / "tour.npy", closed_tour(space.directions))

        shipped = space.derived("ring")
        tour = np.load(shipped / "tour.npy") if shipped else cached_arrays(f"ring-1-{space.checksum}", fill, "tour")[0]
        return cls(f"{space.name} ring", space.vocabulary, tour)

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 of the words in the order of the tour."""
        ordered = "\n".join(self.vocabulary.take(self.tour))
        return hashlib.sha256(ordered.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def diameter(self) -> float:
        """Half the way round."""
        return float(len(self) // 2)

    @property
    def shells(self) -> int:
        """How many shells a word has, the first being the word itself."""
        return len(self) // 2 + 1

    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many words are at 0, 1, 2, … steps of each word: the same row for all, not to be written to."""
        sizes = np.full(self.shells, 2)
        sizes[0] = 1
        if len(self) % 2 == 0:
            sizes[-1] = 1  # the word on the far side
        return np.broadcast_to(sizes, (len(ids), self.shells))

    def distances(self, ids: Ids) -> Rows:
        """Return the steps from each of these words to every word, a row each."""
        return self.distances_to(ids, np.arange(len(self))[None, :])

    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the steps from each of these words to words of its own, a row each."""
        steps = np.abs(self.place[ids][:, None] - self.place[others])
        return np.minimum(steps, len(self) - steps).astype(np.float64)
