"""Explains one word: its likeliest outputs, its chance of staying, and how many words share the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Mechanism
from wordveil._mechanisms.laws import Law

_DRAWS = 20_000
_SEEN_IN = 1000


def word_law(mechanism: Mechanism[Any], *, draws: int = _DRAWS) -> Law:
    """Return the law for looking at single words, with many draws per word if it must be estimated."""
    return mechanism.law(Effort(draws=draws))


def outputs_of(
    mechanism: Mechanism[Any], place: int, top: int, law: Law | None = None, chances: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Describe the outputs of a word in plain values."""
    law = law or word_law(mechanism)
    if chances is None:
        chances = law.rows(np.array([place]))[0]
    order = np.argsort(-chances, kind="stable")
    carried = np.cumsum(chances[order])
    seen = mechanism.law(Effort(draws=_SEEN_IN)).distinct(np.array([place]))
    return {
        "word": mechanism.space.vocabulary[place],
        **mechanism.describe(),
        "exact": law.exact,
        "draws": law.draws,
        "stays": float(chances[place]),
        "distinct_in_1000_draws": float(seen.values[0]),
        "words_for_95_percent": int(np.searchsorted(carried, 0.95) + 1),
        "outputs": [
            {"word": mechanism.space.vocabulary[i], "probability": float(chances[i])}
            for i in order[:top].tolist()
            if chances[i] > 0
        ],
        "guarantee": mechanism.guarantee.to_dict(),
    }
