"""TEM with ⊥ weighted by a quotient, as the package mldp-text has it; `truncated` is TEM as it should be.

No promise. TEM (Carvalho et al. 2021) lists the words within γ of the word and adds a symbol ⊥ for the rest; if ⊥ is
drawn, the word is uniform among the rest. The law is that of `exponential` with the distance cut off at γ, and keeps
ε·d, if ⊥ weighs as much as the words it stands for: ``|W∖L_w|·e^{-½εγ}``. mldp-text computes ``|W|/|L_w|`` where
``|W∖L_w|``, the number of the rest, belongs (pypantera and dp-diffractor have the number). A far word ``u`` of ``w``
then has weight ``|W|/(|L_w|·|W∖L_w|)·e^{-½εγ}``: two words that lie a little less and a little more than γ from
``u``, and so may be as near to one another as you like, differ by that factor.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism
from wordveil._mechanisms.rows import Lazily, RowSource
from wordveil._mechanisms.truncated import Truncated
from wordveil.guarantee import Guarantee, Notion
from wordveil.spaces.space import Ids, Rows


class TemQuotient(Truncated):
    """Draws a near word by its distance, or a far word with the wrong weight: TEM as mldp-text has it.

    Parameters
    ----------
    epsilon : float
        What is claimed per unit of the space's distance.
    clip : float, optional
        γ; if not given, chosen by `beta`.
    beta : float
        If no clip is given: the bound on the probability of ⊥ that γ is chosen for.
    prior : {"uniform", "frequency", "density", "blahut-arimoto"}
        A public prior over the outputs.
    """

    name = "tem-quotient"
    summary = (
        "draws like `truncated`, with far words weighted wrongly, as a package does; for comparison, promises nothing"
    )
    in_brief = "none"
    source = "mldp-text 0.1.2, after Carvalho et al. 2021"

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, a row for each word."""
        logs = super().log_weights(ids).astype(np.float64)
        return np.where(self._is_far(ids), logs + self._factors(ids), logs)

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows:
        """Return the same logarithms, a row for each output."""
        logs = super().log_weight_columns(outputs, inputs).astype(np.float64)
        return np.where(self._is_far(outputs)[:, inputs], logs + self._factors(inputs)[:, 0], logs)

    def _is_far(self, ids: Ids) -> NDArray[np.bool_]:
        return np.asarray(self.space.distances(ids) > (np.inf if self.clip is None else self.clip))

    @cached_property
    def _factors(self) -> Lazily:
        """By how much more the far words of each word weigh than they should, as a logarithm."""
        return Lazily(len(self.space), self._measure_factors)

    def _measure_factors(self, ids: Ids) -> Rows:
        beyond = self._is_far(ids).sum(axis=1, keepdims=True)
        near = len(self.space) - beyond
        return np.asarray(np.log(len(self.space) / near) - np.log(np.maximum(beyond, 1)))

    def row_source(self) -> RowSource:
        """Return the rows to draw from: a word at a time, since the weights of far words depend on the word."""
        return ExponentialMechanism.row_source(self)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word: nothing."""
        return self.make_guarantee(
            Notion.NONE,
            caveats=("How likely a far word is depends on how many words are near the original, which tells it.",),
            claim="ε·d (Carvalho et al. 2021, whose proof needs the number of far words)",
        )

    @property
    def claim(self) -> Guarantee:
        """What the package claims."""
        return self.make_guarantee()
