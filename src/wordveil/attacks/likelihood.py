"""How likely each suspect makes an output: what the adversary knows of the mechanism.

Where the mechanism states its probabilities they are used as they are. Where it does not, the adversary runs it
himself, on as many words as he likes, and counts. His guesses are then tested on draws that he has not seen, so that
their success is what it is and not what the counts promise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Graph, Mechanism, Ring
from wordveil._mechanisms.laws.learner import Learnt, Sightings
from wordveil.attacks.priors import Prior
from wordveil.attacks.watching import run_watched
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore

__all__ = ["Likelihood", "likelihood_of"]

_CELLS = 1 << 21
_TOKENS = 1 << 18


class Likelihood(ABC):
    """The probabilities ``Pr[M(w)=y]`` of some outputs, for all suspects.

    Attributes
    ----------
    exact : bool
        Whether they are the mechanism's own; otherwise they are estimated from draws.
    """

    exact: bool

    @abstractmethod
    def columns(self, outputs: NDArray[np.int64], watch: Watch = ignore) -> NDArray[np.float64]:
        """Return ``ln Pr[M(w)=y]``, a row for each suspect and a column for each output.

        Parameters
        ----------
        outputs : array of int
            The outputs.
        watch : callable
            Told how far it is.
        """


def likelihood_of(
    mechanism: Mechanism[Any],
    prior: Prior,
    *,
    draws: int = 200_000,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> Likelihood:
    """Learn a mechanism's probabilities, exactly where it states them.

    Parameters
    ----------
    mechanism : Mechanism
        What veils.
    prior : Prior
        The suspects, and how to share the draws among them.
    draws : int
        How many words the adversary veils himself, where he must count.
    entropy : Entropy, optional
        Where his randomness comes from.
    watch : callable
        Told how far it is.
    """
    if isinstance(mechanism, (Graph, Ring)):
        return _ByHops(mechanism, prior.ids, watch)
    if isinstance(mechanism, ExponentialMechanism):
        return _ByRows(mechanism, prior.ids)
    return _Counted(mechanism, prior, draws, entropy or Entropy(), watch)


class _ByHops(Likelihood):
    """Graph and ring: weights are the same in both directions, so that the rows of the outputs are their columns."""

    exact = True

    def __init__(self, mechanism: Graph | Ring, suspects: NDArray[np.int64], watch: Watch) -> None:
        self._mechanism, self._suspects = mechanism, suspects
        watch("counting words by hops", 0.0)
        if isinstance(mechanism, Graph):
            sizes = mechanism.space.shell_sizes(suspects)
            self._log_sums = np.log(sizes @ np.exp(mechanism.log_falls(sizes.shape[1])))
        else:  # every word of a ring has the same sum
            own = np.asarray(mechanism.log_weights(suspects[:1])[0], dtype=np.float64)
            self._log_sums = np.full(len(suspects), np.logaddexp.reduce(own))

    def columns(self, outputs: NDArray[np.int64], watch: Watch = ignore) -> NDArray[np.float64]:
        found = np.empty((len(self._suspects), len(outputs)))
        for part in blocks(len(outputs), max(1, _CELLS // len(self._mechanism.space))):
            rows = self._mechanism.log_weights(outputs[part])[:, self._suspects]
            found[:, part] = rows.T - self._log_sums[:, None]
            watch("reading probabilities", part.stop / len(outputs))
        return found


class _ByRows(Likelihood):
    """Any mechanism that states its probabilities: one pass over the rows of all suspects."""

    exact = True

    def __init__(self, mechanism: ExponentialMechanism[Any], suspects: NDArray[np.int64]) -> None:
        self._mechanism, self._suspects = mechanism, suspects

    def columns(self, outputs: NDArray[np.int64], watch: Watch = ignore) -> NDArray[np.float64]:
        found = np.empty((len(self._suspects), len(outputs)))

        def read(part: slice) -> None:
            rows = self._mechanism.probability_rows(self._suspects[part])[:, outputs]
            with np.errstate(divide="ignore"):
                found[part] = np.log(rows)

        parts = list(blocks(len(self._suspects), max(1, _CELLS // len(self._mechanism.space))))
        run_watched(read, parts, "reading probabilities", watch)
        return found


class _Counted(Likelihood):
    """Any mechanism at all, by running it; each suspect is veiled in proportion to its prior, as in a text."""

    exact = False

    def __init__(self, mechanism: Mechanism[Any], prior: Prior, draws: int, entropy: Entropy, watch: Watch) -> None:
        drawn = np.maximum(2, np.ceil(draws * np.exp(prior.logs))).astype(np.int64)
        row = np.repeat(np.arange(len(prior.ids)), drawn)
        output = np.empty(len(row), dtype=np.int64)
        for part in blocks(len(row), _TOKENS):
            output[part] = mechanism.draw(prior.ids[row[part]], entropy)
            watch("running the mechanism", part.stop / len(row))
        self._learnt = Learnt(mechanism.space, Sightings.of(prior.ids, row, output))

    def columns(self, outputs: NDArray[np.int64], watch: Watch = ignore) -> NDArray[np.float64]:
        watch("looking up counts", 0.0)
        found = self._learnt.columns(outputs)
        return np.log(found, out=found)
