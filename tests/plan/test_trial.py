from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.attacks.doubles import texts_of
from tests.plan.desk import tickets
from wordveil.calibration import Maker
from wordveil.errors import InputError, OptionError
from wordveil.io import Reading, make_plan
from wordveil.plan import PROTECTION, ReleasePlan, epsilon_for, plan_release
from wordveil.plan.presets import Protection, choose
from wordveil.plan.survey import survey
from wordveil.plan.trial import ALONE, CONTEXT, RECORDS, Bench, gain_over, gain_within
from wordveil.spaces import EuclideanSpace
from wordveil.stats import Estimate
from wordveil.text import Veil


@pytest.fixture(scope="module")
def bench(desk: Path, make: Maker, small: EuclideanSpace) -> Bench:
    found = survey(make_plan(desk), Reading(("body",)), Veil(make(4.0)), label="category")
    return Bench(found, make, small, is_fast=True)


def test_attackers_find_more_at_a_larger_epsilon(bench: Bench) -> None:
    faint, some, clear = (bench.trial(epsilon) for epsilon in (0.01, 3.0, 60.0))
    assert faint.gain.value <= 0.05
    assert faint.gain.value < some.gain.value < clear.gain.value
    assert clear.kept.value > 0.99
    assert clear.strongest.right.value > 0.99
    assert clear.utility is not None
    assert clear.utility.value > 0.9
    assert faint.utility is not None
    assert faint.utility.value < 0.1
    assert {attack.attacker for attack in some.attacks} == {ALONE, RECORDS}
    assert some.strongest.attacker == RECORDS
    assert bench.floor == some.strongest.floor > some.attacks[0].floor


def test_the_label_is_told_from_clear_text(bench: Bench) -> None:
    clear = bench.trial(60.0).score
    assert clear is not None
    assert clear.value > 0.5
    assert clear.high > 0.9
    confused = bench.trial(0.01).score
    assert confused is not None
    assert confused.value >= 0.0  # what only confuses can be left out


