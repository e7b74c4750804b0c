"""Questions to a law and its answers: figures about words, one number for each, and their summaries."""

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
    """How widely the outputs of words are spread, as `wordveil.calibration.Measurement` says of each."""

    distinct: PerWord
    effective: PerWord
    min_entropy: PerWord
    support: PerWord


class Outputs(NamedTuple):
    """How many inputs may be behind outputs, as `wordveil.calibration.Measurement` says of each."""

    inputs: PerWord
    alike: PerWord
    below: PerWord | None


@dataclass(frozen=True)
class Effort:
    """How much to look at, and how much to draw where probabilities are not known.

    Parameters
    ----------
    words : int, optional
        How many words to measure, drawn at random; 0 for all. If not given, as many as the kind of law allows in
        reasonable time.
    draws : int
        How many draws the number of distinct outputs is about, and how many to make of each word where nothing is known
        exactly.
    eta : float
        The smallest set of outputs counts that holds all but this much of the probability.
    gamma : float
        Two inputs count as alike for an output when their probabilities of giving it differ by at most this factor.
    near : int
        How many most similar words count as near.
    similar : int
        Over how many most similar words the near loss is taken.
    near_words : int
        On how many words the near loss and the share of near words are measured at most.
    outputs : int
        For how many outputs the inputs behind them are counted.
    adversary_words : int
        Among how many words the attacker looks for the input at most; all words of a smaller vocabulary.
    adversary_draws : int
        How many draws of a word of average likelihood the attacker learns from, where probabilities are not known.
    column_draws : int
        How many draws in all the columns are learnt from, where probabilities are not known; likely inputs get more.
    seed : int
        Which random words and draws; the same seed gives the same figures. These are draws about a public vocabulary,
        never a release, so they need not be secret.
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
        """Return it as plain values."""
        return asdict(self)


def sample(total: int, count: int, seed: int) -> NDArray[np.int64]:
    """Choose `count` of `total` words at random, in random order; all of them in random order if there are fewer."""
    order = np.random.default_rng(np.random.SeedSequence([seed, total])).permutation(total)
    return order[:count].astype(np.int64)


class Guess(NamedTuple):
    """The best guess of the input from one output, for an attacker who knows the mechanism and a prior."""

    words: NDArray[np.int64]  # for every word as an output, the input to guess
    success: Estimate  # how often the guess is right; `n` is among how many words


class Question(NamedTuple):
    """What a calibration asks of a law."""

    ids: NDArray[np.int64]  # the words that figures are about
    near: NDArray[np.int64]  # (some words, k): for the first of them, the words most similar to each
    inputs: NDArray[np.int64]  # the words among which an attacker looks for the original
    priors: Sequence[Floats]  # for each attacker how likely those are, summing to 1
    outputs: NDArray[np.int64]  # the outputs for which the inputs behind them are counted
    depths: Floats | None  # how deep every word of the vocabulary lies in a hierarchy


class Figures(NamedTuple):
    """What a law answers to a `Question`."""

    stays: PerWord  # the chance of a word to stay itself
    spread: Spread  # how widely outputs are spread
    behind: Outputs  # how many inputs may be behind an output
    # the share of words that stay, that become a near word, and that become another
    kept: Estimate
    near: Estimate
    far: Estimate
    guesses: list[Guess]  # the best guess under each prior


def expected_distinct(chances: Floats, sizes: Floats, draws: int) -> Floats:
    """Return how many distinct outputs this many draws give on average.

    `chances`, of shape (words, m), are the probabilities of single outputs, and `sizes`, which broadcasts to the same
    shape, tells how many outputs have each of them.
    """
    with np.errstate(divide="ignore"):  # an output that always comes
        return np.asarray((sizes * -np.expm1(draws * np.log1p(-np.minimum(chances, 1.0)))).sum(axis=1))


def likeliest_sets(chances: Floats, sizes: Floats, eta: float) -> Floats:
    """Return how many of the likeliest outputs hold all but eta of the probability; see `expected_distinct`."""
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
