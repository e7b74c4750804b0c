"""``wordveil audit`` of anybody's callable: exit codes, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.audit.named import WORDS
from tests.cli.test_guard_rails import run
from wordveil.audit import CHECKS, cases

CALL = ("audit", "--call", "tests.audit.named:honest")
QUICK = [part for check in CHECKS if check not in ("raw", "words") for part in ("--skip", check)]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cases, "PAUSE", 0.0)
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"{left}\t{right}\t1\n" for left in WORDS for right in WORDS if left < right))
    return path


def test_the_exit_code_is_the_verdict_and_a_finding_is_replayed(
    capfd: pytest.CaptureFixture[str], table: Path, tmp_path: Path
) -> None:
    found = tmp_path / "found.json"
    claim: tuple[str | Path, ...] = ("--table", table, "--draws", "1500", *QUICK)
    code, out, _ = run(capfd, *CALL, "--epsilon", "0.8", *claim, "--json")
    assert (code, json.loads(out)["verdict"]) == (0, "holds as far as seen")
    code, out, _ = run(capfd, *CALL, "--epsilon", "0.1", *claim, "-o", found)
    assert code == 3
    assert "broken" in out
    assert run(capfd, *CALL, "--replay", found)[0] == 3
    code, out, _ = run(capfd, *CALL, "--epsilon", "50", "--local", "--known-words-only", *claim, "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "cannot tell")
    assert run(capfd, *CALL, "--epsilon", "0.1", *claim, "-o", found)[0] == 2  # it is there already


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "--epsilon", "4", "--local"),
        ("audit", "--epsilon", "4", "--replay", "found.json"),
        (*CALL, "--epsilon", "4", "--all"),
        (*CALL, "--command", "cat", "--epsilon", "4"),
        (*CALL, "--epsilon", "4", "--body", "{}"),
        (*CALL, "--epsilon", "4", "--option", "k=3"),
        (*CALL, "--epsilon", "4", "--mechanism", "graph", "--local"),
        (*CALL, "--epsilon", "4", "--table", "x", "--space", "glove-50k"),
        (*CALL, "--epsilon", "4", "--table", "no-such-file"),
        (*CALL,),
        ("audit", "--command", "cat", "--python", "python", "--epsilon", "4"),
        ("audit", "--url", "http://127.0.0.1:1/", "--header", "x", "--epsilon", "4"),
        ("audit", "--call", "nowhere", "--epsilon", "4"),
        ("audit", "--call", "tests.audit.named:gone", "--epsilon", "4"),
    ],
)
def test_what_makes_no_sense_is_refused(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert run(capfd, *arguments)[0] == 2
