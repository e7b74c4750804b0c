"""The (ε, δ) of Gaussians."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from wordveil.noise import delta_between, sigma_for


@given(st.floats(1e-3, 1e4), st.floats(1e-12, 0.4))
def test_sigma_reaches_delta_and_no_more(epsilon: float, delta: float) -> None:
    sigma = sigma_for(epsilon, delta)
    assert delta_between(3, 1.0, sigma, sigma, epsilon) == pytest.approx(delta, rel=1e-5)


@given(st.floats(0.01, 0.99), st.floats(1e-10, 0.1))
def test_analytic_needs_less_than_the_classical_formula_where_that_is_proved(epsilon: float, delta: float) -> None:
    assert sigma_for(epsilon, delta) <= math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def test_the_classical_formula_fails_at_large_epsilon() -> None:
    sigma = math.sqrt(2 * math.log(1.25 / 1e-6)) / 50
    assert delta_between(1, 1.0, sigma, sigma, 50.0) > 1e-5


def test_balle_and_wangs_formula() -> None:
    for epsilon, ratio in [(0.5, 0.3), (2.0, 1.5), (5.0, 4.0)]:
        wanted = math.exp(log_ndtr(ratio / 2 - epsilon / ratio)) - math.exp(
            epsilon + log_ndtr(-ratio / 2 - epsilon / ratio)
        )
        assert delta_between(7, ratio, 1.0, 1.0, epsilon) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("distance", "wide", "epsilon"), [(0.7, 1.4, 0.3), (0.0, 1.2, 0.5), (2.0, 3.0, 1.0)])
def test_unequal_deviations_against_sampling(distance: float, wide: float, epsilon: float) -> None:
    generator, dimension, draws = np.random.default_rng(1), 5, 1_000_000
    narrow = generator.normal(size=(draws, dimension))
    broad = generator.normal(size=(draws, dimension)) * wide
    broad[:, 0] += distance

    def log_ratio(points: np.ndarray) -> np.ndarray:
        shifted = points.copy()
        shifted[:, 0] -= distance
        return dimension * math.log(wide) - (points**2).sum(axis=1) / 2 + (shifted**2).sum(axis=1) / 2 / wide**2

    ours, theirs = log_ratio(narrow), log_ratio(broad)
    sampled = max(
        (ours > epsilon).mean() - math.exp(epsilon) * (theirs > epsilon).mean(),
        (theirs < -epsilon).mean() - math.exp(epsilon) * (ours < -epsilon).mean(),
    )
    assert delta_between(dimension, distance, 1.0, wide, epsilon) == pytest.approx(sampled, abs=5e-3)
    assert delta_between(dimension, distance, wide, 1.0, epsilon) == pytest.approx(sampled, abs=5e-3)


def test_no_noise_is_no_privacy() -> None:
    assert delta_between(3, 1.0, 0.0, 1.0, 1.0) == 1.0
    assert delta_between(3, 1.0, 0.0, 0.0, 1.0) == 1.0
    assert delta_between(3, 0.0, 0.0, 0.0, 1.0) == 0.0


@pytest.mark.parametrize(("wide", "epsilon"), [(2.0, 5.0), (2.0, 40.0), (10.0, 30.0), (3.0, 200.0)])
def test_large_epsilons_lose_no_digits(wide: float, epsilon: float) -> None:
    """In two dimensions around one centre the squares are exponential, and δ has a closed form."""
    with mpmath.workdps(400):
        square = (4 * mpmath.log(wide) + 2 * mpmath.mpf(epsilon)) / (1 - 1 / mpmath.mpf(wide) ** 2)
        outside = [mpmath.exp(-square / 2 / mpmath.mpf(one) ** 2) for one in (1, wide)]
        wanted = float(outside[1] - mpmath.exp(epsilon) * outside[0])
    assert delta_between(2, 0.0, 1.0, wide, epsilon) == pytest.approx(wanted, rel=1e-9)
