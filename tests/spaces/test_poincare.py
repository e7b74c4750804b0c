"""Poincaré spaces against brute force in many digits or plain formulas."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.conftest import make_poincare, names
from wordveil._mechanisms import mechanism
from wordveil.errors import FileError, OptionError, SpaceError
from wordveil.noise import Entropy
from wordveil.spaces import GraphSpace, PoincareSpace, Vocabulary, bundled_facts, load_space
from wordveil.spaces.hyperbolic_geometry import ball_distance, ball_points, hyperboloid_distance, to_hyperboloid


def brute_force(space: PoincareSpace, points: np.ndarray) -> np.ndarray:
    return np.array([hyperboloid_distance(point[None, :], space.hyperboloid) for point in points])


@pytest.mark.parametrize(("dimension", "reach"), [(2, 1.0), (2, 12.0), (5, 8.0), (20, 16.0), (3, 28.0)])
def test_distances_neighbours_and_nearest_agree_with_brute_force(dimension: int, reach: float) -> None:
    space = make_poincare(700, dimension, reach=reach, seed=1)
    ids = np.array([0, 3, 699])
    full = brute_force(space, space.hyperboloid)
    assert np.allclose(space.distances(ids), full[ids], rtol=1e-3, atol=1e-3)
    assert (space.distances(np.arange(700))[np.arange(700), np.arange(700)] == 0).all()
    ball = space.ball(np.arange(700))
    other = ball_distance(type(ball)(ball.x[:1], ball.gap[:1]), ball)
    assert np.allclose(full[0], other, rtol=1e-3, atol=1e-3)
    hidden = full.copy()
    np.fill_diagonal(hidden, np.inf)
    where, distance = space.neighbours(ids, 9)
    assert np.allclose(distance, np.sort(hidden[ids], axis=1)[:, :9], rtol=1e-3, atol=1e-3)
    assert np.allclose(np.take_along_axis(hidden[ids], where, axis=1), distance, rtol=1e-3, atol=1e-3)
    queries = make_poincare(300, dimension, reach=1.1 * reach, seed=2).hyperboloid
    wanted = brute_force(space, queries)
    found = space.nearest(queries)
    assert np.allclose(wanted[np.arange(300), found], wanted.min(axis=1), rtol=1e-3, atol=1e-2)
    near, far = space.closest(queries, 4)
    assert np.allclose(far, np.sort(wanted, axis=1)[:, :4])
    assert np.allclose(space.apart(queries, near[:, 2]), far[:, 2])
    assert full.max() <= space.diameter * (1 + 1e-12)
    assert np.array_equal(space.depths, space.radii)


def test_every_word_is_its_own_nearest_word() -> None:
    # also where words are so far out and so close that products of coordinates tell nothing
    rim = 1e9 + np.arange(50.0)
    line = np.stack([rim, np.linspace(0, 30, 50)], axis=1)
    for space in (make_poincare(500, 4, reach=20.0), PoincareSpace("rim", Vocabulary(names(50)), line)):
        assert np.array_equal(space.nearest(space.hyperboloid), np.arange(len(space)))


def test_points_at_infinity_have_a_nearest_word() -> None:
    space = make_poincare(100, 2, reach=5.0)
    towards = space.hyperboloid / np.linalg.norm(space.hyperboloid, axis=1)[:, None]
    found = space.nearest(towards * 1e130)
    assert ((found >= 0) & (found < 100)).all()
    outermost = int(space.radii.argmax())
    assert found[outermost] == outermost


def test_saved_and_loaded_without_loss(tmp_path: Path) -> None:
    space = make_poincare(60, 3, reach=25.0)
    space = PoincareSpace("mine", space.vocabulary, space.hyperboloid, is_a=np.array([[1, 0], [2, 1]]))
    space.save(tmp_path / "mine")
    again = load_space(tmp_path / "mine")
    assert isinstance(again, PoincareSpace)
    assert np.array_equal(again.hyperboloid, space.hyperboloid)
    assert again.checksum == space.checksum
    assert again.is_a is not None
    assert again.is_a.tolist() == [[1, 0], [2, 1]]
    assert again.vocabulary.words == space.vocabulary.words
    assert again.describe()["dimension"] == 3
    with pytest.raises(OptionError):
        load_space(tmp_path / "mine", normalise=True)
    (tmp_path / "mine" / "hyperboloid.npy").write_bytes(b"nothing")
    with pytest.raises(FileError, match="hyperboloid"):
        load_space(tmp_path / "mine")


def test_from_the_ball() -> None:
    ball = np.array([[0.0, 0.0], [0.6, 0.0], [0.0, -0.99]])
    space = PoincareSpace("b", Vocabulary(names(3)), to_hyperboloid(ball_points(ball)))
    assert np.allclose(space.ball(np.arange(3)).x, ball)
    assert space.distances(np.array([0]))[0, 1] == pytest.approx(2 * np.arctanh(0.6))
    assert space.restrict(np.array([2, 1])).distances(np.array([0]))[0, 1] == pytest.approx(
        space.distances(np.array([2]))[0, 1]
    )


def test_what_is_refused() -> None:
    with pytest.raises(SpaceError):
        PoincareSpace("x", Vocabulary(names(2)), np.zeros((3, 2)))
    with pytest.raises(SpaceError, match="300"):
        PoincareSpace("x", Vocabulary(names(1)), np.array([[np.nan, 0.0]]))


@pytest.mark.parametrize("k", [0, 3])
def test_a_neighbour_graph_of_a_poincare_space(k: int) -> None:
    space = make_poincare(200, 3, reach=6.0, seed=4)
    graph = GraphSpace.of(space, k)
    hops = graph.distances(np.arange(200))
    assert (hops >= 0).all()
    near = space.neighbours(np.arange(200), k)[0]
    assert (np.take_along_axis(hops, near, axis=1) == 1).all()


def test_a_graph_in_the_folder_of_a_space_is_not_believed(tmp_path: Path) -> None:
    make_poincare(80, 3, reach=6.0).save(tmp_path / "mine")
    honest = GraphSpace.of(load_space(tmp_path / "mine"))
    false = tmp_path / "mine" / "graph-10"
    false.mkdir()
    word = np.arange(80)
    np.save(false / "indptr.npy", np.arange(0, 161, 2))
    np.save(false / "indices.npy", np.stack([(word - 1) % 80, (word + 1) % 80], axis=1).ravel())
    np.save(false / "sizes.npy", np.stack([np.ones(80, np.uint32), np.zeros(80, np.uint32)], axis=1))
    space = load_space(tmp_path / "mine")
    assert GraphSpace.of(space).checksum == honest.checksum
    unchanged = (mechanism("graph", space, epsilon=0.1).draw(np.tile(word, 20), Entropy(1)) == np.tile(word, 20)).mean()
    assert unchanged < 0.1  # one word of 80, about; with the false sizes it was every one


def test_the_bundled_space() -> None:
    space = load_space("wordnet-poincare")
    assert isinstance(space, PoincareSpace)
    assert space.checksum == space.facts["checksum"]
    ids = space.vocabulary.ids
    # general words are nearer to the centre than their kinds
    for special, general in (("ohio", "state"), ("techno", "music"), ("dog", "animal"), ("violin", "instrument")):
        assert space.radii[ids[special]] > space.radii[ids[general]]
    assert space.is_a is not None
    child, parent = space.is_a.T
    assert (space.radii[child] > space.radii[parent]).mean() > 0.8
    facts = bundled_facts("wordnet-poincare")
    assert next(iter(facts)) == "name"
    assert (facts["words"], facts["dimension"]) == (len(space), space.dimension)


@pytest.mark.parametrize("radius", [3.0, 10.0, 17.0, 20.0])
def test_a_distance_is_as_precise_as_it_says_also_far_out(radius: float) -> None:
    """Against mpmath: pairs from a millionth apart to opposite, and the promise of `exponential` with that error."""
    near = np.geomspace(1e-6, 1.0, 12) * math.exp(-radius)
    angles = np.concatenate([[0.0], near, near * 1e3, near * 1e6, np.linspace(0.1, math.pi, 8)])
    points = math.sinh(radius) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    space = PoincareSpace("rim", Vocabulary(names(len(points))), points)
    with mpmath.workdps(60):
        exact = [[float(_in_many_digits(left, right)) for right in points] for left in points]
    assert np.abs(space.distances(np.arange(len(points))) - exact).max() < space.precision
    (caveat,) = mechanism("exponential", space, epsilon=20.0).guarantee.caveats
    assert "but for 8e-07 in the exponent" in caveat


def _in_many_digits(left: np.ndarray, right: np.ndarray) -> Any:
    left, right = (mpmath.matrix([mpmath.mpf(float(one)) for one in point]) for point in (left, right))
    times = [mpmath.sqrt(1 + sum(one**2 for one in point)) for point in (left, right)]
    return mpmath.acosh(max(1, times[0] * times[1] - sum(a * b for a, b in zip(left, right, strict=True))))
