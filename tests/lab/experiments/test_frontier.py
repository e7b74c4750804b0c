"""Mechanisms at the same success: the success is the true one, and a better mechanism is seen to be better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from wordveil.lab.experiments.adversary import TokenAdversary, word_chances
from wordveil.lab.experiments.matched import matched
from wordveil.lab.experiments.result import Setting

import wordveil
from tests.conftest import ALPHA
from wordveil._mechanisms import mechanism
from wordveil.calibration import maker, meter_for
from wordveil.errors import InputError, WordveilError
from wordveil.lab.experiments import frontier
from wordveil.lab.experiments.comparison import Contender, compare
from wordveil.lab.experiments.registry import run_experiment
from wordveil.lab.tasks import AveragedVectors, Interval, Outcome, Reader, lead, load_task, mean_of
from wordveil.spaces import EuclideanSpace


def skewed(words: int) -> NDArray[np.float64]:
    chances = 1.0 / (np.arange(words) + 1.0)
    chances[words // 2 :] = 0.0  # words that the text does not have
    return chances / chances.sum()


def test_chances_are_those_of_the_veiled_words(topics: EuclideanSpace) -> None:
    first, second = topics.vocabulary[3], topics.vocabulary[5]
    chances = word_chances([f"{first} {second}", f"{first} {first} unheard"], topics)
    assert chances[3] == 0.75
    assert chances[5] == 0.25
    with pytest.raises(InputError):
        word_chances(["unheard"], topics)


def test_function_words_do_not_count_where_they_stay(glove: EuclideanSpace) -> None:
    every, content = (word_chances(["the ship and the sea"], glove, select=select) for select in ("all", "content"))
    assert every[glove.vocabulary.id("the")] == 0.4
    assert content[glove.vocabulary.id("the")] == 0.0
    assert content[glove.vocabulary.id("ship")] == 0.5


@pytest.mark.parametrize("name", ["graph", "exponential", "ring"])
@pytest.mark.parametrize("prior", ["text", "uniform"])
def test_exact_success_is_the_sum_over_outputs(name: str, prior: str, topics: EuclideanSpace) -> None:
    chances = skewed(len(topics))
    adversary = TokenAdversary(maker(name, topics), topics, chances, prior)
    meter = adversary.meter()
    assert meter.exact
    channel = wordveil.mechanism(name, topics, epsilon=1.3).channel().matrix.toarray()
    weights = chances if prior == "text" else np.full(len(topics), 1 / len(topics))
    assert adversary(1.3, meter).low == pytest.approx((weights[:, None] * channel).max(axis=0).sum(), rel=1e-9)


@pytest.mark.parametrize("prior", ["text", "uniform"])
def test_learnt_success_is_not_flattered_and_close(prior: str, topics: EuclideanSpace) -> None:
    """Against a mechanism whose best success is known, told to learn it from draws."""
    chances = skewed(len(topics))
    draws = 20_000
    adversary = TokenAdversary(maker("exponential", topics), topics, chances, prior, draws=draws)
    exact = adversary(0.9, adversary.meter()).low
    learnt = adversary._learnt(0.9)
    slack = norm.isf(ALPHA) * learnt.error
    assert learnt.low <= exact + slack
    assert learnt.low >= 0.93 * exact - slack


def test_noise_that_keeps_everything_is_seen_through(topics: EuclideanSpace) -> None:
    adversary = TokenAdversary(maker("laplace", topics), topics, skewed(len(topics)), draws=5000)
    assert not adversary.meter().exact
    assert adversary(500.0, adversary.meter()).low > 0.999
    assert adversary.kept(500.0) > 0.999
    assert adversary(1e-3, adversary.meter()).low == pytest.approx(adversary.floor, abs=0.05)
    assert adversary.kept(1e-3) < 0.1


def test_matching_finds_every_level() -> None:
    asked: list[float] = []

    def success(epsilon: float) -> float:
        asked.append(epsilon)
        return epsilon**2 / (7 + epsilon**2)

    found = matched(success, [0.05, 0.1, 0.25, 0.15], start=1.0, tolerance=0.01)
    for level, epsilon in found.items():
        assert epsilon is not None
        assert success(epsilon) == pytest.approx(level, rel=0.01)
    assert len(asked) < 30


def test_a_level_that_no_epsilon_has_is_not_invented() -> None:
    assert matched(lambda _: 0.3, [0.1, 0.9], start=1.0) == {0.1: None, 0.9: None}

    def refuses(epsilon: float) -> float:
        if epsilon < 2:
            raise WordveilError("too small.")
        return 0.5

    assert matched(refuses, [0.1], start=2.0) == {0.1: None}


def test_compare_ranks_a_useful_mechanism_above_a_useless_one(data: Path, topics: EuclideanSpace) -> None:
    """At equal success, replacing within the topic must beat replacing by anything at all."""
    tasks = [load_task("trec6", data)]
    near = Contender("near", maker("exponential", topics), topics)
    # clipped below every distance all other words are equally likely: a lottery between the word and any other
    lottery = Contender("lottery", maker("exponential", topics, clip=0.05), topics)
    floor = Contender("unreached", maker("ring", topics), topics)
    found = compare([near, lottery, floor], tasks, AveragedVectors(Reader(topics)), [0.001, 0.15], repeats=2)
    points = {(point.label, point.level): point for point in found.points}
    assert points["near", 0.001].epsilon is None
    best, worst = points["near", 0.15], points["lottery", 0.15]
    for point in (best, worst):
        assert point.adversary is not None
        assert point.adversary.low == pytest.approx(0.15, rel=0.03)
    assert best.mean_share is not None
    assert worst.mean_share is not None
    assert best.mean_share > worst.mean_share + 0.1
    assert set(found.to_dict()) == {"points", "bounds", "floors"}
    random, clean = found.bounds["TREC-6"]
    assert clean.value > 0.95
    assert random.value < 0.5


def test_the_default_is_shown_beside_the_former_one(
    data: Path, topics: EuclideanSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontier, "load_space", lambda _: topics)
    result, facts = run_experiment("frontier", Setting(data, quick=True))
    chosen, held_out = result.tables
    default = mechanism("graph", topics, epsilon=1.0).options()
    assert f"graph, k={default['k']}, first hop {default['first']} (the default)" in [row[0] for row in held_out.rows]
    for table, tasks in ((chosen, ("TREC-6", "MR", "CR")), (held_out, ("MPQA", "SUBJ", "SST-2", "Snips"))):
        assert set(tasks) <= set(table.columns)
        place = {name: number for number, name in enumerate(table.columns)}
        former, *others = [row for row in table.rows if row[place["ε"]] is not None]
        assert former[place["more than the first"]] is None
        assert all(row[place["more than the first"]] is not None for row in others)
        made = maker("graph", topics, k=3, first=1.0)
        meter = meter_for(made, topics)
        epsilon = float(former[place["ε"]] or 0.0)
        assert former[place["guess right, uniform prior"]] == meter.adversary([epsilon], "uniform")[0].low
        assert former[place["near loss, of 10"]] == f"{np.median(meter.near_loss([epsilon])[0].values):.1f}"
        assert float(str(former[place["of 1"]])) <= float(str(former[place["near loss, of 10"]]))
    assert set(facts["facts"]) == {"chosen", "held_out"}
    assert "Above the former default" in result.reading


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
    both = mean_of([Estimate(0.2, 0.1, 0.3), Interval(0.4, 0.3, 0.5)])
    assert both.value == pytest.approx(0.3)
    assert both.high - both.low == pytest.approx(0.2 / np.sqrt(2))


def test_inflected_words_count_for_their_base_forms() -> None:
    space = wordveil.load_space("wordnet-poincare")
    chances = word_chances(["two ships and a ship"], space)
    assert chances[space.vocabulary.id("ship")] >= 2 / 3
