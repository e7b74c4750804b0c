"""Following noise by shared directions gives the very words that a search for the nearest gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil._mechanisms.laws.rays import Rays
from wordveil.kernels import kinds
from wordveil.spaces import EuclideanSpace


def noise(count: int, dimension: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions, generator.gamma(dimension, size=count)


def landed(space: EuclideanSpace, word: int, directions: np.ndarray, reach: np.ndarray) -> np.ndarray:
    return space.nearest((space.matrix[word] + reach[:, None] * directions).astype(np.float32))


@pytest.mark.parametrize("kind", [*kinds(), "off"])
@pytest.mark.parametrize(("words", "dimension"), [(60, 5), (4000, 20)])
def test_outputs_are_the_nearest_words(words: int, dimension: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", kind)
    space = make_space(words, dimension, seed=words)
    directions, lengths = noise(100, dimension, seed=1)
    chosen = np.random.default_rng(2).choice(words, 12, replace=False)
    scales = np.tile([0.02, 0.1, 0.3, 1.0, 5.0], (12, 1)) * np.linspace(0.5, 2, 12)[:, None]
    landing = Rays(space.matrix).follow(chosen, directions, lengths, scales)
    for place, word in enumerate(chosen):
        for column, scale in enumerate(scales[place]):
            expected = landed(space, int(word), directions, scale * lengths)
            same = expected == landing.outputs[place, column]
            assert same.mean() > 0.995  # a point halfway between two words may be rounded to either
            stays = landing.edges[place] > scale * lengths
            assert (stays == (landing.outputs[place, column] == word)).mean() > 0.999
    assert 0.02 < (landing.outputs == chosen[:, None, None]).mean() < 0.98


def test_the_edge_is_where_the_word_stops_being_the_nearest() -> None:
    space = make_space(4000, 6, seed=3)
    directions, lengths = noise(100, 6, seed=4)
    landing = Rays(space.matrix).follow(np.array([7]), directions, lengths, np.empty((1, 0)))
    ends = np.isfinite(landing.edges[0])
    assert ends.mean() > 0.5
    reach = landing.edges[0][ends]
    assert (landed(space, 7, directions[ends], reach * 0.999) == 7).all()
    assert (landed(space, 7, directions[ends], reach * 1.001) != 7).all()
    assert (landed(space, 7, directions[~ends], np.full((~ends).sum(), 1e3)) == 7).all()


@pytest.mark.parametrize("kind", [*kinds(), "off"])
def test_edges_that_are_known_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", kind)
    matrix = make_space(700, 6, seed=6).matrix.copy()
    matrix[9] = matrix[4]  # twins
    directions, lengths = noise(150, 6, seed=7)
    rays, words, scales = Rays(matrix), np.arange(12), np.tile([0.05, 0.2, 1.0], (12, 1))
    first = rays.follow(words, directions, lengths, np.empty((12, 0)))
    again = rays.follow(words, directions, lengths, scales, first.edges)
    anew = rays.follow(words, directions, lengths, scales)
    assert np.array_equal(again.edges, anew.edges)
    assert np.array_equal(first.edges, anew.edges)
    assert np.array_equal(again.outputs, anew.outputs)


@pytest.mark.parametrize("kind", kinds())
def test_the_lengths_of_noise_are_followed_together_as_each_by_itself(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody beats the winners of two lengths, those between are not searched, but in no order each is."""
    monkeypatch.setenv("WORDVEIL_KERNELS", kind)
    rays, (directions, lengths) = Rays(make_space(900, 5, seed=8).matrix), noise(60, 5, seed=9)
    rising = np.geomspace(0.01, 3.0, 25)
    for scales in (rising, rising[::-1], np.random.default_rng(0).permutation(rising)):
        together = rays.follow(np.arange(8), directions, lengths, np.tile(scales, (8, 1)))
        for place, scale in enumerate(scales):
            alone = rays.follow(np.arange(8), directions, lengths, np.full((8, 1), scale))
            assert np.array_equal(together.outputs[:, place], alone.outputs[:, 0])
            assert np.array_equal(together.edges, alone.edges)


def test_of_words_at_one_place_the_first_comes_out() -> None:
    matrix = np.array([[0, 0], [3, 0], [0, 0], [3, 0]], dtype=np.float32)
    directions, lengths = noise(50, 2, seed=5)
    landing = Rays(matrix).follow(np.arange(4), directions, lengths, np.full((4, 1), 1e-3))
    assert landing.outputs[:, 0].tolist() == [[0] * 50, [1] * 50, [0] * 50, [1] * 50]
    assert (landing.edges[2:] == 0).all()
    assert (landing.edges[:2] > 0).all()


@pytest.mark.parametrize("kind", [*kinds(), "off"])
@pytest.mark.parametrize("words", [2, 3, 17, 300, 1000])
def test_the_two_nearest_words_are_those_of_a_plain_search(
    words: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", kind)
    matrix = np.random.default_rng(words).normal(size=(words, 6)).astype(np.float32)
    directions, lengths = noise(150, 6, seed=1)
    ids = np.arange(words)[::-1][:7]
    reach = lengths * np.array([0.02, 0.3, 3.0])[:, None] * np.ones((len(ids), 1, 1))
    found = Rays(matrix).nearest_two(ids, directions, reach)
    points = matrix[ids][:, None, None].astype(np.float64) + reach[..., None] * directions
    distances = np.linalg.norm(points[..., None, :] - matrix, axis=-1)
    order = np.argsort(distances, axis=-1, kind="stable")[..., :2]
    assert (found.words == order).mean() > 0.999  # rounding may turn two that are equally far
    np.testing.assert_allclose(found.distances, np.sort(distances, axis=-1)[..., :2], rtol=1e-3, atol=1e-3)


def test_words_at_one_point_are_both_among_the_two_nearest() -> None:
    matrix = np.array([[0.0], [0.0], [0.0], [5.0]], dtype=np.float32)
    found = Rays(matrix).nearest_two(np.array([3]), np.array([[-1.0]]), np.array([[[4.5]]]))
    assert found.words.ravel().tolist() == [0, 1]
    assert found.distances.ravel().tolist() == [0.5, 0.5]
