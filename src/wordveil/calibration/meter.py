"""What measures a mechanism at any ε, whichever way suits it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.priors import log_prior
from wordveil.calibration.settings import Settings, Watch, ignore, sample
from wordveil.calibration.statistics import Adversary, Measurement, PerWord
from wordveil.calibration.store import keep, kept
from wordveil.calibration.surroundings import Surroundings
from wordveil.spaces import Space, Vocabulary

__all__ = ["Maker", "Meter"]

#: Makes the mechanism for an ε.
Maker: TypeAlias = Callable[[float], Mechanism[Any]]


class Meter(ABC):
    """Measures one mechanism on one space.

    Parameters
    ----------
    make : callable
        Makes the mechanism for an ε.
    probe : Mechanism
        The mechanism at some ε.
    space : Space
        The space that the mechanism was asked for on, which says what words are similar.
    settings : Settings
        How much to measure.
    watch : callable
        Told how far it is.
    """

    #: Whether the figures come from exact probabilities.
    exact: bool
    #: How the figures are had, in a sentence.
    how: str
    #: How many words are measured if nothing is said; 0 for all.
    default_words: int
    #: How many ε are best measured at once when one is searched for, and how closely the search is worth its time.
    batch: int = 1
    tolerance: float = 0.002

    def __init__(
        self, make: Maker, probe: Mechanism[Any], space: Space, settings: Settings, watch: Watch = ignore
    ) -> None:
        self.make = make
        self.probe = probe
        self.space = space
        self.settings = settings
        self.watch = watch
        self._priors: dict[str, NDArray[np.float64]] = {}

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The words that are measured, in random order."""
        count = self.default_words if self.settings.words is None else self.settings.words
        return sample(len(self.space), count or len(self.space), self.settings.seed)

    @cached_property
    def suspects(self) -> NDArray[np.int64]:
        """The words among which the adversary looks for the input, in the order of the vocabulary."""
        return np.sort(sample(len(self.space), self.settings.adversary_words, self.settings.seed))

    @cached_property
    def surroundings(self) -> Surroundings:
        """The most similar words of some of the words."""
        self.watch("looking up similar words", 0.0)
        chosen = self.ids[: self.settings.near_words]
        return Surroundings.of(self.space, chosen, max(self.settings.near, self.settings.similar))

    def tell(self, prior: str, chances: NDArray[np.float64]) -> None:
        """Let the adversary know how likely each word is, under a name of one's own, and look no further.

        Parameters
        ----------
        prior : str
            The name, to be given to `adversary`.
        chances : array of float
            The probability of every word of the vocabulary; the adversary looks among those above 0.
        """
        self.suspects = np.flatnonzero(chances)
        self._priors[prior] = np.log(chances, out=np.full(len(chances), -np.inf), where=chances > 0)

    def log_prior(self, prior: str, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithms of a prior over these words, which sum to 1."""
        logs = (self._priors[prior] if prior in self._priors else log_prior(self.space, prior))[ids]
        return np.asarray(logs - np.logaddexp.reduce(logs))

    @abstractmethod
    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε, for these words or for those that are measured."""

    @abstractmethod
    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return S_w at each ε, the number of distinct outputs in the given number of draws."""

    @abstractmethod
    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return at each ε the largest log-ratio between a word and its most similar words."""

    @abstractmethod
    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Adversary]:
        """Return at each ε how often the best guess is right."""

    @abstractmethod
    def _measure(self, epsilons: Sequence[float]) -> Iterator[Measurement]:
        """Measure everything at these ε, one after the other."""

    def measure(self, epsilons: Sequence[float]) -> list[Measurement]:
        """Measure everything at these ε; what was measured before comes from the cache."""
        found: dict[float, Measurement] = {}
        for epsilon in epsilons:
            arrays = kept(self.key(epsilon))
            if arrays is not None:
                found[epsilon] = Measurement.from_arrays(arrays)
        missing = [epsilon for epsilon in epsilons if epsilon not in found]
        if missing:
            for measurement in self._measure(missing):
                keep(self.key(measurement.epsilon), measurement.to_arrays())
                found[measurement.epsilon] = measurement
        return [found[epsilon] for epsilon in epsilons]

    def key(self, epsilon: float) -> dict[str, Any]:
        """Say all that a measurement at this ε depends on."""
        return {"what": "measurement", **self.identity, "epsilon": float(epsilon)}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything the figures depend on, but ε."""
        described = self.probe.describe()
        return {
            "mechanism": described["mechanism"],
            "options": described["options"],
            "metric": described["space"]["checksum"],
            "space": self.space.checksum,
            "meter": type(self).__name__,
            "settings": self.settings.to_dict(),
        }
