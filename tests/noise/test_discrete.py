"""Discrete Laplace noise follows its law."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA
from wordveil.errors import OptionError
from wordveil.noise import Entropy, discrete_laplace, exact_rate, laplace_radius


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5])
def test_noise_follows_its_law(epsilon: float) -> None:
    rate, count = exact_rate(epsilon), 40_000
    drawn = discrete_laplace(rate, count, Entropy(17))
    fall = np.exp(-float(rate))
    reach = int(np.ceil(np.log(count / 100) / epsilon))
    places = np.arange(-reach, reach + 1)
    chances = (1 - fall) / (1 + fall) * fall ** np.abs(places)
    seen = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    tail = (1 - chances.sum()) / 2
    expected = count * np.concatenate([[tail], chances, [tail]])
    assert stats.chisquare(seen, expected).pvalue > ALPHA


def test_the_rate_is_never_above_what_was_asked() -> None:
    for epsilon in (0.1, 1 / 3, 0.7, 1.0000019, 99):
        assert 0 < exact_rate(epsilon) <= Fraction(epsilon) + Fraction(1, 10**9)
    for wrong in (0, -1, 1e-9, 1e9, float("nan"), float("inf")):
        with pytest.raises(OptionError):
            exact_rate(wrong)


def test_the_radius_holds_its_share() -> None:
    for epsilon in (0.05, 0.5, 2.0):
        rate = exact_rate(epsilon)
        fall, radius = np.exp(-float(rate)), laplace_radius(rate)
        assert 2 * fall ** (radius + 1) / (1 + fall) <= 0.01 + 1e-12
        assert radius == 0 or 2 * fall**radius / (1 + fall) > 0.01 - 1e-12
