"""Which word a noisy point ends up nearest to, for many words, directions and lengths of noise at once.

A word at ``x`` with noise of length ``r`` in direction ``v`` lands nearest to the word ``u`` that minimises
``‖x+rv-u‖² - r² = D_u - 2r(P_u - P_x)``, where ``D_u`` is the squared distance of ``u`` from ``x`` and ``P`` the
products with ``v``. So when many words share their directions, and many values of ε share both, no product of vectors
is left in a query: the products are computed once a direction and the distances once a word.

Two short lists hold nearly every winner: the words with the largest ``P`` in this direction and those with the smallest
``D`` from this word. No word outside both can score below ``min D - 2r·max P`` over the rest, which the ends of the
lists tell. Where the best of the lists beats that bound it is the best of all; elsewhere every word is looked at. The
answer is always the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import blocks

__all__ = ["Landing", "Rays"]

Matrix = NDArray[np.float32]

# Measured at 50,000 × 100: shorter lists leave more to the full search than they save.
_LISTED = 768
_DIRECTIONS = 128
_BLOCK_BYTES = 1 << 27


@dataclass(frozen=True)
class Landing:
    """Where the noise of some words ended.

    Attributes
    ----------
    edges : array of shape (words, directions)
        How far the word's own cell reaches in each direction: with shorter noise it stays itself.
    outputs : array of shape (words, scales, directions)
        The id of the word that comes out.
    """

    edges: NDArray[np.float64]
    outputs: NDArray[np.int32]


class Rays:
    """Follows noise from words to the words nearest to where it lands.

    Parameters
    ----------
    matrix : array of shape (words, dimension)
        The points of the words. Of words at the same point the first comes out, as in a nearest-word search.

    Examples
    --------
    >>> rays = Rays(np.array([[0.0], [1.0], [5.0]], dtype=np.float32))
    >>> landing = rays.follow(np.array([0]), np.array([[1.0]]), np.array([1.0]), np.array([[0.4, 2.0, 4.0]]))
    >>> landing.edges.tolist(), landing.outputs[0, :, 0].tolist()
    ([[0.5]], [0, 1, 2])
    """

    def __init__(self, matrix: Matrix) -> None:
        _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        self._ids = np.sort(first)  # one word for each point, in the order of the vocabulary
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        self._place = rank[place.reshape(-1)]
        self._points = np.ascontiguousarray(matrix[self._ids], dtype=np.float32)
        self._squares = np.einsum("ij,ij->i", self._points, self._points)
        self._listed = _LISTED if len(self._points) > 4 * _LISTED else len(self._points)

    @property
    def block(self) -> int:
        """How many words to follow at once, for the memory and for the time that listing a direction takes."""
        return max(1, min(1024, _BLOCK_BYTES // (4 * len(self._points))))

    def follow(
        self,
        words: NDArray[np.integer[Any]],
        directions: NDArray[np.floating[Any]],
        lengths: NDArray[np.floating[Any]],
        scales: NDArray[np.floating[Any]],
    ) -> Landing:
        """Find where each word lands in each direction at each scale of the noise.

        Parameters
        ----------
        words : array of int
            The ids of the words; see `block` for how many.
        directions : array of shape (n, dimension)
            The directions of the noise, which all words share.
        lengths : array of shape (n,)
            The length of the noise in each direction, at scale 1.
        scales : array of shape (words, m)
            By how much each word's noise is longer.
        """
        places = self._place[words]
        squares = self._squared_distances(places)
        near = [_smallest(row, self._listed) for row in squares]
        edges = np.empty((len(words), len(directions)))
        outputs = np.empty((len(words), scales.shape[1], len(directions)), dtype=np.int32)
        for part in blocks(len(directions), _DIRECTIONS):
            fan = _Fan(self._points, np.asarray(directions[part], dtype=np.float32), self._listed)
            for word, place in enumerate(places):
                reach = np.outer(2.0 * scales[word], lengths[part]).astype(np.float32)
                edges[word, part], outputs[word, :, part] = fan.follow(place, squares[word], near[word], reach)
        twins = self._ids[places] != words
        edges[twins] = 0.0
        return Landing(edges, self._ids[outputs].astype(np.int32))

    def _squared_distances(self, places: NDArray[np.int64]) -> Matrix:
        rows = self._points[places] @ self._points.T
        rows *= -2.0
        rows += self._squares
        rows += self._squares[places][:, None]
        for place, row in zip(places, rows, strict=True):
            # As in EuclideanSpace.distances: nearly equal vectors are measured directly.
            close = np.flatnonzero(row < 1e-3 * (self._squares[place] + self._squares))
            apart = self._points[place].astype(np.float64) - self._points[close]
            row[close] = np.maximum(np.einsum("ij,ij->i", apart, apart), np.finfo(np.float32).tiny)
            row[place] = np.inf  # the word itself is compared with, not listed
        return rows


class _Fan:
    """Some directions, with the words that lie farthest along each."""

    def __init__(self, points: Matrix, directions: Matrix, listed: int) -> None:
        self._products = directions @ points.T
        self._listed = listed
        self._whole = listed == len(points)
        self._far = np.empty((len(directions), listed), dtype=np.int64)
        # beside the words far along a direction there is room for the words near the word that is looked at
        width = listed if self._whole else 2 * listed
        self._along = np.empty((len(directions), width), dtype=np.float32)
        self._bounds = np.full(len(directions), -np.inf, dtype=np.float32)
        for number, row in enumerate(self._products):
            self._far[number], bound = _largest(row, listed)
            self._along[number, :listed] = row[self._far[number]]
            if not self._whole:
                self._bounds[number] = bound
        self._away = np.empty_like(self._along)
        self._scores = np.empty_like(self._along)
        self._everyone = np.empty(len(points), dtype=np.float32)
        self._rows = np.arange(len(directions))

    def follow(
        self, place: int, squares: Matrix, near: tuple[NDArray[np.int64], float], reach: Matrix
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the edge of one word's cell in every direction, and who comes out at every reach (scales × n)."""
        own = self._products[:, place]
        closest, bound = (near[0], near[1]) if not self._whole else (near[0][:0], np.inf)
        np.take(squares, self._far, out=self._away[:, : self._listed], mode="clip")
        self._away[:, self._listed :] = squares[closest]
        np.take(self._products, closest, axis=1, out=self._along[:, self._listed :], mode="clip")
        edges = self._edges(own, squares, bound)
        outputs = np.empty(reach.shape, dtype=np.int64)
        for number, twice in enumerate(reach):
            outputs[number] = self._outputs(place, squares, closest, bound, twice, twice >= 2.0 * edges)
        return edges, outputs

    def _edges(self, own: Matrix, squares: Matrix, bound: float) -> NDArray[np.float64]:
        # 1/(2r) = max (P_u - P_w)/D_u; where no word lies ahead the cell has no end
        np.subtract(self._along, own[:, None], out=self._scores)
        np.divide(self._scores, self._away, out=self._scores)
        steepest = self._scores.max(axis=1)
        if not self._whole:
            for row in np.flatnonzero(self._bounds - own > steepest * bound):
                np.subtract(self._products[row], own[row], out=self._everyone)
                np.divide(self._everyone, squares, out=self._everyone)
                steepest[row] = self._everyone.max()
        with np.errstate(divide="ignore"):
            return np.where(steepest > 0, 0.5 / np.maximum(steepest, 0).astype(np.float64), np.inf)

    def _outputs(
        self,
        place: int,
        squares: Matrix,
        closest: NDArray[np.int64],
        bound: float,
        twice: Matrix,
        leaves: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        found = np.full(len(twice), place)
        going = np.flatnonzero(leaves)
        if not going.size:
            return found
        if 2 * going.size > len(twice):  # copying the rows that go would cost more than scoring them all
            going = self._rows
            scores, along, away = self._scores, self._along, self._away
        else:
            scores, along, away = self._scores[: going.size], self._along[going], self._away[going]
        reach = twice[going]
        np.multiply(along, -reach[:, None], out=scores)
        np.add(scores, away, out=scores)
        best = scores.argmin(axis=1)
        least = scores[self._rows[: going.size], best]
        winner = np.where(
            best < self._listed,
            self._far[going, np.minimum(best, self._listed - 1)],
            closest[np.maximum(best - self._listed, 0)] if closest.size else -1,
        )
        if not self._whole:
            for row in np.flatnonzero((bound - reach * self._bounds[going] < least) & leaves[going]):
                np.multiply(self._products[going[row]], -reach[row], out=self._everyone)
                np.add(self._everyone, squares, out=self._everyone)
                winner[row] = self._everyone.argmin()
        found[going] = np.where(leaves[going], winner, place)
        return found


def _largest(row: Matrix, count: int) -> tuple[NDArray[np.int64], float]:
    """Return the places of the `count` largest values, and a bound that no other value exceeds."""
    least = np.partition(row, len(row) - count)[len(row) - count]
    return np.flatnonzero(row >= least)[:count], float(least)


def _smallest(row: Matrix, count: int) -> tuple[NDArray[np.int64], float]:
    """Return the places of the `count` smallest values, and a bound that no other value falls below."""
    most = np.partition(row, count - 1)[count - 1]
    return np.flatnonzero(row <= most)[:count], float(most)
