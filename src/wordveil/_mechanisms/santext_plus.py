"""SanText+: exponential draws for rarer words, a coin flip for the others (Yue et al. 2021).

The rarest `share` of the words is sensitive, and only sensitive words are drawn. A sensitive word ``w`` is replaced by
a sensitive word ``u`` with probability ∝ ``e^{-½ε·d(w,u)}``. Any other word is replaced in the same way with
probability `p`, and is otherwise released as it is.

Proof, for two sensitive words: this is `exponential` with the sensitive words as outputs (docs/guarantees.md, "Words
that are never drawn", a). ∎

Nothing holds for a pair with a word that is not sensitive: if it is released as it is, no other word can be behind it.
For sensitive *outputs* alone the loss of such a pair is at most ``ε·d + ln(1/p)``.

SanText itself is exactly `exponential`: its weights have the same ½.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, needs_vectors
from wordveil._mechanisms.rows import drawn_closely, rate_of
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee
from wordveil.progress import Watch, ignore, run_watched
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Ids, Rows

_FLOOR = -700.0  # the least log weight, so that no weight is 0


class SantextPlus(ExponentialMechanism[EuclideanSpace]):
    """Replaces rare words by their distance, and releases the others as they are most of the time.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of distance, for two sensitive words.
    p : float
        The probability that a word that is not sensitive is replaced too.
    share : float
        The share of the words that is sensitive: the last ones of the vocabulary, which lists frequent words first.
    """

    name = "santext-plus"
    summary = "draws rare words by their distance; releases the other words as they are most of the time"
    in_brief = "ε per unit of Euclidean distance for two rare words; nothing for others"
    source = "Yue et al. 2021"

    def __init__(self, space: Space, epsilon: float, *, p: float = 0.2, share: float = 0.5) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if not 0.0 <= p <= 1.0:
            raise OptionError("p must lie between 0 and 1.")
        if not 0.0 < share <= 1.0:
            raise OptionError("share must be above 0 and at most 1.")
        self.p, self.share = float(p), float(share)

    @cached_property
    def first(self) -> int:
        """The id of the first sensitive word; all after it are sensitive too."""
        return len(self.space) - max(1, round(self.share * len(self.space)))

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, one row per word; 0 for impossible outputs."""
        ids = np.asarray(ids)
        logs = -rate_of(self.epsilon) * self.space.distances(ids)[:, self.first :].astype(np.float64)
        weights = np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), _FLOOR))
        rows = np.zeros((len(ids), len(self.space)))
        rows[:, self.first :] = weights / weights.sum(axis=1, keepdims=True)
        plain = ids < self.first
        rows[plain] *= self.p
        rows[plain, ids[plain]] = 1.0 - self.p
        return rows

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the probabilities; -inf for impossible outputs."""
        with np.errstate(divide="ignore"):
            return np.log(self.probability_rows(ids))

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:
        """Return the logarithms of the exact probabilities of some outputs, one row per output."""
        outputs, inputs = np.asarray(outputs), np.asarray(inputs)
        found = np.full((len(outputs), len(inputs)), -np.inf)
        sensitive = np.flatnonzero(outputs >= self.first)
        largest, sums = self._normalisers(inputs).T
        drawn = np.where(inputs < self.first, self.p, 1.0)

        def read(part: slice) -> None:
            some = sensitive[part]
            logs = -rate_of(self.epsilon) * self.space.distances(outputs[some])[:, inputs].astype(np.float64)
            with np.errstate(divide="ignore"):
                found[some] = np.maximum(logs - largest, _FLOOR) - sums + np.log(drawn)

        run_watched(read, self._parts(len(sensitive)), "reading probabilities", watch)
        with np.errstate(divide="ignore"):
            found[(outputs[:, None] == inputs) & (inputs < self.first)] = np.log(1.0 - self.p)
        return found

    def _normalise(self, ids: Ids) -> NDArray[np.float64]:
        logs = -rate_of(self.epsilon) * self.space.distances(ids)[:, self.first :].astype(np.float64)
        largest = logs.max(axis=1)
        weights = np.exp(np.maximum(logs - largest[:, None], _FLOOR))
        return np.stack([largest, np.log(weights.sum(axis=1))], axis=1)

    def allowed_loss(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the largest log-ratio that the guarantee allows for each pair; infinite where it allows any."""
        both = (np.asarray(left) >= self.first) & (np.asarray(right) >= self.first)
        return np.where(both, super().allowed_loss(left, right), math.inf)

    @property
    def largest_loss(self) -> float:
        """The bound on the log-ratio between any two words: infinite if some words may be released as they are."""
        return super().largest_loss if not self.shortfall else math.inf

    @property
    def shortfall(self) -> str:
        """What a release under this mechanism lacks: protection of the words that are not sensitive."""
        if not self.first:
            return ""
        return (
            f"{self.first:,} of {len(self.space):,} words are released as they are {1.0 - self.p:.0%} of the time, "
            "and nothing is guaranteed for them."
        )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        shortfall = (self.shortfall,) if self.shortfall else ()
        return self.make_guarantee(
            pairs="two sensitive words" if self.first else "every two words of the vocabulary",
            caveats=(*shortfall, drawn_closely(len(self.space), 4.0 * rate_of(self.epsilon) * self.space.precision)),
            claim="ε·d for sensitive words (utility-optimised metric privacy, Yue et al. 2021)",
        )
