"""Hyperbolic geometry against many digits, out to a length of 1-1e-12 in the ball."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import acosh, asinh, atanh, mp, mpf, sqrt, tanh

from wordveil.errors import SpaceError
from wordveil.spaces.hyperbolic_geometry import (
    BallPoints,
    at_radius,
    ball_distance,
    ball_points,
    exp_map,
    from_hyperboloid,
    hyperboloid_distance,
    hyperboloid_exp,
    log_map,
    mobius_add,
    opposite,
    radius,
    tangent_length,
    time_coordinate,
    to_hyperboloid,
)

mp.dps = 60
ULP = 2.0**-52
#: A direction that is off by a rounding misses its aim, after a way of length d, by that times sinh(d).
SLACK = 64 * ULP

# A point: a direction, and how far from the boundary, from 1 (the origin) down to 1e-12.
coordinates = st.floats(-1, 1).map(lambda x: x if abs(x) > 1e-12 else 0.0)
points = st.tuples(
    st.lists(coordinates, min_size=3, max_size=3).filter(lambda v: sum(x * x for x in v) > 1e-4), st.floats(-12, 0)
)


def place(point: tuple[list[float], float]) -> np.ndarray:
    direction, exponent = np.array(point[0]), point[1]
    return direction / np.linalg.norm(direction) * (1 - 10.0**exponent)


def exact(x: np.ndarray) -> list[Any]:
    return [mpf(float(value)) for value in x]


def dot(x: list[Any], y: list[Any]) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))


def true_distance(x: list[Any], y: list[Any]) -> Any:
    gap = [a - b for a, b in zip(x, y, strict=True)]
    return 2 * asinh(sqrt(dot(gap, gap) / ((1 - dot(x, x)) * (1 - dot(y, y)))))


def true_sum(x: list[Any], y: list[Any]) -> list[Any]:
    xy, x2, y2 = dot(x, y), dot(x, x), dot(y, y)
    return [((1 + 2 * xy + y2) * a + (1 - x2) * b) / (1 + 2 * xy + x2 * y2) for a, b in zip(x, y, strict=True)]


def true_hyperboloid_distance(p: list[Any], q: list[Any]) -> Any:
    product = sqrt(1 + dot(p, p)) * sqrt(1 + dot(q, q)) - dot(p, q)
    return acosh(max(product, mpf(1)))


def one(x: np.ndarray) -> BallPoints:
    return ball_points(x[None, :])


def apart(points_: BallPoints, truth: list[Any]) -> float:
    """Return how far a point of ours is from where it should be, in hyperbolic distance, with its own gap."""
    difference = [mpf(float(a)) - b for a, b in zip(points_.x[0], truth, strict=True)]
    gaps = mpf(float(points_.gap[0])) * (1 - dot(truth, truth))
    return float(2 * asinh(sqrt(dot(difference, difference) / gaps)))


@settings(max_examples=150, deadline=None)
@given(points, points)
def test_gaps_and_distances_have_all_their_digits(a: tuple[list[float], float], b: tuple[list[float], float]) -> None:
    x, y = place(a), place(b)
    truth = 1 - dot(exact(x), exact(x))
    assert float(abs(one(x).gap[0] - truth) / truth) < 4 * ULP
    distance = true_distance(exact(x), exact(y))
    assert float(abs(ball_distance(one(x), one(y))[0] - distance)) <= 16 * ULP * float(distance)
    assert float(abs(radius(one(x))[0] - 2 * atanh(sqrt(dot(exact(x), exact(x)))))) < 1e-13


@settings(max_examples=150, deadline=None)
@given(points, points)
def test_mobius_addition_is_right_and_keeps_distances(
    a: tuple[list[float], float], b: tuple[list[float], float]
) -> None:
    x, y = place(a), place(b)
    ours = mobius_add(one(x), one(y))
    truth = true_sum(exact(x), exact(y))
    gap = 1 - dot(truth, truth)
    assert float(abs(ours.gap[0] - gap) / gap) < 16 * ULP
    assert float(max(abs(mpf(float(u)) - v) for u, v in zip(ours.x[0], truth, strict=True))) < 64 * ULP
    assert radius(ours)[0] == pytest.approx(ball_distance(opposite(one(x)), one(y))[0], rel=1e-12, abs=1e-14)


@settings(max_examples=150, deadline=None)
@given(points, points)
def test_log_map_and_exp_map(a: tuple[list[float], float], b: tuple[list[float], float]) -> None:
    x, y = place(a), place(b)
    base, target = one(x), one(y)
    tangent = log_map(base, target)
    way = 2 * np.linalg.norm(tangent[0]) / base.gap[0]
    distance = float(true_distance(exact(x), exact(y)))
    assert way == pytest.approx(distance, rel=1e-12, abs=1e-300)
    # exp_map, held against its definition in many digits for the very tangent vector that it was given
    v = exact(tangent[0])
    length = sqrt(dot(v, v))
    reach = tanh(length / (1 - dot(exact(x), exact(x))))
    landed = true_sum(exact(x), [reach * c / length for c in v] if length else v)
    ours = exp_map(base, tangent)
    assert apart(ours, landed) <= SLACK * (1 + np.sinh(distance) + 1 / base.gap[0] + 1 / ours.gap[0])


@settings(max_examples=100, deadline=None)
@given(points, points)
def test_hyperboloid(a: tuple[list[float], float], b: tuple[list[float], float]) -> None:
    p, q = to_hyperboloid(one(place(a))), to_hyperboloid(one(place(b)))
    scale = float(max(time_coordinate(p)[0], time_coordinate(q)[0]))
    truth = float(true_hyperboloid_distance(exact(p[0]), exact(q[0])))
    # a rounding of a coordinate moves the point by so much: no more than that is lost
    assert hyperboloid_distance(p, q)[0] == pytest.approx(truth, rel=1e-12, abs=SLACK * scale)
    assert hyperboloid_distance(p, p)[0] == 0.0
    back = to_hyperboloid(from_hyperboloid(p))
    assert np.allclose(back, p, rtol=1e-14, atol=0)


@settings(max_examples=100, deadline=None)
@given(points, st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(1e-6, 3))
def test_hyperboloid_steps_go_as_far_as_they_say(
    a: tuple[list[float], float], direction: list[float], length: float
) -> None:
    p = to_hyperboloid(one(place((a[0], max(a[1], -5.0)))))
    v = np.array([direction]) + 1e-3
    v *= length / tangent_length(p, v)[:, None]
    scale = float(time_coordinate(p)[0])
    assert hyperboloid_distance(p, hyperboloid_exp(p, v))[0] == pytest.approx(length, rel=1e-7, abs=64 * SLACK * scale)


@given(st.floats(0, 299), st.floats(0, 2 * np.pi))
def test_radii_far_beyond_what_the_ball_can_show(far: float, angle: float) -> None:
    direction = np.array([[np.cos(angle), np.sin(angle)]])
    point = at_radius(direction, np.array([far]))
    assert radius(point)[0] == pytest.approx(far, rel=1e-13, abs=1e-15)
    assert radius(from_hyperboloid(to_hyperboloid(point)))[0] == pytest.approx(far, rel=1e-13, abs=1e-15)


def test_points_at_infinity_stay_finite() -> None:
    far = at_radius(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([np.inf, 1e4]))
    assert np.isfinite(to_hyperboloid(far)).all()
    carried = mobius_add(one(np.array([0.3, 0.2])), far)
    assert np.isfinite(to_hyperboloid(carried)).all()
    assert np.allclose(np.linalg.norm(carried.x, axis=1), 1)


def test_textbook_values() -> None:
    assert ball_distance(one(np.zeros(2)), one(np.array([0.5, 0])))[0] == pytest.approx(np.log(3))
    origin, x = one(np.zeros(3)), one(np.array([0.1, -0.7, 0.2]))
    assert np.allclose(mobius_add(origin, x).x, x.x)
    assert np.allclose(mobius_add(x, origin).x, x.x)
    assert np.allclose(mobius_add(opposite(x), x).x, 0, atol=1e-16)
    assert np.allclose(exp_map(x, np.zeros((1, 3))).x, x.x)
    assert np.allclose(log_map(x, x), 0)


@pytest.mark.parametrize("bad", [[[1.0, 0.0]], [[0.8, 0.7]], [[np.nan, 0.0]]])
def test_points_outside_the_ball_are_refused(bad: list[list[float]]) -> None:
    with pytest.raises(SpaceError):
        ball_points(bad)
