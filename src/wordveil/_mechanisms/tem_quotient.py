"""TEM with the weight of ⊥ computed as in the package mldp-text; `truncated` is TEM done right.

It guarantees nothing. TEM (Carvalho et al. 2021) lists the words within γ of the word and adds a symbol ⊥ for the rest.
If ⊥ is drawn, the output is uniform among the rest. This is the law of `exponential` with the distance clipped at γ,
and satisfies ε·d, if ⊥ weighs as much as the words it stands for: ``|W∖L_w|·e^{-½εγ}``. Instead of ``|W∖L_w|``, the
number of the rest, mldp-text uses the quotient ``|W|/|L_w|`` (pypantera and dp-diffractor use the number). A word ``u``
far from ``w`` then has weight ``|W|/(|L_w|·|W∖L_w|)·e^{-½εγ}``. Two words slightly nearer and slightly farther than γ
from ``u`` differ by that factor, however close they are to each other.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism
from wordveil._mechanisms.rows import LazyTable, RowSource
from wordveil._mechanisms.truncated import Truncated
from wordveil.guarantee import Guarantee, Notion
from wordveil.spaces.space import Ids, Rows


class TemQuotient(Truncated):
    """Draws a near word by its distance, or a far word with the wrong weight: TEM as in mldp-text.

    Parameters
    ----------
    epsilon : float
        The claimed loss per unit of the space's distance.
    clip : float, optional
        γ. Default: chosen by `beta`.
    beta : float
        Without `clip`: the bound on the probability of ⊥ that γ is chosen for.
    prior : {"uniform", "frequency", "density", "blahut-arimoto"}
        A public prior over the outputs.
    """

    name = "tem-quotient"
    summary = "draws like `truncated`, but far words have the wrong weight, as in a package; promises nothing"
    in_brief = "none"
    source = "mldp-text 0.1.2, after Carvalho et al. 2021"

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""
        logs = super().log_weights(ids).astype(np.float64)
        return np.where(self._is_far(ids), logs + self._factors(ids), logs)

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows:
        """Return the same logarithms, one row per output."""
        logs = super().log_weight_columns(outputs, inputs).astype(np.float64)
        return np.where(self._is_far(outputs)[:, inputs], logs + self._factors(inputs)[:, 0], logs)

    def _is_far(self, ids: Ids) -> NDArray[np.bool_]:
        return np.asarray(self.space.distances(ids) > (np.inf if self.clip is None else self.clip))

    @cached_property
    def _factors(self) -> LazyTable:
        """The logarithm of the factor by which the far words of each word are overweighted."""
        return LazyTable(len(self.space), self._measure_factors)

    def _measure_factors(self, ids: Ids) -> Rows:
        beyond = self._is_far(ids).sum(axis=1, keepdims=True)
        near = len(self.space) - beyond
        return np.asarray(np.log(len(self.space) / near) - np.log(np.maximum(beyond, 1)))

    def row_source(self) -> RowSource:
        """Return the rows to draw from, word by word: the weights of far words depend on the word."""
        return ExponentialMechanism.row_source(self)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word: none."""
        return self.make_guarantee(
            Notion.NONE,
            caveats=("How likely a far word is depends on how many words are near the original, which reveals it.",),
            claim="ε·d (Carvalho et al. 2021, whose proof needs the number of far words)",
        )

    @property
    def claim(self) -> Guarantee:
        """What the package claims."""
        return self.make_guarantee()
