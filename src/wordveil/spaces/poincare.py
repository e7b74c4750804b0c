"""Words in hyperbolic space, which has room for hierarchies."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, SpaceError, WordveilError
from wordveil.parallel import blocks, run
from wordveil.spaces import hyperbolic_geometry as hyperbolic
from wordveil.spaces.formats.arrays import read_array
from wordveil.spaces.formats.common import Places, check_words, split_words
from wordveil.spaces.products import BestProduct
from wordveil.spaces.space import Ids, Points, PointSpace, Rows, smallest
from wordveil.spaces.vocabulary import Vocabulary

_FORMS = "noun.exc"
_HYPERBOLOID, _WORDS, _META, _IS_A = "hyperboloid.npy", "words.txt", "meta.json", "is_a.npy"
# A product of n+1 terms has an error of at most n+1 roundings of its largest term. If the winner's product is less than
# _SURE times that error, which happens far out, words within 1% of the nearest one's cosh(d) might be confused with it,
# so all words are measured exactly.
_SURE = 100.0
# A distance is computed from the product if the product is precise to one part in _EXACT; the error of the distance is
# then less than 1/_EXACT.
_EXACT = 1e8
_SQUARE = 1e-6  # below this, cosh(d)-1 has lost half its digits
_ENTRIES = 1 << 21  # entries of a block of exact measurements


class PoincareSpace(PointSpace):
    """An embedding in the Poincaré ball, with the hyperbolic distance.

    Words and points are given by their space-like coordinates on the hyperboloid, in double precision, which stay
    precise near the boundary of the ball; `ball` returns points of the ball. `is_a` holds pairs of ids of a word and a
    more general one. `facts` is further information: source, licence, whether the words are base forms.

    Examples
    --------
    >>> import numpy as np
    >>> space = PoincareSpace("toy", Vocabulary(["thing", "animal", "dog"]), np.array([[0.0, 0], [1, 0], [5, 1]]))
    >>> space.distances(np.array([0])).round(3).tolist()
    [[0.0, 0.881, 2.332]]
    >>> space.nearest(np.array([[0.7, 0.1]])).tolist()
    [1]
    """

    kind = "hyperbolic"
    metric = "hyperbolic distance"
    unit = "unit of hyperbolic distance"

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        hyperboloid: NDArray[np.floating],
        *,
        is_a: NDArray[Any] | None = None,
        folder: Path | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, vocabulary, folder)
        if hyperboloid.ndim != 2 or len(hyperboloid) != len(vocabulary) or hyperboloid.shape[1] == 0:
            raise SpaceError("the coordinates must be a matrix with one row per word.")
        self.hyperboloid = np.ascontiguousarray(hyperboloid, dtype=np.float64)
        if not (np.abs(self.hyperboloid) < 1.0 / hyperbolic.SMALLEST_GAP).all():
            raise SpaceError("the coordinates of a Poincaré space must be finite and within a radius of 300.")
        self.is_a = None if is_a is None else np.asarray(is_a, dtype=np.int64)
        self.facts = facts or {}

    @classmethod
    def load(cls, folder: Path, name: str | None = None) -> PoincareSpace:
        """Open a space from the folder it was saved to."""
        damaged = FileError(f"the Poincaré space {folder} is cut short or damaged; train or fetch it again.")
        places = Places(str(folder / _WORDS), "line")
        try:
            words = split_words((folder / _WORDS).read_bytes(), places)
            facts = json.loads((folder / _META).read_text(encoding="utf-8")) if (folder / _META).exists() else {}
        except WordveilError:
            raise
        except (OSError, ValueError, RecursionError):
            raise damaged from None
        if not words:
            raise damaged
        check_words(words, places)
        points = read_array(folder / _HYPERBOLOID)
        is_a = read_array(folder / _IS_A) if (folder / _IS_A).exists() else None
        if not isinstance(facts, dict) or points.dtype.kind != "f" or not _are_pairs(is_a, len(words)):
            raise damaged
        vocabulary = Vocabulary(words, forms=folder if (folder / _FORMS).exists() else None)
        return cls(name or folder.name, vocabulary, points, is_a=is_a, folder=folder, facts=facts)

    def save(self, folder: Path) -> None:
        """Write the space into a folder, creating it if necessary."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _WORDS).write_text("\n".join(self.vocabulary) + "\n", encoding="utf-8")
        np.save(folder / _HYPERBOLOID, self.hyperboloid)
        if self.is_a is not None:
            np.save(folder / _IS_A, self.is_a.astype(np.int32))
        first = {"name": self.name, "words": len(self), "dimension": self.dimension}
        facts = {**first, **self.facts, **first, "checksum": self.checksum}
        (folder / _META).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return int(self.hyperboloid.shape[1])

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 digest of the words and the coordinates."""
        digest = hashlib.sha256(f"poincare {self.hyperboloid.shape}\n".encode())
        digest.update("\n".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        digest.update(self.hyperboloid.astype("<f8").data)
        return digest.hexdigest()

    @cached_property
    def _times(self) -> NDArray[np.float64]:
        return np.asarray(hyperbolic.time_coordinate(self.hyperboloid))

    @cached_property
    def radii(self) -> NDArray[np.float64]:
        """The distance of every word from the origin: small for general words, large for specific ones."""
        return np.arcsinh(np.linalg.norm(self.hyperboloid, axis=1))

    @property
    def depths(self) -> NDArray[np.float64]:
        """The radii: the root of the hierarchy lies at the origin."""
        return self.radii

    @property
    def diameter(self) -> float:
        """Twice the largest radius: an upper bound on any distance."""
        return 2.0 * float(self.radii.max())

    @property
    def precision(self) -> float:
        """A bound on the error of a computed distance."""
        return 2.0 / _EXACT  # half of it for the rounding of the root and the logarithm

    def ball(self, ids: Ids) -> hyperbolic.BallPoints:
        """Return the points of these words in the ball."""
        return hyperbolic.from_hyperboloid(self.hyperboloid[ids])

    def points(self, ids: Ids) -> Points:
        """Return the space-like coordinates of these words, one row per word."""
        return self.hyperboloid[ids]

    def restrict(self, ids: Ids) -> PoincareSpace:
        """Return the space restricted to these words."""
        words = Vocabulary(self.vocabulary.take(np.asarray(ids)))
        return PoincareSpace(f"{self.name} ({len(ids)} words)", words, self.hyperboloid[ids])

    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, one row per word."""
        rows = self._products(self.hyperboloid[ids], self._times[ids])  # cosh(d) - 1 = 2·sinh²(d/2)
        rows -= 1.0
        rounding = _EXACT * self._rounding * self._times[ids][:, None] * self._times
        row, column = np.nonzero(rows < np.maximum(rounding, _SQUARE))
        np.maximum(rows, 0.0, out=rows)
        rows = 2.0 * np.arcsinh(np.sqrt(0.5 * rows))
        rows[row, column] = hyperbolic.hyperboloid_distance(self.hyperboloid[ids[row]], self.hyperboloid[column])
        return rows

    def _products(self, points: Points, times: Points) -> NDArray[np.float64]:
        return np.asarray(np.outer(times, self._times) - points @ self.hyperboloid.T)

    def apart(self, points: Points, ids: Ids) -> NDArray[np.float64]:
        """Return the distance of each point from the word of the same row."""
        return np.asarray(hyperbolic.hyperboloid_distance(points, self.hyperboloid[ids]))

    @cached_property
    def _closest(self) -> BestProduct:
        return BestProduct(self.hyperboloid, -self._times)

    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point.

        The nearest word has the largest Lorentz product with the point, so a search is one matrix product. Each point
        is scaled to a time-like coordinate of 1, which keeps the order and avoids overflow.
        """
        points = np.asarray(points, dtype=np.float64)
        times = hyperbolic.time_coordinate(points)
        found, score = self._closest.best(points / times[:, None])
        unsure = np.flatnonzero(-score < _SURE * self._rounding * self._times.max())
        if unsure.size:
            found[unsure] = self._nearest_exactly(points[unsure])
        return found

    @property
    def _rounding(self) -> float:
        return float((self.dimension + 1) * np.finfo(np.float64).eps)

    def _nearest_exactly(self, points: Points) -> NDArray[np.int64]:
        # sinh²(d/2) = ‖z-u‖²/(gap·gap) in the ball, where differences stay precise
        words, those = self.ball(np.arange(len(self))), hyperbolic.from_hyperboloid(points)
        found = np.empty(len(points), dtype=np.int64)

        def search(part: slice) -> None:
            squares = np.zeros((part.stop - part.start, len(self)))
            for j in range(self.dimension):
                squares += np.subtract.outer(those.x[part, j], words.x[:, j]) ** 2
            squares /= words.gap
            found[part] = squares.argmin(axis=1)

        run(search, blocks(len(points), max(1, _ENTRIES // len(self))))
        return found

    def closest(self, points: Points, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, nearest first, and their distances."""
        points = np.asarray(points, dtype=np.float64)
        k = min(k, len(self))
        where = np.empty((len(points), k), dtype=np.int64)
        distances = np.empty((len(points), k))

        def search(part: slice) -> None:
            rows = np.stack([hyperbolic.hyperboloid_distance(one[None, :], self.hyperboloid) for one in points[part]])
            where[part], distances[part] = smallest(rows, k)

        run(search, blocks(len(points), max(1, _ENTRIES // len(self))))
        return where, distances

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values."""
        return {**super().describe(), "dimension": self.dimension}


def _are_pairs(is_a: NDArray[Any] | None, words: int) -> bool:
    """Whether an array, if given, holds pairs of ids."""
    if is_a is None:
        return True
    is_table = is_a.ndim == 2 and is_a.shape[1] == 2 and is_a.dtype.kind in "iu"
    return is_table and bool(((is_a >= 0) & (is_a < words)).all())


def is_poincare_folder(path: Path) -> bool:
    """Whether a folder holds a Poincaré space."""
    return (path / _HYPERBOLOID).is_file()
