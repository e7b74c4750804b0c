"""Gaussian noise: how much is needed, and how much two words differ under it.

With ``P = N(a, s²I)``, ``Q = N(b, t²I)`` and ``D = ‖a-b‖``, the smallest δ for which ``P(S) <= e^ε·Q(S) + δ`` for all
S is ``P(S*) - e^ε·Q(S*)`` with ``S*`` the set where ``ln p/q > ε`` (Neyman and Pearson). For ``s = t`` that is a
half-space and gives Balle and Wang's formula; for ``s < t`` it is a ball, for ``s > t`` the outside of one, around a
point of the line through a and b, whose probabilities are those of non-central χ² laws.
"""

from __future__ import annotations

import math

import scipy

__all__ = ["delta_between", "sigma_for"]


def sigma_for(epsilon: float, delta: float) -> float:
    """Return the smallest standard deviation that makes points at distance 1 (ε, δ)-indistinguishable.

    The analytic calibration of Balle and Wang (2018): it holds for every ε, while the well-known
    ``sqrt(2·ln(1.25/δ))/ε`` is proved for ε < 1 only.

    Examples
    --------
    >>> round(sigma_for(1.0, 1e-5), 4)
    3.7306
    """

    def excess(log: float) -> float:
        return _half_space(epsilon, math.exp(-log)) - delta

    return float(math.exp(scipy.optimize.brentq(excess, -60.0, 60.0, xtol=1e-13)))


def _half_space(epsilon: float, ratio: float) -> float:
    """Return δ for equal deviations, `ratio` being the distance in deviations."""
    hit = scipy.special.log_ndtr(0.5 * ratio - epsilon / ratio)
    miss = epsilon + scipy.special.log_ndtr(-0.5 * ratio - epsilon / ratio)
    return float(math.exp(hit) * -math.expm1(min(miss - hit, 0.0)))


def delta_between(dimension: int, distance: float, left: float, right: float, epsilon: float) -> float:
    """Return the smallest δ of the pair, in the worse of the two directions.

    Parameters
    ----------
    dimension : int
        How many coordinates.
    distance : float
        Between the two centres.
    left, right : float
        The standard deviations of the two.
    epsilon : float
        The factor ``e^ε`` that is allowed.
    """
    if left == 0.0 or right == 0.0:
        return 0.0 if left == right and distance == 0.0 else 1.0
    if math.isclose(left, right, rel_tol=1e-5):  # closer, and the ball is too large for its formula: a half-space
        return _half_space(epsilon, distance / left) if distance else 0.0
    narrow, wide = sorted((left, right))
    gap = wide**2 - narrow**2
    curvature = 1.0 / narrow**2 - 1.0 / wide**2
    from_narrow, from_wide = distance * narrow**2 / gap, distance * wide**2 / gap

    def inside(level: float) -> tuple[float, float]:
        square = (2.0 * dimension * math.log(wide / narrow) - 2.0 * level + distance**2 / gap) / curvature
        if square <= 0.0:
            return 0.0, 0.0
        near = scipy.special.chndtr(square / narrow**2, dimension, (from_narrow / narrow) ** 2)
        far = scipy.special.chndtr(square / wide**2, dimension, (from_wide / wide) ** 2)
        return float(near), float(far)

    near, far = inside(epsilon)
    forwards = near - math.exp(min(epsilon, 700.0)) * far
    near, far = inside(-epsilon)
    backwards = (1.0 - far) - math.exp(min(epsilon, 700.0)) * (1.0 - near)
    return float(min(max(forwards, backwards, 0.0), 1.0))
