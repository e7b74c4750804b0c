"""What the comparison with other packages measures, without them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from benchmarks.peers import Row, Seen, seen_by
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
                 our_rate=3400.0, theirs=seen, same=seen, graph=seen, remarks=["raw: a, b, c, d"])  # fmt: skip
    absent = Row("two", "2.0", "pypantera_cmp", "laplace", rate="does not run: TypeError")
    written = page([broken, absent], ABOUT, "2026-01-01", 1.0)
    assert "| one 1.0 | tem | ε | broken | come through | - | - |" in written
    assert "| one, tem | truncated | 2 | 0.25 |" in written
    assert "- one, tem: raw: a, b, c and 1 more." in written
    assert "- two 2.0, cmp: does not run: TypeError." in written
