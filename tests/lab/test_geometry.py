"""The shape of a space, against the same figures from the whole table of distances."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.lab.geometry import PERCENTILES, geometry_of
from wordveil.spaces import EuclideanSpace, GraphSpace, RingSpace, Vocabulary


def test_distances_hubs_and_hops() -> None:
    space = make_space(150, 4, seed=31)
    found = geometry_of(space, words=0, graphs=(0, 2))
    table = space.distances(np.arange(150)).astype(float)
    np.fill_diagonal(table, np.inf)
    ordered = np.sort(table, axis=1)
    assert found.neighbours == [1, 5, 10, 20, 50, 100]
    for k, row in zip(found.neighbours, found.distances, strict=True):
        assert row == pytest.approx(np.percentile(ordered[:, k - 1], PERCENTILES), rel=1e-4)
    listed = np.bincount(np.argsort(table, axis=1)[:, :10].ravel(), minlength=150)
    assert np.abs(np.sort(found.listed) - np.sort(listed)).max() <= 1
    assert found.balls[0] == 1
    assert found.balls[-1] == np.median((table <= 3 * ordered[:, :1]).sum(axis=1))
    for k in (0, 2):
        hops = GraphSpace.of(space, k).distances(np.arange(150))
        near = np.take_along_axis(hops, space.similar(np.arange(150), 10)[0], axis=1)
        assert found.hops[k] == pytest.approx([(near <= limit).sum(axis=1).mean() for limit in (1, 2, 3)])
    facts = found.to_dict(space.vocabulary)
    assert facts["hubness"]["largest"] == found.listed.max()
    assert facts["hubness"]["hubs"][0]["listed_by"] == found.listed.max()
    assert len(facts["sentences"]) >= 5


def test_the_intrinsic_dimension_of_a_cube_is_about_its_dimension() -> None:
    points = np.random.default_rng(1).uniform(size=(3000, 3)).astype(np.float32)
    space = EuclideanSpace("cube", Vocabulary([f"w{i}" for i in range(3000)]), points)
    found = geometry_of(space, words=300, graphs=())
    assert 2.4 < found.intrinsic < 3.4
    assert found.skewness < 1  # no hubs in three dimensions


@pytest.mark.parametrize("words", [1, 2, 12])
def test_small_spaces_and_other_metrics(words: int) -> None:
    space = make_space(words, 2, seed=words)
    for one in (space, GraphSpace.of(space, 2), RingSpace.of(space)):
        facts = geometry_of(one, words=0).to_dict(space.vocabulary)
        assert facts["words_measured"] == words
        assert all("nan" not in sentence for sentence in facts["sentences"])


def test_words_at_one_place() -> None:
    space = EuclideanSpace("one place", Vocabulary(["a", "b", "c"]), np.ones((3, 2), dtype=np.float32))
    facts = geometry_of(space, words=0, graphs=(1,)).to_dict(space.vocabulary)
    assert "same place" in facts["sentences"][0]
    assert facts["growth_per_unit"] is None
