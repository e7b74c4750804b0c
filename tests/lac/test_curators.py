"""Recovery through a known law, the curators, and whole pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil import Veil
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.laplace import Laplace
from wordveil.errors import BudgetError, InputError, OptionError, SpaceError
from wordveil.lac import (
    Crowd,
    Histogram,
    Ledger,
    Localizer,
    Pipeline,
    Plain,
    Record,
    Shuffle,
    TopWords,
    Training,
    dense_law,
    invert,
    update,
)
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace

SPACE = make_space(24, 3)
MADE = Exponential(SPACE, 1.0, clip=3.0)
LAW = dense_law(MADE)
TRUTH = np.round(20_000 / np.arange(1, 25) ** 1.1)


def noisy_counts(seed: int) -> np.ndarray:
    ids = np.repeat(np.arange(24), TRUTH.astype(int))
    return np.bincount(MADE.draw(ids, Entropy(seed)), minlength=24).astype(np.float64)


def test_both_recoveries_undo_the_law_when_there_is_no_sampling_noise() -> None:
    law = dense_law(Exponential(SPACE, 4.0))
    counts = TRUTH @ law
    assert invert(counts, law).values == pytest.approx(TRUTH, rel=1e-6)
    assert update(counts, law, steps=20_000, tolerance=1e-12).values == pytest.approx(TRUTH, rel=1e-2)


def test_the_inverse_is_unbiased_and_its_bars_are_right() -> None:
    found = [invert(noisy_counts(seed), LAW) for seed in range(60)]
    errors = found[0].errors
    assert errors is not None
    values = np.array([one.values for one in found])
    # the true counts are fixed here, so the spread is a little below the multinomial bar
    spread = values.std(axis=0, ddof=1)
    assert (spread < 1.4 * errors).all()
    assert (spread > 0.4 * errors).all()
    assert np.abs((values.mean(axis=0) - TRUTH) / (errors / np.sqrt(60))).max() < 4.5
    assert values.sum(axis=1) == pytest.approx(TRUTH.sum())


def test_the_update_is_a_histogram_and_beats_the_noisy_counts() -> None:
    counts = noisy_counts(7)
    found = update(counts, LAW, replicates=8, entropy=Entropy(1))
    assert (found.values >= 0).all()
    assert found.values.sum() == pytest.approx(counts.sum())
    assert np.abs(found.values - TRUTH).sum() < 0.5 * np.abs(counts - TRUTH).sum()
    assert found.errors is not None
    assert (found.errors >= 0).all()
    steps: list[int] = []
    update(counts, LAW, steps=5, tolerance=0.0, each=steps.append)
    assert steps == [1, 2, 3, 4, 5]


def test_the_update_never_lowers_the_likelihood() -> None:
    counts = noisy_counts(8)
    values = [update(counts, LAW, steps=steps, tolerance=0.0).values for steps in range(1, 30)]
    likelihood = [float(counts @ np.log(one / one.sum() @ LAW)) for one in values]
    assert (np.diff(likelihood) >= -1e-6).all()


def test_pairs_of_words_are_recovered_along_both_axes() -> None:
    space = make_space(6, 2)
    law = dense_law(Graph(space, 8.0))
    truth = np.random.default_rng(0).integers(0, 1000, (6, 6)).astype(float)
    counts = law.T @ truth @ law
    assert invert(counts, law).values == pytest.approx(truth, abs=1e-6)
    found = update(counts, law, steps=10_000, tolerance=1e-12)
    assert found.values == pytest.approx(truth, abs=5.0)
    assert found.top(1)[0][0] == np.unravel_index(truth.argmax(), truth.shape)


def test_no_records_at_all() -> None:
    empty = np.zeros(24)
    assert update(empty, LAW).values.sum() == 0.0
    assert invert(empty, LAW).values == pytest.approx(empty)


def test_a_law_that_is_not_exact_is_counted_only_if_asked() -> None:
    made = Laplace(SPACE, 3.0)
    with pytest.raises(OptionError):
        dense_law(made)
    with pytest.raises(OptionError):
        Histogram(made).recover(np.ones(24))
    counted = dense_law(made, draws=200, dtype=np.float32)
    assert counted.dtype == np.float32
    assert counted.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-5)
    assert Histogram(made, draws=200, replicates=0).recover(np.ones(24)).values.sum() == pytest.approx(24)
    assert np.array_equal(dense_law(MADE, draws=200), LAW)


def test_what_cannot_be_recovered_is_refused(glove: EuclideanSpace) -> None:
    with pytest.raises(InputError):
        invert(np.zeros(3), LAW)
    with pytest.raises(OptionError):
        invert(np.zeros(2), np.full((2, 2), 0.5))
    with pytest.raises(SpaceError):  # too many words
        dense_law(Exponential(glove, 1.0))


def records(count: int = 3000) -> list[Record]:
    chances = 1.0 / np.arange(1, 25)
    ids = np.random.default_rng(1).choice(24, count, p=chances / chances.sum())
    return [Record(SPACE.vocabulary[int(i)], user=str(number)) for number, i in enumerate(ids)]


def test_a_pipeline_prints_the_promise_of_every_stage() -> None:
    pipeline = Pipeline(Localizer(Veil(MADE, case="lower")), [Shuffle()], Histogram(MADE))
    outcome = pipeline(records())
    assert [stage.name for stage in outcome.stages] == ["localizer", "shuffle", "histogram"]
    before, after, last = (stage.guarantees[0].epsilon for stage in outcome.stages)
    assert after < before == 3.0
    assert last == after
    assert all(stage.untrusted.epsilon == 3.0 for stage in outcome.stages)
    assert outcome.stages == pipeline.stages(Crowd(3000, 3000))
    assumed = pipeline.stages(3000)
    assert [stage.guarantees[0].epsilon for stage in assumed] == [before, after, last]
    assert "if all 3,000 records have one shape and label" in assumed[1].sentence()
    assert "ε = 3" in outcome.stages[0].sentence()
    assert outcome.stages[1].to_dict()["if_no_amplifier_is_trusted"]["epsilon"] == 3.0
    assert outcome.result.values.sum() == pytest.approx(3000)


@pytest.mark.parametrize("method", ["none", "inverse", "bayes"])
def test_histograms(method: str) -> None:
    found = Histogram(MADE, method=method)([Record(r.text) for r in records()])
    assert found.values.sum() == pytest.approx(3000)
    assert found.errors is not None
    assert found.errors.shape == found.values.shape
    assert Histogram(MADE, method="bayes", replicates=0)(records()).errors is None


def test_the_bootstrap_of_the_update_tells_its_spread() -> None:
    """The error bars of one sample are of the size of the spread over many samples, also in parts."""
    found = update(noisy_counts(0), LAW, replicates=40, entropy=Entropy(2))
    assert found.errors is not None
    values = np.array([update(noisy_counts(seed), LAW).values for seed in range(40)])
    large = TRUTH.mean() < TRUTH  # rare words stick at zero, where a bootstrap says little
    assert np.median(found.errors[large] / values.std(axis=0, ddof=1)[large]) == pytest.approx(1.2, abs=0.5)


def test_ngrams_are_counted_within_a_record() -> None:
    one, two, three = SPACE.vocabulary.words[:3]
    counts = Histogram(MADE, n=2).count(
        [Record(f"{one} {two} {three}"), Record(f"{two.upper()}, {three}! other {one}")]
    )
    assert counts.sum() == 3
    assert counts[0, 1] == 1
    assert counts[1, 2] == 2


def test_top_words_and_plain_release() -> None:
    strong = Exponential(SPACE, 30.0)
    veil = Veil(strong, case="lower", unproven=True)
    stream = [Record("".join(SPACE.vocabulary[3]))] * 50 + [Record(SPACE.vocabulary[5])] * 20
    top = Pipeline(Localizer(veil), [], TopWords(Histogram(strong), 2))(stream).result
    assert [word for word, _ in top] == [SPACE.vocabulary[3], SPACE.vocabulary[5]]
    plain = Pipeline(Localizer(veil), [], Plain())(stream).result
    assert len(plain) == 70


def test_a_classifier_is_trained_on_veiled_words() -> None:
    near = SPACE.neighbours(np.array([0]), 1)[0][0, 0]
    far = int(SPACE.distances(np.array([0]))[0].argmax())
    words = SPACE.vocabulary
    stream = [Record(words[0], label="left")] * 300 + [Record(words[far], label="right")] * 300
    trained = Pipeline(Localizer(Veil(Exponential(SPACE, 3.0))), [Shuffle()], Training())(stream).result
    assert trained.labels == ["left", "right"]
    assert trained(words[0]) == "left"
    assert trained(words[far]) == "right"
    assert trained(words[int(near)]) in trained.labels
    with pytest.raises(InputError):
        Training()([Record("sea")])


def test_the_ledger_counts_before_anything_is_released(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=7.0)
    pipeline = Pipeline(Localizer(Veil(MADE)), [Shuffle()], Plain(), ledger=ledger)
    stream = records(20)
    pipeline(stream)
    assert ledger.spent("3") == 3.0
    pipeline(stream)
    with pytest.raises(BudgetError):
        pipeline(stream)
    assert ledger.spent("3") == 6.0
    with pytest.raises(InputError):
        pipeline([Record("sea")])


def test_users_with_too_many_records_are_refused() -> None:
    twice = [Record(SPACE.vocabulary[0], "ann")] * 2
    with pytest.raises(InputError):
        Pipeline(Localizer(Veil(MADE)), [], Plain())(twice)
    allowed = Pipeline(Localizer(Veil(MADE)), [], Plain(), per_user=2)(twice)
    assert allowed.stages[-1].guarantees[0].epsilon == 6.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Histogram(MADE, method="magic"),
        lambda: Histogram(MADE, n=9),
        lambda: TopWords(Histogram(MADE, n=2), 3),
        lambda: Localizer(Veil(MADE), words=0),
        lambda: Pipeline(Localizer(Veil(MADE)), [], Plain(), delta=0.0),
        lambda: Pipeline(Localizer(Veil(MADE)), [], Plain(), per_user=0),
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(OptionError):
        wrong()
