"""What every space can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordveil.spaces.euclidean import EuclideanSpace

__all__ = ["DATA", "Device", "Ids", "PointSpace", "Points", "Rows", "Space"]

#: Where the spaces lie that come with the package.
DATA = Path(__file__).resolve().parent.parent / "data"

Ids: TypeAlias = NDArray[np.integer[Any]]
Points: TypeAlias = NDArray[np.floating[Any]]
Rows: TypeAlias = NDArray[np.floating[Any]]


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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self):,} words, distance: {self.metric})"

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

    def neighbours(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` nearest other words of each word, nearest first, and their distances."""
        rows = self.distances(ids)
        rows[np.arange(len(ids)), ids] = np.inf
        k = min(k, len(self) - 1)
        nearest = np.argsort(rows, axis=1, kind="stable")[:, :k]
        return nearest, np.take_along_axis(rows, nearest, axis=1)

    def describe(self) -> dict[str, Any]:
        """Say what the space is, in plain values."""
        return {"name": self.name, "words": len(self), "metric": self.metric, "checksum": self.checksum}


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
        """Return what follows noise among these points, as `wordveil.calibration.rays.Rays` does."""


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

    def similar(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` other words most like each word, and how like they are: the nearer the more."""
        where, distances = self.neighbours(ids, k)
        return where, -distances

    def likeness(self, ids: Ids) -> Rows:
        """Return how like every word is to each of these words, on the scale of `similar`, a row each."""
        return -self.distances(ids)

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
