"""Rings: real tours, short ones, and their distances."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space, names
from wordveil.errors import SpaceError
from wordveil.spaces import EuclideanSpace, GraphSpace, RingSpace, Vocabulary
from wordveil.spaces.ring import closed_tour


def length(directions: np.ndarray, tour: np.ndarray) -> float:
    return float((1 - np.einsum("ij,ij->i", directions[tour], directions[np.roll(tour, -1)])).sum())


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6, 7, 50, 500])
def test_a_tour_visits_every_word_once(words: int) -> None:
    tour = closed_tour(make_space(words, 4, seed=words).directions)
    assert sorted(tour.tolist()) == list(range(words))


def test_small_tours_are_nearly_optimal() -> None:
    for seed in range(12):
        directions = make_space(8, 3, seed).directions
        best = min(length(directions, np.array([0, *rest])) for rest in itertools.permutations(range(1, 8)))
        assert length(directions, closed_tour(directions)) <= 1.1 * best + 1e-6


def test_no_reversal_shortens_the_tour() -> None:
    directions = make_space(200, 3, seed=4).directions
    tour = closed_tour(directions)
    here = length(directions, tour)
    shorter = 0
    for i, j in itertools.combinations(range(1, 200), 2):
        turned = np.concatenate([tour[:i], tour[i : j + 1][::-1], tour[j + 1 :]])
        shorter += length(directions, turned) < here - 1e-4
    assert shorter <= 20  # only moves that begin beyond a word's listed neighbours can be left


def test_much_shorter_than_a_random_tour() -> None:
    directions = make_space(2000, 5, seed=1).directions
    tour = closed_tour(directions)
    assert length(directions, tour) < 0.2 * length(directions, np.random.default_rng(0).permutation(2000))


def test_equal_vectors() -> None:
    assert sorted(closed_tour(np.ones((30, 3), dtype=np.float32)).tolist()) == list(range(30))


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 8])
def test_a_ring_is_a_graph_of_its_own_edges(words: int) -> None:
    ring = RingSpace("r", Vocabulary(names(words)), np.random.default_rng(words).permutation(words))
    graph = GraphSpace("g", ring.vocabulary, ring.indptr, ring.indices)
    ids = np.arange(words)
    assert np.array_equal(graph.distances(ids), ring.distances(ids))
    assert np.array_equal(graph.shell_sizes(ids), ring.shell_sizes(ids))
    assert ring.shells == ring.shell_sizes(ids).shape[1]


@pytest.mark.parametrize("words", [1, 2, 5, 6])
def test_distances_are_steps_round_the_circle(words: int) -> None:
    tour = np.random.default_rng(1).permutation(words)
    ring = RingSpace("r", Vocabulary(names(words)), tour)
    rows = ring.distances(np.arange(words))
    for i, j in itertools.product(range(words), repeat=2):
        steps = abs(int(np.flatnonzero(tour == i)[0]) - int(np.flatnonzero(tour == j)[0]))
        assert rows[i, j] == min(steps, words - steps)
    assert rows.max() == ring.diameter


def test_of_is_cached_and_depends_on_the_space(toy: EuclideanSpace) -> None:
    assert np.array_equal(RingSpace.of(toy).tour, RingSpace.of(toy).tour)
    assert RingSpace.of(toy).checksum != RingSpace.of(make_space(seed=9)).checksum


@pytest.mark.parametrize(
    "tour", [[0, 0, 1, 1], [0, 1, 2], [0, 1, 2, 4], [-1, 0, 1, 2], [0.0, 1.0, 2.0, 3.0], [[0, 1, 2, 3]]]
)
def test_a_tour_that_does_not_visit_every_word_once_is_refused(tour: list[int]) -> None:
    with pytest.raises(SpaceError):
        RingSpace("r", Vocabulary(names(4)), np.array(tour))


def test_a_cached_tour_is_looked_at(toy: EuclideanSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    tour = RingSpace.of(toy).tour
    (kept,) = tmp_path.glob("ring-*/tour.npy")
    np.save(kept, np.zeros_like(tour))
    with pytest.raises(SpaceError, match="cache"):
        RingSpace.of(toy)


def test_a_tour_in_a_folder_of_ones_own_is_not_used(tmp_path: Path) -> None:
    space = make_space(30, 4)
    (tmp_path / "ring").mkdir()
    np.save(tmp_path / "ring" / "tour.npy", np.zeros(30, dtype=np.uint16))
    beside = EuclideanSpace(space.name, space.vocabulary, space.vectors, folder=tmp_path)
    assert beside.derived("ring") is None
    assert RingSpace.of(beside).checksum == RingSpace.of(space).checksum
