"""Plausible deniability of an output, from the probabilities with which each input gives it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["alike_inputs", "resolving_inputs"]

_SLACK = 1e-9  # probabilities equal but for rounding count as equal


def resolving_inputs(logs: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """Return the expected number of inputs that give each output at least once in `draws` draws each.

    Parameters
    ----------
    logs : array of shape (outputs, inputs)
        The logarithms of the probabilities.
    draws : int
        How many draws of each input.
    """
    with np.errstate(divide="ignore"):  # an input that always gives this output
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(np.exp(logs), 1.0))).sum(axis=1))


def alike_inputs(logs: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return how many inputs give each output with a probability within a factor `gamma` of the likeliest.

    This is the k of (k, γ) plausible deniability for whoever the adversary suspects first: so many inputs, of
    which no two differ by more than γ.
    """
    least = logs.max(axis=1, keepdims=True) - np.log(gamma) - _SLACK
    return np.asarray((logs >= least).sum(axis=1), dtype=np.float64)
