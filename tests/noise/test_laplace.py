"""Multivariate Laplace noise against its law: radius and direction apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.conftest import ALPHA
from wordveil._mechanisms.laws import UnitLength
from wordveil.noise import Entropy, directions


def laplace_noise(count: int, dimension: int, epsilon: float, entropy: Entropy) -> NDArray[np.float32]:
    noise = directions(count, dimension, entropy)
    noise *= (UnitLength(dimension).draw(count, entropy) / epsilon)[:, None].astype(np.float32)
    return noise


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.5), (2, 3.0), (10, 1.0), (100, 8.0), (1000, 20.0)])
def test_radius_is_gamma(dimension: int, epsilon: float) -> None:
    noise = laplace_noise(20_000 if dimension < 1000 else 2_000, dimension, epsilon, Entropy(dimension))
    radius = np.linalg.norm(noise.astype(np.float64), axis=1)
    assert stats.kstest(radius, stats.gamma(dimension, scale=1 / epsilon).cdf).pvalue > ALPHA


@pytest.mark.parametrize("dimension", [2, 3, 10, 100])
def test_direction_is_uniform(dimension: int) -> None:
    # One coordinate of a uniform direction has (t+1)/2 ~ Beta((n-1)/2, (n-1)/2); and direction and radius do not depend
    # on each other.
    noise = laplace_noise(20_000, dimension, 2.0, Entropy(dimension + 1)).astype(np.float64)
    radius = np.linalg.norm(noise, axis=1)
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    for coordinate in (0, dimension - 1):
        cosine = noise[:, coordinate] / radius
        assert stats.kstest((cosine + 1) / 2, law.cdf).pvalue > ALPHA
        assert stats.spearmanr(np.abs(cosine), radius).pvalue > ALPHA


def test_one_dimension_is_the_two_sided_exponential() -> None:
    noise = laplace_noise(50_000, 1, 1.5, Entropy(4))[:, 0]
    assert stats.kstest(noise, stats.laplace(scale=1 / 1.5).cdf).pvalue > ALPHA


@pytest.mark.parametrize("epsilon", [1e-3, 1e4])
def test_extremes_stay_finite(epsilon: float) -> None:
    assert np.isfinite(laplace_noise(1000, 300, epsilon, Entropy(0))).all()
