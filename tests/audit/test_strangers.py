"""The audit on privatisers that it was not made with: what it convicts, and what it says of what it cannot see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.audit.strangers import STRANGE_AND_HONEST, STRANGE_AND_UNSEEN, STRANGE_AND_WRONG
from tests.audit.test_callables import Slow, audit
from wordveil.audit import Claim, TableSpace, audit_callable, cases
from wordveil.audit.cases import Case
from wordveil.audit.sampled import loss_bound
from wordveil.audit.sight import sight_of

FEW = 20_000  # draws; those that take more are audited by benchmarks.convictions


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "PAUSE", 0.0)


@pytest.mark.parametrize("name", STRANGE_AND_HONEST)
def test_what_is_right_is_not_convicted(name: str) -> None:
    assert audit(STRANGE_AND_HONEST[name]).verdict == "holds as far as seen"


@pytest.mark.parametrize("name", [name for name, double in STRANGE_AND_WRONG.items() if double.draws <= FEW])
def test_what_is_wrong_is_convicted(name: str) -> None:
    assert audit(STRANGE_AND_WRONG[name]).verdict == "broken"


@pytest.mark.parametrize("name", STRANGE_AND_UNSEEN)
def test_what_is_not_seen_is_told_by_what_would_have_been(name: str) -> None:
    report = audit(STRANGE_AND_UNSEEN[name])
    assert report.verdict == "holds as far as seen"
    assert report.sight is not None
    assert report.sight.sentence() in report.sentence()
    told = report.to_dict()["would_have_shown"]
    assert told["draws"] == 4 * STRANGE_AND_UNSEEN[name].draws


@pytest.mark.parametrize(("allowed", "delta", "draws"), [(1.0, 0.0, 8000), (0.2, 0.01, 8000), (3.0, 0.0, 100_000)])
def test_what_would_have_been_seen_is_seen_nine_times_in_ten(allowed: float, delta: float, draws: int) -> None:
    case = Case("pair", "", ("a",), ("b",), allowed, draws, 1e-8, delta, 1.0)
    sight = sight_of(case)
    assert sight is not None
    assert len(sight.losses) > 1
    generator = np.random.default_rng(1)

    def convicted(share: float, other: float) -> float:
        hits, misses = (generator.binomial(draws, chance, 4000) for chance in (share, other))
        return float((loss_bound(hits, misses, (draws, draws), case.error / 2, delta) > allowed).mean())

    for share, loss in sight.losses.items():
        assert loss > allowed
        assert convicted(share, (share - delta) / math.exp(loss)) > 0.9
        assert convicted(share, (share - delta) / math.exp(allowed + 0.5 * (loss - allowed))) < 0.9
    assert sight.rarest is not None
    assert convicted(sight.rarest, 0.0) > 0.9
    assert convicted(delta + 0.5 * (sight.rarest - delta), 0.0) < 0.5


def test_more_draws_show_more_and_too_few_show_nothing() -> None:
    case = Case("pair", "", ("a",), ("b",), 2.0, 2000, 1e-8, 0.0, 1.0)
    few, many = sight_of(case), sight_of(Case("pair", "", ("a",), ("b",), 2.0, 200_000, 1e-8, 0.0, 1.0))
    assert few is not None
    assert many is not None
    assert few.rarest is not None
    assert many.rarest is not None
    assert many.rarest < 0.1 * few.rarest
    assert many.losses[0.5] < few.losses[0.5]
    assert sight_of(Case("pair", "", ("a",), ("b",), 50.0, 2000, 1e-8, 0.0, 1.0)) is None


def test_an_error_that_quotes_the_text_is_remarked_and_one_that_has_it_by_chance_is_not() -> None:
    stream = np.random.default_rng(3)

    def veil(word: str) -> str:
        if stream.random() < 0.02:
            raise ValueError(f"no draw for {word}")
        return "tea"

    claim = Claim(TableSpace({("coffee", "a"): 1.0}), epsilon=1.0)
    report = audit_callable(veil, claim, takes="word", draws=500, repeat=True)
    assert report.verdict == "holds as far as seen"
    assert any("quote" in remark for remark in report.remarks)

    def silent(word: str) -> str:
        if stream.random() < 0.02:
            raise ValueError("a draw failed")
        return "tea"

    assert not audit_callable(silent, claim, takes="word", draws=500, repeat=True).remarks


def test_words_that_only_time_tells_apart_are_found_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = STRANGE_AND_WRONG["spaces behind"].claim  # forty words

    def timed(self: Slow, texts: Any) -> Any:
        return self.call(texts), [0.005 + self._noise.expovariate(1000) + 0.02 * (text == "storm") for text in texts]

    monkeypatch.setattr(Slow, "timed", timed)
    report = audit_callable(Slow(0.0), claim, draws=500, repeat=True)
    assert report.verdict == "broken"
    assert any("storm" in (one.left, one.right) for one in report.findings if one.breaks)


def test_the_clock_can_be_another_one() -> None:
    ticks = iter(range(10**9))
    double = STRANGE_AND_HONEST["steps on a ring of forty"]

    def count(seconds: float) -> int:
        report = audit_callable(
            double.make(1),
            double.claim,
            takes=double.takes,
            seconds=seconds,
            repeat=True,
            now=lambda: float(next(ticks)),
        )
        return report.calls

    assert 0 < count(40.0) < count(4000.0)  # so many looks at the clock
