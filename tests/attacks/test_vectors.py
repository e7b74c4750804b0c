from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from tests.conftest import make_poincare, make_space
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.laplace import Laplace
from wordveil.attacks import attack_released, attack_vectors
from wordveil.attacks.vectors import skewness
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy


def test_vectors_without_noise_are_all_found_and_random_ones_are_not() -> None:
    space = make_space(200, 6)
    ids = np.arange(200)
    bare = attack_released(space, ids, space.points(ids), neighbours=5)
    assert (bare.nearest.value, bare.among.value, bare.overlap.value) == (1.0, 1.0, 1.0)
    assert np.isnan(bare.skewness.value)
    assert bare.to_dict()["skewness"]["value"] is None
    shuffled = np.random.default_rng(0).permutation(200)
    blank = attack_released(space, ids, space.points(shuffled), neighbours=5)
    assert blank.nearest.value == pytest.approx((shuffled == ids).mean())
    assert blank.overlap.value < 0.1


def test_the_overlap_is_the_share_of_neighbours_that_two_points_have_in_common() -> None:
    space = make_space(50, 3, seed=4)
    ids = np.arange(50)
    points = space.points(ids) + np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    found = attack_released(space, ids, points, neighbours=4)
    distances = np.linalg.norm(points[:, None].astype(float) - space.matrix, axis=2)
    own = np.linalg.norm(space.matrix[:, None].astype(float) - space.matrix, axis=2)
    for word in ids:
        near, mine = (set(np.argsort(row)[:4].tolist()) for row in (distances[word], own[word]))
        assert found.overlaps[word] == pytest.approx(len(near & mine) / len(near | mine))
    assert found.nearest.value == pytest.approx((distances.argmin(axis=1) == ids).mean())
    assert found.skewness.value == pytest.approx(skew(found.overlaps))
    assert found.skewness.low < found.skewness.value < found.skewness.high


def test_more_noise_hides_more() -> None:
    space = make_space(300, 8)
    rates = [
        attack_vectors(Laplace(space, epsilon), np.arange(300), entropy=Entropy(0)).nearest.value
        for epsilon in (0.5, 4.0, 50.0)
    ]
    assert rates[0] < rates[1] < rates[2]
    assert rates[2] > 0.95


def test_hyperbolic_vectors_can_be_attacked_too() -> None:
    made = Hyperbolic(make_poincare(80, 2), 200.0)
    assert attack_vectors(made, np.arange(80), entropy=Entropy(0)).nearest.value > 0.8


def test_what_has_no_vectors_is_refused() -> None:
    space = make_space(20, 3)
    with pytest.raises(OptionError):
        attack_vectors(Graph(space, 1.0), np.arange(3))
    with pytest.raises(OptionError):
        attack_released(space, np.arange(3), space.points(np.arange(3)), neighbours=21)
    with pytest.raises(InputError):
        attack_released(space, np.arange(3), space.points(np.arange(2)))


def test_the_skewness_of_values_that_are_all_the_same_is_not_a_number() -> None:
    assert np.isnan(skewness(np.full(9, 0.3)))
