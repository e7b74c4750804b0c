"""Shuffling and metric privacy: a central ε for each pair of words, from the exact channel.

Near words are told apart less than far ones, before the shuffle and after it. The bound is the privacy blanket for the
two rows of the pair; the other records may hold any words of the channel.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil._mechanisms import Channel
from wordveil.errors import WordveilError
from wordveil.lac.bounds.blanket import blanket_of_rows
from wordveil.lac.bounds.local import floor_of
from wordveil.lac.bounds.search import check_delta, smallest_epsilon

__all__ = ["pairwise", "pairwise_delta"]


def pairwise(channel: Channel, left: int, right: int, records: int, delta: float) -> float:
    """Return ε with which shuffling hides whether a record held the one word or the other.

    Parameters
    ----------
    channel : Channel
        Exact probabilities, with a row for every word that a record may hold.
    left, right : int
        The ids of the two words.
    records : int
        How many records are shuffled.
    delta : float
        The δ of the result.
    """
    check_delta(delta)
    _check(channel)
    rows, floor = (channel.row(left), channel.row(right)), floor_of(channel)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = float(np.nanmax(np.abs(np.log(rows[0] / rows[1]))))
    if not math.isfinite(most):
        return math.inf
    return smallest_epsilon(lambda tried: blanket_of_rows(*rows, floor, records, tried), delta, most)


def pairwise_delta(channel: Channel, left: int, right: int, records: int, central: float) -> float:
    """Return a δ with which shuffling hides, at ε = `central`, which of two words a record held."""
    _check(channel)
    return blanket_of_rows(channel.row(left), channel.row(right), floor_of(channel), records, central)


def _check(channel: Channel) -> None:
    if not channel.exact:
        raise WordveilError("a pairwise bound needs a channel with exact probabilities, not one that was estimated.")
