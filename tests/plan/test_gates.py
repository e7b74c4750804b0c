from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import OptionError
from wordveil.plan.gates import FIGURES, Gate, check
from wordveil.stats import Estimate


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("attacker<=0.2", Gate("attacker", "<=", 0.2)),
        (" coverage >= 80% ", Gate("coverage", ">=", 0.8)),
        ("identifiers==0", Gate("identifiers", "=", 0.0)),
        ("gain<.05", Gate("gain", "<", 0.05)),
    ],
)
def test_conditions_are_read(text: str, gate: Gate) -> None:
    assert Gate.parse(text) == gate
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    "text", ["", "attacker", "attacker<=", "attacker<=x", "nothing<=1", "attacker<=1;gain<=1", "__import__('os')",
             "attacker<=1e9", "attacker<=-1", "attacker!=0", "attacker<=0.2 or 1"],
)  # fmt: skip
def test_whatever_else_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        Gate.parse(text)


@given(st.text(max_size=30))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        gate = Gate.parse(text)
    except OptionError:
        return
    assert gate.figure in FIGURES


def test_an_estimate_counts_by_the_end_that_speaks_against_it() -> None:
    figure = Estimate(0.19, 0.15, 0.23)
    assert not Gate.parse("attacker<=0.2").verdict(figure).is_met
    assert Gate.parse("attacker<=0.23").verdict(figure).is_met
    assert not Gate.parse("utility>=0.17").verdict(figure).is_met
    assert Gate.parse("utility>=0.15").verdict(figure).is_met


def test_what_was_not_measured_is_not_met() -> None:
    verdict = check([Gate.parse("score>=0")], {})[0]
    assert not verdict.is_met
    assert verdict.to_dict() == {"require": "score>=0", "value": None, "met": False}
