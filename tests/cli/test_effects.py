"""No option is taken and ignored: what would have no effect, or is given twice, is refused in one sentence."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

FILES = {
    "in.txt": "The ship sails in the harbour.\n",
    "in.csv": "id,text\n1,The ship sails in the harbour\n",
    "bare.csv": "Zebulon Quax,The ship sails\nMavis Trunk,The committee met\n",
    "in.jsonl": '{"id": 1, "text": "The ship sails"}\n{"id": 2}\n{"id": 3, "text": null}\n',
    "keys.jsonl": '{"Zebulon Quax": "The ship sails"}\n',
    "found.json": "{}",
    "veiled.txt": "The boat\n",
}

REFUSED = [
    # a single option twice
    "privatize in.txt --epsilon 4 --epsilon 6",
    "privatize in.txt -e 4 --epsilon 4",
    "privatize in.txt -e 4 -O k=5 -O k=6",
    "explain ship -e 4 --space glove-50k -s wordnet-poincare",
    "read veiled.txt -e 4 -o a.npz --vectors --text",
    "audit -e 4 --seed 1 --seed 2",
    "budget add key 1 --config in.txt --config in.csv",
    # no effect on this input, or beside the other options
    "privatize in.txt -e 4 --overwrite",
    "privatize in.txt -e 4 -o out.txt --resume --overwrite",
    "privatize in.txt -e 4 --date-order mdy",
    "privatize in.txt -e 4 --numbered --once none",
    "privatize in.csv -c text -e 4 --sheet 1",
    "privatize in.csv -c text -e 4 --missing pass",
    "privatize in.txt -e 4 --header no",
    "privatize in.jsonl -c text -e 4 --header yes",
    "privatize in.csv -c text -e 4 --header maybe",
    "plan in.txt --fast --header yes",
    "read veiled.txt -e 4 --header no",
    "attack context in.txt -e 4 --header no",
    "attack words in.txt -e 4 --header no",
    "attack repeats -e 4 --header no",
    "calibrate -e 4 --header no",
    "calibrate in.txt -e 4 --header no",
    "attack authors in.txt -e 4 --header no",
    "privatize in.txt -e 4 --block in.txt",
    "plan in.csv --fast --sheet 1",
    "plan in.csv --fast --missing pass",
    "plan in.csv --fast --overwrite",
    "plan in.csv --fast --once person",
    "compare --data . --encoding cp1252",
    "compare --data . --format csv",
    "audit --command '' -e 4",
    "plan in.csv --fast -e 4 --protect light",
    "read veiled.txt -e 4 --spans s --select all",
    "read veiled.txt -e 4 --spans s",
    "read in.csv -e 4 -c text --spans s",
    "read veiled.txt -e 4 --overwrite",
    "read veiled.txt --report found.json --normalise",
    "audit --call a:b --replay found.json --draws 2000",
    "audit --call a:b --replay found.json --epsilon 3",
    "audit --call a:b --replay found.json --local",
    "audit --call a:b --replay found.json --space glove-50k -o x.json",
    "audit --all --option k=3",
    "audit --all --mechanism ring",
    "calibrate --reader table",
    "calibrate --select all",
    "calibrate -e 4 --points 3",
    "calibrate -e 4 --share 0.9",
    "calibrate -e 4 --compare found.json",
    "calibrate -e 4 --overwrite",
    "demo --save x.csv --epsilon 4",
    "plot disk ship -o x.png --most 3",
    "plot disk ship -o x.png --draws 30",
    "lac promise -e 4 -O clip=2 --threshold-rate 0.2",
    "lac promise -e 4 -O clip=2 --overwrite",
    "train in.txt -o folder --nodes synsets",
    "train in.txt -o folder --part noun",
    "train --wordnet . -o folder --closure",
    "reproduce --list --quick",
    "reproduce --all wsdm-fig1",
    "reproduce wsdm-fig1 --minutes 1",
    "reproduce wsdm-fig1 --replace",
    "attack vectors --released found.json --seed 1",
    "attack repeats -e 4 --reader table",
    "attack repeats -e 4 --format csv",
    "attack sentence in.txt --reference in.txt -e 4 --order 2 --candidates 3",
    "attack authors in.csv -e 4 --unknown in.csv --share 0.5",
    "attack authors in.csv -e 4 --method svm --threshold 0.5",
    "attack membership in.csv -e 4 --wordnet .",
    "attack membership in.csv --scrambler incognito --mechanism ring",
    "attack context in.txt --report found.json --each-time",
    # malformed
    "explain ship -e four",
    "explain ship --epsilon",
    "explain ship sea -e 4",
    "explain ship -e 4 --top 0",
    "explain ship -e 4 --json=1",
    "explain ship --epsilom 4",
    "explain",
    "explian ship",
    "read",
]


@pytest.fixture
def run(called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    return called


@pytest.mark.parametrize("command", REFUSED)
def test_what_would_be_ignored_is_refused(run: Run, command: str) -> None:
    code, out, err = run(*shlex.split(command))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("wordveil: ")
    assert "internal" not in err
    assert {path.name for path in Path.cwd().iterdir()} == set(FILES)


@pytest.mark.parametrize(
    "command",
    [
        "privatize bare.csv -e 4", "privatize bare.csv -e 4 -c text", "plan bare.csv --fast -c text",
        "privatize keys.jsonl -e 4", "privatize keys.jsonl -e 4 -c text", "plan keys.jsonl --fast -c text",
        "plan bare.csv --fast --person who", "attack bayes bare.csv -e 4 -c text", "calibrate bare.csv -e 4 -c text",
        "compare bare.csv -c text --label id", "read bare.csv -e 4 -c text",
    ],
)  # fmt: skip
def test_a_first_record_that_stands_for_names_is_not_quoted(run: Run, command: str) -> None:
    code, out, err = run(*shlex.split(command))
    assert (code, out) == (2, "")
    assert "Zebulon" not in err
    assert "ship" not in err


def test_records_that_lack_a_key_are_counted_and_told(run: Run) -> None:
    made = ("privatize", "in.jsonl", "-o", "out.jsonl", "-e", "4", "-c", "text")
    assert run(*made)[0] == 2
    for more in ([], ["--quiet"], ["--workers", "2"]):
        told = ["--missing", "pass", "--report", "report.json", *(["--overwrite"] if more else []), *more]
        code, _, err = run(*made, *told)
        assert code == 0
        warnings = [line for line in err.splitlines() if line.startswith("wordveil: warning: ")]
        assert any("1 of 3 records" in line for line in warnings)
        facts = json.loads(Path("report.json").read_text(encoding="utf-8"))
        assert facts["job"]["records_without_a_key"] == 1
        assert any("1 of 3 records" in line for line in facts["warnings"])
    Path("whole.jsonl").write_text('{"text": "The ship"}\n{"text": null}\n', encoding="utf-8")
    code, _, err = run("privatize", "whole.jsonl", "-e", "4", "-c", "text", "--missing", "pass")
    assert (code, "records lack" in err) == (0, False)


def test_a_plan_says_what_lacks_a_key_and_passes_it_on(run: Run) -> None:
    for more, kind in (([], "first"), (["--missing", "pass"], "note")):
        code, out, _ = run("plan", "in.jsonl", "-c", "text", "--fast", "--json", "-q", *more)
        facts = json.loads(out)
        assert code == 0
        assert facts["input"]["records_without_a_key"] == 1
        advice = {one["code"]: one["kind"] for one in facts["recommendation"]["advice"]}
        assert advice["missing"] == kind


def test_help_is_the_same_everywhere_and_whole(run: Run) -> None:
    for command in ("privatize", "read", "budget add", "attack context"):
        _, out, _ = run(*command.split(), "--help")
        assert "[default:" not in out.replace("[default: ", "")  # no bracket is broken at the end of a line
        assert not {"<str>", "TEXT", "INTEGER", "<bool>"} & set(out.split())
