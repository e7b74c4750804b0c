"""Exact discrete Laplace noise: integers with probability ∝ e^(-ε·|x|), from random bits.

The sampler of Canonne, Kamath & Steinke (2020) needs no logarithm and no rounding: ε is a fraction, and every step
compares integers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError
from wordveil.noise.entropy import Entropy

_PARTS = 10**6
_LARGEST = 100


def exact_rate(epsilon: float) -> Fraction:
    """Return ε in millionths, rounded down, so that noise with this rate satisfies ε.

    Examples
    --------
    >>> exact_rate(0.1)
    Fraction(1, 10)
    """
    if not (isinstance(epsilon, (int, float)) and 1e-4 <= epsilon <= _LARGEST):  # NaN as well
        raise OptionError(f"an epsilon for numbers must lie between 0.0001 and {_LARGEST}.")
    return Fraction(math.floor(Fraction(str(epsilon)) * _PARTS), _PARTS)


def discrete_laplace(rate: Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw integers x with probability ``(1-a)/(1+a)·a^|x|``, where ``a = e^-rate``.

    Examples
    --------
    >>> discrete_laplace(Fraction(1, 2), 3, Entropy(1)).shape
    (3,)
    """
    above, below = rate.numerator, rate.denominator
    drawn = np.empty(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        start = entropy.below(np.full(len(left), below))
        taken = _falls(start, below, entropy)
        places, start = left[taken], start[taken]
        whole = np.zeros(len(places), dtype=np.int64)
        going = np.arange(len(places))
        while going.size:
            going = going[_falls(np.ones(len(going), dtype=np.int64), 1, entropy)]
            whole[going] += 1
        size = (start + below * whole) // above
        negative = entropy.below(np.full(len(places), 2)) == 1
        fits = ~(negative & (size == 0))  # otherwise 0 would come twice as often
        drawn[places[fits]] = np.where(negative, -size, size)[fits]
        left = np.concatenate([left[~taken], places[~fits]])
    return drawn


def laplace_radius(rate: Fraction, share: float = 0.99) -> int:
    """Return the number of steps within which at least this share of the noise lies.

    Examples
    --------
    >>> laplace_radius(Fraction(1, 2))
    9
    """
    fall = math.exp(-rate)
    # Pr[|x| > r] = 2·a^(r+1)/(1+a)
    return max(0, math.ceil(math.log((1.0 - share) * (1.0 + fall) / 2.0) / -float(rate) - 1.0))


def _falls(above: NDArray[np.int64], below: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Draw, for each fraction ``g = above/below <= 1``, an event of probability e^-g.

    Events of probability g, g/2, g/3, … are drawn until one fails; the index of the failure is odd with probability
    e^-g.
    """
    happens = np.zeros(len(above), dtype=np.bool_)
    going, number = np.arange(len(above)), 1
    while going.size:
        holds = entropy.below(np.full(len(going), below * number)) < above[going]
        happens[going[~holds]] = number % 2 == 1
        going, number = going[holds], number + 1
    return happens
