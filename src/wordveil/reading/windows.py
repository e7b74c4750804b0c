"""Long texts in windows, which a network reads one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.reading.places import VEILED, Places

_WINDOW, _OVERLAP = 128, 16  # words that are read together, and how many at a cut end only serve as context


class Windows(NamedTuple):
    """Stretches of texts that are read together, and between which of its places each answers."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    @classmethod
    def of(cls, places: Places) -> Windows:
        """Cut texts into windows, and leave out those in which there is nothing to read."""
        before = np.concatenate([[0], np.cumsum(places.kinds == VEILED)])
        cut = []
        for start, stop in zip(places.starts[:-1].tolist(), places.starts[1:].tolist(), strict=True):
            if stop - start <= _WINDOW:
                cut.append((start, stop, start, stop))
                continue
            for first in range(start, stop - 2 * _OVERLAP, _WINDOW - 2 * _OVERLAP):
                last = min(first + _WINDOW, stop)
                answers = first if first == start else first + _OVERLAP, last if last == stop else last - _OVERLAP
                cut.append((first, last, *answers))
        found = np.array(cut, dtype=np.int64).reshape(-1, 4)
        return cls(*found[before[found[:, 3]] > before[found[:, 2]]].T)

    def take(self, which: NDArray[np.int64]) -> Windows:
        """Return some of the windows."""
        return Windows(*(part[which] for part in self))


def runs(
    windows: Windows, which: NDArray[np.int64], words: int, generator: np.random.Generator | None = None
) -> list[NDArray[np.int64]]:
    """Put windows of like lengths together, about this many words in each run, so that little of it is padding."""
    lengths = (windows.stops - windows.starts)[which].astype(np.float64)
    if generator is not None:
        lengths += generator.normal(scale=2.0, size=len(lengths))
    ordered = which[np.argsort(lengths, kind="stable")]
    found, first, longest = [], 0, 0
    for number, length in enumerate((windows.stops - windows.starts)[ordered].tolist()):
        longest = max(longest, length)
        if number > first and longest * (number - first + 1) > words:
            found.append(ordered[first:number])
            first, longest = number, length
    return [*found, ordered[first:]] if len(ordered) else []
