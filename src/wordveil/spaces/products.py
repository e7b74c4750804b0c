"""Nearest words by inner products: the one engine behind every exact search.

The word that maximises ``z·x_u + b_u`` is found for many queries ``z`` at once. With ``b = -‖x‖²/2`` that is the
Euclidean nearest word, with ``b = 0`` and unit vectors the most similar by cosine. The products are cut into tiles
that stay in the processor's cache, and the tiles into threads.
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
_ROWS, _WIDE = 256, 2048  # where several words are kept of each row


class BestProduct:
    """Finds for many queries the word with the largest product plus bias, in the precision of the vectors.

    In single precision compiled code does both at once. Elsewhere the words are kept as transposed tiles with the bias
    as one more row, so that only a matrix product and an argmax are left to do.
    """

    def __init__(self, vectors: Floats, bias: Floats) -> None:
        self._vectors, self._bias = vectors, bias

    def __call__(self, queries: Floats) -> NDArray[np.int64]:
        """Return the winning word of each query; of equals, the first."""
        return self.best(queries)[0]

    def best(self, queries: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the winning word of each query and its product plus bias."""
        dtype, native = self._vectors.dtype, compiled()
        found = np.zeros((len(queries), 1), dtype=np.int64)
        highest = np.full((len(queries), 1), -np.inf, dtype=dtype)
        is_single = native is not None and dtype == queries.dtype == np.float32
        points = plain(queries, np.float32) if is_single else queries

        def search(part: slice) -> None:
            if native is None or not is_single:
                self._search_tiles(points[part], highest[part], found[part])
                return
            some = points[part]
            shape = self._vectors.shape
            native.best_products(kind(), self._packed, *shape, some, len(some), highest[part], found[part])

        # compiled code has no threads of its own: a block for each core, if there are few
        several = -(-len(queries) // cores()) if is_single else _QUERIES
        run(search, blocks(len(queries), max(1, min(_QUERIES, several))))
        return found[:, 0], highest[:, 0]

    @cached_property
    def _packed(self) -> Matrix:
        """The words in blocks, with the coordinates outside and the words inside, and the biases behind them."""
        words, dimension = self._vectors.shape
        packed = np.zeros((-(-words // _BLOCK), dimension + 1, _BLOCK), dtype=np.float32)
        packed[-1, -1] = -np.inf  # what the last block has too many of is never the largest
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
    """Keep in each row of `values` and `where` the largest that came by and whose they are, largest first.

    The columns of `scores` are those of the words from `first` on, or of the words that it lists; of each row its own
    word is left out, if it has one. Of equals the one that comes first stays, or, of several in numpy, any.
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
        if new.shape[1] > 8 * k:  # what is less than the k-th of some is not among the k of all
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
    """Return for each query the `k` words with the largest product plus bias, largest first, and those values.

    If `own` is given, it holds for each query the word that is left out: the word itself. What is held beside the
    results does not depend on the number of words.
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
