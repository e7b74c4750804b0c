"""What attackers got in advance: who reads the curves, and what is said from them."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordveil
from tests.conftest import make_space
from wordveil._mechanisms import MECHANISMS, attackers
from wordveil._mechanisms.attackers import AttackCurve, Figure, attack_curve
from wordveil.calibration import Effort, Target, calibrate, maker, meter_for, solve, span_of, strongest
from wordveil.guarantee import Notion
from wordveil.stats import Estimate

WHO = {
    "alone": {"attacker": "an attacker who looks at one word", "on": "speeches", "uses_context": False},
    "context": {"attacker": "an attacker with context", "on": "speeches", "uses_context": True},
}
SPACE = make_space(120, 5, seed=51)


def row(value: float) -> list[float]:
    return [value, 0.9 * value, min(1.0, 1.1 * value), 500]


def point(epsilon: float, alone: float, context: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "success": {"alone": row(alone), "context": row(context)},
        "stayed": row(0.7),
        "bits": epsilon,
        "repeats": {"1": row(alone), "10": row(min(1.0, 5 * alone))},
    }


def made(*points: dict[str, Any]) -> AttackCurve:
    return AttackCurve({"options": {}, "checksum": "", "words": 64, "points": list(points)}, WHO)


@pytest.fixture
def curve_of_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A curve of `graph` on a small space, as if it had been measured, and the same of `laplace`."""
    points = [point(0.5, 0.05, 0.1), point(2.0, 0.1, 0.3), point(8.0, 0.6, 0.9)]
    curves = {}
    for name in ("graph", "laplace"):
        told = wordveil.mechanism(name, SPACE, epsilon=1.0).describe()
        own = {"options": told["options"], "checksum": told["space"]["checksum"], "words": len(SPACE)}
        curves[name] = {**own, "points": points}
    path = tmp_path / "attackers.json"
    path.write_text(json.dumps({"attackers": WHO, "curves": {"small": curves}}))
    monkeypatch.setattr(attackers, "CURVES", path)
    attackers._shipped.cache_clear()
    attackers.named_curve.cache_clear()
    yield
    attackers._shipped.cache_clear()
    attackers.named_curve.cache_clear()


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6), st.data())
def test_success_never_falls_and_the_strongest_is_no_weaker_than_any(
    found: list[tuple[float, float]], data: st.DataObject
) -> None:
    curve = made(*(point(1.0 + place, *pair) for place, pair in enumerate(found)))
    inside = st.floats(1.0, float(len(found)))
    first, second = sorted([data.draw(inside), data.draw(inside)])
    one, other = curve.at(first), curve.at(second)
    assert one is not None
    assert other is not None
    assert one.strongest.value <= other.strongest.value + 1e-12
    assert one.strongest.value == max(figure.value for figure in one.figures)
    assert one.strongest.low <= one.strongest.value + 1e-12
    assert one.strongest.value <= one.strongest.high + 1e-12


@given(st.floats(0.01, 0.99))
def test_the_largest_epsilon_for_a_bound_meets_it(bound: float) -> None:
    curve = made(point(1.0, 0.02, 0.05), point(2.0, 0.1, 0.3), point(8.0, 0.4, 0.8))
    found = curve.largest(bound)
    assert found == 0.0 or max(figure.high for figure in curve.at(found).figures) <= bound + 1e-9  # type: ignore[union-attr]
    assert found <= 8.0


def test_an_attacker_who_was_tried_at_some_epsilons_only_counts_there() -> None:
    points = [point(1.0, 0.02, 0.05), point(2.0, 0.1, 0.3), point(4.0, 0.2, 0.5), point(8.0, 0.4, 0.8)]
    for one in (points[0], points[-1]):
        del one["success"]["context"]
    curve = made(*points)
    names = {epsilon: curve.at(epsilon).strongest for epsilon in (1.5, 3.0, 8.0)}  # type: ignore[union-attr]
    assert not names[1.5].uses_context
    assert names[3.0].value == pytest.approx(0.4)
    assert names[8.0].value == pytest.approx(0.5), "more is found at a larger ε, never less"
    assert curve.largest(0.2) == 1.0, "where the stronger one was not tried, nothing is known of them"
    assert 2.0 < curve.largest(0.4) < 4.0
    assert curve.largest(0.9) == 8.0


def test_nothing_is_said_outside_what_was_measured(curve_of_graph: None) -> None:
    graph = wordveil.mechanism("graph", SPACE, epsilon=2.0)
    assert strongest(graph) == Figure(0.3, pytest.approx(0.27), pytest.approx(0.33), **WHO["context"])  # type: ignore[arg-type]
    assert strongest(graph, epsilon=0.4) is None
    assert strongest(graph, epsilon=9.0) is None
    assert strongest(wordveil.mechanism("graph", SPACE, epsilon=2.0, k=5)) is None
    assert strongest(wordveil.mechanism("graph", make_space(120, 5, seed=52), epsilon=2.0)) is None
    assert strongest(wordveil.mechanism("exponential", SPACE, epsilon=2.0)) is None


