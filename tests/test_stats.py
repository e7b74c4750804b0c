"""Intervals that hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from wordveil.stats import Estimate, lower_bound, upper_bound


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5])
def test_wilsons_interval_holds_the_truth_about_as_often_as_it_says(share: float) -> None:
    trials = 200
    held = sum(
        binom.pmf(hits, trials, share)
        for hits in range(trials + 1)
        if (rate := Estimate.share(hits, trials)).low <= share <= rate.high
    )
    assert 0.93 <= held <= 0.98


def test_wilsons_interval_agrees_with_its_formula() -> None:
    rate = Estimate.share(1, 10)
    assert (round(rate.low, 4), round(rate.high, 4)) == (0.0179, 0.4042)  # Newcombe 1998's way of computing it
    assert Estimate.share(0, 5).low == 0.0
    assert math.isnan(Estimate.share(0, 0).value)
    assert Estimate.share(0, 0).to_dict()["value"] is None


def test_groups_that_are_right_together_widen_the_interval() -> None:
    generator = np.random.default_rng(0)
    together = generator.integers(0, 2, 100) * 20
    trials = np.full(100, 20)
    grouped, single = Estimate.share_of_groups(together, trials), Estimate.share(int(together.sum()), 2000)
    assert grouped.value == single.value
    assert grouped.high - grouped.low > 3 * (single.high - single.low)
    alike = Estimate.share_of_groups(np.full(8, 5), np.full(8, 5))
    assert (alike.value, alike.high) == (1.0, 1.0)
    assert alike.low < 0.7  # eight alike groups prove little


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    values = np.random.default_rng(1).normal(2.0, 3.0, 2000)
    mean = Estimate.mean(values)
    error = values.std() / math.sqrt(len(values))
    assert mean.low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert mean.high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


@pytest.mark.parametrize("area", [0.5, 0.9, 0.98])
def test_the_interval_of_an_area_holds_the_truth_and_always_has_a_width(area: float) -> None:
    generator = np.random.default_rng(2)
    shift = math.sqrt(2.0) * norm.ppf(area)
    found = [Estimate.area(generator.normal(shift, 1.0, 16), generator.normal(0.0, 1.0, 16)) for _ in range(400)]
    assert 0.92 <= np.mean([one.low <= area <= one.high for one in found]) <= 0.99
    assert min(one.high - one.low for one in found) > 0.05
    assert math.isnan(Estimate.area(np.empty(0), np.ones(3)).value)


def test_a_standard_error_and_an_interval_are_each_others_width() -> None:
    made = Estimate.around(0.3, 0.01, 50)
    assert made.error == pytest.approx(0.01)
    assert (made.low + made.high) / 2 == pytest.approx(0.3)
    exact = Estimate.exactly(0.3)
    assert (exact.low, exact.high, exact.error) == (0.3, 0.3, 0.0)


@pytest.mark.parametrize("probability", [0.01, 0.4])
def test_clopper_pearson_bounds_miss_the_truth_as_seldom_as_they_say(probability: float) -> None:
    hits = np.arange(101)
    chance = binom.pmf(hits, 100, probability)
    assert chance[lower_bound(hits, np.full(101, 100), 0.05) > probability].sum() <= 0.05
    assert chance[upper_bound(hits, np.full(101, 100), 0.05) < probability].sum() <= 0.05


def test_trials_in_groups_have_wider_intervals_than_as_many_apart() -> None:
    generator = np.random.default_rng(0)
    right = generator.random(40) < 0.5
    together, group = np.repeat(right, 10), np.repeat(np.arange(40), 10)  # all trials of a group come out the same
    found, apart = Estimate.share_within(together, group), Estimate.share(int(together.sum()), 400)
    assert found.value == apart.value
    assert found.n == 400
    assert found.high - found.low > 2 * (apart.high - apart.low)
    assert Estimate.share_within(right, np.arange(40)) == Estimate.share(int(right.sum()), 40)
    assert np.isnan(Estimate.share_within(right[:0], group[:0]).value)


def test_an_area_in_groups_is_that_of_the_pairs() -> None:
    generator = np.random.default_rng(1)
    scores, ours = np.round(generator.random(300), 1), generator.random(300) < 0.3
    found = Estimate.area_within(scores, ours, np.arange(300) // 10)
    plain = Estimate.area(scores[ours], scores[~ours])
    assert found.value == pytest.approx(plain.value)
    assert found.low <= plain.low < plain.high <= found.high
    assert np.isnan(Estimate.area_within(scores, np.zeros(300, dtype=bool), np.arange(300)).value)
