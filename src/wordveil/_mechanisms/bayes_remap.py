"""Another mechanism's output, replaced by the best word given that output (Bayesian remap).

``r(y) = argmin_u Σ_w π(w)·Pr[M(w)=y]·‖φ(w)-φ(u)‖²``, with a public prior π: the word nearest, on average, to the words
that may be behind ``y``. Since ``Σ_w p(w)‖φ(w)-φ(u)‖² = ‖m-φ(u)‖² + const`` with ``m`` the mean of φ under ``p``, it is
the word nearest to the posterior mean of the vectors.

Proof. ``r`` is computed from the mechanism, the prior and the space, which are public, and depends on ``y`` alone. So
it is post-processing and keeps the guarantee. ∎ This is not true of `remapped`, which looks at the original.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, needs_vectors
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.mapped import Mapped
from wordveil._mechanisms.priors import log_prior
from wordveil._mechanisms.ring import Ring
from wordveil.errors import OptionError
from wordveil.files import cached_arrays
from wordveil.spaces import Space

_INNER: dict[str, type[ExponentialMechanism[Any]]] = {kind.name: kind for kind in (Graph, Ring, Exponential)}


class BayesRemap(Mapped):
    """Draws from another mechanism and releases the word nearest to the posterior mean given the output.

    Parameters
    ----------
    epsilon : float
        The other mechanism's ε.
    of : {"graph", "ring", "exponential"}
        The other mechanism, with its default options.
    prior : {"uniform", "frequency", "density"}
        A public prior over the inputs.
    """

    name = "bayes-remap"
    family = "draws from exact probabilities"
    summary = "draws by another mechanism, then says the word that is best given the output alone"
    in_brief = "what the other mechanism promises: ε per hop for `graph`, for any two words"
    source = "Chatzikokolakis, ElSalamouny & Palamidessi 2017, for locations"

    def __init__(self, space: Space, epsilon: float, *, of: str = "graph", prior: str = "frequency") -> None:
        if of not in _INNER:
            raise OptionError(f"of must be one of {', '.join(_INNER)}.")
        self.embedding = needs_vectors(self.name, space)
        super().__init__(_INNER[of](space, epsilon))
        self.of, self.prior = of, prior
        self._log_prior = log_prior(space, prior)

    @cached_property
    def instead(self) -> NDArray[np.int64]:
        """The word released for every output."""

        def fill(folder: Path) -> None:
            prior = np.exp(self._log_prior)
            means = self.inner.law().posterior_mean(self.embedding.matrix, prior / prior.sum())
            np.save(folder / "instead.npy", self.embedding.nearest(means))

        made = f"{self.of}-{self.epsilon!r}-{self.prior}-{self.embedding.checksum}"
        return np.asarray(cached_arrays(f"bayes-remap-1-{made}", fill, "instead")[0])
