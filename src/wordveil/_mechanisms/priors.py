"""Public priors over outputs, which make some words likelier for every input alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays
from wordveil.parallel import blocks, run
from wordveil.spaces import PoincareSpace, Space

#: The prior found by the Blahut-Arimoto algorithm, which depends on the mechanism; see `informing_least`.
LEAST = "blahut-arimoto"
PRIORS = ("uniform", "frequency", "density", "general", LEAST)

_SHIFT = 2.7  # Mandelbrot's constant for English
_SAMPLE = 512
_INPUTS, _PASSES = 2048, 12
_MIXED = 1e-3  # the share of a uniform prior that is mixed in, so that no word is ruled out


def check_prior(space: Space, name: str) -> None:
    """Raise an error if the prior is unknown or not available on this space."""
    if name not in PRIORS:
        raise OptionError(f"unknown prior; choose one of {', '.join(PRIORS)}.")
    if name == "general" and not isinstance(space, PoincareSpace):
        raise SpaceError("the prior general needs a Poincaré space, whose general words lie near the origin.")


def log_prior(space: Space, name: str) -> NDArray[np.float64]:
    """Return the log prior of every word, shifted so that the largest is 0.

    - ``frequency``: the Zipf-Mandelbrot law ``1/(rank + 2.7)`` of the word's position, since embedding files list
      frequent words first.
    - ``density``: how crowded the space is around the word, by a Gaussian kernel as wide as the median distance to the
      tenth neighbour.
    - ``general``: on a Poincaré space, the Zipf-Mandelbrot law of the word's rank by distance from the origin, near
      which the general words lie.
    """
    check_prior(space, name)
    if name == "uniform":
        return np.zeros(len(space))
    if name == "frequency":
        return _falling(np.arange(len(space)))
    if name == "general" and isinstance(space, PoincareSpace):
        return _falling(np.argsort(np.argsort(space.radii, kind="stable")))
    if name == "density":
        logs = np.log(_density(space))
        return np.asarray(logs - logs.max())
    raise OptionError(f"only mechanisms that draw by distance take the prior {name}.")


def informing_least(space: Space, rate: float, clip: float | None) -> NDArray[np.float64]:
    """Return the log prior that minimises what outputs reveal about words drawn by frequency, with a maximum of 0.

    Among all laws that draw ``u`` for ``w`` with probability ∝ ``μ(u)·e^{-rate·min(d(w,u), clip)}``, the one with the
    optimal μ has the least mutual information at its mean distance. The Blahut-Arimoto algorithm repeatedly sets μ to
    the mean of the output distributions. It is stopped early, and on a large space uses only the most frequent words as
    inputs: any μ that does not depend on a text is valid, and this one is close to optimal.
    """

    def fill(folder: Path) -> None:
        words = len(space)
        ids = np.arange(min(_INPUTS, words))
        share = np.exp(_falling(ids))
        share /= share.sum()
        prior = np.full(words, 1.0 / words)
        for _ in range(_PASSES):
            found = np.zeros(words)
            for part in blocks(len(ids), max(1, (1 << 23) // words)):
                rows = space.distances(ids[part])
                weights = np.exp(-rate * (rows if clip is None else np.minimum(rows, clip)))
                found += (share[part] / (weights @ prior)) @ weights
            before, prior = prior, (1.0 - _MIXED) * prior * found + _MIXED / words
            if np.abs(np.log(prior / before)).max() < _MIXED:
                break
        np.save(folder / "prior.npy", np.log(prior) - np.log(prior.max()))

    made = f"{rate!r}-{clip!r}-{space.checksum}"
    return np.asarray(cached_arrays(f"blahut-arimoto-1-{made}", fill, "prior")[0], dtype=np.float64)


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
