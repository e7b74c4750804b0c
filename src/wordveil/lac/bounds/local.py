"""The ε₀ by which any two words are told apart: what amplification starts from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Channel, Exponential, Mechanism
from wordveil.guarantee import Guarantee, Notion
from wordveil.lac.bounds.clones import closed_form_limit

__all__ = ["channel_epsilon", "clip_that_amplifies", "floor_of", "local_epsilon"]


def local_epsilon(mechanism: Mechanism[Any], promise: Guarantee | None = None) -> float:
    """Return a bound on the log-ratio between any two words of the vocabulary; infinite where none is promised.

    ε times the clip, or ε times the largest distance there is.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces words.
    promise : Guarantee, optional
        What is left of its promise under the options of a veil; the mechanism's own if not given.
    """
    promise = mechanism.guarantee if promise is None else promise
    if promise.notion is not Notion.METRIC:
        return math.inf
    reach = float(mechanism.space.diameter)
    if isinstance(mechanism, Exponential) and mechanism.clip is not None:
        reach = min(reach, float(mechanism.clip))
    return promise.loss(reach)


def channel_epsilon(channel: Channel) -> float:
    """Return the exact log-ratio between the words of an exact channel; infinite for an estimated one."""
    if not channel.exact:
        return math.inf
    rows = channel.matrix.toarray()
    high, low = rows.max(axis=0), rows.min(axis=0)
    reached = high > 0.0
    if (low[reached] == 0.0).any():
        return math.inf
    return float(np.log(high[reached] / low[reached]).max())


def floor_of(channel: Channel) -> NDArray[np.float64]:
    """Return the smallest probability of every output over the channel's words: the blanket γ·ω."""
    return np.asarray(channel.matrix.toarray().min(axis=0))


def clip_that_amplifies(mechanism: Mechanism[Any], records: int, delta: float) -> float | None:
    """Return the largest clip at which shuffling so many records surely helps; None if none is large enough."""
    limit = closed_form_limit(records, delta)
    return limit / mechanism.epsilon if limit > 0.0 else None
