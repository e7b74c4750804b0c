"""Hyperbolic geometry against arithmetic of many digits, up to the boundary."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import names
from wordveil.errors import WordveilError
from wordveil.spaces import GraphSpace, PoincareSpace, Vocabulary
from wordveil.spaces.hyperbolic_geometry import (
    at_radius,
    ball_distance,
    ball_points,
    exp_map,
    from_hyperboloid,
    hyperboloid_distance,
    log_map,
    mobius_add,
    radius,
    to_hyperboloid,
)

mpmath.mp.dps = 60


def exact_distance(x: np.ndarray, y: np.ndarray) -> float:
    """Compute the distance of two points of the ball from their float64 coordinates, with sixty digits."""
    a, b = [mpmath.mpf(float(v)) for v in x], [mpmath.mpf(float(v)) for v in y]
    gap = sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
    rest = (1 - sum(p * p for p in a)) * (1 - sum(q * q for q in b))
    return float(mpmath.acosh(1 + 2 * gap / rest))


def points(seed: int, gaps: list[float], dimension: int = 3) -> np.ndarray:
    """Make points at norms of 1 less these gaps."""
    directions = np.random.default_rng(seed).normal(size=(len(gaps), dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * (1 - np.array(gaps))[:, None]


GAP = st.sampled_from([1.0, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9, 1e-12])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), GAP, GAP)
def test_distances_up_to_the_boundary(seed: int, first: float, second: float) -> None:
    x = points(seed, [first, second])
    a, b = ball_points(x[:1]), ball_points(x[1:])
    wanted = exact_distance(x[0], x[1])
    assert ball_distance(a, b)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    # coordinates on the hyperboloid grow like 1/gap, and their last digits with them
    assert hyperboloid_distance(to_hyperboloid(a), to_hyperboloid(b))[0] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert radius(a)[0] == pytest.approx(exact_distance(x[0], np.zeros(3)), rel=1e-9, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), GAP, GAP, GAP)
def test_mobius_addition_is_an_isometry(seed: int, centre: float, first: float, second: float) -> None:
    x = points(seed, [centre, first, second])
    c, a, b = (ball_points(x[i : i + 1]) for i in range(3))
    before = ball_distance(a, b)[0]
    after = ball_distance(mobius_add(c, a), mobius_add(c, b))[0]
    # two images this near the boundary differ in the last digits of their coordinates only
    assert after == pytest.approx(before, rel=1e-6, abs=1e-3 if centre < 1e-9 else 1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), GAP, st.floats(0.0, 20.0))
def test_maps_and_conversions_go_back(seed: int, gap: float, length: float) -> None:
    base = ball_points(points(seed, [gap]))
    direction = points(seed + 1, [0.0])
    there = at_radius(direction, np.array([length]))
    assert radius(there)[0] == pytest.approx(length, rel=1e-9, abs=1e-12)
    again = from_hyperboloid(to_hyperboloid(base))
    assert np.allclose(again.x, base.x, rtol=1e-12, atol=1e-15)
    target = ball_points(points(seed + 2, [0.3]))
    landed = exp_map(base, log_map(base, target))
    assert ball_distance(landed, target)[0] == pytest.approx(0.0, abs=1e-2 if gap < 1e-9 else 1e-5)


@pytest.fixture(scope="module")
def disk() -> PoincareSpace:
    generator = np.random.default_rng(3)
    gaps = generator.choice([0.9, 0.5, 0.1, 1e-3, 1e-6], 200).tolist()
    return PoincareSpace.from_ball("disk", Vocabulary(names(200)), points(4, gaps, 2))


def test_the_space_against_brute_force(disk: PoincareSpace) -> None:
    ball = disk.ball(np.arange(200)).x
    rows = disk.distances(np.arange(200))
    for left, right in [(0, 1), (5, 99), (17, 17), (150, 3)]:
        assert rows[left, right] == pytest.approx(exact_distance(ball[left], ball[right]), rel=1e-6, abs=1e-6)
    where, distance = disk.neighbours(np.arange(200), 4)
    hidden = rows.copy()
    np.fill_diagonal(hidden, np.inf)
    assert np.allclose(distance, np.sort(hidden, axis=1)[:, :4], atol=1e-9)
    assert not (where == np.arange(200)[:, None]).any()
    assert np.array_equal(disk.nearest(disk.points(np.arange(200))), np.arange(200))
    assert rows.max() <= disk.diameter * (1 + 1e-9)
    assert disk.apart(disk.points(np.array([3])), np.array([8]))[0] == pytest.approx(rows[3, 8], rel=1e-6)


def test_saved_and_opened_again_nothing_is_lost(disk: PoincareSpace, tmp_path: object) -> None:
    from pathlib import Path

    from wordveil.spaces import load_space

    folder = Path(str(tmp_path)) / "space"
    disk.save(folder)
    again = load_space(folder)
    assert isinstance(again, PoincareSpace)
    assert np.array_equal(again.points(np.arange(200)), disk.points(np.arange(200)))
    assert again.checksum == disk.checksum
    with pytest.raises(WordveilError, match="cannot be normalised"):
        load_space(folder, normalise=True)


def test_its_neighbour_graph(disk: PoincareSpace) -> None:
    graph = GraphSpace.of(disk, 2)
    assert (graph.distances(np.arange(200)) >= 0).all()
    near = disk.neighbours(np.arange(200), 2)[0]
    for word in (0, 50, 199):
        row = graph.indices[graph.indptr[word] : graph.indptr[word + 1]]
        assert set(near[word].tolist()) <= set(row.tolist())
