"""The word nearest to a noisy point, for many words, directions and lengths of noise at once.

A word at ``x`` with noise of length ``r`` in direction ``v`` lands nearest to the word ``u`` that minimises
``‖x+rv-u‖² - r² = D_u - 2r(P_u - P_x)``, where ``D_u`` is the squared distance from ``x`` to ``u`` and ``P_u`` is the
dot product of ``u`` and ``v``. The products depend only on the direction and the distances only on the word, so each is
computed once and shared by many queries and all ε.

The compiled code keeps the words in groups of neighbours, and skips a group if its largest ``P`` and smallest ``D``
show that none of its words can win. As a function of the length of the noise, a word's score is a straight line. So if
no other word scores less where the lines of two winners cross, only these two win in between, and one search settles
all ε between two. Without compiled code, two short lists hold nearly every winner: the words with the largest ``P`` in
this direction, and those with the smallest ``D`` from this word. A word outside both lists scores at least the smallest
``D`` left out minus ``2r`` times the largest ``P`` left out. If the best listed word beats that bound, it is the
winner. Otherwise a longer list of the first kind is searched, and finally every word. The answer is always exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels import compiled, kind, plain, squared_distances
from wordveil.parallel import blocks

Matrix = NDArray[np.float32]

# Measured at 50,000 × 100: shorter lists fall back to the longer ones more often than they save time.
_FAR, _NEAR, _DEEP = 1024, 512, 4096
_DIRECTIONS = 64
_BLOCK_BYTES = 1 << 27
_TOGETHER = 128  # directions looked along together, for two words
_GROUP = 16  # as in rays.h
_TURNS = 3


@dataclass(frozen=True)
class Landing:
    """Where the noise of some words landed."""

    # (words, directions): how far the word's own Voronoi cell reaches; with shorter noise the word stays itself
    edges: NDArray[np.float64]
    outputs: NDArray[np.int32]  # (words, scales, directions): the id of the output


class Pairs(NamedTuple):
    """The two words nearest to some points, nearest first."""

    words: NDArray[np.int64]  # (…, 2)
    distances: NDArray[np.float32]  # (…, 2): from the point


class Rays:
    """Finds the words nearest to noisy points.

    Of several words at the same point the first is returned, as in a nearest-word search.

    Examples
    --------
    >>> rays = Rays(np.array([[0.0], [1.0], [5.0]], dtype=np.float32))
    >>> landing = rays.follow(np.array([0]), np.array([[1.0]]), np.array([1.0]), np.array([[0.4, 2.0, 4.0]]))
    >>> landing.edges.tolist(), landing.outputs[0, :, 0].tolist()
    ([[0.5]], [0, 1, 2])
    """

    def __init__(self, matrix: Matrix) -> None:
        _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        order = _side_by_side(np.asarray(matrix[first], dtype=np.float32))
        self._ids = first[order]  # one word for each point
        rank = np.empty(len(first), dtype=np.int64)
        rank[order] = np.arange(len(first))
        self._place = rank[place.reshape(-1)]
        self._points = np.ascontiguousarray(matrix[self._ids], dtype=np.float32)
        self._squares = np.einsum("ij,ij->i", self._points, self._points)
        self._twins = np.full(len(first), -1)  # for each point, its second word; -1 if it has one word only
        others = np.setdiff1d(np.arange(len(matrix)), first)[::-1]
        self._twins[self._place[others]] = others  # the first of several, which is written last

    @property
    def block(self) -> int:
        """The number of words to follow at once: as many as memory allows, to share the cost of each direction."""
        return max(1, min(1024, _BLOCK_BYTES // (4 * len(self._points))))

    def follow(
        self,
        words: NDArray[np.integer[Any]],
        directions: NDArray[np.floating[Any]],
        lengths: NDArray[np.floating[Any]],
        scales: NDArray[np.floating[Any]],
        edges: NDArray[np.float64] | None = None,
    ) -> Landing:
        """Find where each word lands in each direction at each scale of the noise.

        All words share the directions, of shape (n, dimension), and the lengths at scale 1, of shape (n,); `scales`, of
        shape (words, m), are the factors by which each word's noise is longer. Pass at most `block` words. If the same
        words were followed along the same directions before, pass the `edges` found then to save time.
        """
        places, native = self._place[words], compiled()
        squares = self._squared_distances(places)
        near = [] if native else [_smallest(row, min(_NEAR, len(row))) for row in squares]
        known, edges = edges, np.empty((len(words), len(directions)))
        outputs = np.empty((len(words), scales.shape[1], len(directions)), dtype=np.int32)
        room = np.empty((min(_DIRECTIONS, len(directions)), len(self._points)), dtype=np.float32)  # made once
        each = native.levels_of_rays(len(self._points)) if native else 0
        levels = np.empty((len(words), each), dtype=np.float32)
        for part in blocks(len(directions), _DIRECTIONS):
            thrown = (directions[part] * (2.0 * lengths[part])[:, None]).astype(np.float32)
            products = np.matmul(thrown, self._points.T, out=room[: len(thrown)])
            with np.errstate(divide="ignore"):  # twins have an edge of 0; see below
                rises = None if known is None else (lengths[part] / known[:, part]).astype(np.float32)
            steepest, landed = (
                _look_by_lists(products, places, squares, near, scales)
                if native is None
                else _look_compiled(native, products, places, squares, scales, levels, part.start > 0, rises)
            )
            with np.errstate(divide="ignore"):  # the cell is unbounded if no word lies ahead
                edges[:, part] = lengths[part] / np.maximum(steepest, 0.0).astype(np.float64)
            outputs[:, :, part] = landed
        twins = self._ids[places] != words
        edges[twins] = 0.0
        return Landing(edges, self._ids[outputs].astype(np.int32))

    def nearest_two(
        self, words: NDArray[np.integer[Any]], directions: NDArray[np.floating[Any]], lengths: NDArray[np.floating[Any]]
    ) -> Pairs:
        """Find the two words nearest to each word's point moved along each direction.

        All words share the directions, of shape (n, dimension); `lengths`, of shape (words, m, n), are how far each
        word is moved along each: m lengths, which cost least if neighbouring ones lead to the same words. There must
        be two words. Of words at the same point the first in the vocabulary count as nearer.
        """
        places = self._place[words]
        shape = *lengths.shape, 2
        squares = np.maximum(squared_distances(self._points, self._squares, places), 0.0)
        outputs, apart = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        for part in blocks(len(directions), _TOGETHER):
            products = np.matmul(directions[part].astype(np.float32), self._points.T)
            found, scores = _look_for_two(products, places, squares, lengths[:, :, part])
            outputs[:, :, part] = found
            apart[:, :, part] = scores + np.square(lengths[:, :, part])[..., None]
        distances = np.sqrt(np.maximum(apart, 0.0))
        twin = self._twins[outputs[..., 0]]  # a second word at the nearest point is the second nearest word
        second = np.where(twin >= 0, twin, self._ids[outputs[..., 1]])
        distances[..., 1] = np.where(twin >= 0, distances[..., 0], distances[..., 1])
        return Pairs(np.stack([self._ids[outputs[..., 0]], second], axis=-1), distances)

    def _squared_distances(self, places: NDArray[np.int64]) -> Matrix:
        rows = squared_distances(self._points, self._squares, places, float(np.finfo(np.float32).tiny))
        rows[np.arange(len(places)), places] = np.inf  # the word itself is compared separately
        return rows


def _side_by_side(points: Matrix) -> NDArray[np.int64]:
    """Return an order of the words in which each group, and each run of groups, is of words near one another.

    The words are split recursively in two halves, across a direction in which they are widely spread.
    """
    order, uncut = np.arange(len(points)), [slice(0, len(points))]
    while uncut:
        part = uncut.pop()
        size = part.stop - part.start
        if size <= _GROUP:
            continue
        some = points[order[part]] - points[order[part]].mean(axis=0)
        along = some[np.einsum("ij,ij->i", some, some).argmax()]
        for _ in range(_TURNS):  # power iteration towards the direction of widest spread
            along = (some @ along) @ some
            along = along / max(float(np.linalg.norm(along)), float(np.finfo(np.float32).tiny))
        middle = -(-size // (2 * _GROUP)) * _GROUP
        order[part] = order[part][np.argpartition(some @ along, middle - 1)]
        uncut += [slice(part.start, part.start + middle), slice(part.start + middle, part.stop)]
    return order


def _look_compiled(
    native: ModuleType,
    products: Matrix,
    places: NDArray[np.int64],
    squares: Matrix,
    scales: NDArray[np.floating[Any]],
    levels: Matrix,
    are_made: bool,
    rises: Matrix | None,
) -> tuple[Matrix, NDArray[np.int32]]:
    """Return, per word and direction, the steepest rise (`rises` if known) and the output at each scale.

    `levels` are for the least distances in each group of words, which are the same for all directions.
    """
    steepest = np.empty((len(places), len(products)), dtype=np.float32) if rises is None else rises
    landed = np.empty((len(places), scales.shape[1], len(products)), dtype=np.int32)
    sizes = products.shape[1], len(products), len(places), scales.shape[1]
    numbers = products, squares, places, plain(scales, np.float32)
    native.follow_rays(kind(), *sizes, *numbers, are_made, levels, rises is not None, steepest, landed)
    return steepest, landed


def _look_for_two(
    products: Matrix, places: NDArray[np.int64], squares: Matrix, lengths: NDArray[np.floating[Any]]
) -> tuple[NDArray[np.int32], Matrix]:
    """Return the places of the two nearest words, and how much farther they are, squared, than a length squared."""
    native, sizes = compiled(), plain(2.0 * lengths.transpose(0, 2, 1), np.float32)  # all of a direction stand together
    found, scores = np.empty((*sizes.shape, 2), dtype=np.int32), np.empty((*sizes.shape, 2), dtype=np.float32)
    if native is None:
        for word, place in enumerate(places):
            along = products - products[:, place, None]
            for number in range(sizes.shape[2]):
                rows = squares[word] - sizes[word, :, number, None] * along
                two = np.argpartition(rows, 1, axis=1)[:, :2]
                ordered = np.take_along_axis(two, np.argsort(np.take_along_axis(rows, two, axis=1), axis=1), axis=1)
                found[word, :, number], scores[word, :, number] = ordered, np.take_along_axis(rows, ordered, axis=1)
    else:
        counts = products.shape[1], len(products), len(places), sizes.shape[2]
        native.nearest_two(kind(), *counts, products, squares, places, sizes, found, scores)
    return found.transpose(0, 2, 1, 3), scores.transpose(0, 2, 1, 3)


def _look_by_lists(
    products: Matrix,
    places: NDArray[np.int64],
    squares: Matrix,
    near: list[tuple[NDArray[np.int64], float]],
    scales: NDArray[np.floating[Any]],
) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the same without compiled code."""
    fan = _Fan(products)
    steepest = np.empty((len(places), len(products)), dtype=np.float32)
    landed = np.empty((len(places), scales.shape[1], len(products)), dtype=np.int64)
    for word, place in enumerate(places):
        look = _Look(fan, int(place), squares[word], near[word])
        steepest[word] = look.steepest
        for column, scale in enumerate(scales[word]):
            landed[word, column] = look.outputs(float(scale))
    return steepest, landed


