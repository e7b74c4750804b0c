"""How a mechanism's draws fall on the whole, from draws for many words: what to expect of a word seen too seldom.

A word stays with some probability; otherwise an output comes as often as it does for all words together, times a
factor that depends on its distance from the word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.calibration.sightings import Sightings
from wordveil.parallel import blocks, run
from wordveil.spaces import PointSpace, Space

__all__ = ["Kernel"]

_BINS = 40
_PAIRS = 1 << 17
_SAMPLE = 512
_CELLS = 1 << 24
_ROWS = 1 << 15
_LEAST = 1e-12  # of a sum over all other words, where there are none
_UNSEEN = 0.01  # draws that an output is thought to have had before any was made


class Kernel:
    """The expected probabilities ``Pr[M(w)=y]``, with no regard to what single words did.

    Parameters
    ----------
    space : Space
        The words and their distance; where words are points, the distance is used.
    seen : Sightings
        What came of which words.
    seed : int
        Of the pairs that stand for all.
    """

    def __init__(self, space: Space, seen: Sightings, seed: int = 0) -> None:
        self._suspects = seen.suspects
        self._space: PointSpace | None = space if isinstance(space, PointSpace) and len(space) > 2 else None
        stays, total = seen.stays, seen.count.sum()
        moved = ~stays
        self._stay = float((seen.count[stays].sum() + 0.5) / (total + 1.0))
        #: For each output how many draws of other words it had.
        self.reached = np.bincount(seen.output[moved], weights=seen.count[moved], minlength=len(space)) + _UNSEEN
        self._background = self.reached / self.reached.sum()
        self._sums = np.maximum(1.0 - self._background[self._suspects], _LEAST)
        if self._space is not None:
            row, output, count = seen.row[moved], seen.output[moved], seen.count[moved]
            self._learn_distances(self._space, row, output, count, np.random.default_rng(seed))

    def _learn_distances(
        self,
        space: PointSpace,
        row: NDArray[np.int64],
        output: NDArray[np.int64],
        count: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> None:
        """Compare how far outputs are with how far they would be if they had nothing to do with their words."""
        draws = min(_PAIRS, int(count.sum()))
        if draws < 10 * _BINS:
            self._space = None
            return
        chosen, others = (generator.choice(len(count), draws, p=count / count.sum()) for _ in range(2))
        points = space.points(self._suspects[row[chosen]])
        real, chance = (space.apart(points, output[places]) for places in (chosen, others))
        edges = np.unique(np.quantile(np.concatenate([real, chance]), np.linspace(0, 1, _BINS + 1)))
        counts = [np.histogram(found, bins=edges)[0] + 1.0 for found in (real, chance)]
        self._middles = 0.5 * (edges[1:] + edges[:-1])
        self._factors = np.log(counts[0] / counts[1])
        if len(space) <= _SAMPLE:
            sample, weights = np.arange(len(space)), self._background
        else:
            sample, weights = output[others[:_SAMPLE]], np.full(min(_SAMPLE, draws), 1.0 / min(_SAMPLE, draws))
        factors = self._factor(space.distances(sample)[:, self._suspects])
        factors[sample[:, None] == self._suspects] = 0.0
        self._sums = np.maximum(weights @ factors, _LEAST)

    def _factor(self, distances: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.asarray(np.exp(np.interp(distances, self._middles, self._factors)))

    def pairs(self, row: NDArray[np.int64], output: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability of each output for the suspect at the same place of the other array."""
        parts = blocks(len(row), _ROWS)
        found = run(lambda part: self._pairs(row[part], output[part]), parts)
        return np.concatenate(found) if found else np.empty(0)

    def _pairs(self, row: NDArray[np.int64], output: NDArray[np.int64]) -> NDArray[np.float64]:
        words = self._suspects[row]
        others = (1.0 - self._stay) * self._background[output] / self._sums[row]
        if self._space is not None:
            others *= self._factor(self._space.apart(self._space.points(words), output))
        return np.where(words == output, self._stay, others)

    def columns(self, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of some outputs (columns) for every suspect (row)."""
        others = ((1.0 - self._stay) / self._sums)[:, None] * self._background[outputs]
        if self._space is not None:
            for part in blocks(len(outputs), max(1, _CELLS // len(self._space))):
                others[:, part] *= self._factor(self._space.distances(outputs[part])[:, self._suspects]).T
        return np.where(self._suspects[:, None] == outputs, self._stay, others)
