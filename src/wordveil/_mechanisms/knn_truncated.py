"""Exponential draws with the distance clipped at the word's k-th neighbour (challenges paper, section 6.2).

Proof. As for `exponential`, with ``c(w,u) = min(d(w,u), d_k(w))`` and ``d_k(w)`` the distance to the k-th nearest
word. ``d_k`` changes by at most ``d(w,w')`` from ``w`` to ``w'``, because the ball around ``w'`` with radius ``d_k(w) +
d(w,w')`` contains the ball around ``w``. And ``|min(a,b) - min(a',b')| <= max(|a-a'|, |b-b'|)``. So
``|c(w,u) - c(w',u)| <= d(w,w')``, which is all the proof needs. ∎
"""

from __future__ import annotations

import numpy as np

from wordveil._mechanisms.base import ExponentialMechanism
from wordveil._mechanisms.rows import ROW_FLOOR, FallingRows, LazyTable, RowSource, rate_of
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee
from wordveil.spaces import Space
from wordveil.spaces.space import Ids, Rows


class KnnTruncated(ExponentialMechanism[Space]):
    """Draws one of the k nearest words by its distance, or occasionally any other word.

    Parameters
    ----------
    k : int
        The neighbour at whose distance the distance is clipped.
    """

    name = "knn-truncated"
    summary = "draws a word by its distance; all words beyond the k-th neighbour are equally likely"
    in_brief = "ε per unit of the space's distance, for any two words"
    source = "challenges paper, left open there"

    def __init__(self, space: Space, epsilon: float, *, k: int = 50) -> None:
        super().__init__(space, epsilon)
        if k < 1:
            raise OptionError("k must be 1 or more.")
        self.k = int(k)
        self._rate = rate_of(self.epsilon)
        self._reach = -ROW_FLOOR / self._rate  # no weight may underflow to zero, as in `exponential`
        self._cuts = LazyTable(len(space), self._measure_cuts)

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""
        rows = self.space.distances(ids).astype(np.float64)
        return np.asarray(-self._rate * np.minimum(rows, np.minimum(self._cut(rows), self._reach)[:, None]))

    def _cut(self, rows: Rows) -> Rows:
        k = min(self.k, len(self.space) - 1)
        return np.asarray(np.partition(rows, k, axis=1)[:, k])  # index 0 is the word itself

    def _measure_cuts(self, ids: Ids) -> Rows:
        # From the same distances as the weights: a search for neighbours uses squared distances, which lose digits.
        return self._cut(self.space.distances(ids))[:, None]

    def _cut_of(self, ids: Ids) -> Rows:
        return self._cuts(ids)[:, 0]

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows:
        """Return the same logarithms, one row per output; distances are symmetric."""
        rows = self.space.distances(outputs)[:, inputs].astype(np.float64)
        return np.asarray(-self._rate * np.minimum(rows, np.minimum(self._cut_of(inputs), self._reach)))

    def row_source(self) -> RowSource:
        """Return the rows to draw from: as sums over blocks, if the distance is that of vectors."""
        flat = self.space.flat
        if flat is None:
            return super().row_source()
        return FallingRows(flat, np.zeros(len(flat)), self._rate, self._reach, self._cut_of)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            caveats=(self.rows.source.caveat,), claim="none: the challenges paper leaves it open"
        )
