"""Figures about words, one number for each, and how they are summed up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces import Vocabulary

__all__ = ["PERCENTILES", "Outputs", "PerWord", "Spread", "expected_distinct", "likeliest_sets"]

Floats = NDArray[np.float64]

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
_NAMED = 10
_SLACK = 1 - 1e-12  # for what only rounding keeps from a whole number


@dataclass(frozen=True)
class PerWord:
    """One number for each of some words.

    Attributes
    ----------
    ids : array of int
        The words.
    values : array of float
        The numbers.
    errors : array of float, optional
        Their standard errors, where they were estimated.
    mean_error : float
        The standard error of their mean as an estimate for these very words; 0 where they are exact.
    worst_is_largest : bool
        Whether a large number is the bad one.
    again : PerWord, optional
        The worst of the words measured once more on fresh draws. The worst of many estimates is too bad on average,
        since it was chosen for its error too; these are free of that.
    bound : bool
        Whether the numbers are upper bounds.
    """

    ids: NDArray[np.int64]
    values: Floats
    errors: Floats | None = None
    mean_error: float = 0.0
    worst_is_largest: bool = True
    again: PerWord | None = None
    bound: bool = False

    @property
    def mean(self) -> float:
        """The mean over the words; NaN if there are none."""
        return float(self.values.mean()) if self.values.size else np.nan

    @property
    def worst(self) -> float:
        """The worst number, measured again where it was estimated."""
        values = self.values if self.again is None else self.again.values
        if not values.size:
            return np.nan
        return float(values.max() if self.worst_is_largest else values.min())

    def met_by(self, share: float) -> float:
        """Return the number that this share of the words is at least as good as; for a share of 1, the worst."""
        if share >= 1.0:
            return self.worst
        good_first = np.sort(self.values if self.worst_is_largest else -self.values)
        found = float(good_first[max(0, int(np.ceil(share * len(good_first))) - 1)])
        return found if self.worst_is_largest else -found

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Sum it up in plain values: worst, mean, percentiles, and the worst words by name."""
        shown = self if self.again is None else self.again
        order = np.argsort(-shown.values if self.worst_is_largest else shown.values, kind="stable")[:_NAMED]
        return {
            "words": len(self.ids),
            "worst": _plain(self.worst),
            "mean": _plain(self.mean),
            "mean_error": self.mean_error,
            "percentiles": {
                str(percent): _plain(float(value))
                for percent, value in zip(PERCENTILES, _percentiles(self.values), strict=True)
            },
            "upper_bound": self.bound,
            "worst_words": [
                {
                    "word": vocabulary[int(shown.ids[place])],
                    "value": _plain(float(shown.values[place])),
                    "error": None if shown.errors is None else float(shown.errors[place]),
                }
                for place in order.tolist()
            ],
        }


class Spread(NamedTuple):
    """How widely the outputs of words are spread.

    Attributes
    ----------
    distinct : PerWord
        How many distinct words come out in the given number of draws; where it is exact, the expected number.
    effective : PerWord
        The size of the smallest set of outputs that holds all but eta of the probability.
    min_entropy : PerWord
        The Rényi entropy of order infinity, in bits: minus the logarithm of the likeliest output's probability.
    support : PerWord
        The Rényi entropy of order 0, in bits: the logarithm of the number of possible outputs, or, where only draws are
        known, of those seen.
    """

    distinct: PerWord
    effective: PerWord
    min_entropy: PerWord
    support: PerWord


class Outputs(NamedTuple):
    """How many inputs may be behind outputs.

    Attributes
    ----------
    inputs : PerWord
        For each of some outputs, how many inputs give it at least once in the given number of draws of each.
    alike : PerWord
        The k of (k, γ) plausible deniability: how many inputs give the output with a probability within a factor γ of
        the likeliest input.
    below : PerWord, optional
        The same as `inputs`, counting only the inputs below the output in a hyperbolic hierarchy.
    """

    inputs: PerWord
    alike: PerWord
    below: PerWord | None


def expected_distinct(chances: Floats, sizes: Floats, draws: int) -> Floats:
    """Return how many distinct outputs so many draws give on average.

    Parameters
    ----------
    chances : array of shape (words, m)
        The probabilities of single outputs.
    sizes : array that broadcasts to the same shape
        How many outputs have each of them.
    draws : int
        How many draws.
    """
    with np.errstate(divide="ignore"):  # an output that always comes
        return np.asarray((sizes * -np.expm1(draws * np.log1p(-np.minimum(chances, 1.0)))).sum(axis=1))


def likeliest_sets(chances: Floats, sizes: Floats, eta: float) -> Floats:
    """Return how many of the likeliest outputs hold all but eta of the probability.

    Parameters
    ----------
    chances : array of shape (words, m)
        The probabilities of single outputs.
    sizes : array that broadcasts to the same shape
        How many outputs have each of them.
    eta : float
        What may be left out.
    """
    if sizes.size == 1 < chances.size:
        held = np.cumsum(np.sort(chances, axis=1)[:, ::-1], axis=1)
        return np.asarray((held < (1.0 - eta) * _SLACK).sum(axis=1) + 1.0)
    sizes = np.broadcast_to(sizes, chances.shape)  # the likeliest first
    masses, counts = np.cumsum(sizes * chances, axis=1), np.cumsum(sizes, axis=1)
    last = (masses < 1.0 - eta).sum(axis=1).clip(max=chances.shape[1] - 1)
    place = np.arange(len(chances))
    before, whole = (np.where(last > 0, sums[place, last - 1], 0.0) for sums in (masses, counts))
    part = np.ceil((1.0 - eta - before) / chances[place, last] * _SLACK)
    return np.asarray(whole + np.minimum(part, sizes[place, last]))


def _percentiles(values: Floats) -> Floats:
    if not values.size:
        return np.full(len(PERCENTILES), np.nan)
    finite = np.where(np.isfinite(values), values, np.finfo(np.float64).max)  # inf - inf would be NaN
    found = np.percentile(finite, PERCENTILES)
    return np.where(found >= np.finfo(np.float64).max / 2, np.inf, found)


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
