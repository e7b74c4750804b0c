"""Gaussian noise: the deviation that an (ε, δ) guarantee needs, and the exact δ between two words.

With ``P = N(a, s²I)``, ``Q = N(b, t²I)`` and ``D = ‖a-b‖``, the smallest δ for which ``P(S) <= e^ε·Q(S) + δ`` for all
S is ``P(S*) - e^ε·Q(S*)``, where ``S*`` is the set with ``ln p/q > ε`` (Neyman and Pearson). For ``s = t`` this set is
a half-space, which gives Balle and Wang's formula. For ``s < t`` it is a ball around a point of the line through a and
b, and for ``s > t`` the outside of one; their probabilities are those of non-central χ² laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy


def sigma_for(epsilon: float, delta: float) -> float:
    """Return the smallest standard deviation that makes points at distance 1 (ε, δ)-indistinguishable.

    This is the analytic calibration of Balle and Wang (2018). It holds for every ε, while the well-known
    ``sqrt(2·ln(1.25/δ))/ε`` is proved only for ε < 1.

    Examples
    --------
    >>> round(sigma_for(1.0, 1e-5), 4)
    3.7306
    """

    def excess(log: float) -> float:
        return _half_space(epsilon, math.exp(-log)) - delta

    return float(math.exp(scipy.optimize.brentq(excess, -60.0, 60.0, xtol=1e-13)))


def _half_space(epsilon: float, ratio: float) -> float:
    """Return δ for equal standard deviations; `ratio` is the distance divided by the deviation."""
    hit = scipy.special.log_ndtr(0.5 * ratio - epsilon / ratio)
    miss = epsilon + scipy.special.log_ndtr(-0.5 * ratio - epsilon / ratio)
    return float(math.exp(hit) * -math.expm1(min(miss - hit, 0.0)))


def delta_between(dimension: int, distance: float, left: float, right: float, epsilon: float) -> float:
    """Return the smallest δ between two centres at this distance with these deviations, in the worse direction."""
    if left == 0.0 or right == 0.0:
        return 0.0 if left == right and distance == 0.0 else 1.0
    if math.isclose(left, right, rel_tol=1e-5):  # the ball would be too large for its formula; it is a half-space
        return _half_space(epsilon, distance / left) if distance else 0.0
    narrow, wide = sorted((left, right))
    gap = wide**2 - narrow**2
    curvature = 1.0 / narrow**2 - 1.0 / wide**2
    from_narrow, from_wide = distance * narrow**2 / gap, distance * wide**2 / gap

    def radius(level: float) -> float:
        square = (2.0 * dimension * math.log(wide / narrow) - 2.0 * level + distance**2 / gap) / curvature
        return math.sqrt(max(square, 0.0))

    def both(probability: Callable[[float, int, float], float], level: float) -> tuple[float, float]:
        ball = radius(level)
        near = probability((ball / narrow) ** 2, dimension, (from_narrow / narrow) ** 2)
        far = probability((ball / wide) ** 2, dimension, (from_wide / wide) ** 2)
        return near, far

    factor = math.exp(min(epsilon, 700.0))
    near, far = both(_inside, epsilon)
    forwards = near - factor * far
    near, far = both(_outside, -epsilon)
    backwards = far - factor * near
    return float(min(max(forwards, backwards, 0.0), 1.0))


def _inside(square: float, dimension: int, shift: float) -> float:
    """Return the probability that a non-central χ² variable is at most `square`."""
    return float(scipy.special.chndtr(square, dimension, shift))


def _outside(square: float, dimension: int, shift: float) -> float:
    """Return the probability that it is larger; 1 minus `_inside` would lose digits, which e^ε magnifies."""
    mean = 0.5 * shift  # the mean of the Poisson number of pairs of degrees of freedom that the shift adds
    spread = 12.0 * math.sqrt(mean + 1.0) + 40.0
    added = np.arange(max(0.0, math.floor(mean - spread)), math.ceil(mean + spread) + 1.0)
    weights = np.exp(scipy.special.xlogy(added, mean) - mean - scipy.special.gammaln(added + 1.0))
    return float(weights @ scipy.special.gammaincc(0.5 * dimension + added, 0.5 * square))
