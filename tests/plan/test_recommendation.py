"""Every rule says what it should, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wordveil.plan.columns import Column
from wordveil.plan.presets import PROTECTION
from wordveil.plan.recommendation import RULES, Recommendation, recommend
from wordveil.plan.records import People, Records
from wordveil.plan.survey import Survey
from wordveil.plan.trial import ALONE, Attack, Trial
from wordveil.stats import Estimate

TEXT = Column("note", "text", 100, 0, 100, 20.0, "en", 0.95, 0.1, 0.0, {})
RECORDS = Records(100, 2000, 900, 0.0, 1.0, 0.1, 0.05, is_exact=True)
TRIAL = Trial(
    3.0,
    Estimate(0.01, 0.0, 0.02),
    (Attack(ALONE, Estimate(0.1, 0.08, 0.12), 0.05, Estimate(0.05, 0.03, 0.08)),),
    None,
    Estimate(0.4, 0.3, 0.5),
    None,
)


def advised(
    *columns: Column, trial: Trial | None = TRIAL, floor: float = 0.05, chosen: tuple[str, ...] = ("note",), **of: Any
) -> Recommendation:
    found = Survey(list(columns) or [TEXT], chosen, of.pop("records", RECORDS), of.pop("people", None), [], [], 0)
    return recommend(found, trial, floor=floor, protect="balanced", is_fast=False, **of)


def codes(recommendation: Recommendation) -> set[tuple[str, str]]:
    return {(one.kind, one.code) for one in recommendation.advice}


def test_what_is_fine_is_released_without_a_word() -> None:
    found = advised()
    assert found.epsilon == 3.0
    assert not found.advice
    assert found.once == "record"


@pytest.mark.parametrize(
    ("found", "kind", "code"),
    [
        (advised(replace(TEXT, coverage=RULES.least_coverage - 0.01)), "stop", "coverage"),
        (advised(replace(TEXT, coverage=RULES.poor_coverage - 0.01)), "first", "coverage"),
        (advised(floor=PROTECTION["balanced"].attacker + 0.01), "stop", "guessed"),
        (advised(trial=None), "stop", "no_epsilon"),
        (advised(trial=None, records=replace(RECORDS, veiled=0)), "stop", "nothing"),
        (
            advised(trial=replace(TRIAL, attacks=(replace(TRIAL.attacks[0], gain=Estimate(0.2, 0.1, 0.3)),))),
            "stop",
            "gained",
        ),
        (
            advised(trial=replace(TRIAL, attacks=(replace(TRIAL.attacks[0], right=Estimate(0.3, 0.2, 0.41)),))),
            "stop",
            "gained",
        ),
        (advised(trial=None, enough=False), "stop", "few"),
        (advised(trial=None, tried=[TRIAL]), "stop", "unsure"),  # only the intervals were too wide
        (
            advised(
                trial=None, tried=[replace(TRIAL, attacks=(Attack(ALONE, Estimate(0.3, 0, 1), 0.05, TRIAL.gain),))]
            ),
            "stop",
            "no_epsilon",
        ),
        (advised(replace(TEXT, kind="number"), trial=None, chosen=()), "stop", "nothing"),
        (advised(trial=replace(TRIAL, utility=Estimate(0.0, -0.1, 0.04))), "stop", "useless"),
        (advised(TEXT, replace(TEXT, name="other")), "first", "untouched"),
        (advised(TEXT, replace(TEXT, name="who", kind="name-like")), "first", "personal"),
        (advised(replace(TEXT, identifiers={"EMAIL": 3})), "note", "identifiers"),
        (advised(replace(TEXT, templated=RULES.templated + 0.01)), "first", "templated"),
        (advised(records=replace(RECORDS, recurring=RULES.recurring + 0.01), once=None), "first", "recurring"),
        (advised(records=replace(RECORDS, singled_out=RULES.singled_out + 0.01)), "note", "singled_out"),
        (advised(replace(TEXT, language="de")), "note", "language"),
        (advised(has_label=True), "note", "label"),
    ],
)
def test_each_rule(found: Recommendation, kind: str, code: str) -> None:
    assert codes(found) == {(kind, code)}
    assert (found.epsilon is None) == (kind == "stop")


def test_a_label_says_more_than_vectors() -> None:
    useless, useful = Estimate(0.0, -0.1, 0.04), Estimate(0.5, 0.4, 0.6)
    assert advised(trial=replace(TRIAL, utility=useless, score=useful)).epsilon == 3.0
    chance = Estimate(0.5, -0.4, 1.4)  # which a label may have by chance
    assert advised(trial=replace(TRIAL, utility=useless, score=chance)).epsilon is None


@pytest.mark.parametrize("kind", ["AMOUNT", "MARKUP"])
def test_amounts_and_tags_are_no_identifiers(kind: str) -> None:
    assert not advised(replace(TEXT, identifiers={kind: 3})).advice


def test_words_of_a_person_are_drawn_once_for_the_person() -> None:
    people = People(10, 10.0, 0.9, 4.0, 12)
    assert advised(people=people).once == "person"
    assert advised(people=people, once="file").once == "file"
    assert advised(records=replace(RECORDS, recurring=0.9), once=None).once == "record"
    assert advised(once=None).once is None
