"""What several draws of a word give away, held against enumeration of small channels."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from tests.attacks.doubles import Bare, Blank, Table, random_rows
from tests.conftest import ALPHA, FLAT, make_poincare, make_space, names
from wordveil._mechanisms import MECHANISMS, Mechanism, mechanism
from wordveil.attacks import Prior, RepeatAttack, Words, attack_repeats, words_of
from wordveil.attacks.context import SURE
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Ids, Rows
from wordveil.stats import Estimate

WORDS = 7
TRIALS = 20_000


def enumerated(table: NDArray[np.float64], prior: NDArray[np.float64], times: int) -> tuple[float, float, float]:
    """Try all outcomes; return how often the best guess is right, how often it is sure, and right when sure."""
    right = sure = both = 0.0
    for outputs in product(range(len(table)), repeat=times):
        joint = prior * table[:, outputs].prod(axis=1)
        right += joint.max()
        if joint.max() >= SURE * joint.sum():
            sure += joint.sum()
            both += joint.max()
    return right, sure, both / sure if sure else math.nan


def agrees(found: Estimate, expected: float) -> bool:
    """Say whether a share of independent trials may be due to chance."""
    return binomtest(round(found.value * found.n), found.n, min(1.0, expected)).pvalue > ALPHA


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("prior", ["uniform", "frequency"])
def test_success_is_that_of_enumeration(seed: int, prior: str) -> None:
    space = make_space(WORDS, 3, seed=seed)
    made, believed = Table(space, random_rows(WORDS, seed)), Prior.named(prior, space)
    found = attack_repeats(made, None, believed, times=(1, 2, 3), tokens=TRIALS, entropy=Entropy(seed))
    assert found.exact
    assert [one.times for one in found.words] == [1, 2, 3]
    for one in found.words:
        right, sure, right_when_sure = enumerated(made.table, np.exp(believed.logs), one.times)
        assert agrees(one.found, right)
        assert agrees(one.sure, sure)
        if one.right_when_sure.n:
            assert agrees(one.right_when_sure, right_when_sure)
        else:
            assert math.isnan(one.right_when_sure.value)
        assert one.found.n == TRIALS
    assert found.blind.value < found.words[0].found.value < found.words[1].found.value < found.words[2].found.value
    assert found.beyond.value == 0.0


def test_the_guess_is_the_likeliest_word_of_all_the_evidence() -> None:
    space = make_space(WORDS, 3)
    made, believed = Table(space, random_rows(WORDS, 5)), Prior.named("frequency", space)
    words = text_of(space, [[0, 1, 2, 3, 1], [4, 4, 4, 5, 6]])
    found = attack_repeats(made, words, believed, times=(4,), entropy=Entropy(3))
    _, veiling, choosing = Entropy(3).spawn(3)
    places = np.sort(choosing.generator.permutation(words.targets))
    originals = np.concatenate([words.ids[places], [1, 4]])
    outputs = made.draw(np.repeat(originals, 4), veiling).reshape(-1, 4)
    joint = np.log(made.table)[:, outputs].sum(axis=2) + believed.logs[:, None]
    right = joint.argmax(axis=0) == originals
    assert found.words[0].found.value == pytest.approx(right[:10].mean())
    assert found.names[0].found.value == pytest.approx(right[10:].mean())
    # the words that recur stand at 2 and 3 places of their records
    assert found.places == 2.5
    linked = [np.log(made.table)[:, outputs[row, :n]].sum(axis=1) + believed.logs for row, n in ((10, 2), (11, 3))]
    assert found.linked.value == np.mean([linked[0].argmax() == 1, linked[1].argmax() == 4])


def test_more_draws_find_more(toy: EuclideanSpace) -> None:
    made, believed = mechanism("graph", toy, epsilon=1.0), Prior.named("frequency", toy)
    found = attack_repeats(made, None, believed, times=(20, 1, 5, 2, 2), tokens=3000, entropy=Entropy(0))
    assert [one.times for one in found.words] == [1, 2, 5, 20]
    for less, more in zip(found.words[:-1], found.words[1:], strict=True):
        assert less.found.value < more.found.value
        assert less.sure.value <= more.sure.value
    assert agrees(found.words[0].found, made.law().best_guess(np.exp(believed.logs)).success.value)


def test_words_released_as_they_are_are_found_at_once(toy: EuclideanSpace) -> None:
    words = text_of(toy, [[0, 1, 1], [2, 3, 3, 3]])
    found = attack_repeats(Bare(toy), words, Prior.named("uniform", toy), draws=5000, entropy=Entropy(0))
    assert {one.found.value for one in (*found.words, *found.names)} == {1.0}
    assert found.linked.value == 1.0
    assert found.revealed.value == pytest.approx(found.uncertainty, rel=0.05)
    assert found.uncertainty == pytest.approx(math.log2(len(toy)))


@pytest.mark.parametrize("prior", ["uniform", "frequency"])
def test_words_replaced_blindly_stay_hidden_however_often_they_are_drawn(toy: EuclideanSpace, prior: str) -> None:
    believed = Prior.named(prior, toy)
    blind = Table(toy, np.full((len(toy), len(toy)), 1.0 / len(toy)))
    found = attack_repeats(blind, None, believed, tokens=5000, entropy=Entropy(0))
    assert found.revealed.value == pytest.approx(0.0, abs=1e-9)
    for one in found.words:
        assert agrees(one.found, float(np.exp(believed.logs).max()))
        assert one.sure.value == 0.0
        assert math.isnan(one.right_when_sure.value)
    learnt = attack_repeats(Blank(toy), None, believed, tokens=2000, draws=50_000, entropy=Entropy(0))
    assert not learnt.exact
    assert learnt.words[-1].found.low < np.exp(believed.logs).max()
    assert learnt.revealed.value < 0.1


def test_a_learnt_attacker_comes_near_the_best(toy: EuclideanSpace) -> None:
    made, believed = mechanism("graph", toy, epsilon=2.0), Prior.named("frequency", toy)

    class Concealed(Blank):
        draw = made.draw

    exact, learnt = (
        attack_repeats(one, None, believed, tokens=3000, draws=100_000, entropy=Entropy(2))
        for one in (made, Concealed(toy))
    )
    for best, near in zip(exact.words, learnt.words, strict=True):
        assert best.found.value - 0.03 < near.found.value <= best.found.high
    assert exact.revealed.value - 0.25 < learnt.revealed.value < exact.revealed.value + 0.1
    assert learnt.revealed.low < learnt.revealed.value < learnt.revealed.high


def tiny(space: Space, name: str) -> RepeatAttack:
    made: Mechanism[Space] = mechanism(name, space, epsilon=40.0)
    words = text_of(space, [[0, 1, 1, 2], [3, 4, 5]])
    believed = Prior.named("frequency", space)
    return attack_repeats(made, words, believed, times=(1, 2), draws=2000, entropy=Entropy(0))


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_mechanism_can_be_attacked(name: str) -> None:
    found = tiny(make_space(30, 3) if name in FLAT else make_poincare(30), name)
    assert 0.0 <= found.words[0].found.value <= 1.0
    assert found.names[1].found.n == 1
    assert 0.0 <= found.revealed.value <= found.uncertainty * 1.05
    facts = found.to_dict()
    assert facts["words"][1]["times"] == 2
    assert facts["revealed"]["value"] == found.revealed.value


def test_all_texts_of_a_person_are_one_record(toy: EuclideanSpace) -> None:
    a, b, c = names(3)
    words = words_of([f"{a} {b}", f"{b} {c}", f"{a} {c}"], toy.vocabulary)
    apart = attack_repeats(Bare(toy), words, Prior.named("uniform", toy), times=(1,), draws=500, entropy=Entropy(0))
    assert apart.names == ()
    assert math.isnan(apart.linked.value)
    assert apart.to_dict()["places"] is None
    joined = words.grouped(np.array([0, 1, 0]))
    found = attack_repeats(Bare(toy), joined, Prior.named("uniform", toy), times=(1,), draws=500, entropy=Entropy(0))
    assert (found.names[0].found.n, found.places) == (1, 2.0)


def test_words_that_are_no_suspects_are_told_and_lost() -> None:
    space = make_space(6, 3)

    class Sealed(Table):
        def log_weights(self, ids: Ids) -> Rows:
            return np.where(self.table[ids] > 0, 0.0, -1e5)  # nothing leaves its pair

    sealed = Sealed(space, np.kron(np.eye(3), np.full((2, 2), 0.5)))
    believed = Prior("two words", np.array([0, 1]), np.array([0.0, 0.0, *[-np.inf] * 4]))
    found = attack_repeats(sealed, text_of(space, [[4, 5, 0]]), believed, times=(1, 3), entropy=Entropy(0))
    assert found.beyond.value == pytest.approx(2 / 3)
    assert found.words[1].found.value == found.blind.value == pytest.approx(1 / 3)  # 0, of two that are alike
    assert found.words[1].sure.value == 0.0
    assert found.suspects == 2


@pytest.mark.parametrize("times", [(), (0,), (1, -2), (101,)])
def test_numbers_of_draws_that_make_no_sense_are_refused(toy: EuclideanSpace, times: tuple[int, ...]) -> None:
    with pytest.raises(OptionError):
        attack_repeats(Bare(toy), None, Prior.named("uniform", toy), times=times)


def test_nothing_to_attack_is_refused(toy: EuclideanSpace) -> None:
    believed = Prior.named("uniform", toy)
    with pytest.raises(InputError):
        attack_repeats(Bare(toy), words_of(["nothing known here"], toy.vocabulary), believed)
    with pytest.raises(OptionError):
        attack_repeats(Bare(toy), None, believed, tokens=0)


def text_of(space: Space, records: list[list[int]]) -> Words:
    words = space.vocabulary.words
    return words_of([" ".join(words[i] for i in record) for record in records], space.vocabulary, "all")
