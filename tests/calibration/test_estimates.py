"""Figures estimated from draws agree with long plain repetition within their standard errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil._mechanisms.laws import SampledLaw
from wordveil._mechanisms.laws.counts import Counts, Pairs
from wordveil._mechanisms.priors import log_prior
from wordveil.calibration import Effort, maker, meter_for
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace

TRUTH = 20_000
SPACE = make_space(60, 5, seed=11)
RADIAL: dict[str, tuple[float, dict[str, Any]]] = {
    "laplace": (1.5, {}),
    "mahalanobis": (1.5, {}),
    "gaussian": (8.0, {"delta": 0.01}),
    "nadp": (8.0, {"delta": 0.01}),
    "jaccard": (8.0, {"delta": 0.01}),
}


def frequencies(name: str, epsilon: float, options: dict[str, Any], space: EuclideanSpace = SPACE) -> np.ndarray:
    made = maker(name, space, **options)(epsilon)
    drawn = made.draw(np.repeat(np.arange(len(space)), TRUTH), Entropy(99)).reshape(-1, TRUTH)
    return np.array([np.bincount(row, minlength=len(space)) for row in drawn]) / TRUTH


@pytest.mark.parametrize("name", RADIAL)
def test_noise_is_followed_to_the_figures_of_plain_repetition(name: str) -> None:
    epsilon, options = RADIAL[name]
    effort = Effort(draws=400, near=5, similar=3, adversary_draws=400)
    meter = meter_for(maker(name, SPACE, **options), SPACE, effort)
    found = meter.measure([epsilon])[0]
    truth = frequencies(name, epsilon, options)
    own = np.diag(truth)[found.stays.ids]
    assert found.stays.errors is not None
    spread = np.hypot(found.stays.errors, np.sqrt((own * (1 - own) + 1e-4) / TRUTH))
    assert (np.abs(found.stays.values - own) < 4.5 * spread).all()
    assert abs(found.stays.mean - own.mean()) < 4.5 * np.hypot(found.stays.mean_error, 0.5 / np.sqrt(TRUTH * 60))
    expected = (1 - (1 - truth) ** 400).sum(axis=1)[found.distinct.ids]
    assert found.distinct.errors is not None
    assert (np.abs(found.distinct.values - expected) < 5 * np.maximum(found.distinct.errors, 1)).all()
    for prior, adversary in (("uniform", found.uniform), ("frequency", found.frequency)):
        weight = np.exp(log_prior(SPACE, prior))
        right = (weight[:, None] / weight.sum() * truth).max(axis=0).sum()
        assert adversary.low - 4 * adversary.error < right < adversary.high + 4 * adversary.error


def test_averaging_over_lengths_has_less_error_than_counting() -> None:
    effort = Effort(draws=300)
    make = maker("laplace", SPACE)
    averaged = meter_for(make, SPACE, effort).stays([1.5])[0]
    counted = SampledLaw(make(1.5), effort).stays(averaged.ids)
    assert averaged.errors is not None
    assert counted.errors is not None
    assert averaged.errors.mean() < 0.9 * counted.errors.mean()


@pytest.mark.parametrize("name", ["vickrey", "density", "remapped", "elastic"])
def test_any_mechanism_is_measured_by_drawing(name: str) -> None:
    space = make_space(40, 4, seed=12)
    meter = meter_for(maker(name, space), space, Effort(draws=500, near=5, similar=3))
    found = meter.measure([2.0])[0]
    truth = frequencies(name, 2.0, {}, space)
    own = np.diag(truth)[found.stays.ids]
    assert found.stays.errors is not None
    # Of a word that rarely stays, the error as estimated is too small where by chance it never did.
    errors = np.maximum(found.stays.errors, np.sqrt(own * (1.0 - own) / 500))
    assert (np.abs(found.stays.values - own) < 4.5 * errors).all()
    weight = np.full(40, 1 / 40)
    right = (weight[:, None] * truth).max(axis=0).sum()
    assert found.uniform.low - 4 * found.uniform.error < right < found.uniform.high + 4 * found.uniform.error
    assert found.kept.value + found.near.value + found.far.value == pytest.approx(1)


def test_the_standard_error_of_the_mean_is_that_of_repeated_measuring() -> None:
    # All words share their directions here: errors that took them for independent would be far too small.
    means, errors = [], []
    for seed in range(30):
        found = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=60, seed=seed)).stays([1.5])[0]
        means.append(found.mean)
        errors.append(found.mean_error)
    assert 0.6 < np.std(means) / np.mean(errors) < 1.6


def test_the_worst_word_is_measured_again_on_fresh_draws() -> None:
    found = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=40)).measure([1.5])[0].stays
    assert found.again is not None
    chosen = np.isin(found.ids, found.again.ids)
    assert found.values[chosen].min() >= found.values[~chosen].max()
    truth = np.diag(frequencies("laplace", 1.5, {}))
    assert found.again.errors is not None
    assert found.errors is not None
    assert found.again.errors.max() < 0.7 * found.errors[chosen].max()
    assert abs(found.worst - truth.max()) < 5 * found.again.errors.max()


def test_the_near_loss_of_noise_is_the_promise() -> None:
    found = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=20, similar=3)).near_loss([2.0])[0]
    near = SPACE.similar(found.ids, 3)[0]
    rows = SPACE.distances(found.ids)
    assert found.bound
    assert found.values == pytest.approx(2.0 * np.take_along_axis(rows, near, axis=1).max(axis=1), rel=1e-5)
    gaussian = meter_for(maker("gaussian", SPACE, delta=0.01), SPACE, Effort(draws=20)).near_loss([2.0])[0]
    assert np.isinf(gaussian.values).all()


def test_a_guesser_need_not_learn_to_guess_the_likeliest_word() -> None:
    found = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=20, adversary_draws=4))
    adversary = found.adversary([1e-3], "frequency")[0]
    prior = np.exp(log_prior(SPACE, "frequency"))
    assert adversary.low >= prior.max() / prior.sum() * (1 - 1e-9)
    assert adversary.low <= adversary.high


def test_the_search_for_an_epsilon_and_the_figures_there_rest_on_the_same_guesses(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDVEIL_CACHE", str(tmp_path))
        found = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=20, adversary_draws=10))
        searched = {prior: found.adversary([1.5, 3.0], prior) for prior in ("uniform", "frequency")}
        measured = found.measure([1.5, 3.0])
    assert searched["uniform"] == [one.uniform for one in measured]
    assert searched["frequency"] == [one.frequency for one in measured]


def test_counts_of_a_block() -> None:
    outputs = np.array([[3, 3, 3, 7], [0, 1, 2, 3], [5, 5, 5, 5]])
    pairs = Pairs.of(outputs)
    assert list(zip(pairs.row.tolist(), pairs.output.tolist(), pairs.count.tolist(), strict=True)) == [
        (0, 3, 3), (0, 7, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 5, 4),
    ]  # fmt: skip
    counts = Counts.of(np.array([3, 1, 5]), outputs, Effort(eta=0.3, gamma=20.0), depths=np.arange(10.0))
    assert counts.distinct.tolist() == [2, 4, 1]
    assert counts.effective.tolist() == [1, 3, 1]
    assert counts.own.tolist() == [0.75, 0.25, 1.0]
    assert counts.largest.tolist() == [0.75, 0.25, 1.0]
    assert counts.singles.tolist() == [1, 4, 0]
    assert dict(zip(counts.reached.tolist(), counts.reached_by.tolist(), strict=True)) == {
        0: 1, 1: 1, 2: 1, 3: 2, 5: 1, 7: 1,
    }  # fmt: skip
    assert dict(zip(counts.reached.tolist(), counts.below.tolist(), strict=True))[0] == 1  # 1 is deeper than 0
    twice = Counts.joined([counts, counts])
    assert twice.reached_by.tolist() == [2, 2, 2, 4, 2, 2]
    assert len(twice.distinct) == 6


def test_alike_inputs_need_enough_sightings() -> None:
    outputs = np.repeat([[9, 8], [9, 8], [9, 9]], 30, axis=1)
    counts = Counts.of(np.arange(3), outputs, Effort(gamma=1.5))
    found, many = counts.alike(1.5)
    assert dict(zip(found.tolist(), many.tolist(), strict=True)) == {8: 2, 9: 1}