def test_a_label_of_each_record_alone_is_not_told(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    found = survey(make_plan(desk), Reading(("body",)), Veil(make(4.0)), label="ticket_id", sample=200)
    assert Bench(found, make, small, is_fast=True).trial(3.0).score is None


def test_words_that_recur_are_found_more_often_than_once_drawn(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    found = survey(make_plan(desk), Reading(("body",)), Veil(make(4.0)), person="customer")
    often, once = (Bench(found, make, small, is_fast=True, once=one).trial(5.0).repeats for one in (None, "person"))
    assert often is not None
    assert once is not None
    assert often.value > once.high


def replace_floor(bench: Bench, bound: Protection) -> Protection:
    """Return a preset for texts of which much is guessed without the draws."""
    return bound._replace(attacker=bench.floor + (1.0 - bench.floor) * bound.attacker)


def test_a_preset_is_kept_and_a_stronger_one_is_smaller(bench: Bench) -> None:
    bounds = [replace_floor(bench, bound) for bound in PROTECTION.values()]
    chosen = [choose(bench, bound, [1.0, 2.0, 3.0, 4.5]) for bound in bounds]
    assert all(trial is not None and bound.allows(trial) for trial, bound in zip(chosen, bounds, strict=True))
    epsilons = [trial.epsilon for trial in chosen if trial]
    assert epsilons == sorted(epsilons)
    assert choose(bench, Protection(1.0, 0.0), [3.0]) is None
    few = choose(bench, Protection(bench.floor + 0.08, 1.0), [1.0, 2.0, 3.0, 4.5])  # by what is guessed alone
    assert few is not None
    assert few.most <= bench.floor + 0.08


def test_what_is_guessed_without_a_draw_is_guessed_at_every_epsilon(bench: Bench) -> None:
    """Tickets are templates: no ε brings the attacker below what they guess without seeing a draw."""
    assert choose(bench, Protection(bench.floor - 0.01, 1.0), [1.0]) is None


def test_epsilon_for_some_texts(make: Maker, small: EuclideanSpace) -> None:
    texts = texts_of(list(small.vocabulary)[200:], 100, 12, 0)  # unlike tickets, nobody can guess them
    epsilon = epsilon_for(texts, "light", make, small, fast=True)
    assert 0 < epsilon < 5
    assert epsilon == epsilon_for(texts, "light", make, small, fast=True)
    with pytest.raises(OptionError):
        epsilon_for(texts, "perfect", make, small, fast=True)
    for wrong in (texts[:10], [row["reply"] for row in tickets(100)]):
        with pytest.raises(InputError):
            epsilon_for(wrong, "strong", make, small, fast=True)


def test_gains_are_those_over_the_floor() -> None:
    floor = np.array([1, 0, 2, 1] * 20)
    trials = np.full(80, 4)
    assert gain_within(floor, floor, trials).value == 0.0
    assert 0.0 < gain_within(floor, floor, trials).high < 0.1
    assert gain_within(trials, floor, trials).value == 1.0
    some = gain_within(floor + 1, floor, trials)
    assert some.value == pytest.approx(1 / 3)
    assert some.low <= some.value <= some.high
    assert gain_over(Estimate(0.4, 0.3, 0.5), 0.2).value == pytest.approx(0.25)
    assert gain_over(Estimate(0.1, 0.0, 0.15), 0.2).high == 0.0


def plan_of(desk: Path, make: Maker, small: EuclideanSpace, *columns: str, **how: object) -> ReleasePlan:
    return plan_release(make_plan(desk), Reading(columns), make, small, fast=True, **how)  # type: ignore[arg-type]


def test_a_plan_of_one_epsilon(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    found = plan_of(desk, make, small, "body", epsilons=[2.0], person="customer")
    assert [trial.epsilon for trial in found.trials] == [2.0]
    assert found.chosen is not None
    assert found.chosen.repeats is not None
    figures = found.figures()
    assert figures["epsilon"] == 2.0
    assert figures["untouched"] == 2.0
    assert figures["identifiers"] == found.found.left_raw > 300  # those of other columns: in texts they are replaced
    facts = json.dumps(found.to_dict(), allow_nan=False)
    assert "Haddad" not in facts
    assert not math.isnan(found.chosen.gain.value)


def test_macros_are_not_to_be_released(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    found = plan_of(desk, make, small, "reply", epsilons=[2.0])
    assert found.recommendation.epsilon is None
    assert "guessed" in [one.code for one in found.recommendation.of("stop")]


def test_too_large_an_epsilon_is_not_recommended(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    found = plan_of(desk, make, small, "body", epsilons=[30.0])
    assert "gained" in [one.code for one in found.recommendation.of("stop")]


def test_the_network_has_its_say(
    desk: Path, make: Maker, small: EuclideanSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from wordveil.reading.context import Context, Schedule
    from wordveil.reading.network import Size

    monkeypatch.setattr(Context, "size", Size(width=32, heads=2, towers=1, questions=1, words=16))
    monkeypatch.setattr(Context, "schedule", Schedule(least=30, most=30, batch=128, candidates=200))
    found = survey(make_plan(desk), Reading(("body",)), Veil(make(4.0)), sample=60)
    trial = Bench(found, make, small).deepened(6.0)
    assert [attack.attacker for attack in trial.attacks] == [ALONE, RECORDS, CONTEXT]
    assert trial.attacks[2].right.n > 100


def test_only_what_can_be_attacked_is_planned(desk: Path, make: Maker, small: EuclideanSpace) -> None:
    with pytest.raises(OptionError):
        plan_of(desk, make, small, "body", epsilons=[2.0], select="marked")


def test_a_language_that_the_space_does_not_know(tmp_path: Path, make: Maker, small: EuclideanSpace) -> None:
    path = tmp_path / "briefe.txt"
    path.write_text("Der Brief kam gestern nicht an, und niemand weiß, wo er geblieben ist.\n" * 60)
    found = plan_of(path, make, small)
    assert [one.code for one in found.recommendation.of("stop")] == ["coverage"]
    assert not found.trials
