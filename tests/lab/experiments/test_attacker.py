"""The attacker's success is the true one, and the ε of a level is found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import wordveil
from tests.conftest import ALPHA
from wordveil._mechanisms.laws import SampledLaw
from wordveil.calibration import maker
from wordveil.errors import InputError, WordveilError
from wordveil.lab.experiments.attacker import TokenAttacker, matched
from wordveil.lab.tasks import CLASSES, Task, TaskTexts
from wordveil.spaces import EuclideanSpace, Space


def skewed(words: int) -> NDArray[np.float64]:
    chances = 1.0 / (np.arange(words) + 1.0)
    chances[words // 2 :] = 0.0  # words that the text does not have
    return chances / chances.sum()


def word_chances(texts: list[str], space: Space, *, select: str = "all") -> NDArray[np.float64]:
    return TaskTexts([Task("made", CLASSES, (texts,), np.zeros(len(texts)))], space, select=select).chances


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
    attacker = TokenAttacker(maker(name, topics), topics, chances, prior)
    law = wordveil.mechanism(name, topics, epsilon=1.3).law()
    assert law.exact
    rows = law.rows(np.arange(len(topics)))
    weights = chances if prior == "text" else np.full(len(topics), 1 / len(topics))
    assert attacker.success(law).value == pytest.approx((weights[:, None] * rows).max(axis=0).sum(), rel=1e-9)


@pytest.mark.parametrize("prior", ["text", "uniform"])
def test_learnt_success_is_not_flattered_and_close(prior: str, topics: EuclideanSpace) -> None:
    """Against a mechanism whose best success is known, through a law that learns it from draws."""
    attacker = TokenAttacker(maker("exponential", topics), topics, skewed(len(topics)), prior, draws=20_000)
    made = wordveil.mechanism("exponential", topics, epsilon=0.9)
    exact = attacker.success(made.law()).value
    learnt = attacker.success(SampledLaw(made, attacker.meter().effort))
    slack = norm.isf(ALPHA) * learnt.error
    assert learnt.value <= exact + slack
    assert learnt.value >= 0.93 * exact - slack


def test_noise_that_keeps_everything_is_seen_through(topics: EuclideanSpace) -> None:
    attacker = TokenAttacker(maker("laplace", topics), topics, skewed(len(topics)), draws=5000)
    loud, quiet = attacker.meter().laws([500.0, 1e-3])
    assert not loud.exact
    assert attacker.success(loud).value > 0.999
    assert attacker.kept(loud) > 0.999
    assert attacker.success(quiet).value == pytest.approx(attacker.floor, abs=0.05)
    assert attacker.kept(quiet) < 0.1


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


def test_inflected_words_count_for_their_base_forms() -> None:
    space = wordveil.load_space("wordnet-poincare")
    chances = word_chances(["two ships and a ship"], space)
    assert chances[space.vocabulary.id("ship")] >= 2 / 3


def test_a_level_that_no_epsilon_reaches_is_given_up_soon() -> None:
    asked: list[float] = []

    def success(epsilon: float) -> float:
        asked.append(epsilon)
        return 0.4 + 0.5 * epsilon / (epsilon + 50.0)  # as where groups of words are told apart at every ε

    assert matched(success, [0.25], start=5.0) == {0.25: None}
    assert len(asked) < 9
    assert matched(success, [0.5], start=5.0)[0.5] is not None
