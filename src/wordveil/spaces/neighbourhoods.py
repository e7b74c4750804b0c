"""The nearest words of every word, computed once for a space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.files import cached_arrays
from wordveil.spaces.space import Space

__all__ = ["neighbourhoods"]


def neighbourhoods(space: Space, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the `k` nearest other words of every word, nearest first, and their distances; kept in the cache.

    Parameters
    ----------
    space : Space
        The words and their distance.
    k : int
        How many; fewer where there are not so many other words.
    """

    def fill(folder: Path) -> None:
        where, distances = space.neighbours(np.arange(len(space)), k)
        np.save(folder / "where.npy", where.astype(np.int32))
        np.save(folder / "distances.npy", distances)

    where, distances = cached_arrays(f"neighbours-1-{k}-{space.checksum}", fill, "where", "distances")
    return where, distances
