"""Draws from weights: from whole rows of them, or from weights that fall with the straight-line distance.

A draw from the latter needs no row: it finds a block of words by the blocks' sums, which are few enough to be kept, and
then measures the words of that block alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.distances import straight_distances
from wordveil.kernels.native import compiled, kind, plain
from wordveil.parallel import blocks

__all__ = ["Falls", "choose"]

Matrix = NDArray[np.float32]

_BLOCK = 64  # as in native.c
_ENTRIES = 1 << 21  # of distances that numpy holds at once


def choose(rows: NDArray[np.floating[Any]], starts: NDArray[np.int64], aims: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each aim the first place of its row where the cumulative weights exceed that share of their sum.

    Rows are float32 or float64, summed in double precision; each has a weight above 0. The aims of row ``r`` are those
    from ``starts[r]`` to ``starts[r + 1]``, between 0 and 1, both excluded.
    """
    count, width = rows.shape
    if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != len(aims) or (np.diff(starts) < 0).any():
        raise ValueError("the starts must rise from 0 to the number of aims, one for each row and one more")
    found = np.empty(len(aims), dtype=np.int64)
    native = compiled()
    if native:
        wide = rows.dtype != np.float32
        rows = plain(rows, np.float64 if wide else np.float32)
        starts = plain(starts, np.int64)
        aims = plain(aims, np.float64)
        native.choose(rows, wide, count, width, starts, aims, len(aims), found)
        return found
    for row, start, stop in zip(rows, starts[:-1], starts[1:], strict=True):
        if start < stop:
            sums = np.cumsum(row, dtype=np.float64)
            found[start:stop] = np.searchsorted(sums[:-1], aims[start:stop] * sums[-1], side="right")
    return found


