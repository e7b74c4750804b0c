from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.attacks.doubles import Bare, Blank, Table, random_rows, texts_of
from tests.conftest import ALPHA, make_poincare, make_space, names
from wordveil._mechanisms import mechanism
from wordveil.attacks import Prior, Words, attack_words, words_of
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary


def zipf(words: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = 1.0 / (1.0 + np.arange(words))
    return weights / weights.sum()


def text(space: EuclideanSpace, count: int = 300, seed: int = 0) -> Words:
    words = space.vocabulary.words
    return words_of(texts_of(words, count, 10, seed, zipf(len(words))), space.vocabulary, "all")


def test_words_are_looked_up_as_a_veil_does(toy: EuclideanSpace) -> None:
    first, second = toy.vocabulary.words[:2]
    found = words_of([f"The {first.upper()}, unknownish {second}!", "", f"{second} {first}"], toy.vocabulary)
    assert found.ids.tolist() == [-1, 0, -1, 1, 1, 0]
    assert found.hidden.tolist() == [False, True, True, True, True, True]
    assert found.targets.tolist() == [1, 3, 4, 5]
    assert [(run.start, run.stop) for run in found.runs()] == [(1, 2), (3, 4), (4, 6)]
    assert words_of([], toy.vocabulary).runs() == []


def test_a_prior_of_a_reference_text_is_its_frequencies() -> None:
    space = make_space(6, 3)
    a, b, *_ = names(6)
    prior = Prior.of(words_of([f"{a} {a} {a} {b}"], space.vocabulary), space)
    assert np.exp(prior.logs).tolist() == pytest.approx([3.5 / 7, 1.5 / 7, *[0.5 / 7] * 4])
    assert prior.likeliest == 0
    few = Prior.of(words_of([f"{b} {b} {a}"], space.vocabulary), space, words=2)
    assert few.ids.tolist() == [0, 1]
    more = few.including(np.array([4, 1]))
    assert more.ids.tolist() == [0, 1, 4]
    assert np.exp(more.logs).tolist() == pytest.approx([1.5 / 4.5, 2.5 / 4.5, 0.5 / 4.5])
    visible = words_of([f"the {a}"], Vocabulary(["the", a, b]))
    known = Prior.of(visible, EuclideanSpace("three", Vocabulary(["the", a, b]), space.matrix[:3]))
    assert known.ids.tolist() == [1, 2]  # the veil leaves "the" alone, so that nothing hidden can be it
    assert known.including(np.array([0])).ids.tolist() == [1, 2]
    three = EuclideanSpace("three", Vocabulary(["the", a, b]), space.matrix[:3])
    assert Prior.named("uniform", three, select="content").ids.tolist() == [1, 2]
    with pytest.raises(InputError):
        Prior.of(words_of(["the"], Vocabulary(["the"])), EuclideanSpace("one", Vocabulary(["the"]), space.matrix[:1]))
    assert np.exp(Prior.named("uniform", space).logs) == pytest.approx(np.full(6, 1 / 6))
    with pytest.raises(OptionError):
        Prior.named("best", space)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_guesses_are_those_of_brute_force(seed: int) -> None:
    space = make_space(9, 2, seed=seed)
    made = Table(space, random_rows(9, seed))
    words = text(space, 200, seed)
    prior = Prior.of(words, space, words=3)
    found = attack_words(made, words, prior, tokens=400, once=False, entropy=Entropy(seed))

    _, veiling, choosing = Entropy(seed).spawn(3)
    originals = words.ids[np.sort(choosing.generator.permutation(words.targets)[:400])]
    outputs = made.draw(originals, veiling)
    prior = prior.including(outputs)
    joint = np.exp(prior.logs)[:, None] * made.table[prior.ids]
    distances = space.distances(np.arange(9))
    best = prior.ids[[int(np.argmax(joint[:, y])) for y in outputs]]
    central = prior.ids[[int(np.argmin(distances[np.ix_(prior.ids, prior.ids)] @ joint[:, y])) for y in outputs]]
    assert found.exact
    assert found.best.value == pytest.approx((best == originals).mean())
    assert found.central.value == pytest.approx((central == originals).mean())
    assert found.kept.value == pytest.approx((outputs == originals).mean())
    assert found.best_distance.value == pytest.approx(distances[best, originals].mean(), rel=1e-5)
    assert found.central_distance.value == pytest.approx(distances[central, originals].mean(), rel=1e-5)
    assert found.beyond.value == pytest.approx((~np.isin(originals, prior.ids)).mean())
    assert found.central_distance.value <= found.best_distance.value + 0.1


def test_equal_words_of_a_record_have_one_draw() -> None:
    """Of one record with one word, drawn once, all places are found or none; drawn each time, some are."""
    space = make_space(20, 2, seed=1)
    made, words = mechanism("graph", space, epsilon=2.0), np.full(400, 3)
    everywhere = Words(words, words > 0, words, record=np.zeros(400, dtype=np.int64))
    prior = Prior.named("uniform", space)
    kept = [
        attack_words(made, everywhere, prior, tokens=400, once=one, entropy=Entropy(1)).kept for one in (True, False)
    ]
    assert kept[0].value in {0.0, 1.0}
    assert 0.0 < kept[1].value < 1.0
    assert kept[0].high - kept[0].low > 0.5  # one draw says little


def test_words_released_as_they_are_are_all_found(toy: EuclideanSpace) -> None:
    words = text(toy)
    found = attack_words(Bare(toy), words, Prior.of(words, toy), draws=5000, entropy=Entropy(0))
    assert (found.best.value, found.central.value, found.kept.value) == (1.0, 1.0, 1.0)
    assert found.best_distance.value == 0.0


def test_words_that_were_replaced_blindly_are_not_found(toy: EuclideanSpace) -> None:
    words = text(toy)
    found = attack_words(Blank(toy), words, Prior.of(words, toy), tokens=3000, draws=20_000, entropy=Entropy(0))
    # nothing beats guessing the likeliest word; a guess that was learnt from chance patterns does a little worse
    assert found.best.low <= found.blind.value
    uniform = attack_words(Blank(toy), words, Prior.named("uniform", toy), tokens=3000, entropy=Entropy(1))
    assert uniform.best.value < 0.06  # the chance is one in sixty, and frequent words are no more often guessed


def test_a_learnt_guess_is_no_better_than_the_best_and_near_it() -> None:
    space = make_space(30, 3, seed=7)
    made = mechanism("graph", space, epsilon=2.0)
    words = text(space, 2000, 3)
    prior = Prior.of(words, space)
    exact = attack_words(made, words, prior, tokens=10_000, entropy=Entropy(4))

    class Concealed(Blank):
        draw = made.draw

    learnt = attack_words(Concealed(space), words, prior, tokens=10_000, draws=100_000, entropy=Entropy(4))
    assert not learnt.exact
    assert exact.best.value - 0.02 < learnt.best.value <= exact.best.value + 4 * np.sqrt(0.25 / 10_000)
    assert exact.best.value > exact.kept.value


def test_the_attack_works_on_hyperbolic_words() -> None:
    space = make_poincare(30, 2)
    made = mechanism("exponential", space, epsilon=1.0)
    words = words_of(texts_of(space.vocabulary.words, 50, 8, 0), space.vocabulary, "all")
    found = attack_words(made, words, Prior.named("frequency", space), tokens=200, entropy=Entropy(0))
    assert 0.0 < found.best.value < 1.0
    assert found.to_dict()["best"]["n"] == 200


def test_a_text_without_known_words_is_refused(toy: EuclideanSpace) -> None:
    with pytest.raises(InputError):
        attack_words(Bare(toy), words_of(["nothing known here"], toy.vocabulary), Prior.named("uniform", toy))


@pytest.mark.parametrize("name", ["graph", "exponential"])
@pytest.mark.parametrize("prior", ["uniform", "frequency"])
def test_the_best_guess_succeeds_as_often_as_the_law_says(name: str, prior: str) -> None:
    space = make_space(50, 4, seed=11)
    believed = Prior.named(prior, space)
    drawn = np.random.default_rng(0).choice(50, 20_000, p=np.exp(believed.logs))
    words = Words(drawn, np.ones(20_000, dtype=np.bool_), np.zeros(20_000, dtype=np.int64))
    made = mechanism(name, space, epsilon=1.5)
    found = attack_words(made, words, believed, tokens=20_000, once=False, entropy=Entropy(1))
    known = made.law().best_guess(np.exp(believed.logs)).success
    assert known.low == known.high
    assert binomtest(round(found.best.value * 20_000), 20_000, known.low).pvalue > ALPHA


def test_few_draws_are_eked_out_by_what_draws_do_on_the_whole() -> None:
    space = make_space(150, 4, seed=12)
    made = mechanism("exponential", space, epsilon=3.0)

    class Concealed(Blank):
        draw = made.draw

    words = text(space, 500, 1)
    prior = Prior.of(words, space)
    exact = attack_words(made, words, prior, tokens=5000, entropy=Entropy(2))
    learnt = attack_words(Concealed(space), words, prior, tokens=5000, draws=1000, entropy=Entropy(2))
    counted = _by_counts_alone(made, words, prior, Entropy(2))
    assert counted < learnt.best.low
    assert exact.best.value - 0.02 < learnt.best.value <= exact.best.high


def _by_counts_alone(made: Any, words: Words, prior: Prior, entropy: Entropy) -> float:
    """Guess the word that gave an output most often in as many draws, with nothing to fall back on."""
    learning, veiling, choosing = entropy.spawn(3)
    place = np.repeat(np.arange(150), np.maximum(2, np.ceil(1000 * np.exp(prior.logs))).astype(np.int64))
    counts = np.zeros((150, 150))
    np.add.at(counts, (place, made.draw(place, learning)), 1)
    originals = words.ids[np.sort(choosing.generator.permutation(words.targets)[:5000])]
    return float((counts.argmax(axis=0)[made.draw(originals, veiling)] == originals).mean())