class _Fan:
    """Some directions, with the words farthest along each. Products are scaled by twice the length of the noise."""

    def __init__(self, products: Matrix) -> None:
        self.products = products
        self.by_point = np.ascontiguousarray(self.products.T)
        count, words = self.products.shape
        far, deep = min(_FAR, words), min(_DEEP, words)
        self.far, self.far_along, self.far_bound = _lists(self.products, far)
        self.deep, self.deep_along, self.deep_bound = _lists(self.products, deep)
        near = min(_NEAR, words)
        self.along = np.empty((count, far + near), dtype=np.float32)
        self.along[:, :far] = self.far_along
        # work space, reused for each word
        self.away, self.scores = np.empty_like(self.along), np.empty_like(self.along)
        self.rows = np.arange(count)


class _Look:
    """One word's search along all directions of a fan."""

    def __init__(self, fan: _Fan, place: int, squares: Matrix, near: tuple[NDArray[np.int64], float]) -> None:
        self._fan, self._place, self._squares = fan, place, squares
        self._near, self._near_bound = near
        self._split = fan.far.shape[1]
        np.take(squares, fan.far, out=fan.away[:, : self._split], mode="clip")
        fan.away[:, self._split :] = squares[self._near]
        fan.along[:, self._split :] = fan.by_point[self._near].T
        self._own = fan.products[:, place]
        self.steepest = self._find_steepest()

    def _find_steepest(self) -> Matrix:
        # the edge is at 1/r = max 2(P_u - P_w)/D_u
        fan, own = self._fan, self._own
        np.subtract(fan.along, own[:, None], out=fan.scores)
        np.divide(fan.scores, fan.away, out=fan.scores)
        steepest = fan.scores.max(axis=1)
        unsure = np.flatnonzero(self._slope_left(fan.far_bound, own) > steepest)
        if unsure.size:
            rises = fan.deep_along[unsure] - own[unsure, None]
            rises /= self._squares[fan.deep[unsure]]
            steepest[unsure] = np.maximum(steepest[unsure], rises.max(axis=1))
            left = self._slope_left(fan.deep_bound[unsure], own[unsure])
            for row in unsure[left > steepest[unsure]]:
                steepest[row] = ((fan.products[row] - own[row]) / self._squares).max()
        return steepest

    def _slope_left(self, bound: Matrix, own: Matrix) -> Matrix:
        """Return an upper bound on the slope of the words left out of the lists."""
        return np.maximum(bound - own, 0.0) / np.float32(self._near_bound)

    def outputs(self, scale: float) -> NDArray[np.int64]:
        """Return the output in each direction at one scale of the noise."""
        fan, size = self._fan, np.float32(scale)
        leaves = self.steepest * size >= 1.0
        found = np.full(len(leaves), self._place)
        going = np.flatnonzero(leaves)
        if not going.size:
            return found
        if 2 * going.size > len(leaves):  # scoring all rows is cheaper than copying most of them
            going = fan.rows
            scores, along, away = fan.scores, fan.along, fan.away
        else:
            scores, along, away = fan.scores[: going.size], fan.along[going], fan.away[going]
        np.multiply(along, -size, out=scores)
        np.add(scores, away, out=scores)
        best = scores.argmin(axis=1)
        least = scores[fan.rows[: going.size], best]
        is_far = best < self._split
        winner = np.empty(going.size, dtype=np.int64)
        winner[is_far] = fan.far[going[is_far], best[is_far]]
        winner[~is_far] = self._near[best[~is_far] - self._split]
        unsure = np.flatnonzero((self._near_bound - size * fan.far_bound[going] < least) & leaves[going])
        if unsure.size:
            winner[unsure] = self._deeper(going[unsure], size, winner[unsure], least[unsure])
        found[going] = np.where(leaves[going], winner, self._place)
        return found

    def _deeper(self, rows: NDArray[np.int64], size: np.float32, winner: NDArray[np.int64], least: Matrix) -> Any:
        """Search the longer lists in these directions for better winners, and finally all words."""
        fan = self._fan
        scores = fan.deep_along[rows] * -size
        scores += self._squares[fan.deep[rows]]
        best = scores.argmin(axis=1)
        values = scores[np.arange(len(rows)), best]
        found = np.where(values < least, fan.deep[rows, best], winner)
        least = np.minimum(least, values)
        for place in np.flatnonzero(self._near_bound - size * fan.deep_bound[rows] < least):
            found[place] = np.argmin(self._squares - size * fan.products[rows[place]])
        return found


def _lists(products: Matrix, count: int) -> tuple[NDArray[np.int64], Matrix, Matrix]:
    """Return the words with the largest products in each row, those products, and a bound on all other products."""
    listed = np.empty((len(products), count), dtype=np.int64)
    bounds = np.full(len(products), -np.inf, dtype=np.float32)
    for number, row in enumerate(products):
        least = np.partition(row, len(row) - count)[len(row) - count]
        listed[number] = np.flatnonzero(row >= least)[:count]
        if count < len(row):
            bounds[number] = least
    return listed, np.take_along_axis(products, listed, axis=1), bounds


def _smallest(row: Matrix, count: int) -> tuple[NDArray[np.int64], float]:
    """Return the indices of the `count` smallest values, and a lower bound on all other values."""
    most = np.partition(row, count - 1)[count - 1]
    return np.flatnonzero(row <= most)[:count], float(most)
