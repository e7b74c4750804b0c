"""How a mechanism's draws fall on the whole, from draws for many words: what to expect of a word seen too seldom.

A word stays with some probability; otherwise an output comes as often as it does for all words together, times a
factor that depends on its distance from the word. Words differ in how often they stay: one with a near neighbour stays
less. So the probability of staying is learnt for words whose nearest neighbours are about equally far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces import PointSpace, Space

__all__ = ["Kernel"]

_BINS = 40
_GROUPS = 20
_PAIRS = 1 << 17
_SAMPLE = 512
_CELLS = 1 << 24


class Kernel:
    """The expected probabilities ``Pr[M(w)=y]``, with no regard to what single words did.

    Parameters
    ----------
    space : Space
        The words and their distance; where words are points, the distance is used.
    suspects : array of int
        The words that were veiled.
    place, output : array of int
        For each draw which suspect was veiled, and what came out.
    seed : int
        Of the pairs that stand for chance.
    """

    def __init__(
        self,
        space: Space,
        suspects: NDArray[np.int64],
        place: NDArray[np.int64],
        output: NDArray[np.int64],
        seed: int = 0,
    ) -> None:
        self._suspects = suspects
        self._space = space if isinstance(space, PointSpace) and len(space) > 2 else None
        stays = suspects[place] == output
        everywhere = np.bincount(output[~stays], minlength=len(space)) + 0.01
        self._background = everywhere / everywhere.sum()
        self._stay = self._staying(place, stays)
        if self._space is not None:
            self._learn_distances(self._space, place[~stays], output[~stays], np.random.default_rng(seed))

    def _staying(self, place: NDArray[np.int64], stays: NDArray[np.bool_]) -> NDArray[np.float64]:
        group = np.zeros(len(self._suspects), dtype=np.int64)
        if self._space is not None:
            size = max(1, _CELLS // len(self._space))
            parts = [self._suspects[start : start + size] for start in range(0, len(self._suspects), size)]
            nearest = np.concatenate([self._space.neighbours(part, 1)[1][:, 0] for part in parts])
            group = np.argsort(np.argsort(nearest, kind="stable")) * _GROUPS // len(nearest)
        stayed = np.bincount(group[place], weights=stays, minlength=_GROUPS)
        drawn = np.bincount(group[place], minlength=_GROUPS)
        return np.asarray(((stayed + 0.5) / (drawn + 1.0))[group])

    def _learn_distances(
        self, space: PointSpace, place: NDArray[np.int64], output: NDArray[np.int64], generator: np.random.Generator
    ) -> None:
        """Compare how far outputs are with how far they would be if they had nothing to do with their words."""
        chosen = generator.permutation(len(place))[:_PAIRS]
        if len(chosen) < 10 * _BINS:
            self._space = None
            return
        points = space.points(self._suspects[place[chosen]])
        real, chance = (
            space.apart(points, ids) for ids in (output[chosen], generator.permutation(output)[: len(chosen)])
        )
        edges = np.unique(np.quantile(np.concatenate([real, chance]), np.linspace(0, 1, _BINS + 1)))
        counts = [np.histogram(found, bins=edges)[0] + 1.0 for found in (real, chance)]
        self._middles = 0.5 * (edges[1:] + edges[:-1])
        self._factors = np.log(counts[0] / counts[1])
        sample = generator.permutation(output)[:_SAMPLE]
        self._sums = self._factor(space.distances(sample)[:, self._suspects]).mean(axis=0)

    def _factor(self, distances: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.asarray(np.exp(np.interp(distances, self._middles, self._factors)))

    def pairs(self, place: NDArray[np.int64], output: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability of each output for the suspect at the same place of the other array."""
        others = (1.0 - self._stay[place]) * self._background[output]
        if self._space is not None:
            apart = self._space.apart(self._space.points(self._suspects[place]), output)
            others *= self._factor(apart) / self._sums[place]
        return np.asarray(np.where(self._suspects[place] == output, self._stay[place], others))

    def columns(self, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of some outputs (columns) for every suspect (row)."""
        others = (1.0 - self._stay)[:, None] * self._background[outputs]
        if self._space is not None:
            size = max(1, _CELLS // len(self._space))
            for start in range(0, len(outputs), size):
                part = slice(start, start + size)
                distances = self._space.distances(outputs[part])[:, self._suspects]
                others[:, part] *= self._factor(distances).T / self._sums[:, None]
        return np.where(self._suspects[:, None] == outputs, self._stay[:, None], others)
