"""Exponential draws with the distance clipped (challenges paper, section 6.2, "truncated"; TEM, Carvalho et al. 2021).

Words beyond the clip all count as being at the clip, so they are equally likely. The proof is that of `exponential`:
``min(d, clip)`` still changes by at most ``d(w,w')`` from ``w`` to ``w'``. TEM draws a symbol ⊥ that stands for all far
words at once. This is the same law if the weight of ⊥ counts the words that are far from *this* word; any other count
breaks the guarantee.
"""

from __future__ import annotations

import math

from wordveil._mechanisms.exponential import Exponential
from wordveil.errors import OptionError
from wordveil.spaces import Space


class Truncated(Exponential):
    """Draws a near word by its distance, or occasionally any far word.

    Parameters
    ----------
    clip : float, optional
        The distance beyond which all words are equally likely. Default: chosen by `beta`.
    beta : float
        Without `clip`: choose the clip so that, under the uniform prior, all words beyond it together have at most this
        probability.
    prior : {"uniform", "frequency", "density", "blahut-arimoto"}
        A public prior over the outputs; it costs no privacy.
    """

    name = "truncated"
    summary = "draws a word by its distance; all words beyond a cut-off are equally likely"
    in_brief = "ε per unit of the space's distance, for any two words; e^(ε·clip) at most"
    source = "Carvalho et al. 2021 (TEM)"

    def __init__(
        self, space: Space, epsilon: float, *, clip: float | None = None, beta: float = 0.05, prior: str = "uniform"
    ) -> None:
        if not 0.0 < beta < 1.0:
            raise OptionError("beta must lie strictly between 0 and 1.")
        self.beta = float(beta)
        self._clip = clip  # the argument, which `options` reports
        if clip is None and isinstance(epsilon, (int, float)) and math.isfinite(epsilon) and epsilon > 0:
            # V-1 words of weight e^{-ε·clip/2}, against the word's own weight of 1
            clip = max(2.0 / epsilon * math.log((1.0 - beta) * max(len(space) - 1, 1) / beta), 1e-9)
        super().__init__(space, epsilon, prior=prior, clip=clip)