@dataclass(frozen=True)
class Falls:
    """The weights ``prior(u)·e^(-rate·min(d(w,u), reach(w)))`` of all words ``u`` from any word ``w``.

    The reach must keep every weight above the smallest float32: ``rate·reach - log prior <= 80``.
    """

    matrix: Matrix  # (words, d): the words as points, in float32
    squares: Matrix  # (words,): their squared lengths
    prior: Matrix  # (words,): what each word's weights are multiplied by, in float32
    rate: float  # how fast the weights fall

    def __post_init__(self) -> None:
        for name in ("matrix", "squares", "prior"):
            object.__setattr__(self, name, plain(getattr(self, name), np.float32))
        if self.matrix.ndim != 2 or not len(self.matrix) == len(self.squares) == len(self.prior) > 0:
            raise ValueError("points, squares and priors must be of the same words")

    @property
    def blocks(self) -> int:
        """The number of blocks that the words are cut into, in their order."""
        return -(-len(self.matrix) // _BLOCK)

    def sums(self, ids: NDArray[np.integer[Any]], reach: Matrix) -> Matrix:
        """Return the sum of the weights over each block, one row for each of these words.

        A word's weights fall no further beyond its `reach`.
        """
        ids, reach = self._checked(ids, reach)
        out = np.empty((len(ids), self.blocks), dtype=np.float32)
        native = compiled()
        if native:
            native.block_sums(kind(), self._native_form, ids, reach, len(ids), out)
            return out
        for part in blocks(len(ids), max(1, _ENTRIES // len(self.matrix))):
            weights = self._weights(straight_distances(self.matrix, self.squares, ids[part]), reach[part])
            weights *= self.prior
            whole = len(self.matrix) // _BLOCK * _BLOCK
            out[part, : whole // _BLOCK] = weights[:, :whole].reshape(len(weights), -1, _BLOCK).sum(axis=2)
            if whole < len(self.matrix):
                out[part, -1] = weights[:, whole:].sum(axis=1)
        return out

    def table(self, begin: int, end: int, reach: float, out: Matrix) -> None:
        """Write the sums of all words of some blocks into the rows of a table of all words' sums.

        Compiled code measures each pair of words once and writes into the rows of earlier blocks too, so the table is
        complete when this has been called for all blocks, in any order and from any thread.
        """
        if not 0 <= begin <= end <= self.blocks or out.shape != (len(self.matrix), self.blocks):
            raise ValueError("there are no such blocks, or the table has another shape")
        if out.dtype != np.float32 or not out.flags.carray:
            raise ValueError("the table must be of float32, in one piece, and writable")
        native = compiled()
        if native:
            native.block_table(kind(), self._native_form, begin, end, reach, out)
            return
        words = np.arange(begin * _BLOCK, min(end * _BLOCK, len(self.matrix)))
        out[begin * _BLOCK : end * _BLOCK] = self.sums(words, np.full(len(words), reach, dtype=np.float32))

    def pick(
        self, ids: NDArray[np.integer[Any]], of_block: NDArray[np.int64], reach: Matrix, aims: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Finish draws inside blocks: return for each word an output of its block, with the weights there.

        Aims lie between 0 and 1, both excluded. Fastest where draws in the same block follow one another, and among
        them those of the same word.
        """
        ids, reach = self._checked(ids, reach)
        of_block = plain(of_block, np.int64)
        if len(of_block) and not 0 <= of_block.min() <= of_block.max() < self.blocks:
            raise IndexError("there is no such block")
        out = np.empty(len(ids), dtype=np.int64)
        native = compiled()
        if native:
            aims = plain(aims, np.float64)
            native.pick(kind(), self._native_form, ids, of_block, reach, aims, len(ids), out)
            return out
        pair = of_block * len(self.matrix) + ids
        fresh = np.diff(pair, prepend=-1) != 0  # where another word or block begins
        first, row = np.flatnonzero(fresh), np.cumsum(fresh) - 1
        for block, own in _alike(of_block[first]):
            for part in blocks(own.stop - own.start, 256):
                some = slice(own.start + part.start, own.start + part.stop)
                sums = self._sums_inside(ids[first[some]], block, reach[first[some]])
                draws = slice(first[some.start], first[some.stop] if some.stop < len(first) else len(ids))
                of_draw = sums[row[draws] - some.start]
                aim = aims[draws] * of_draw[:, -1]
                out[draws] = block * _BLOCK + (of_draw[:, :-1] <= aim[:, None]).sum(axis=1)
        return out

    def _sums_inside(self, ids: NDArray[np.int64], block: int, reach: Matrix) -> NDArray[np.float64]:
        inside = slice(block * _BLOCK, (block + 1) * _BLOCK)
        steps = self.matrix[inside] - self.matrix[ids][:, None, :]
        weights = self._weights(np.sqrt(np.einsum("ijk,ijk->ij", steps, steps)), reach) * self.prior[inside]
        return np.cumsum(weights, axis=1, dtype=np.float64)

    def _weights(self, distances: Matrix, reach: Matrix) -> Matrix:
        np.minimum(distances, reach[:, None], out=distances)
        distances *= -self.rate
        return np.asarray(np.exp(distances, out=distances))

    @property
    def _native_form(self) -> tuple[Any, ...]:
        return (self.matrix, self.squares, self.prior, *self.matrix.shape, -self.rate / math.log(2.0))

    def _checked(self, ids: NDArray[np.integer[Any]], reach: Matrix) -> tuple[NDArray[np.int64], Matrix]:
        if len(ids) and not 0 <= ids.min() <= ids.max() < len(self.matrix):
            raise IndexError("there is no such word")
        if len(reach) != len(ids):
            raise ValueError("each word needs a reach")
        return plain(ids, np.int64), plain(reach, np.float32)


def _alike(numbers: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Yield each run of equal numbers and where it is."""
    changes = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in itertools.pairwise([0, *changes.tolist(), len(numbers)]):
        if start < stop:
            yield int(numbers[start]), slice(start, stop)
