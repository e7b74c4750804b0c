"""Public priors over words, which make some outputs likelier for every input alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays
from wordveil.parallel import blocks, run
from wordveil.spaces import PoincareSpace, Space

PRIORS = ("uniform", "frequency", "density", "general")

_SHIFT = 2.7  # Mandelbrot's constant for English
_SAMPLE = 512


def log_prior(space: Space, name: str) -> NDArray[np.float64]:
    """Return the logarithm of the prior of every word, the largest being 0.

    ``frequency`` is the Zipf-Mandelbrot law ``1/(rank + 2.7)`` of the word's place, since embedding files list frequent
    words first; ``density`` how crowded the space is around the word (a Gaussian kernel as wide as the median distance
    to the tenth neighbour); ``general``, on a Poincaré space, the same law as ``frequency`` of the word's place in the
    order of distance from the origin, where the general words are.
    """
    if name == "uniform":
        return np.zeros(len(space))
    if name == "frequency":
        return _falling(np.arange(len(space)))
    if name == "general":
        if not isinstance(space, PoincareSpace):
            raise SpaceError("the prior general needs a Poincaré space, in which general words are at the centre.")
        return _falling(np.argsort(np.argsort(space.radii, kind="stable")))
    if name == "density":
        logs = np.log(_density(space))
        return np.asarray(logs - logs.max())
    raise OptionError(f"unknown prior; choose one of {', '.join(PRIORS)}.")


def _falling(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.log(_SHIFT) - np.log(ranks + _SHIFT))


def _density(space: Space) -> NDArray[np.float64]:
    def fill(folder: Path) -> None:
        sample = np.linspace(0, len(space) - 1, min(_SAMPLE, len(space))).astype(np.int64)
        if len(space) == 1:
            np.save(folder / "density.npy", np.ones(1))
            return
        width = float(np.median(space.neighbours(sample, 10)[1][:, -1])) or 1.0

        def kernel(part: slice) -> NDArray[np.float64]:
            rows = space.distances(np.arange(part.start, part.stop))
            return np.asarray(np.exp(-0.5 * (rows / width) ** 2).sum(axis=1, dtype=np.float64))

        size = max(1, (1 << 24) // len(space))
        np.save(folder / "density.npy", np.concatenate(run(kernel, blocks(len(space), size))))

    return cached_arrays(f"density-1-{space.checksum}", fill, "density")[0]
