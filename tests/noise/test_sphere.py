"""Von Mises-Fisher noise has the law it is named after."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from tests.conftest import ALPHA
from wordveil.noise import Entropy, around_on_sphere, sphere_radius_distribution
from wordveil.noise.sphere import versines


@pytest.mark.parametrize("dimension", [2, 3, 4, 50, 300])
@pytest.mark.parametrize("kappa", [1e-3, 0.7, 20.0, 1e5])
def test_cosines_have_the_law(dimension: int, kappa: float) -> None:
    drawn = versines(20_000, dimension, kappa, Entropy(dimension))
    assert ((drawn >= 0) & (drawn <= 2)).all()
    radii = np.sqrt(2.0 * drawn)
    assert stats.kstest(radii, lambda r: sphere_radius_distribution(r, dimension, kappa)).pvalue > ALPHA


@pytest.mark.parametrize(("dimension", "kappa"), [(2, 0.5), (3, 4.0), (5, 30.0), (100, 60.0)])
def test_the_distribution_is_that_of_the_density(dimension: int, kappa: float) -> None:
    def mass(to: float) -> float:
        def density(angle: float) -> float:
            return float(np.exp(kappa * (np.cos(angle) - 1.0)) * np.sin(angle) ** (dimension - 2))

        return float(integrate.quad(density, 0.0, to, epsabs=0.0, limit=200)[0])

    angles = np.array([0.2, 0.7, 1.2, 1.6, 2.5])
    stated = sphere_radius_distribution(2.0 * np.sin(0.5 * angles), dimension, kappa)
    assert stated == pytest.approx([mass(angle) / mass(np.pi) for angle in angles], abs=1e-6)


def test_in_three_dimensions_the_cosine_has_a_closed_form() -> None:
    kappa = 2.0
    cosines = 1.0 - versines(20_000, 3, kappa, Entropy(1))

    def wanted(cosine: np.ndarray) -> np.ndarray:
        return np.asarray((np.exp(kappa * cosine) - np.exp(-kappa)) / (np.exp(kappa) - np.exp(-kappa)))

    assert stats.kstest(cosines, wanted).pvalue > ALPHA
    assert stats.kstest(cosines, lambda c: wanted(np.clip(c - 0.05, -1, 1))).pvalue < ALPHA  # it can fail


@pytest.mark.parametrize("dimension", [2, 3, 20])
def test_points_lie_on_the_sphere_and_all_round_their_centre(dimension: int) -> None:
    centre = np.zeros(dimension, dtype=np.float32)
    centre[0] = 1.0
    points = around_on_sphere(np.tile(centre, (20_000, 1)), 3.0, Entropy(2))
    assert np.linalg.norm(points, axis=1) == pytest.approx(1.0, abs=1e-5)
    aside = points[:, 1:] / np.linalg.norm(points[:, 1:], axis=1, keepdims=True)
    if dimension == 2:
        assert stats.binomtest(int((aside > 0).sum()), len(aside)).pvalue > ALPHA
    else:  # a coordinate of a uniform direction in n-1 dimensions, squared, is a Beta variable
        law = stats.beta(0.5, 0.5 * (dimension - 2)).cdf
        assert stats.kstest(aside[:, 0] ** 2, law).pvalue > ALPHA
        assert stats.binomtest(int((aside[:, 0] > 0).sum()), len(aside)).pvalue > ALPHA


def test_on_a_line_the_sphere_is_two_points() -> None:
    points = around_on_sphere(np.ones((20_000, 1), dtype=np.float32), 0.5, Entropy(3))
    assert set(points.ravel().tolist()) == {1.0, -1.0}
    wanted = 1.0 / (1.0 + np.exp(-1.0))
    assert stats.binomtest(int((points > 0).sum()), 20_000, wanted).pvalue > ALPHA


@pytest.mark.parametrize("kappa", [1e-9, 1e9])
def test_extremes(kappa: float) -> None:
    centres = np.eye(40, dtype=np.float32)
    points = around_on_sphere(centres, kappa, Entropy(4))
    near = (points * centres).sum(axis=1)
    assert np.isfinite(points).all()
    assert (near > 0.999).all() if kappa > 1 else (np.abs(near) < 0.9).all()
