"""Words on a closed tour, with the number of steps along it as distance.

The tour is short. Greedy edges between the most similar words make paths, which are joined end to nearest end. Then
2-opt and or-opt moves shorten the tour until none of them helps. The length of an edge is 1 - cosine.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import SpaceError
from wordveil.files import cached_arrays
from wordveil.spaces import products
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.space import HopSpace, Ids, Rows
from wordveil.spaces.vocabulary import Vocabulary

__all__ = ["RingSpace", "closed_tour"]

Matrix = NDArray[np.float32]

_NEIGHBOURS = 8
_SEGMENTS = [(step, length) for step in (1, -1) for length in (1, 2, 3)]
_GAIN = 1e-7  # the least gain of a move, above any rounding error


class RingSpace(HopSpace):
    """Words in a circle; the distance is the number of steps the shorter way round.

    Every word has one word at distance 0, two at 1, two at 2 and so on, which makes the mechanism on it simple. Use
    `RingSpace.of` to find (and cache) a short tour through an embedding.
    """

    metric = "steps along a closed tour of the words"
    unit = "step"
    shells_are_alike = True

    def __init__(self, name: str, vocabulary: Vocabulary, tour: NDArray[Any]) -> None:
        super().__init__(name, vocabulary)
        words, tour = len(vocabulary), np.asarray(tour)
        if tour.shape != (words,) or tour.dtype.kind not in "iu" or not np.array_equal(np.sort(tour), np.arange(words)):
            raise SpaceError("a tour must visit every word exactly once; if it is from the cache, delete it there.")
        self.tour = tour.astype(np.int64)
        self.place = np.empty(words, dtype=np.int64)
        self.place[self.tour] = np.arange(words)
        beside = [self.tour[(self.place + step) % words] for step in range(-1, 2, 2)[: words - 1]]
        self.indices = np.sort(np.array(beside, dtype=np.int32).reshape(-1, words), axis=0).ravel(order="F")
        self.indptr = len(beside) * np.arange(words + 1, dtype=np.int32)

    @classmethod
    def of(cls, space: EuclideanSpace) -> RingSpace:
        """Return the ring of a short closed tour through an embedding, from the cache if possible."""

        def fill(folder: Path) -> None:
            np.save(folder / "tour.npy", closed_tour(space.directions))

        shipped = space.derived("ring")
        tour = np.load(shipped / "tour.npy") if shipped else cached_arrays(f"ring-1-{space.checksum}", fill, "tour")[0]
        ring = cls(f"{space.name} ring", space.vocabulary, tour)
        ring.embedding = space
        return ring

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 digest of the words in the order of the tour."""
        ordered = "\n".join(self.vocabulary.take(self.tour))
        return hashlib.sha256(ordered.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def diameter(self) -> float:
        """Half the number of words."""
        return float(len(self) // 2)

    @property
    def shells(self) -> int:
        """The number of shells of a word; the first is the word itself."""
        return len(self) // 2 + 1

    def shell_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return the number of words at 0, 1, 2, … steps from each word: the same read-only row for all."""
        sizes = np.full(self.shells, 2)
        sizes[0] = 1
        if len(self) % 2 == 0:
            sizes[-1] = 1  # the opposite word
        return np.broadcast_to(sizes, (len(ids), self.shells))

    def hops(self, ids: Ids) -> NDArray[np.signedinteger[Any]]:
        """Return the `distances` as small integers."""
        steps = np.abs(self.place[ids].astype(np.int32)[:, None] - self.place.astype(np.int32))
        return np.minimum(steps, len(self) - steps, out=steps)

    def distances_to(self, ids: Ids, others: NDArray[np.int64]) -> Rows:
        """Return the steps from each of these words to the words in its row of `others`."""
        steps = np.abs(self.place[ids][:, None] - self.place[others])
        return np.minimum(steps, len(self) - steps).astype(np.float64)


def closed_tour(directions: Matrix) -> NDArray[np.int64]:
    """Return the words, given as unit vectors, in the order of a short closed tour."""
    words = len(directions)
    if words < 4:
        return np.arange(words)
    flat = np.zeros(words, dtype=np.float32)
    k = min(_NEIGHBOURS, words - 1)
    neighbours, cosines = products.most(directions, directions, flat, k, own=np.arange(words))
    path = _greedy_path(directions, neighbours, cosines)
    return _Improver(directions, neighbours, cosines, path).run()


class _Paths:
    """Disjoint paths that grow by edges between their ends."""

    def __init__(self, words: int) -> None:
        self.links: list[list[int]] = [[] for _ in range(words)]
        self._parent = list(range(words))

    def root(self, word: int) -> int:
        while self._parent[word] != word:
            self._parent[word] = self._parent[self._parent[word]]
            word = self._parent[word]
        return word

    def add(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add each edge, in order, unless it would make a branch or a cycle."""
        for left, right in pairs:
            if len(self.links[left]) < 2 and len(self.links[right]) < 2:
                a, b = self.root(left), self.root(right)
                if a != b:
                    self._parent[a] = b
                    self.links[left].append(right)
                    self.links[right].append(left)

    def ends(self) -> NDArray[np.int64]:
        return np.array([word for word, links in enumerate(self.links) if len(links) < 2], dtype=np.int64)

    def walk(self) -> NDArray[np.int64]:
        """Return the words of the single remaining path in order."""
        last, here = -1, int(self.ends()[0])
        order = [here]
        while len(order) < len(self.links):
            here, last = next(word for word in self.links[here] if word != last), here
            order.append(here)
        return np.array(order)


def _greedy_path(directions: Matrix, neighbours: NDArray[np.int64], cosines: Matrix) -> NDArray[np.int64]:
    words, k = neighbours.shape
    paths = _Paths(words)
    left, right, value = np.repeat(np.arange(words), k), neighbours.ravel(), cosines.ravel()
    while True:
        order = np.argsort(-value, kind="stable")
        paths.add(zip(left[order].tolist(), right[order].tolist(), strict=True))
        ends = paths.ends()
        if len(ends) <= 2:
            return paths.walk()
        # Few ends are left: continue with the nearest ends of other paths.
        roots = np.array([paths.root(word) for word in ends.tolist()])
        left, right, value = _between_paths(directions[ends], ends, roots)


def _between_paths(
    points: Matrix, ends: NDArray[np.int64], roots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Matrix]:
    flat = np.zeros(len(ends), dtype=np.float32)
    k = min(_NEIGHBOURS, len(ends) - 1)
    near, value = products.most(points, points, flat, k, own=np.arange(len(ends)))
    row = np.repeat(np.arange(len(ends)), k)
    other = roots[row] != roots[near.ravel()]
    return ends[row[other]], ends[near.ravel()[other]], value.ravel()[other]


class _Improver:
    """2-opt and or-opt on an array, with neighbour lists and a queue of words to revisit."""

    def __init__(
        self, directions: Matrix, neighbours: NDArray[np.int64], cosines: Matrix, path: NDArray[np.int64]
    ) -> None:
        self.directions = directions
        self.neighbours: list[list[int]] = neighbours.tolist()
        self.lengths: list[list[float]] = (1.0 - cosines.astype(np.float64)).tolist()
        self.tour = path.copy()
        self.place = np.empty(len(path), dtype=np.int64)
        self.place[path] = np.arange(len(path))

    def run(self) -> NDArray[np.int64]:
        queue = deque(self.tour.tolist())
        waiting = [True] * len(self.tour)
        while queue:
            word = queue.popleft()
            waiting[word] = False
            touched = self._improve(word)
            while touched:
                for other in touched:
                    if not waiting[other]:
                        waiting[other] = True
                        queue.append(other)
                touched = self._improve(word)
        return self.tour

    def _length(self, left: int, right: int) -> float:
        return 1.0 - float(self.directions[left] @ self.directions[right])

    def _at(self, place: int) -> int:
        return int(self.tour[place % len(self.tour)])

    def _improve(self, word: int) -> tuple[int, ...]:
        """Make one move that shortens the tour at this word; return the words that it touched, or none."""
        return self._two_opt(word) or self._or_opt(word)

    def _two_opt(self, word: int) -> tuple[int, ...]:
        here = int(self.place[word])
        for step in (1, -1):
            after = self._at(here + step)
            cut = self._length(word, after)
            for other, new in zip(self.neighbours[word], self.lengths[word], strict=True):
                if new >= cut:
                    break
                beyond = self._at(int(self.place[other]) + step)
                if other == after or beyond == word:
                    continue
                if cut + self._length(other, beyond) - new - self._length(after, beyond) > _GAIN:
                    self._exchange(word, after, other, beyond)
                    return word, after, other, beyond
        return ()

    def _or_opt(self, word: int) -> tuple[int, ...]:
        """Move a segment of one to three words that begins with `word` next to a neighbour of `word`."""
        size, here = len(self.tour), int(self.place[word])
        for step, length in _SEGMENTS:
            if length > size - 3:
                continue
            before, after = self._at(here - step), self._at(here + step * length)
            last = self._at(here + step * (length - 1))
            freed = self._length(before, word) + self._length(last, after) - self._length(before, after)
            for other, new in zip(self.neighbours[word], self.lengths[word], strict=True):
                if new >= freed:
                    break
                place = int(self.place[other])
                if (place - here) * step % size < length:
                    continue  # inside the segment
                for side in (step, -step):
                    beyond = self._at(place + side)
                    left, right = (other, beyond) if side == step else (beyond, other)
                    if left == before or right in (before, after):
                        continue
                    if freed + self._length(other, beyond) - new - self._length(last, beyond) > _GAIN:
                        # before→word…last→after…left→right becomes before→after…left→last…word→right
                        self._exchange(before, word, left, right)
                        self._exchange(before, left, after, last)
                        if left == other:
                            self._exchange(left, last, word, right)
                        return before, word, last, after, other, beyond
        return ()

    def _exchange(self, a: int, b: int, c: int, d: int) -> None:
        """On a way a→b…c→d, in either direction, turn the middle round: a→c…b→d."""
        forwards = self._at(int(self.place[a]) + 1) == b and self._at(int(self.place[c]) + 1) == d
        first, last = (b, c) if forwards else (c, b)
        size = len(self.tour)
        start = int(self.place[first])
        count = (int(self.place[last]) - start) % size + 1
        if 2 * count > size:  # turning the rest round gives the same closed tour
            start, count = int(self.place[last]) + 1, size - count
        span = np.arange(start, start + count) % size
        turned = self.tour[span[::-1]]
        self.tour[span] = turned
        self.place[turned] = span
