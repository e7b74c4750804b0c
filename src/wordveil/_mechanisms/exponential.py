"""The exponential mechanism on any space.

Proof. ``Pr[M(w)=u] = μ(u)·e^{-ε·c(w,u)/2} / Z(w)`` with ``c(w,u) = min(d(w,u), clip)``. Clipping keeps the triangle
inequality in the form ``|c(w,u) - c(w',u)| <= d(w,w')``. So the numerators of ``w`` and ``w'`` differ by a factor of at
most ``e^{ε·d(w,w')/2}``, and so do the normalisers, which are sums of numerators: together ``e^{ε·d(w,w')}``. The prior
μ does not depend on the input and cancels. ∎
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism
from wordveil._mechanisms.priors import LEAST, check_prior, informing_least, log_prior
from wordveil._mechanisms.rows import ROW_FLOOR, FallingRows, RowSource, rate_of
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee
from wordveil.spaces import Space
from wordveil.spaces.space import Ids, Rows


class Exponential(ExponentialMechanism[Space]):
    """Draws a word with a probability that falls exponentially with its distance, on any space.

    Parameters
    ----------
    prior : {"uniform", "frequency", "density", "general", "blahut-arimoto"}
        A public prior over the outputs; it costs no privacy. "blahut-arimoto" is the prior that minimises what an
        output reveals at the same mean distance.
    clip : float, optional
        Distances above this count as this. All far words are then equally likely, and the odds between any two words
        change by at most ``e^(epsilon*clip)``.
    """

    name = "exponential"
    summary = "draws a word with probability ∝ prior·exp(-ε·distance/2), on any space"
    in_brief = "ε per unit of the space's distance, for any two words"
    source = "McSherry & Talwar 2007"

    def __init__(self, space: Space, epsilon: float, *, prior: str = "uniform", clip: float | None = None) -> None:
        super().__init__(space, epsilon)
        if clip is not None and not clip > 0:
            raise OptionError("clip must be a distance above 0; leave it out for none.")
        self.prior = prior
        self.clip = clip
        check_prior(space, prior)
        self._rate = rate_of(self.epsilon)

    @cached_property
    def _log_prior(self) -> NDArray[np.float64]:
        if self.prior == LEAST:
            return informing_least(self.space, self._rate, self.clip)
        return log_prior(self.space, self.prior)

    @cached_property
    def _reach(self) -> float:
        # No weight may underflow to zero. Clipping the distance, before the prior is applied, ensures that and keeps
        # the proof; clipping the finished weights would not.
        floor = (float(self._log_prior.min()) - ROW_FLOOR) / self._rate
        return min(floor, self.clip) if self.clip is not None else floor

    @property
    def largest_distance(self) -> float:
        """The distance at which the loss is largest: the clip, if there is one."""
        return super().largest_distance if self.clip is None else min(super().largest_distance, float(self.clip))

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""
        rows = self.space.distances(ids)
        np.minimum(rows, self._reach, out=rows)
        rows *= -self._rate
        return rows if self.prior == "uniform" else rows + self._log_prior

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows:
        """Return the same logarithms, one row per output; distances are symmetric."""
        rows = self.space.distances(outputs)[:, inputs]
        np.minimum(rows, self._reach, out=rows)
        rows *= -self._rate
        return rows if self.prior == "uniform" else rows + self._log_prior[outputs, None]

    def row_source(self) -> RowSource:
        """Return the rows to draw from: as sums over blocks, if the distance is that of vectors."""
        flat = self.space.flat
        if flat is None:
            return super().row_source()
        return FallingRows(flat, self._log_prior, self._rate, self._reach)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        caveats = [self.rows.source.caveat]
        if self.clip is not None:
            caveats.append(f"An output changes the odds between two words by at most e^{self.epsilon * self.clip:g}.")
        return self.make_guarantee(
            caveats=tuple(caveats), claim="ε·d (McSherry & Talwar 2007; for words, Carvalho et al. 2021 with a clip)"
        )
