"""Hyperbolic noise against its laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from tests.conftest import ALPHA
from wordveil.noise import Entropy, hyperbolic_radii, icdm19_lengths, icdm19_radius_distribution, metropolis_points
from wordveil.noise.hyperbolic import icdm19_log_normaliser


@pytest.mark.parametrize(
    ("dimension", "kappa"), [(1, 0.5), (2, 1.01), (2, 8.0), (5, 4.2), (10, 30.0), (100, 99.5), (100, 400.0)]
)
def test_hyperbolic_radii(dimension: int, kappa: float) -> None:
    radii = hyperbolic_radii(20_000, dimension, kappa, Entropy(dimension))
    shape = (kappa - dimension + 1) / 2

    def chances(rho: np.ndarray) -> np.ndarray:
        return 1 - special.betainc(shape, dimension, np.exp(-2 * rho))

    near = radii[radii < 300]  # beyond, e^-2ρ is too small for scipy
    assert stats.kstest(near, lambda rho: chances(rho) / chances(np.array(300.0))).pvalue > ALPHA


@pytest.mark.parametrize(("dimension", "kappa"), [(2, 1.7), (3, 2.5), (6, 7.0)])
def test_the_beta_law_is_the_hyperbolic_laplace_law(dimension: int, kappa: float) -> None:
    # the density e^{-κρ}·sinh^{n-1}ρ, integrated as it stands
    radii = hyperbolic_radii(20_000, dimension, kappa, Entropy(7))
    rho = np.linspace(0, 40, 200_001)
    density = np.exp(-kappa * rho) * np.sinh(rho) ** (dimension - 1)
    sums = integrate.cumulative_simpson(density, x=rho, initial=0)
    assert stats.kstest(radii, lambda r: np.interp(r, rho, sums / sums[-1])).pvalue > ALPHA


def test_close_to_the_limit_radii_are_huge_and_finite() -> None:
    radii = hyperbolic_radii(1000, 10, 9 + 1e-9, Entropy(1))
    assert np.isfinite(radii).all()
    assert np.median(radii) > 1e6


@pytest.mark.parametrize("dimension", [1, 2, 10, 100, 760, 3000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.125, 1.0, 8.0, 1e4])
def test_icdm19_lengths(dimension: int, epsilon: float) -> None:
    lengths = icdm19_lengths(20_000, dimension, epsilon, Entropy(dimension))
    log_z = icdm19_log_normaliser(dimension, epsilon)
    r = np.linspace(0.999 * lengths.min(), min(1.0 - 1e-12, 1.001 * lengths.max()), 40_001)
    density = np.exp((dimension - 1) * np.log(r) + epsilon * (np.log1p(-r) - np.log1p(r)) - log_z)
    sums = integrate.cumulative_simpson(density, x=r, initial=0)
    assert sums[-1] == pytest.approx(1, abs=1e-3)  # so the normaliser is right as well
    assert stats.kstest(lengths, lambda x: np.interp(x, r, sums / sums[-1])).pvalue > ALPHA
    places = r[1:-1:100]
    found = icdm19_radius_distribution(2.0 * np.arctanh(places), dimension, epsilon)
    assert found == pytest.approx(sums[1:-1:100], abs=1e-3)
    assert (np.diff(found) >= -1e-12).all()


@pytest.mark.parametrize("dimension", [1, 2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.125, 1.0, 8.0, 200.0])
def test_the_icdm19_radius_is_somewhere(dimension: int, epsilon: float) -> None:
    found = icdm19_radius_distribution(np.array([0.0, 1e3]), dimension, epsilon)
    assert found == pytest.approx([0.0, 1.0], abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.125, 1.0, 8.0])
def test_in_one_dimension_the_normaliser_is_the_papers(epsilon: float) -> None:
    paper = 2 * special.hyp2f1(1, epsilon, 2 + epsilon, -1) / (1 + epsilon)
    assert 2 * np.exp(icdm19_log_normaliser(1, epsilon)) == pytest.approx(paper)


@pytest.mark.parametrize("dimension", [20, 1000, 100_000])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-6, 10.0, 1e18])
def test_extreme_epsilons_end(epsilon: float, dimension: int) -> None:
    lengths = icdm19_lengths(500, dimension, epsilon, Entropy(2))
    assert ((lengths > 0) & (lengths < 1)).all()
    assert len(np.unique(lengths)) > 250  # not all the same, as those of areas that are no numbers were


def test_the_printed_chain_has_another_law() -> None:
    # Algorithm 2 leaves a Jacobian out: even a long chain does not follow Eq. 7.
    chain = np.linalg.norm(metropolis_points(4000, 2, 1.0, Entropy(3), steps=200), axis=1)
    longer = np.linalg.norm(metropolis_points(4000, 2, 1.0, Entropy(4), steps=400), axis=1)
    exact = icdm19_lengths(4000, 2, 1.0, Entropy(5))
    assert stats.ks_2samp(chain, longer).pvalue > ALPHA  # it has settled
    assert stats.ks_2samp(chain, exact).pvalue < 1e-6  # elsewhere
