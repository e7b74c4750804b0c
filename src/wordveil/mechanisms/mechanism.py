"""What every mechanism can do, and the two families."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import PointSpace, Space
from wordveil.spaces.space import Ids, Points, Rows

__all__ = ["ExponentialMechanism", "Mechanism", "NoiseMechanism"]

SpaceT = TypeVar("SpaceT", bound=Space)

#: Weights are kept above e^-600 of the largest, so that none becomes zero: see docs/guarantees.md, "Numbers".
LOG_FLOOR = -600.0


class Mechanism(ABC, Generic[SpaceT]):
    """A random map from words to words.

    Attributes
    ----------
    name : str
        Its name in the registry.
    family : str
        How it works, in a few words.
    summary : str
        What it does, in one sentence.
    space : Space
        The words and their distance.
    epsilon : float
        The privacy parameter, per unit of the distance.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, space: SpaceT, epsilon: float) -> None:
        if not (isinstance(epsilon, (int, float)) and math.isfinite(epsilon) and epsilon > 0):
            raise WordveilError("epsilon must be a finite number above 0.")
        self.space = space
        self.epsilon = float(epsilon)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""

    @abstractmethod
    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by a random word.

        Parameters
        ----------
        ids : array of int
            The words, as ids of the space's vocabulary.
        entropy : Entropy, optional
            Where the randomness comes from; a fresh cryptographic stream if not given.
        """

    def options(self) -> dict[str, Any]:
        """Return the options beside epsilon that this mechanism was made with."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Say what the mechanism is, in plain values."""
        return {
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "options": self.options(),
            "space": self.space.describe(),
        }


class NoiseMechanism(Mechanism[PointSpace]):
    """Adds noise to the word's point and gives the word nearest to where it lands.

    All privacy comes from the noisy point; finding the nearest word looks at nothing else, so it costs none.
    """

    family = "noise, then the nearest word"

    @abstractmethod
    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the word nearest to its noisy point."""
        entropy = entropy or Entropy()
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), 1 << 16):
            drawn[part] = self.space.nearest(self.perturb(ids[part], entropy))
        return drawn


class ExponentialMechanism(Mechanism[SpaceT]):
    """Draws the word directly, with exact probabilities that fall with the distance."""

    family = "draws from exact probabilities"

    @abstractmethod
    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, a row for each word."""

    def probabilities(self, word: str | int) -> NDArray[np.float64]:
        """Return the exact probability of every output for one word."""
        place = self.space.vocabulary.id(word) if isinstance(word, str) else word
        weights = _weights(self.log_weights(np.array([place])))[0]
        return np.asarray(weights / weights.sum())

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by one drawn with its probabilities; a word's row is computed once for all its places."""
        entropy = entropy or Entropy()
        drawn = np.empty(len(ids), dtype=np.int64)
        for word_ids, places in _by_word(ids, max(1, (1 << 23) // len(self.space))):
            sums = np.cumsum(_weights(self.log_weights(word_ids)), axis=1)
            for row, where in zip(sums, places, strict=True):
                drawn[where] = np.searchsorted(row, entropy.uniform(len(where)) * row[-1], side="right")
        return np.minimum(drawn, len(self.space) - 1)


def _weights(logs: Rows) -> NDArray[np.float64]:
    logs = logs.astype(np.float64) - logs.max(axis=1, keepdims=True)
    return np.exp(np.maximum(logs, LOG_FLOOR))


def _by_word(ids: Ids, most: int) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Group the places of each distinct word, at most `most` words at a time."""
    order = np.argsort(ids, kind="stable")
    words, starts = np.unique(np.asarray(ids)[order], return_index=True)
    places = np.split(order, starts[1:])
    for part in blocks(len(words), most):
        yield words[part].astype(np.int64), places[part]
