"""Words as vectors, with the Euclidean distance."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import SpaceError
from wordveil.kernels import plain, straight_distances, worst_error
from wordveil.parallel import blocks
from wordveil.spaces import products
from wordveil.spaces.space import Ids, Points, PointSpace, Rows
from wordveil.spaces.vocabulary import Vocabulary

__all__ = ["EuclideanSpace"]

_SMALLEST = 1e-30  # limits (with its inverse) the longest squared length, so that products fit into 32-bit floats


class EuclideanSpace(PointSpace):
    """An embedding with the Euclidean distance.

    Memory-mapped vectors stay on disk until they are needed as float32. `normalise` scales every vector to length 1, so
    that the distance orders words as the cosine does; a zero vector stays. Precomputed graphs and tours are taken from
    `folder`, if it is bundled.

    Examples
    --------
    >>> import numpy as np
    >>> space = EuclideanSpace("toy", Vocabulary(["a", "b", "c"]), np.array([[0.0, 0], [3, 4], [6, 8]]))
    >>> space.distances(np.array([0])).tolist()
    [[0.0, 5.0, 10.0]]
    >>> space.nearest(np.array([[2.0, 2.0]])).tolist()
    [1]
    """

    unit = "unit of distance"

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        vectors: NDArray[np.floating],
        *,
        normalise: bool = False,
        folder: Path | None = None,
    ) -> None:
        super().__init__(name, vocabulary, folder)
        if vectors.ndim != 2 or len(vectors) != len(vocabulary) or vectors.shape[1] == 0:
            raise SpaceError("the vectors must be a matrix with one row per word.")
        self.vectors = vectors
        self.normalise = normalise
        self.metric = "Euclidean distance of unit vectors" if normalise else "Euclidean distance"

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return int(self.vectors.shape[1])

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 digest of the words, the vectors and `normalise`."""
        digest = hashlib.sha256()
        digest.update(f"{self.normalise} {self.vectors.dtype.str} {self.vectors.shape}\n".encode())
        digest.update("\n".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    @property
    def flat(self) -> EuclideanSpace:
        """The space itself."""
        return self

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """The vectors as float32, scaled to length 1 if the space is normalised."""
        matrix = plain(self.vectors, np.float32)
        return _unit(matrix) if self.normalise else matrix

    @cached_property
    def directions(self) -> NDArray[np.float32]:
        """The vectors scaled to length 1, for cosines."""
        return self.matrix if self.normalise else _unit(self.matrix)

    @cached_property
    def squares(self) -> NDArray[np.float32]:
        """The squared lengths of the vectors."""
        # summed in double precision, so that each square is rounded only once
        squares = np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64)
        if squares.any() and not _SMALLEST <= squares.max() <= 1.0 / _SMALLEST:
            raise SpaceError("the vectors are too long or too short for distances in 32-bit floats; rescale them.")
        return squares.astype(np.float32)

    @cached_property
    def _closest(self) -> products.BestProduct:
        return products.BestProduct(self.matrix, -0.5 * self.squares)

    @cached_property
    def diameter(self) -> float:
        """Twice the largest distance from the mean: an upper bound on any distance."""
        centre = self.matrix.mean(axis=0, dtype=np.float64)
        radius = 0.0
        for start in range(0, len(self), 4096):
            offsets = self.matrix[start : start + 4096] - centre
            radius = max(radius, float(np.sqrt((offsets**2).sum(axis=1)).max()))
        return 2.0 * radius

    @property
    def precision(self) -> float:
        """A bound on the error of a computed distance."""
        return worst_error(self.matrix.shape[1], float(np.sqrt(self.squares.max())))

    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, one row per word."""
        return straight_distances(self.matrix, self.squares, np.asarray(ids))

    def neighbours(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` nearest other words of each word, nearest first, and their distances."""
        return self._around(self.matrix[ids], min(k, len(self) - 1), own=ids)

    def similar(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` other words with the largest cosines, and the cosines."""
        k = min(k, len(self) - 1)
        return products.most(self.directions[ids], self.directions, None, k, own=ids)

    def likeness(self, ids: Ids) -> Rows:
        """Return the cosine of every word with each of these words, one row per word."""
        return self.directions[ids] @ self.directions.T

    def points(self, ids: Ids) -> Points:
        """Return the points of these words, one row per word."""
        return np.take(self.matrix, ids, axis=0)  # faster than an index

    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point."""
        return self._closest(np.asarray(points, dtype=np.float32))

    def closest(self, points: Points, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, nearest first, and their distances."""
        return self._around(np.asarray(points, dtype=np.float32), min(k, len(self)))

    def _around(self, queries: Points, k: int, own: Ids | None = None) -> tuple[NDArray[np.int64], Rows]:
        where, _ = products.most(queries, self.matrix, -0.5 * self.squares, k, own=own)
        offsets = self.matrix[where] - queries[:, None, :]
        return where, np.sqrt(np.einsum("ijk,ijk->ij", offsets, offsets))

    def apart(self, points: Points, ids: Ids) -> NDArray[np.float64]:
        """Return the distance of each point from the word of the same row."""
        offsets = points.astype(np.float64)
        offsets -= np.take(self.matrix, ids, axis=0)  # faster than an index
        return np.sqrt(np.einsum("ij,ij->i", offsets, offsets))

    def restrict(self, ids: Ids) -> EuclideanSpace:
        """Return the space restricted to these words."""
        words = Vocabulary(self.vocabulary.take(ids))
        return EuclideanSpace(f"{self.name} ({len(ids)} words)", words, self.matrix[ids], normalise=self.normalise)

    def projected(self, dimension: int) -> EuclideanSpace:
        """Return the space projected on its principal components, centred."""
        if dimension > self.dimension:
            return self
        centred = self.matrix.astype(np.float64) - self.matrix.mean(axis=0, dtype=np.float64)
        kept = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dimension]
        return EuclideanSpace(f"{self.name} in {dimension}-d", self.vocabulary, (centred @ kept).astype(np.float32))


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    lengths[lengths == 0.0] = 1.0
    unit = np.empty_like(matrix)
    for part in blocks(len(matrix), 1 << 14):  # in blocks, because the division is in double precision
        unit[part] = matrix[part] / lengths[part, None]
    return unit
