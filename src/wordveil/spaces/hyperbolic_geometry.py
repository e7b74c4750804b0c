"""Hyperbolic space in two models: the Poincaré ball and the hyperboloid.

In the ball, a point far out has a length so close to 1 that ``1-‖x‖²``, on which all distances depend, cannot be
computed from its coordinates: at ``1-1e-12`` a double leaves four digits of it. So a point of the ball carries this
*gap* along with its coordinates (`BallPoints`), and every formula here is a sum of terms of one sign in coordinates and
gaps. On the hyperboloid a point is given by its ``n`` space-like coordinates ``p = sinh(ρ)·v``; the time-like one is
``√(1+‖p‖²)``. These are precise at any radius ρ that occurs, so spaces are stored in this form.

All functions take rows: arrays whose last axis is the dimension.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.errors import SpaceError

Floats = NDArray[np.floating[Any]]

_SPLIT = 2.0**27 + 1.0  # splits a double into two halves of 26 bits (Veltkamp)
#: Points are kept within the radius with this gap, about 300, so that squares of coordinates stay finite.
SMALLEST_GAP = 1e-130


class BallPoints(NamedTuple):
    """Points of the Poincaré ball."""

    x: Floats  # (..., n): coordinates, of length below 1 (or 1 after rounding)
    gap: Floats  # (...): ``1 - ‖x‖²``, with all its digits


def ball_points(x: ArrayLike) -> BallPoints:
    """Make points from coordinates, computing the gaps as precisely as the coordinates determine them.

    Examples
    --------
    >>> float(ball_points([[0.6, 0.0]]).gap[0])
    0.64
    """
    x = np.asarray(x, dtype=np.float64)
    gap = _one_minus_squares(x)
    if (~(gap > 0.0)).any():
        raise SpaceError("a point of the Poincaré ball must have a length below 1.")
    return BallPoints(x, gap)


def _one_minus_squares(x: Floats) -> Floats:
    # Squares and sums carry their rounding errors along (Dekker, Knuth), so the result is precise even if nearly
    # everything cancels.
    total = np.ones(x.shape[:-1])
    errors = np.zeros(x.shape[:-1])
    for j in range(x.shape[-1]):
        value = x[..., j]
        big = value * _SPLIT
        high = big - (big - value)
        low = value - high
        square = value * value
        square_error = ((high * high - square) + 2.0 * high * low) + low * low
        less = total - square
        part = less - total
        errors += ((total - (less - part)) - (square + part)) - square_error
        total = less
    return total + errors


def at_radius(directions: Floats, radii: Floats) -> BallPoints:
    """Return the points at these distances from the origin, in these directions (unit vectors)."""
    radii = np.asarray(radii, dtype=np.float64)
    falling = np.exp(-radii)
    return BallPoints(np.tanh(0.5 * radii)[..., None] * directions, 4.0 * falling / (1.0 + falling) ** 2)


def radius(points: BallPoints) -> Floats:
    """Return the distances from the origin."""
    return _from_half_sinh(_length(points.x), points.gap)


def opposite(points: BallPoints) -> BallPoints:
    """Return the points mirrored at the origin: the inverses under Möbius addition."""
    return BallPoints(-points.x, points.gap)


def ball_distance(a: BallPoints, b: BallPoints) -> Floats:
    """Return the distances between the points of each row.

    Examples
    --------
    >>> origin, other = ball_points([[0.0, 0.0]]), ball_points([[0.5, 0.0]])
    >>> round(float(ball_distance(origin, other)[0]), 6)  # ln 3
    1.098612
    """
    return _from_half_sinh(_length(a.x - b.x), a.gap * b.gap)


def _from_half_sinh(length: Floats, gaps: Floats) -> Floats:
    # d = 2·arsinh(‖a-b‖/√gaps), by logarithms if the quotient would overflow
    tiny = np.finfo(np.float64).tiny
    with np.errstate(over="ignore", divide="ignore"):
        ratio = length / np.sqrt(gaps)
    far = 2.0 * np.log(2.0 * np.maximum(length, tiny)) - np.log(np.maximum(gaps, tiny))
    return np.where(ratio < 1e100, 2.0 * np.arcsinh(np.minimum(ratio, 1e100)), far)


def mobius_add(a: BallPoints, b: BallPoints) -> BallPoints:
    """Translate `b` by the isometry that takes the origin to `a`: ``a ⊕ b``.

    With ``s = a + b`` the textbook formula is ``(gap_a·s + ‖s‖²·a) / (gap_a·gap_b + ‖s‖²)``, with the gap
    ``gap_a·gap_b / (gap_a·gap_b + ‖s‖²)``. Nothing cancels.
    """
    s = a.x + b.x
    square = np.einsum("...i,...i->...", s, s)
    gaps = a.gap * b.gap
    total = gaps + square
    safe = np.where(total > 0.0, total, 1.0)  # opposite points on the boundary give the origin
    x = (a.gap[..., None] * s + square[..., None] * a.x) / safe[..., None]
    return BallPoints(x, np.where(total > 0.0, gaps / safe, 1.0))


def exp_map(base: BallPoints, tangent: Floats) -> BallPoints:
    """Return the points reached from `base` along geodesics, given by tangent vectors of the ball."""
    length = _length(tangent)
    directions = tangent / np.where(length > 0.0, length, 1.0)[..., None]
    return mobius_add(base, at_radius(directions, 2.0 * length / base.gap))


def log_map(base: BallPoints, target: BallPoints) -> Floats:
    """Return the tangent vectors at `base` that lead to `target`: the inverse of `exp_map`."""
    seen = mobius_add(opposite(base), target)
    length = _length(seen.x)
    scale = 0.5 * base.gap * radius(seen) / np.where(length > 0.0, length, 1.0)
    return scale[..., None] * seen.x


def to_hyperboloid(points: BallPoints) -> Floats:
    """Return the space-like coordinates; points beyond a radius of about 300 are moved back to it."""
    return 2.0 * points.x / np.maximum(points.gap, SMALLEST_GAP)[..., None]


def from_hyperboloid(p: Floats) -> BallPoints:
    """Return the points of the ball with these space-like coordinates."""
    more = 1.0 + time_coordinate(p)
    return BallPoints(p / more[..., None], 2.0 / more)


def time_coordinate(p: Floats) -> Floats:
    """Return ``cosh(ρ)``, the time-like coordinate."""
    return np.hypot(1.0, _length(p))


def hyperboloid_distance(p: Floats, q: Floats) -> Floats:
    """Return the distances between the points of each row.

    With radii ρ, σ and the angle θ between the points, ``sinh²(d/2) = sinh²((ρ-σ)/2) + sinh ρ·sinh σ·sin²(θ/2)``: again
    a sum of terms of one sign. For close points far out, ``-⟨p, q⟩`` would lose all digits.
    """
    longer = (_length(p) >= _length(q))[..., None]
    p, q = np.where(longer, p, q), np.where(longer, q, p)
    long_p, long_q = _length(p), _length(q)
    unit = p / np.where(long_p > 0.0, long_p, 1.0)[..., None]
    # q and q-p have the same component orthogonal to p; the shorter of the two loses fewer digits
    across = q - p
    across = np.where((_length(across) < long_q)[..., None], across, q)
    across = across - np.einsum("...i,...i->...", unit, across)[..., None] * unit
    sine = _length(across) / np.where(long_q > 0.0, long_q, 1.0)
    cosine = np.einsum("...i,...i->...", unit, q) / np.where(long_q > 0.0, long_q, 1.0)
    bend = np.where(cosine > 0.0, sine**2 / (1.0 + np.abs(cosine)), 1.0 - cosine)
    radial = np.sinh(0.5 * (np.arcsinh(long_p) - np.arcsinh(long_q)))
    return 2.0 * np.arcsinh(np.hypot(radial, np.sqrt(0.5 * bend * long_p) * np.sqrt(long_q)))


def tangent_length(p: Floats, v: Floats) -> Floats:
    """Return the hyperbolic lengths of tangent vectors, given by their space-like coordinates.

    The time-like coordinate is ``p·v/p₀``, so the component along ``p`` is divided by ``p₀``.
    """
    long_p = _length(p)
    unit = p / np.where(long_p > 0.0, long_p, 1.0)[..., None]
    along = np.einsum("...i,...i->...", unit, v)
    across = v - along[..., None] * unit
    return np.hypot(_length(across), along / time_coordinate(p))


def hyperboloid_exp(p: Floats, v: Floats) -> Floats:
    """Return the points reached from `p` along geodesics, given by tangent vectors."""
    length = tangent_length(p, v)
    scale = np.sinh(length) / np.where(length > 0.0, length, 1.0)
    return np.cosh(length)[..., None] * p + np.where(length > 0.0, scale, 1.0)[..., None] * v


def _length(x: Floats) -> Floats:
    return np.asarray(np.linalg.norm(x, axis=-1))
