"""What a calibration asks of a law and what it gets back: one number per word, and summaries of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError
from wordveil.spaces import Vocabulary
from wordveil.stats import Estimate

Floats = NDArray[np.float64]

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
_NAMED = 10
_SLACK = 1 - 1e-12  # so that rounding does not push a whole number over


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
        Their standard errors, if they were estimated.
    mean_error : float
        The standard error of their mean as an estimate for these particular words; 0 if they are exact.
    worst_is_largest : bool
        Whether large numbers are bad.
    again : PerWord, optional
        The worst words measured again on fresh draws. The worst of many estimates is biased, because it was picked
        partly for its error; these are not.
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
        """The worst number; if estimated, from the second measurement."""
        values = self.values if self.again is None else self.again.values
        if not values.size:
            return np.nan
        return float(values.max() if self.worst_is_largest else values.min())

    def met_by(self, share: float) -> float:
        """Return the number that this share of the words meets or betters; for a share of 1, the worst."""
        if share >= 1.0:
            return self.worst
        good_first = np.sort(self.values if self.worst_is_largest else -self.values)
        found = float(good_first[max(0, int(np.ceil(share * len(good_first))) - 1)])
        return found if self.worst_is_largest else -found

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Summarise in plain values: worst, mean, percentiles, and the worst words by name."""
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
    """How widely the outputs of words are spread; `wordveil.calibration.Measurement` documents the fields."""

    distinct: PerWord
    effective: PerWord
    min_entropy: PerWord
    support: PerWord


class Outputs(NamedTuple):
    """How many inputs may be behind outputs; `wordveil.calibration.Measurement` documents the fields."""

    inputs: PerWord
    alike: PerWord
    below: PerWord | None


@dataclass(frozen=True)
class Effort:
    """How much to measure, and how much to draw if probabilities must be estimated.

    Parameters
    ----------
    words : int, optional
        How many random words to measure; 0 for all. Default: as many as the kind of law can measure in reasonable time.
    draws : int
        The number of draws that the count of distinct outputs refers to, and that are made of each word if the
        probabilities must be estimated.
    eta : float
        The probability that the smallest set of likely outputs may leave out.
    gamma : float
        Two inputs count as alike for an output if their probabilities of giving it differ by at most this factor.
    near : int
        How many most similar words count as near.
    similar : int
        The near loss is taken over this many most similar words.
    near_words : int
        Measure the near loss and the share of near words on at most this many words.
    outputs : int
        Count the inputs behind this many outputs.
    adversary_words : int
        The largest number of suspects among which the attacker looks for the input.
    adversary_draws : int
        How many draws the attacker learns from, per word of average likelihood, if probabilities must be estimated.
    column_draws : int
        How many draws in total the columns are learnt from, if probabilities must be estimated; likely inputs get more.
    seed : int
        Random seed of words and draws. The draws are about a public vocabulary and never released, so the seed need not
        be secret.
    """

    words: int | None = None
    draws: int = 1000
    eta: float = 0.05
    gamma: float = 2.0
    near: int = 50
    similar: int = 10
    near_words: int = 2000
    outputs: int = 500
    adversary_words: int = 50_000
    adversary_draws: int = 100
    column_draws: int = 200_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.words is not None and self.words < 0:
            raise OptionError("words must be 0 (all words) or more.")
        counts = (self.draws, self.near, self.similar, self.near_words, self.outputs, self.adversary_words)
        if min(*counts, self.column_draws) < 1 or self.adversary_draws < 2:
            raise OptionError("measuring needs at least one word, one draw and one near word.")
        if not 0.0 < self.eta < 1.0:
            raise OptionError("eta must lie strictly between 0 and 1.")
        if not (np.isfinite(self.gamma) and self.gamma >= 1.0):
            raise OptionError("gamma must be a factor of 1 or more.")
        if self.seed < 0:
            raise OptionError("seed must be 0 or a positive whole number.")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


def sample(total: int, count: int, seed: int) -> NDArray[np.int64]:
    """Choose `count` of `total` words at random, in random order; all of them if there are fewer."""
    order = np.random.default_rng(np.random.SeedSequence([seed, total])).permutation(total)
    return order[:count].astype(np.int64)


class Guess(NamedTuple):
    """The best guess of the input from one output, for an attacker who knows the mechanism and a prior."""

    words: NDArray[np.int64]  # for every word as an output, the input to guess
    success: Estimate  # how often the guess is right; `n` is the number of suspects


class Question(NamedTuple):
    """What a calibration asks of a law."""

    ids: NDArray[np.int64]  # the words to measure
    near: NDArray[np.int64]  # (m, k): the k words most similar to each of the first m words
    inputs: NDArray[np.int64]  # the suspects, among which an attacker looks for the original
    priors: Sequence[Floats]  # for each attacker the probabilities of the suspects, summing to 1
    outputs: NDArray[np.int64]  # the outputs to count the inputs of
    depths: Floats | None  # the depth of every word of the vocabulary in a hierarchy


class Figures(NamedTuple):
    """A law's answer to a `Question`."""

    stays: PerWord  # the probability that a word stays itself
    spread: Spread  # how widely outputs are spread
    behind: Outputs  # how many inputs may be behind an output
    # the shares of words that stay, that become a near word, and that become any other word
    kept: Estimate
    near: Estimate
    far: Estimate
    guesses: list[Guess]  # the best guess under each prior


def expected_distinct(chances: Floats, sizes: Floats, draws: int) -> Floats:
    """Return the expected number of distinct outputs in this many draws.

    `chances`, of shape (words, m), are probabilities of single outputs; `sizes`, which broadcasts to the same shape, is
    how many outputs have each.
    """
    with np.errstate(divide="ignore"):  # log1p(-1), for an output that always comes
        return np.asarray((sizes * -np.expm1(draws * np.log1p(-np.minimum(chances, 1.0)))).sum(axis=1))


def likeliest_sets(chances: Floats, sizes: Floats, eta: float) -> Floats:
    """Return how many of the likeliest outputs hold all but eta of the probability.

    See `expected_distinct` for `chances` and `sizes`.
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
