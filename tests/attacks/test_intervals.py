"""Intervals that hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from wordveil.attacks import Mean, Rate


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5])
def test_wilsons_interval_holds_the_truth_about_as_often_as_it_says(share: float) -> None:
    trials = 200
    held = sum(
        binom.pmf(hits, trials, share)
        for hits in range(trials + 1)
        if (rate := Rate.of(hits, trials)).low <= share <= rate.high
    )
    assert 0.93 <= held <= 0.98


def test_wilsons_interval_agrees_with_its_formula() -> None:
    rate = Rate.of(1, 10)
    assert (round(rate.low, 4), round(rate.high, 4)) == (0.0179, 0.4042)  # Newcombe 1998's way of computing it
    assert Rate.of(0, 5).low == 0.0
    assert math.isnan(Rate.of(0, 0).value)
    assert Rate.of(0, 0).to_dict()["value"] is None


def test_groups_that_are_right_together_widen_the_interval() -> None:
    generator = np.random.default_rng(0)
    together = generator.integers(0, 2, 100) * 20
    trials = np.full(100, 20)
    grouped, single = Rate.of_groups(together, trials), Rate.of(int(together.sum()), 2000)
    assert grouped.value == single.value
    assert grouped.high - grouped.low > 3 * (single.high - single.low)
    alike = Rate.of_groups(np.full(8, 5), np.full(8, 5))
    assert (alike.value, alike.high) == (1.0, 1.0)
    assert alike.low < 0.7  # eight alike groups prove little


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    values = np.random.default_rng(1).normal(2.0, 3.0, 2000)
    mean = Mean.of(values)
    error = values.std() / math.sqrt(len(values))
    assert mean.low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert mean.high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


@pytest.mark.parametrize("area", [0.5, 0.9, 0.98])
def test_the_interval_of_an_area_holds_the_truth_and_always_has_a_width(area: float) -> None:
    generator = np.random.default_rng(2)
    shift = math.sqrt(2.0) * norm.ppf(area)
    found = [Mean.of_ranks(generator.normal(shift, 1.0, 16), generator.normal(0.0, 1.0, 16)) for _ in range(400)]
    assert 0.92 <= np.mean([one.low <= area <= one.high for one in found]) <= 0.99
    assert min(one.high - one.low for one in found) > 0.05
    assert math.isnan(Mean.of_ranks(np.empty(0), np.ones(3)).value)
