"""Euclidean spaces against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.conftest import make_space, names
from wordveil.errors import SpaceError
from wordveil.spaces import EuclideanSpace, Vocabulary


@pytest.mark.parametrize("normalise", [False, True])
def test_distances_neighbours_and_nearest_agree_with_brute_force(normalise: bool) -> None:
    source = make_space(700, 8, seed=1)
    space = EuclideanSpace("x", source.vocabulary, source.vectors, normalise=normalise)
    points = space.points(np.arange(700)).astype(np.float64)
    if normalise:
        assert np.allclose(np.linalg.norm(points, axis=1), 1)
    full = cdist(points, points)
    ids = np.array([0, 3, 699])
    assert np.allclose(space.distances(ids), full[ids], atol=1e-4)
    where, distance = space.neighbours(ids, 9)
    hidden = full.copy()
    np.fill_diagonal(hidden, np.inf)
    assert np.array_equal(where, np.argsort(hidden[ids], axis=1)[:, :9])
    assert np.allclose(distance, np.sort(hidden[ids], axis=1)[:, :9], atol=1e-4)
    queries = points[:200] + np.random.default_rng(0).normal(size=(200, 8))
    assert np.array_equal(space.nearest(queries), cdist(queries, points).argmin(axis=1))
    assert full.max() <= space.diameter


def test_similar_is_by_cosine() -> None:
    space = make_space(300, 6, seed=2)
    directions = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosine = directions @ directions.T
    np.fill_diagonal(cosine, -2)
    where, value = space.similar(np.arange(300), 5)
    assert np.array_equal(where, np.argsort(-cosine, axis=1)[:, :5])
    assert np.allclose(value, -np.sort(-cosine, axis=1)[:, :5], atol=1e-5)


def test_a_projection_keeps_the_directions_that_vary_most() -> None:
    generator = np.random.default_rng(0)
    flat = generator.normal(size=(200, 2)) @ generator.normal(size=(2, 6)) * 10 + 5.0
    space = EuclideanSpace("flat", Vocabulary(names(200)), flat)
    found = space.projected(2)
    assert found.dimension == 2
    assert np.allclose(found.matrix.mean(axis=0), 0.0, atol=1e-4)
    assert found.matrix[:, 0].var() >= found.matrix[:, 1].var()
    ids = np.arange(20)
    assert np.allclose(found.distances(ids), space.distances(ids), atol=1e-3)
    assert space.projected(7) is space


def test_nearest_over_many_tiles_and_blocks() -> None:
    space = make_space(3000, 4, seed=3)
    queries = np.random.default_rng(1).normal(size=(5000, 4)) * 3
    assert np.array_equal(space.nearest(queries), cdist(queries, space.vectors).argmin(axis=1))


def test_equal_vectors_and_the_origin() -> None:
    vectors = np.array([[0.0, 0], [100, 100], [100, 100], [100.001, 100]])
    space = EuclideanSpace("x", Vocabulary(names(4)), vectors)
    rows = space.distances(np.arange(4))
    assert rows[1, 2] == 0
    assert np.diag(rows).tolist() == [0, 0, 0, 0]
    assert rows[1, 3] == pytest.approx(0.001, rel=1e-2)
    unit = EuclideanSpace("x", Vocabulary(names(4)), vectors, normalise=True)
    assert np.isfinite(unit.distances(np.arange(4))).all()


def test_the_checksum_tells_spaces_apart() -> None:
    space = make_space()
    same = EuclideanSpace("other name", space.vocabulary, space.vectors)
    assert space.checksum == same.checksum
    changed = space.vectors.copy()
    changed[0, 0] += 1
    others = [
        EuclideanSpace("x", space.vocabulary, changed),
        EuclideanSpace("x", space.vocabulary, space.vectors, normalise=True),
        EuclideanSpace("x", Vocabulary(names(60)[::-1]), space.vectors),
    ]
    assert len({space.checksum, *(other.checksum for other in others)}) == 4


def test_vectors_must_fit_the_words() -> None:
    with pytest.raises(SpaceError):
        EuclideanSpace("x", Vocabulary(["a", "b"]), np.zeros((3, 2)))
    with pytest.raises(SpaceError):
        Vocabulary([])
