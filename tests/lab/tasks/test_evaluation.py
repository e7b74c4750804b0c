"""Tasks with a known answer: clean text solves them, random words do not, and privacy lies between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

import wordveil
from tests.lab.tasks.made_data import sentence
from wordveil.errors import OptionError
from wordveil.lab.tasks import (
    ODD,
    SIMILARITY,
    TASKS,
    AveragedVectors,
    BiLstm,
    Outcome,
    Task,
    evaluate,
    lead,
    load_task,
    mean_of,
    random_words,
    share_of_the_way,
    veiled,
)
from wordveil.spaces import EuclideanSpace
from wordveil.stats import Estimate


@pytest.fixture(scope="module")
def model(topics: EuclideanSpace) -> AveragedVectors:
    return AveragedVectors(topics)


@pytest.mark.parametrize("name", TASKS)
def test_clean_text_solves_the_task(name: str, data: Path, model: AveragedVectors) -> None:
    outcome = evaluate(load_task(name, data), model)
    assert outcome.answers.shape[0] == 1
    reached = {"snips": 0.45}.get(name, 0.95)  # its seven intents share four topics, so four of seven can be told
    assert outcome.score > (0.6 if outcome.task.kind == SIMILARITY else reached)


@pytest.mark.parametrize("name", TASKS)
def test_random_words_leave_nothing(name: str, data: Path, topics: EuclideanSpace, model: AveragedVectors) -> None:
    task = load_task(name, data)
    outcome = evaluate(task, model, random_words(topics), repeats=4)
    if task.kind == SIMILARITY:
        chance = 0.0
    else:
        chance = 1 / len(task.columns) if task.kind == ODD else 1 / len(np.unique(task.gold))
    assert abs(outcome.score - chance) < 0.2


def test_utility_rises_with_epsilon(data: Path, topics: EuclideanSpace, model: AveragedVectors) -> None:
    task = load_task("trec6", data)
    scores = [
        evaluate(task, model, veiled(wordveil.mechanism("exponential", topics, epsilon=epsilon)), repeats=2).score
        for epsilon in (0.01, 0.2, 10.0)
    ]
    assert scores[0] < scores[1] - 0.05 < scores[2] - 0.1
    assert scores[2] > 0.95


def test_when_says_which_texts_are_veiled(data: Path, topics: EuclideanSpace, model: AveragedVectors) -> None:
    task = load_task("mr", data)
    seen: list[int] = []

    def swap(texts: object, seed: int) -> list[str]:
        """Give every text the words of the other class: learnt or tested alone, that turns every answer round."""
        seen.append(seed)
        return [*task.columns[0][40:], *task.columns[0][:40]]

    assert evaluate(task, model, swap, when="train", repeats=1).score < 0.05
    assert evaluate(task, model, swap, when="test", repeats=1).score < 0.05
    assert evaluate(task, model, swap, when="both", repeats=2).score > 0.95
    assert len(set(seen[-2:])) == 2


def test_the_same_seed_gives_the_same_answers(data: Path, topics: EuclideanSpace, model: AveragedVectors) -> None:
    task = load_task("trec6", data)
    rewrite = veiled(wordveil.mechanism("graph", topics, epsilon=1.0))
    first, again, other = (evaluate(task, model, rewrite, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.answers, again.answers)
    assert not np.array_equal(first.answers, other.answers)


def test_what_makes_no_sense_is_refused(data: Path, model: AveragedVectors) -> None:
    with pytest.raises(OptionError):
        evaluate(load_task("mr", data), model, when="never")
    with pytest.raises(OptionError):
        evaluate(load_task("stsb", data), model, when="train")


def test_scores_are_the_known_correlations() -> None:
    generator = np.random.default_rng(0)
    gold, told = generator.normal(size=30), generator.normal(size=30)
    names = [["x"] * 30] * 2
    for measure, known in (("pearson", pearsonr), ("spearman", spearmanr)):
        task = Task("t", SIMILARITY, tuple(names), gold, measure=measure)
        assert task.score(told) == pytest.approx(known(told, gold).statistic)
    parts = Task("t", SIMILARITY, tuple(names), gold, parts=np.arange(30) % 2, measure="pearson")
    halves = [pearsonr(told[place::2], gold[place::2]).statistic for place in (0, 1)]
    assert parts.score(told) == pytest.approx(np.mean(halves))
    assert Task("t", SIMILARITY, tuple(names), gold, measure="pearson").score(np.ones(30)) == 0.0


def test_intervals_hold_the_truth_and_shrink() -> None:
    generator = np.random.default_rng(3)
    widths = []
    for count in (100, 10_000):
        task = Task("t", "classes", (["x"] * count,), np.zeros(count))
        found = Outcome(task, (generator.random((2, count)) < 0.7).astype(float)).interval()
        assert found.low < 0.7 < found.high
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 5


def test_the_share_of_the_way() -> None:
    count = 4000
    generator = np.random.default_rng(4)
    task = Task("t", "classes", (["x"] * count,), np.zeros(count))
    low, middle, high = (
        Outcome(task, (generator.random((2, count)) < chance).astype(float)) for chance in (0.2, 0.5, 0.8)
    )
    found = share_of_the_way(middle, low, high)
    assert found.low < 0.5 < found.high
    assert share_of_the_way(high, low, high).value == pytest.approx(1.0)
    assert share_of_the_way(low, low, high).value == pytest.approx(0.0)
    assert np.isnan(share_of_the_way(low, low, low).value)


def test_means_are_of_known_words_alone(topics: EuclideanSpace) -> None:
    first, second = topics.vocabulary[0], topics.vocabulary[20]
    found = AveragedVectors(topics).means([f"{first} {second}, unheard!", "unheard", f"{first} {first}"])
    assert found[0] == pytest.approx((topics.matrix[0] + topics.matrix[20]) / 2, abs=1e-5)
    assert not found[1].any()
    assert found[2] == pytest.approx(topics.matrix[0], abs=1e-5)


def test_examples_with_unknown_words_alone_can_be_left_out(topics: EuclideanSpace) -> None:
    known = topics.vocabulary[0]
    columns = ([known, "unheard", f"{known} unheard"], [known, known, known])
    task = Task("t", SIMILARITY, columns, np.array([1.0, 2.0, 3.0]), measure="pearson")
    assert AveragedVectors(topics).known(task).gold.tolist() == [1.0, 3.0]


def test_a_bilstm_learns_what_averages_cannot_see(topics: EuclideanSpace) -> None:
    pytest.importorskip("torch")
    generator = np.random.default_rng(5)
    gold = generator.integers(0, 2, 300).astype(float)
    halves = [(sentence(0, generator, 4), sentence(1, generator, 4)) for _ in gold]
    texts = [" ".join(pair if one else pair[::-1]) for pair, one in zip(halves, gold, strict=True)]
    task = Task("order", "classes", (texts,), gold, np.arange(300) >= 200)
    assert evaluate(task, BiLstm(topics, hidden=8, epochs=12)).score > 0.95
    assert evaluate(task, AveragedVectors(topics)).score < 0.7
    with pytest.raises(OptionError):
        BiLstm(topics).features((["a"], ["b"]))


def test_a_lead_is_seen_where_there_is_one_and_only_there(data: Path) -> None:
    task = load_task("mr", data)
    generator = np.random.default_rng(0)
    count = len(task.tested)
    hard = generator.random(count) < 0.5  # examples that both get wrong
    good = Outcome(task, np.stack([np.where(hard, 0.0, generator.random(count) < 0.95) for _ in range(3)]))
    bad = Outcome(task, np.stack([np.where(hard, 0.0, generator.random(count) < 0.5) for _ in range(3)]))
    found = lead(good, bad)
    assert found.value == pytest.approx(good.score - bad.score)
    assert 0 < found.low < found.value < found.high
    nothing = lead(good, good)
    assert nothing.low <= nothing.value == 0.0 <= nothing.high
    both = mean_of([Estimate(0.2, 0.1, 0.3), Estimate(0.4, 0.3, 0.5)])
    assert both.value == pytest.approx(0.3)
    assert both.high - both.low == pytest.approx(0.2 / np.sqrt(2))