def test_the_target_is_met_by_the_strongest_attacker(curve_of_graph: None) -> None:
    meter = meter_for(maker("graph", SPACE), SPACE)
    span = span_of(meter)
    alone = solve(meter, Target("adversary-frequency", 0.2), span)
    found = solve(meter, Target("attacker", 0.2), span)
    assert meter.curve is not None
    assert found == min(alone, meter.curve.largest(0.2))
    measured = meter.measure([found])[0]
    assert Target("attacker", 0.2).value(measured) <= 0.2
    assert measured.strongest.value == max(figure.value for figure in measured.attackers)


@pytest.mark.parametrize("bound", [0.12, 0.2, 0.6])
def test_a_curve_bounds_the_search_where_the_attacker_without_context_is_learnt(
    bound: float, curve_of_graph: None
) -> None:
    meter = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=50, adversary_draws=50))
    span = span_of(meter)
    assert meter.curve is not None
    alone = solve(meter, Target("adversary-frequency", bound), span)
    assert solve(meter, Target("attacker", bound), span) == min(alone, meter.curve.largest(bound))


def test_texts_of_ones_own_count_where_they_give_away_more(curve_of_graph: None) -> None:
    meter = meter_for(maker("graph", SPACE), SPACE)
    tried: list[float] = []

    def attack(mechanism: wordveil.Mechanism[Any]) -> Estimate:
        tried.append(mechanism.epsilon)
        return Estimate.exactly(min(1.0, mechanism.epsilon))

    found = calibrate(meter, targets=[Target("attacker", 0.2)], points=3, attack=attack)
    assert found.recommended is not None
    assert 0.18 <= found.recommended <= 0.2
    assert len(tried) == len(set(tried)), "an attack takes minutes: once at each ε"
    at = found.at(found.recommended)
    assert at.own is not None
    assert at.strongest.on == "your texts"
    assert any("your texts" in sentence for sentence in found.advice())
    facts = json.loads(json.dumps(found.to_dict()))
    assert [one["strongest"]["on"] for one in facts["measurements"] if one["epsilon"] == found.recommended] == [
        "your texts"
    ]


def test_without_a_curve_it_is_said_that_context_raises_the_figure() -> None:
    other = make_space(60, 4, seed=7)
    found = calibrate(meter_for(maker("graph", other), other), [2.0])
    facts = found.to_dict()["measurements"][0]
    assert facts["strongest"]["uses_context"] is False
    assert facts["strongest"]["value"] == pytest.approx(facts["adversary"]["frequency"]["value"])
    assert any("Context raises" in sentence for sentence in facts["meaning"])
    assert 0.0 < facts["bits"] < np.log2(60)


def test_the_report_names_the_strongest_attacker(curve_of_graph: None) -> None:
    text = " ".join(SPACE.vocabulary.take(np.arange(5)))
    veil = wordveil.Veil(wordveil.mechanism("graph", SPACE, epsilon=2.0), select="all")
    report = veil.report(veil(text))
    assert report["attackers"]["strongest"]["attacker"] == WHO["context"]["attacker"]
    assert any(sentence.startswith("An attacker with context guesses 30%") for sentence in report.sentences())
    marked = wordveil.Veil(wordveil.mechanism("graph", SPACE, epsilon=2.0), select="marked")
    assert any("easier to guess" in sentence for sentence in report.sentences())
    assert any("help an attacker" in one for one in marked.report(marked(f"[[{text}]]")).sentences())
    seeded = wordveil.Veil(wordveil.mechanism("graph", SPACE, epsilon=2.0), select="all", seed=1)
    assert seeded.report(seeded(text))["attackers"]["strongest"] is None, "whoever has the seed knows every word"


def test_the_curves_that_come_with_the_package_are_of_the_mechanisms_as_they_are_now() -> None:
    shipped = json.loads(attackers.CURVES.read_text(encoding="utf-8"))
    assert "graph" in shipped["curves"]["glove-50k"]
    for space, curves in shipped["curves"].items():
        opened = wordveil.load_space(space)
        for name, told in curves.items():
            assert name in MECHANISMS
            one = wordveil.mechanism(name, opened, epsilon=told["points"][-1]["epsilon"])
            assert one.guarantee.notion is not Notion.NONE
            assert attack_curve(one) is not None, f"measure it again: python tools/build_attackers.py {space}:{name}"
            epsilons = [at["epsilon"] for at in told["points"]]
            assert epsilons == sorted(set(epsilons))
            rows = [row for at in told["points"] for row in (*at["success"].values(), *at["repeats"].values())]
            assert all(0.0 <= low <= value <= high <= 1.0 for value, low, high, _ in rows)
            assert all(at["bits"] is None or 0.0 <= at["bits"] <= np.log2(len(opened)) for at in told["points"])


@pytest.mark.parametrize("document", ["README.md", "docs/choosing-epsilon.md"])
def test_the_documents_quote_the_curves_that_come_with_the_package(document: str) -> None:
    root = Path(__file__).parent.parent.parent
    tool = runpy.run_path(str(root / "tools" / "build_attackers.py"))
    text = (root / document).read_text(encoding="utf-8")
    assert "written by tools/build_attackers.py" in text
    assert tool["filled"](text) == text, "write its tables again: python tools/build_attackers.py --documents"


def test_the_epsilon_of_the_examples_keeps_four_words_in_five_from_the_strongest_attacker() -> None:
    found = strongest(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4.0))
    assert found is not None
    assert found.value < 0.2, "choose the ε of the examples anew: docs/choosing-epsilon.md"
