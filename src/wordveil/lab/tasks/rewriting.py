"""Texts before an analyst sees them: as they are, veiled, or with random words in place of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.spaces.space import Ids
from wordveil.text import RareWords, Veil

__all__ = ["RandomWords", "Rewriter", "random_words", "veiled"]

#: Rewrites texts, with random numbers of its own for each seed.
Rewriter: TypeAlias = Callable[[Sequence[str], int], list[str]]


_LEAST = 1e-9  # the smallest ε that mechanisms take


class RandomWords(Mechanism[Space]):
    """Replaces every word by one drawn uniformly from the vocabulary: perfect privacy, the least utility.

    Parameters
    ----------
    space : Space
        The words.
    """

    name = "random"
    family = "draws from exact probabilities"
    summary = "draws every word uniformly, whatever the input"
    in_brief = "the output says nothing of the input"
    source = "the lower bound of the papers' utility experiments"

    def __init__(self, space: Space) -> None:
        super().__init__(space, _LEAST)  # the promise holds at every ε above 0

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by any word."""
        return (entropy or Entropy()).below(np.full(len(ids), len(self.space)))

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""
        return self.make_guarantee()


def veiled(
    mechanism: Mechanism[Any],
    *,
    select: str = "all",
    oov: str = "replace",
    rare: RareWords | None = None,
) -> Rewriter:
    """Return what veils texts with a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces words.
    select, oov : str
        Which words are veiled, and what becomes of those outside the vocabulary; see `wordveil.Veil`.
    rare : RareWords, optional
        What finds unlikely words, for the selection ``rare``.
    """

    def rewrite(texts: Sequence[str], seed: int) -> list[str]:
        veil = Veil(mechanism, select=select, rare=rare, oov=oov, case="lower", seed=seed, unproven=True)
        return [release.text for release in veil.many(texts)]

    return rewrite


def random_words(space: Space, **chosen: Any) -> Rewriter:
    """Return what puts random words in the place of the chosen ones; the options are those of `veiled`."""
    return veiled(RandomWords(space), **chosen)
