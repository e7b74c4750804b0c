"""Nearest words by inner products, the basis of every exact search.

For many queries ``z`` at once, find the word that maximises ``z·x_u + b_u``. With ``b = -‖x‖²/2`` this is the Euclidean
nearest word; with ``b = 0`` and unit vectors it is the word with the largest cosine. The products are computed in tiles
that fit into the processor's cache, on several threads.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels import compiled, kind, plain
from wordveil.parallel import blocks, cores, run

Matrix = NDArray[np.float32]
Floats = NDArray[np.floating[Any]]

_QUERIES = 1024
_TILE = 512
_BLOCK = 64  # as in native.c
_ROWS, _WIDE = 256, 2048  # the tiles of `most`


class BestProduct:
    """Finds the word with the largest product plus bias for many queries, in the precision of the vectors.

    Compiled code does it in one step. Without it, the words are kept as transposed tiles with the bias as a further
    row, so that only a matrix product and an argmax remain.
    """

    def __init__(self, vectors: Floats, bias: Floats) -> None:
        self._vectors, self._bias = vectors, bias

    def __call__(self, queries: Floats) -> NDArray[np.int64]:
        """Return the best word of each query; of ties, the first."""
        return self.best(queries)[0]

    def best(self, queries: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the best word of each query, and its product plus bias."""
        dtype, native = self._vectors.dtype, compiled()
        found = np.zeros((len(queries), 1), dtype=np.int64)
        highest = np.full((len(queries), 1), -np.inf, dtype=dtype)
        is_wide = dtype == np.float64
        runs = native is not None and dtype == queries.dtype and (is_wide or dtype == np.float32)
        points: Floats = plain(queries, np.float64 if is_wide else np.float32) if runs else queries

        def search(part: slice) -> None:
            if native is None or not runs:
                self._search_tiles(points[part], highest[part], found[part])
                return
            some = points[part]
            shape = self._vectors.shape
            native.best_products(kind(), is_wide, self._packed, *shape, some, len(some), highest[part], found[part])

        # compiled code is single-threaded, so few queries are divided among the cores
        several = -(-len(queries) // cores()) if runs else _QUERIES
        run(search, blocks(len(queries), max(1, min(_QUERIES, several))))
        return found[:, 0], highest[:, 0]

    @cached_property
    def _packed(self) -> Floats:
        """The words in blocks of shape (coordinates + bias, words)."""
        words, dimension = self._vectors.shape
        packed = np.zeros((-(-words // _BLOCK), dimension + 1, _BLOCK), dtype=self._vectors.dtype)
        packed[-1, -1] = -np.inf  # padding in the last block never wins
        for number, part in enumerate(blocks(words, _BLOCK)):
            packed[number, :-1, : part.stop - part.start] = self._vectors[part].T
            packed[number, -1, : part.stop - part.start] = self._bias[part]
        return packed

    @cached_property
    def _tiles(self) -> list[Floats]:
        parts = blocks(len(self._vectors), _TILE)
        return [np.concatenate([self._vectors[part].T, self._bias[None, part]]) for part in parts]

    def _search_tiles(self, queries: Floats, highest: Floats, found: NDArray[np.int64]) -> None:
        points = np.concatenate([queries, np.ones((len(queries), 1), dtype=highest.dtype)], axis=1)
        room = np.empty(len(points) * _TILE, dtype=highest.dtype)
        for number, tile in enumerate(self._tiles):
            scores = room[: len(points) * tile.shape[1]].reshape(len(points), -1)
            np.matmul(points, tile, out=scores)
            keep_largest(scores, number * _TILE, highest, found)


def keep_largest(
    scores: Floats,
    first: int | NDArray[np.int64],
    values: Floats,
    where: NDArray[np.int64],
    own: NDArray[np.int64] | None = None,
) -> None:
    """Update each row's largest scores (`values`) and their words (`where`), largest first.

    The columns of `scores` belong to the words from `first` on, or to the words listed in it. `own` is a word to leave
    out per row. Of ties, the first one stays; if several scores are kept, numpy may keep any.
    """
    native, k = compiled(), values.shape[1]
    if native and scores.dtype == values.dtype == np.float32:
        start, ids = (first, None) if isinstance(first, int) else (0, first)
        native.keep_largest(scores, *scores.shape, start, ids, own, k, values, where)
        return
    words = np.arange(first, first + scores.shape[1]) if isinstance(first, int) else first
    if own is not None:
        scores[own[:, None] == words] = -np.inf
    if k == 1:
        leader = scores.argmax(axis=1)[:, None]
        new, whose = np.take_along_axis(scores, leader, axis=1), words[leader]
    else:
        new = np.concatenate([values, scores], axis=1)
        if new.shape[1] > 8 * k:  # select the k largest before sorting
            kept = np.sort(np.argpartition(new, new.shape[1] - k, axis=1)[:, -k:], axis=1)
        else:
            kept = np.broadcast_to(np.arange(new.shape[1]), new.shape)
        whose = np.concatenate([where, np.broadcast_to(words, scores.shape)], axis=1)
        order = np.take_along_axis(kept, np.argsort(-np.take_along_axis(new, kept, axis=1), axis=1, kind="stable"), 1)
        values[:], where[:] = (np.take_along_axis(some, order[:, :k], axis=1) for some in (new, whose))
        return
    better = new > values
    values[better], where[better] = new[better], whose[better]


def most(
    queries: Matrix, vectors: Matrix, bias: Matrix | None, k: int, *, own: NDArray[np.integer[Any]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the `k` words with the largest product plus bias for each query, largest first, and the values.

    `own`, if given, is a word to leave out for each query: the word itself. Memory beside the results does not depend
    on the number of words.
    """
    where = np.zeros((len(queries), k), dtype=np.int64)
    values = np.full((len(queries), k), -np.inf, dtype=np.float32)
    itself = None if own is None else plain(np.asarray(own), np.int64)

    def search(part: slice) -> None:
        own_of = None if itself is None else itself[part]
        room = np.empty((part.stop - part.start) * _WIDE, dtype=np.float32)
        for tile in blocks(len(vectors), _WIDE):
            scores = room[: (part.stop - part.start) * (tile.stop - tile.start)].reshape(part.stop - part.start, -1)
            np.matmul(queries[part], vectors[tile].T, out=scores)
            if bias is not None:
                scores += bias[tile]
            keep_largest(scores, tile.start, values[part], where[part], own_of)

    if k:
        run(search, blocks(len(queries), _ROWS))
    return where, values
