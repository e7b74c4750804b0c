"""What every space can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import blocks, run
from wordveil.spaces.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordveil.spaces.euclidean import EuclideanSpace

__all__ = ["DATA", "Device", "HopSpace", "Ids", "PointSpace", "Points", "Rows", "Space", "smallest"]

#: Where the spaces lie that come with the package.
DATA = Path(__file__).resolve().parent.parent / "data"

Ids: TypeAlias = NDArray[np.integer[Any]]
Points: TypeAlias = NDArray[np.floating[Any]]
Rows: TypeAlias = NDArray[np.floating[Any]]

_ENTRIES = 1 << 22  # of distances that are held at once


class Space(ABC):
    """Words and a distance between them.

    Attributes
    ----------
    name : str
        What people call it.
    vocabulary : Vocabulary
        Its words.
    metric : str
        The distance, as a phrase.
    unit : str
        One unit of the distance, as a noun.
    """

    metric: str
    unit: str
    #: What to know about how words are found in this space, a sentence each; goes into every guarantee.
    remarks: tuple[str, ...] = ()

    def __init__(self, name: str, vocabulary: Vocabulary) -> None:
        self.name = name
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    @abstractmethod
    def checksum(self) -> str:
        """A SHA-256 of everything that the distances depend on."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """An upper bound on the distance of any two words."""

    @property
    def precision(self) -> float:
        """How far a computed distance may be from the true one."""
        return 0.0

    @property
    def flat(self) -> EuclideanSpace | None:
        """The space of vectors in which the straight-line distance is this distance, where there is one."""
        return None

    @abstractmethod
    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, a row each."""

    @property
    def depths(self) -> NDArray[np.float64] | None:
        """How deep every word lies in the hierarchy that the space holds; None where it holds none."""
        return None

    def neighbours(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` nearest other words of each word, nearest first, and their distances."""
        ids, k = np.asarray(ids), min(k, len(self) - 1)
        where, distances = np.empty((len(ids), k), dtype=np.int64), np.empty((len(ids), k))

        def search(part: slice) -> None:
            rows = self.distances(ids[part])
            rows[np.arange(len(rows)), ids[part]] = np.inf
            where[part], distances[part] = smallest(rows, k)

        if k:
            run(search, blocks(len(ids), max(1, _ENTRIES // len(self))))
        return where, distances

    def similar(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` other words most like each word, and how alike they are.

        By cosine in a space of vectors, elsewhere by distance: then the likeness is the distance with a minus sign.
        """
        where, distances = self.neighbours(ids, k)
        return where, -distances

    def likeness(self, ids: Ids) -> Rows:
        """Return how like every word is to each of these words, on the scale of `similar`, a row each."""
        return -self.distances(ids)

    def describe(self) -> dict[str, Any]:
        """Say what the space is, in plain values."""
        return {"name": self.name, "words": len(self), "metric": self.metric, "checksum": self.checksum}


class HopSpace(Space):
    """A space whose distance counts the edges on the shortest way between two words.

    Attributes
    ----------
    indptr, indices : array of int32
        The edges in compressed sparse rows, every edge in both directions.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    #: Whether every word sees shells of the same sizes.
    shells_are_alike: bool = False

    @property
    @abstractmethod
    def shells(self) -> int:
        """How many shells a word can have at most, the first being the word itself."""

    @abstractmethod
    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many words are at distance 0, 1, 2, … of each word, a row each, padded with zeros."""

    @abstractmethod
    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the distances from each of these words to the words in its row of `others`."""


class Device(Protocol):
    """Another processor that the points of a space lie on; `wordveil.engines` has one."""

    def throw(self, ids: Ids, lengths: NDArray[np.float64], stretch: Rows | None, key: NDArray[np.uint32]) -> Points:
        """Add to the points of these words a random direction, times a length, times a matrix, all on the device.

        Parameters
        ----------
        ids : array of int
            The words.
        lengths : array of float
            How far each is thrown.
        stretch : matrix or None
            What the noise is multiplied by, from the right.
        key : array of 8 numbers of 32 bits
            The secret that all directions follow from; never used twice.
        """

    def rays(self, matrix: NDArray[np.float32]) -> Any:
        """Return what follows noise among these points, as `wordveil._mechanisms.laws.rays.Rays` does."""


class PointSpace(Space):
    """A space whose words are points, so that a point between the words has a nearest word."""

    def __init__(self, name: str, vocabulary: Vocabulary, folder: Path | None = None) -> None:
        super().__init__(name, vocabulary)
        self._folder = folder

    @property
    def device(self) -> Device | None:
        """Where its points lie and are searched, if that is not this processor."""
        return None

    def derived(self, name: str) -> Path | None:
        """Return the folder of a graph or tour that was made in advance, where there is one.

        Only what comes with the package is taken: nothing ties a graph in anybody else's folder to the embedding beside
        it, and draws on a false one keep no promise.
        """
        if self._folder is None or DATA not in self._folder.resolve().parents:
            return None
        made = self._folder / name
        return made if made.is_dir() else None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many coordinates a point has."""

    @abstractmethod
    def points(self, ids: Ids) -> Points:
        """Return the points of these words, a row each."""

    @abstractmethod
    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point."""

    @abstractmethod
    def closest(self, points: Points, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, nearest first, and their distances."""

    @abstractmethod
    def apart(self, points: Points, ids: Ids) -> NDArray[np.float64]:
        """Return the distance of each point from the word of the same row."""


def smallest(rows: Rows, k: int) -> tuple[NDArray[np.int64], Rows]:
    """Return the places of the `k` smallest entries of each row, smallest first and of equals the first, and them."""
    where = np.empty((len(rows), k), dtype=np.int64)
    for row, bound, found in zip(rows, np.partition(rows, k - 1, axis=1)[:, k - 1], where, strict=True):
        candidates = np.flatnonzero(row <= bound)
        found[:] = candidates[np.argsort(row[candidates], kind="stable")[:k]]
    return where, np.take_along_axis(rows, where, axis=1)
