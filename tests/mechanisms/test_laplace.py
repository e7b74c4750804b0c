"""The laplace mechanism: its law where it is known in closed form, and its promise on what it draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space, names
from wordveil._mechanisms.laplace import Laplace
from wordveil.errors import SpaceError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, GraphSpace, Vocabulary


def test_in_one_dimension_the_channel_is_known() -> None:
    # Words on a line: Pr[M(w)=u] is the Laplace mass of the cell of u, between the midpoints to its neighbours.
    places = np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
    epsilon = 0.8
    made = Laplace(EuclideanSpace("line", Vocabulary(names(5)), places[:, None]), epsilon)
    edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    for word in range(5):
        mass = np.diff(stats.laplace(loc=places[word], scale=1 / epsilon).cdf(edges))
        counts = np.bincount(made.draw(np.full(50_000, word), Entropy(word)), minlength=5)
        assert stats.chisquare(counts, mass * 50_000).pvalue > ALPHA


def test_the_noisy_point_is_the_word_plus_laplace_noise(toy: EuclideanSpace) -> None:
    made = Laplace(toy, 2.0)
    ids = np.full(20_000, 7)
    radius = np.linalg.norm(made.perturb(ids, Entropy(3)) - toy.points(ids), axis=1)
    assert stats.kstest(radius, stats.gamma(toy.dimension, scale=0.5).cdf).pvalue > ALPHA


@pytest.mark.parametrize(("epsilon", "stays"), [(1e4, 1.0), (1e-3, 0.0)])
def test_extremes(epsilon: float, stays: float) -> None:
    space = make_space(60, 5, seed=1)
    kept = (Laplace(space, epsilon).draw(np.arange(60), Entropy(0)) == np.arange(60)).mean()
    assert kept == pytest.approx(stays, abs=0.2)


def test_needs_vectors(toy: EuclideanSpace) -> None:
    with pytest.raises(SpaceError):
        Laplace(GraphSpace.of(toy, 2), 1.0)
