"""What one word may become: its likeliest outputs, the chance of staying, and how many words share the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Mechanism
from wordveil.calibration.row_meter import expected_distinct

__all__ = ["Chances", "chances_of", "outputs_of"]

_DRAWS = 20_000
_SEEN_IN = 1000


class Chances(NamedTuple):
    """How likely each word is to come out for one word.

    Attributes
    ----------
    values : array of float
        The probabilities.
    draws : int or None
        How many draws they were counted from; None if they are exact.
    distinct : float
        How many different words come out in 1,000 draws: on average, or in the first of those that were made.
    """

    values: NDArray[np.float64]
    draws: int | None
    distinct: float


def chances_of(mechanism: Mechanism[Any], place: int, *, draws: int = _DRAWS) -> Chances:
    """Return the probabilities of a word's outputs, exactly where they are known and counted from draws elsewhere.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces the word.
    place : int
        The word's id.
    draws : int
        How many draws to count where the probabilities are not known.
    """
    if isinstance(mechanism, ExponentialMechanism):
        exact = mechanism.probabilities(place)
        return Chances(exact, None, float(expected_distinct(exact[None, :], _SEEN_IN)[0]))
    drawn = mechanism.draw(np.full(draws, place))
    counted = np.bincount(drawn, minlength=len(mechanism.space)) / draws
    return Chances(counted, draws, float(len(np.unique(drawn[:_SEEN_IN]))))


def outputs_of(mechanism: Mechanism[Any], place: int, top: int, chances: Chances | None = None) -> dict[str, Any]:
    """Say what a word may become, in plain values.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces the word.
    place : int
        The word's id.
    top : int
        How many outputs to list, the likeliest first.
    chances : Chances, optional
        The probabilities, where they were had already.
    """
    chances = chances or chances_of(mechanism, place)
    order = np.argsort(-chances.values, kind="stable")
    carried = np.cumsum(chances.values[order])
    return {
        "word": mechanism.space.vocabulary[place],
        **mechanism.describe(),
        "exact": chances.draws is None,
        "draws": chances.draws,
        "stays": float(chances.values[place]),
        "distinct_in_1000_draws": chances.distinct,
        "words_for_95_percent": int(np.searchsorted(carried, 0.95) + 1),
        "outputs": [
            {"word": mechanism.space.vocabulary[i], "probability": float(chances.values[i])}
            for i in order[:top].tolist()
            if chances.values[i] > 0
        ],
        "guarantee": mechanism.guarantee.to_dict(),
    }
