"""What a calibration measures, and on how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError

__all__ = ["Settings", "Watch", "ignore", "sample"]

#: Told what is being done, and which share of it is done.
Watch: TypeAlias = Callable[[str, float], None]


def ignore(what: str, share: float) -> None:
    """Watch nothing."""


@dataclass(frozen=True)
class Settings:
    """How much to measure.

    Parameters
    ----------
    words : int, optional
        How many words to measure, drawn at random; 0 for all. If not given, as many as the way of measuring allows in
        reasonable time: see the classes that measure.
    draws : int
        How many draws the number of distinct outputs is about, and how many to make where nothing is known exactly.
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
        For how many output words the inputs are counted, where that takes a search for each.
    adversary_words : int
        Among how many words the adversary looks for the input at most; all words of a smaller vocabulary.
    adversary_draws : int
        How many draws a word to show the adversary, where the probabilities are not known.
    seed : int
        Which random words and draws; the same seed gives the same figures.
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
    seed: int = 0

    def __post_init__(self) -> None:
        if self.words is not None and self.words < 0:
            raise WordveilError("the number of words must be 0, for all, or more.")
        counts = (self.draws, self.near, self.similar, self.near_words, self.outputs, self.adversary_words)
        if min(counts) < 1 or self.adversary_draws < 2:
            raise WordveilError("a calibration needs at least one word, one draw and one near word.")
        if not 0.0 < self.eta < 1.0:
            raise WordveilError("eta must lie between 0 and 1, both excluded.")
        if not (np.isfinite(self.gamma) and self.gamma >= 1.0):
            raise WordveilError("gamma must be a factor of 1 or more.")
        if self.seed < 0:
            raise WordveilError("the seed must be a whole number from 0 on.")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


def sample(total: int, count: int, seed: int) -> NDArray[np.int64]:
    """Choose `count` of `total` words at random, in random order; all of them in random order if there are fewer."""
    order = np.random.default_rng(np.random.SeedSequence([seed, total])).permutation(total)
    return order[:count].astype(np.int64)
