"""Large graphs as draws see them: words that are near one another lie near in memory.

On a million words, nearly every step along an edge waits for memory. So draws on a large graph number its words anew,
in the order in which a search meets them. The law is that of the graph; which random word a seed gives depends on the
order.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.files import DAMAGE, read_cached
from wordveil.kernels import compiled
from wordveil.kernels.hop_draws import Surroundings, look_around
from wordveil.spaces.hops import HopSearch

__all__ = ["LARGE", "Laid", "lay_out"]

#: The number of words from which on a graph is large.
LARGE = 1 << 16


class Laid(NamedTuple):
    """A graph as draws see it."""

    search: HopSearch
    #: The word at each place, and the place of each word; None where a word is its own place.
    order: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None
    around: Surroundings | None = None


def lay_out(search: HopSearch, key: str | None = None) -> Laid:
    """Lay out a graph for draws. With a key, what takes long is kept in the cache."""
    if len(search) < LARGE:
        return Laid(search)
    native = compiled()
    if key is None or native is None:
        order, around = _order_of(search), None
    else:
        order, around = _kept(search, key, native)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return Laid(HopSearch(*_rows_of(search, order)), order.astype(np.int64), places, around)


def _order_of(search: HopSearch) -> NDArray[np.int32]:
    """Return the words in the order of a search from the first."""
    indptr, indices, words, edges = search.native_form
    graph = scipy.sparse.csr_array((np.ones(edges, dtype=np.int8), indices, indptr), shape=(words, words))
    return scipy.sparse.csgraph.breadth_first_order(graph, 0, return_predecessors=False).astype(np.int32)


def _rows_of(search: HopSearch, order: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows of the graph by the places of its words in an order."""
    indptr, indices, words, edges = search.native_form
    places = np.empty(words, dtype=np.int32)
    places[order] = np.arange(words, dtype=np.int32)
    degrees = np.diff(indptr)[order]
    starts = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)]).astype(np.int32)
    moved = np.repeat(indptr[:-1][order] - starts[:-1], degrees) + np.arange(edges, dtype=np.int32)
    return starts, places[indices[moved]]


def _kept(search: HopSearch, key: str, native: ModuleType) -> tuple[NDArray[np.int32], Surroundings]:
    # Of the same vectors an approximate search may list other neighbours, and words must be drawn on
    # the graph that is told of. So its rows are not kept, but made of the order: whatever that is, hops stay the same.
    indptr, indices = search.native_form[:2]
    edges = zlib.crc32(indices.data, zlib.crc32(indptr.data))

    def fill(folder: Path) -> None:
        order = _order_of(search)
        around = look_around(HopSearch(*_rows_of(search, order)).native_form, native)
        for name, numbers in {"order": order, **around._asdict()}.items():
            np.save(folder / f"{name}.npy", numbers)

    def read(folder: Path) -> tuple[NDArray[np.int32], Surroundings]:
        order, *found = (
            np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("order", *Surroundings._fields)
        )
        around = Surroundings(*found)
        if not (_is_order(order, len(search)) and around.fits(np.diff(indptr)[order])):
            raise ValueError("damaged")  # and made again
        return order, around

    return read_cached(f"laid-2-{edges:08x}-{key}", fill, read, DAMAGE)


def _is_order(order: NDArray[Any], words: int) -> bool:
    """Whether each word comes once."""
    if order.dtype != np.int32 or order.shape != (words,) or not 0 <= int(order.min()) <= int(order.max()) < words:
        return False
    return bool((np.bincount(order) == 1).all())
