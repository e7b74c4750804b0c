"""Words as vectors, with the Mahalanobis distance of their covariance."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError, SpaceError
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.space import Device, Ids, Points, PointSpace, Rows


class MahalanobisSpace(PointSpace):
    """An embedding with the regularised Mahalanobis distance (Xu et al. 2020).

    ``d(w, w') = ‖S^{-1/2}(φ(w) - φ(w'))‖`` with ``S = lam·Σ + (1 - lam)·I`` and Σ the covariance of the vectors,
    scaled to a mean variance of 1. Points are those of the embedding, and the nearest word of a point is the
    Euclidean one, as in the paper.
    """

    unit = "unit of distance"

    def __init__(self, base: EuclideanSpace, lam: float = 1.0) -> None:
        if not 0.0 <= lam <= 1.0:
            raise OptionError("lam must lie between 0 (Euclidean) and 1 (Mahalanobis).")
        super().__init__(f"{base.name} mahalanobis", base.vocabulary)
        self.metric = f"Mahalanobis distance (lam={lam:g})"
        self.base = base
        self.lam = lam
        values, vectors = np.linalg.eigh(self._shape())
        if values[0] <= 1e-10 * values[-1]:
            raise SpaceError("the vectors do not span all their dimensions; choose a lam below 1.")
        self._root = (vectors * np.sqrt(values)) @ vectors.T
        self._inverse = (vectors / np.sqrt(values)) @ vectors.T
        self._whitened = EuclideanSpace(self.name, base.vocabulary, (base.matrix @ self._inverse).astype(np.float32))
        self.smallest_variance = float(values[0])

    def _shape(self) -> NDArray[np.float64]:
        centred = self.base.matrix - self.base.matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
        covariance = np.zeros((self.dimension, self.dimension))
        for start in range(0, len(centred), 1 << 14):
            block = centred[start : start + (1 << 14)].astype(np.float64)
            covariance += block.T @ block
        trace = np.trace(covariance)
        identity = np.eye(self.dimension)
        scaled = covariance * (self.dimension / trace) if trace > 0 else identity
        return self.lam * scaled + (1.0 - self.lam) * identity

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return self.base.dimension

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 digest of the embedding and lam."""
        return hashlib.sha256(f"mahalanobis {self.lam!r} {self.base.checksum}".encode()).hexdigest()

    @property
    def remarks(self) -> tuple[str, ...]:  # type: ignore[override]
        """The caveats of the embedding."""
        return self.base.remarks

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values, including how the embedding is searched."""
        return {**self.base.describe(), **super().describe()}

    @property
    def diameter(self) -> float:
        """An upper bound on the distance of any two words."""
        return self._whitened.diameter

    @property
    def device(self) -> Device | None:
        """The device that holds and searches the points; None for the CPU."""
        return self.base.device

    @cached_property
    def stretch(self) -> NDArray[np.float32]:
        """The square root of S, which gives isotropic noise the covariance of the words."""
        return self._root.astype(np.float32)

    @property
    def flat(self) -> EuclideanSpace:
        """The vectors multiplied by the inverse square root of S."""
        return self._whitened

    @property
    def precision(self) -> float:
        """A bound on the error of a computed distance."""
        return self._whitened.precision

    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, one row each."""
        return self._whitened.distances(ids)

    def points(self, ids: Ids) -> Points:
        """Return the points of these words, one row each."""
        return self.base.points(ids)

    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point, by the Euclidean distance."""
        return self.base.nearest(points)

    def closest(self, points: Points, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, by the Euclidean distance."""
        return self.base.closest(points, k)

    def apart(self, points: Points, ids: Ids) -> NDArray[np.float64]:
        """Return the distance of each point from the word of the same row."""
        offsets = (points.astype(np.float64) - self.points(ids)) @ self._inverse
        return np.sqrt(np.einsum("ij,ij->i", offsets, offsets))
