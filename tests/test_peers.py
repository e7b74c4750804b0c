"""What the comparison with other packages measures, without them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks import peers
from benchmarks.peers import Row, Seen, kept, seen_by
from benchmarks.peers_page import page

from tests.conftest import make_space

SPACE = make_space(30, 4)
ABOUT = {"wordveil": "1", "python": "3", "processor": "p", "cores": 2, "load": 0.1}


def test_what_comes_out_as_it_went_in_is_found_and_read() -> None:
    seen = seen_by(list, SPACE, 1.0)
    assert (seen.attacker, seen.kept) == (1.0, 1.0)
    assert seen.reader == pytest.approx(1.0, abs=0.05)


def test_what_does_not_depend_on_the_word_tells_nothing() -> None:
    def same(words: Sequence[str]) -> list[str]:
        return ["x"] * len(words)

    seen = seen_by(same, SPACE, 1.0)
    assert seen.attacker == pytest.approx((1 / 2.7) / sum(1 / (rank + 2.7) for rank in range(30)))
    assert seen.reader == pytest.approx(0.0, abs=1e-9)
    assert seen.kept == 0.0


def test_the_page_has_a_line_for_each_mechanism_and_says_what_did_not_run() -> None:
    seen = Seen(2.0, 0.25, 0.1, 0.2)
    broken = Row("one", "1.0", "pypantera_tem", "truncated", "ε", verdict="broken", unknown="come through", rate=12.0,
                 our_rate=3400.0, theirs=seen, same=seen, graph=seen, remarks=["raw: a, b, c, d"], calls=1234,
                 date="2026-01-01", load=3.2)  # fmt: skip
    absent = Row("two", "2.0", "pypantera_cmp", "laplace", rate="does not run: TypeError", date="2026-01-02", load=12.9)
    written = page([broken, absent], ABOUT, 1.0)
    assert "| one 1.0 | tem | ε | 1,234 | broken | come through | - | - |" in written
    assert "on 2026-01-01 to 2026-01-02" in written
    assert "(load 3 to 13 meanwhile)" in written
    assert "| one, tem | truncated | 2 | 0.25 |" in written
    assert "- one, tem: raw: a, b, c and 1 more." in written
    assert "- two 2.0, cmp: does not run: TypeError." in written


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_PARTS", tmp_path / "parts")
    asked: list[int] = []

    def measured() -> Row:
        asked.append(len(asked))
        seen = Seen(2.0, 0.25, 0.1, 0.2)
        return Row("pypantera", "1.0.2", "pypantera_tem", "truncated", rate=float(len(asked)), theirs=seen)

    rows = [kept("pypantera", "pypantera_tem", 4.0, measured, afresh=afresh) for afresh in ("", "", "all")]
    assert [row.rate for row in rows] == [1.0, 1.0, 2.0]

    def audit(row: Row) -> None:
        row.verdict = "broken"

    again = kept("pypantera", "pypantera_tem", 4.0, measured, afresh="audits", audit=audit)
    assert (again.rate, again.verdict) == (2.0, "broken")
    assert rows[0].theirs == Seen(2.0, 0.25, 0.1, 0.2)
    assert kept("pypantera", "pypantera_tem", 5.0, measured).rate == 3.0  # another length of audit


_CLOCK = """
import subprocess, sys, time

from benchmarks.measure import processor_seconds

started = processor_seconds()
with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
    while processor_seconds() < started + 0.2:
        time.sleep(0.02)
    child.kill()
after = processor_seconds()
time.sleep(0.3)
assert started + 0.2 <= after <= processor_seconds() < after + 0.2
"""


def test_the_clock_of_the_processor_counts_children_and_does_not_count_waiting() -> None:
    # in a process of its own: this one may have threads and children of other tests at work
    subprocess.run([sys.executable, "-c", _CLOCK], check=True, cwd=Path(__file__).parents[1])
