"""Lists the most similar words of every word, for a graph: exactly, or approximately if that would take hours.

Any connected graph over public words keeps the guarantee (docs/guarantees.md), so a large embedding may be searched
approximately. Its words are assigned to cells around centres, and each word is compared with the words of the cells
whose centres are nearest to it. The share of true neighbours found is measured, and stated with every guarantee.

The work is done in pieces, which are cached until all are done, so a build that is stopped can resume.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import SpaceError
from wordveil.files import cached_arrays, forget
from wordveil.noise import Entropy
from wordveil.parallel import blocks, cores, memory_of_machine, run
from wordveil.progress import tell
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.products import BestProduct, keep_largest, most
from wordveil.spaces.space import PointSpace

__all__ = ["Listed", "list_similar", "memory_for"]

Ints = NDArray[np.int64]

_PIECE = 1 << 14  # words whose neighbours are cached together
_EXACT = 2e13  # the most multiplications of an exact search: minutes on two cores
_SAMPLE = 16  # words per centre that the centres are learnt from
_ROUNDS = 8
# Multiplications within cells, which limit the cells searched per word, within these shares of all cells and at least
# this many.
_NEAR = 6e12
_MOST_SHARE, _LEAST_SHARE, _FEWEST = 0.05, 0.01, 16
_TRIED = 512  # words whose true neighbours are looked up, to measure the share found
_ROWS = 1 << 13  # words that search cells together
_ROOM = 1 << 28  # bytes for the program and temporary arrays
_WHAT = "building the neighbour graph"


@dataclass(frozen=True)
class Listed:
    """The most similar other words of each word, most similar first, and their similarities."""

    where: NDArray[np.int32]
    likeness: NDArray[np.float32]
    found: float  # the share of the true neighbours that are listed
    pieces: list[str]  # keys of the cached pieces, to remove once the graph is built

    def forget_pieces(self) -> None:
        """Remove the cached pieces, which are there only to resume a build."""
        for key in self.pieces:
            forget(key)


def is_exact(space: EuclideanSpace) -> bool:
    """Return whether all pairs of words are compared: if that takes minutes, or a device does it."""
    return space.device is not None or float(len(space)) ** 2 * space.dimension <= _EXACT


def memory_for(words: int, dimension: int, k: int) -> int:
    """Return the most bytes that building a graph takes: for vectors, directions, lists, and edges being sorted."""
    return _ROOM + words * (8 * dimension + 200 * max(k, 10))


def _check_room(space: PointSpace, k: int) -> None:
    """Raise a SpaceError if there is not enough memory; otherwise the system might kill the process hours later."""
    # one copy of the vectors is mapped from disk and needs no memory
    needed = memory_for(len(space), space.dimension, k) - 4 * len(space) * space.dimension
    there = memory_of_machine()
    if needed > there:
        raise SpaceError(
            f"a neighbour graph of {len(space):,} words takes {needed / 2**30:.1f} GiB of memory, and this machine has "
            f"{there / 2**30:.1f}; use the first words of the file, which are the frequent ones."
        )


def list_similar(space: PointSpace, k: int) -> Listed:
    """List the `k` words most similar to each word, exactly if that takes only minutes, and report progress."""
    words = len(space)
    k = min(k, words - 1)
    what = f"{_WHAT} of {words:,} words (about {memory_for(words, space.dimension, k) / 2**30:.1f} GiB of memory)"
    if words <= _PIECE:
        found, alike = space.similar(np.arange(words), k)
        return Listed(found.astype(np.int32), alike.astype(np.float32), 1.0, [])
    tell(what, 0.0)
    _check_room(space, k)
    how, cells = "exact", None
    if isinstance(space, EuclideanSpace) and not is_exact(space):
        how, cells = "near", _Cells(space, lambda share: tell(what, 0.1 * share))
    begin, end = (0.0, 1.0) if cells is None else (0.1, 1.0)
    order = np.arange(words) if cells is None else cells.order
    where, likeness = np.empty((words, k), dtype=np.int32), np.empty((words, k), dtype=np.float32)
    pieces = [] if cells is None else [cells.key]
    for part in blocks(words, _PIECE):
        ids = order[part]

        def fill(folder: Path, ids: Ints = ids) -> None:
            found, alike = space.similar(ids, k) if cells is None else cells.similar(ids, k)
            np.save(folder / "where.npy", found.astype(np.int32))
            np.save(folder / "likeness.npy", alike.astype(np.float32))

        pieces.append(f"graph-piece-2-{how}-{k}-{part.start}-{space.checksum}")
        where[ids], likeness[ids] = cached_arrays(pieces[-1], fill, "where", "likeness")
        tell(what, begin + (end - begin) * part.stop / words)
    if cells is None:
        return Listed(where, likeness, 1.0, pieces)
    return Listed(where, likeness, cells.share_found(where), pieces)


class _Cells:
    """The words of a large embedding, divided into cells around centres (spherical k-means)."""

    def __init__(self, space: EuclideanSpace, watch: Callable[[float], None]) -> None:
        self._points = space.directions
        words = len(space)
        self.key = f"graph-cells-2-{space.checksum}"

        def fill(folder: Path) -> None:
            centres = self._learn(math.isqrt(4 * words), watch)
            np.save(folder / "centres.npy", centres)
            np.save(folder / "cell.npy", _nearest(centres, self._points))

        self._centres, cell = cached_arrays(self.key, fill, "centres", "cell")
        self.order = np.argsort(cell, kind="stable")
        self._bounds = np.searchsorted(cell[self.order], np.arange(len(self._centres) + 1))
        self._cell = cell
        watch(1.0)

    def _learn(self, count: int, watch: Callable[[float], None]) -> NDArray[np.float32]:
        generator = Entropy(0).generator  # seeded for reproducible cells; nothing here is private
        sample = self._points[
            np.sort(generator.choice(len(self._points), min(len(self._points), _SAMPLE * count), False))
        ]
        centres = sample[generator.choice(len(sample), count, False)]
        for turn in range(_ROUNDS):
            cell = _nearest(centres, sample)
            order = np.argsort(cell, kind="stable")
            present, starts = np.unique(cell[order], return_index=True)
            sums = np.add.reduceat(sample[order], starts, axis=0)
            lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
            centres[present] = sums / np.where(lengths > 0.0, lengths, 1.0)
            watch(turn / _ROUNDS)
        return centres

    def similar(self, ids: Ints, k: int) -> tuple[Ints, NDArray[np.float32]]:
        """Return the `k` most similar words in the cells around each word; fast if ids are in the order of cells."""
        where, values = np.zeros((len(ids), k), dtype=np.int64), np.full((len(ids), k), -np.inf, dtype=np.float32)
        count = len(self._centres)
        share = _NEAR / (float(len(self._points)) ** 2 * self._points.shape[1])
        several = min(count, max(_FEWEST, round(min(_MOST_SHARE, max(_LEAST_SHARE, share)) * count)))

        def search(part: slice) -> None:
            own, points, kept, kept_at = ids[part], self._points[ids[part]], values[part], where[part]
            likeness = points @ self._centres.T
            nearest = np.argpartition(likeness, count - several, axis=1)[:, count - several :].ravel()
            by_cell = np.argsort(nearest, kind="stable")
            looking = np.bincount(nearest, minlength=count)
            starts = np.cumsum(looking) - looking
            # Popular cells come first: they hold near words, so little of what comes later is kept.
            for cell in np.argsort(-looking, kind="stable")[: np.count_nonzero(looking)].tolist():
                rows = by_cell[starts[cell] : starts[cell] + looking[cell]] // several
                inside = self.order[self._bounds[cell] : self._bounds[cell + 1]]
                best, best_at = kept[rows], kept_at[rows]
                keep_largest(points[rows] @ self._points[inside].T, inside, best, best_at, own[rows])
                kept[rows], kept_at[rows] = best, best_at

        run(search, blocks(len(ids), min(_ROWS, -(-len(ids) // cores()))))
        alone = np.flatnonzero(np.isneginf(values[:, -1]))  # words whose cells held too few words
        where[alone], values[alone] = most(self._points[ids[alone]], self._points, None, k, own=ids[alone])
        return where, values

    def share_found(self, where: NDArray[np.int32]) -> float:
        """Return the share of the true neighbours that are listed, measured on some words."""
        some = np.linspace(0, len(where) - 1, _TRIED).astype(np.int64)
        true, _ = most(self._points[some], self._points, None, where.shape[1], own=some)
        return float((true[:, :, None] == where[some][:, None, :]).any(axis=2).mean())


def _nearest(centres: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.int32]:
    return BestProduct(centres, np.zeros(len(centres), dtype=np.float32))(points).astype(np.int32)
