"""How often which words gave which outputs: all that draws tell of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.noise import Entropy

__all__ = ["Sightings"]


@dataclass(frozen=True)
class Sightings:
    """Distinct pairs of a suspect and an output, counted.

    Attributes
    ----------
    suspects : array of int
        The words that were drawn for.
    drawn : array of float
        How many draws each of them had.
    row : array of int
        For each pair the place of its word among the suspects.
    output : array of int
        For each pair what came out.
    count : array of float
        How often. Where the probability of staying is known better than by counting, that many draws of the word itself
        are expected, which need be no whole number.
    """

    suspects: NDArray[np.int64]
    drawn: NDArray[np.float64]
    row: NDArray[np.int64]
    output: NDArray[np.int64]
    count: NDArray[np.float64]

    @classmethod
    def of(cls, suspects: NDArray[np.int64], row: NDArray[np.int64], output: NDArray[np.int64]) -> Sightings:
        """Count draws.

        Parameters
        ----------
        suspects : array of int
            The words that were drawn for.
        row : array of int
            For each draw the place of its word among them.
        output : array of int
            For each draw what came out.
        """
        span = int(output.max(initial=0)) + 1
        pairs, count = np.unique(row * span + output, return_counts=True)
        drawn = np.bincount(row, minlength=len(suspects)).astype(np.float64)
        return cls(suspects, drawn, pairs // span, pairs % span, count.astype(np.float64))

    @classmethod
    def of_runs(cls, mechanism: Mechanism[Any], prior: NDArray[np.float64], draws: int, entropy: Entropy) -> Sightings:
        """Run a mechanism on words that come as often as a prior says.

        Parameters
        ----------
        mechanism : Mechanism
            What to run.
        prior : array of float
            The probability of every word of the vocabulary; the suspects are those above 0.
        draws : int
            How many words to give it.
        entropy : Entropy
            Where the words and the mechanism's randomness come from.
        """
        suspects = np.flatnonzero(prior)
        sums = np.cumsum(prior[suspects])
        row = np.minimum(np.searchsorted(sums, entropy.uniform(draws) * sums[-1], side="right"), len(suspects) - 1)
        return cls.of(suspects, row, mechanism.draw(suspects[row], entropy))

    @property
    def stays(self) -> NDArray[np.bool_]:
        """Which pairs are of a word with itself."""
        return np.asarray(self.suspects[self.row] == self.output)
