"""The base classes of spaces: words as points, and words joined by edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.files import cached_arrays
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore
from wordveil.spaces.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordveil.spaces.euclidean import EuclideanSpace

__all__ = ["DATA", "Device", "HopSpace", "Ids", "PointSpace", "Points", "Rows", "Space", "neighbourhoods", "smallest"]

#: The folder of the bundled spaces.
DATA = Path(__file__).resolve().parent.parent / "data"

Ids: TypeAlias = NDArray[np.integer[Any]]
Points: TypeAlias = NDArray[np.floating[Any]]
Rows: TypeAlias = NDArray[np.floating[Any]]

_ENTRIES = 1 << 22  # distances held at once
_NEIGHBOURS = 10  # the fewest neighbours looked up, because a search for one costs as much
_STEP = 1 << 10  # words between two reports of progress


class Space(ABC):
    """Words and a distance between them.

    Attributes
    ----------
    name : str
        The name.
    vocabulary : Vocabulary
        The words.
    metric, unit : str
        The distance, as a phrase, and its unit, as a noun.
    """

    metric: str
    unit: str
    #: Caveats on how words are found in this space, one sentence each, which every guarantee repeats.
    remarks: tuple[str, ...] = ()

    def __init__(self, name: str, vocabulary: Vocabulary) -> None:
        self.name = name
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self):,} words, {self.metric}>"

    @property
    @abstractmethod
    def checksum(self) -> str:
        """A SHA-256 digest of everything that the distances depend on."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """An upper bound on the distance between any two words."""

    @property
    def precision(self) -> float:
        """A bound on the error of a computed distance."""
        return 0.0

    @property
    def flat(self) -> EuclideanSpace | None:
        """The Euclidean space with the same distances, if there is one."""
        return None

    @abstractmethod
    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, one row per word."""

    @property
    def depths(self) -> NDArray[np.float64] | None:
        """The depth of every word in the space's hierarchy, or None if it has none."""
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
        """Return the `k` other words most similar to each word, and their similarities.

        Similarity is the cosine in a space of vectors, and elsewhere the negative distance.
        """
        where, distances = self.neighbours(ids, k)
        return where, -distances

    def likeness(self, ids: Ids) -> Rows:
        """Return the similarity of every word to each of these words, as in `similar`, one row per word."""
        return -self.distances(ids)

    def remember(self, most: int) -> None:  # noqa: B027 - most spaces recompute distances as fast
        """Cache distances to all words, in at most `most` bytes, for work that asks for the same ones repeatedly."""

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values."""
        return {"name": self.name, "words": len(self), "metric": self.metric, "checksum": self.checksum}


class HopSpace(Space):
    """A space whose distance is the number of edges on the shortest path between two words.

    Attributes
    ----------
    indptr, indices : array of int32
        The edges in compressed sparse rows, every edge in both directions.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    #: Whether all words have the same shell sizes.
    shells_are_alike: bool = False
    #: The embedding whose words are joined, if the space was made from one in this process.
    embedding: PointSpace | None = None

    @property
    @abstractmethod
    def shells(self) -> int:
        """The largest number of shells of a word; the first shell is the word itself."""

    @abstractmethod
    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return the number of words at distance 0, 1, 2, … from each word, one row per word, padded with zeros."""

    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, one row per word."""
        return self.hops(ids).astype(np.float64)

    @abstractmethod
    def hops(self, ids: Ids) -> NDArray[np.signedinteger[Any]]:
        """Return the `distances` as small integers."""

    @abstractmethod
    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the distances from each of these words to the words in its row of `others`."""


class Device(Protocol):
    """A device, such as a GPU, that holds the points of a space; see `wordveil.engines`."""

    def throw(self, ids: Ids, lengths: NDArray[np.float64], stretch: Rows | None, key: NDArray[np.uint32]) -> Points:
        """Add noise to the points of these words on the device: a random direction, times a length, times a matrix.

        Parameters
        ----------
        ids : array of int
            The words.
        lengths : array of float
            The length of each word's noise.
        stretch : matrix or None
            The matrix that the noise is multiplied by, from the right.
        key : array of 8 numbers of 32 bits
            The secret that determines all directions; never use it twice.
        """

    def rays(self, matrix: NDArray[np.float32]) -> Any:
        """Return the device's version of `Rays` for these points."""


class PointSpace(Space):
    """A space whose words are points, so that any point has a nearest word."""

    kind = "vectors"  # the name in the service

    def __init__(self, name: str, vocabulary: Vocabulary, folder: Path | None = None) -> None:
        super().__init__(name, vocabulary)
        self._folder = folder

    @property
    def device(self) -> Device | None:
        """The device that holds and searches the points; None for the CPU."""
        return None

    def derived(self, name: str) -> Path | None:
        """Return the folder of a precomputed graph or tour, if there is one.

        Only those of bundled spaces are used: in any other folder nothing ties a graph to the embedding beside it, and
        draws on a wrong graph have no guarantee.
        """
        if self._folder is None or DATA not in self._folder.resolve().parents:
            return None
        made = self._folder / name
        return made if made.is_dir() else None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @abstractmethod
    def points(self, ids: Ids) -> Points:
        """Return the points of these words, one row per word."""

    @abstractmethod
    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point."""

    @abstractmethod
    def closest(self, points: Points, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, nearest first, and their distances."""

    @abstractmethod
    def apart(self, points: Points, ids: Ids) -> NDArray[np.float64]:
        """Return the distance of each point from the word of the same row."""


def neighbourhoods(space: Space, k: int, watch: Watch = ignore) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the `k` nearest other words of every word, nearest first, and their distances; cached on disk."""
    searched = max(k, _NEIGHBOURS)

    def fill(folder: Path) -> None:
        found = []
        for part in blocks(len(space), _STEP):
            watch("looking up neighbours", part.start / len(space))
            found.append(space.neighbours(np.arange(part.start, part.stop), searched))
        where, distances = (np.concatenate(some) for some in zip(*found, strict=True))
        np.save(folder / "where.npy", where.astype(np.int32))
        np.save(folder / "distances.npy", distances)

    where, distances = cached_arrays(f"neighbours-2-{searched}-{space.checksum}", fill, "where", "distances")
    return where[:, :k], distances[:, :k]


def smallest(rows: Rows, k: int) -> tuple[NDArray[np.int64], Rows]:
    """Return the indices and values of the `k` smallest entries of each row, smallest first; ties in order."""
    where = np.empty((len(rows), k), dtype=np.int64)
    for row, bound, found in zip(rows, np.partition(rows, k - 1, axis=1)[:, k - 1], where, strict=True):
        candidates = np.flatnonzero(row <= bound)
        found[:] = candidates[np.argsort(row[candidates], kind="stable")[:k]]
    return where, np.take_along_axis(rows, where, axis=1)
