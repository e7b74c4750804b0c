"""Mechanisms and texts with known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Mechanism
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.spaces.space import Ids, Rows


class _Unpromised(Mechanism[Space]):
    @property
    def guarantee(self) -> Guarantee:
        return self.make_guarantee(Notion.NONE)


class Bare(_Unpromised):
    """Releases every word as it is."""

    name = "bare"

    def __init__(self, space: Space) -> None:
        super().__init__(space, 1.0)

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        return np.array(ids, dtype=np.int64)


class Blank(_Unpromised):
    """Replaces every word by one that has nothing to do with it."""

    name = "blank"

    def __init__(self, space: Space) -> None:
        super().__init__(space, 1.0)

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        return (entropy or Entropy()).generator.integers(0, len(self.space), len(ids))


class Table(ExponentialMechanism[Space]):
    """Draws from a table of probabilities."""

    name = "table"

    def __init__(self, space: Space, rows: NDArray[np.float64]) -> None:
        super().__init__(space, 1.0)
        self.table = rows

    @property
    def guarantee(self) -> Guarantee:
        return self.make_guarantee(Notion.NONE)

    def log_weights(self, ids: Ids) -> Rows:
        return np.log(self.table[ids])


def random_rows(words: int, seed: int) -> NDArray[np.float64]:
    rows = np.random.default_rng(seed).dirichlet(np.full(words, 0.5), size=words) + 1e-6
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def texts_of(words: list[str], count: int, length: int, seed: int, weights: Any = None) -> list[str]:
    """Make texts of random words."""
    generator = np.random.default_rng(seed)
    drawn = generator.choice(len(words), size=(count, length), p=weights)
    return [" ".join(words[i] for i in row) + "." for row in drawn]
