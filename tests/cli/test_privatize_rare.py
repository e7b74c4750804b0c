"""``wordveil privatize --select rare``: what many records share stays, what one has is veiled, and one tree serves."""

from __future__ import annotations

import csv
import json
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.test_privatize import WRITERS, batches, here, names, start
from wordveil.errors import WordveilError
from wordveil.io import FileJob

COMMON = "thank you for the letter"
LONELY = "harbour timber mill"


def records(count: int = 2500) -> list[str]:
    texts = [COMMON] * count
    texts[700] = f"{COMMON} {LONELY}"
    return texts


def texts_of(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path)["text"].to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line)["text"] for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return [row["text"] for row in csv.DictReader(file)]
    return path.read_text().splitlines()


OPTIONS = ["-m", "ring", "-e", "0.1", "--select", "rare", "--tree-words", "5", "--tree-height", "2", "--case", "lower"]


@pytest.mark.parametrize("kind", ["txt", *WRITERS])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_all_share_stays_and_what_one_has_is_veiled(
    kind: str, workers: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, out, report = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}", tmp_path / "report.json"
    if kind == "txt":
        source.write_text("\n".join(records()) + "\n")
    else:
        WRITERS[kind](source, records())
    column = [] if kind == "txt" else ["-c", "text"]
    job: list[str | Path] = [
        source,
        "-o",
        out,
        *OPTIONS,
        *column,
        "--tree-epsilon",
        "2",
        "-j",
        str(workers),
        "--report",
        report,
    ]
    assert here(capfd, *job)[0] == 0
    veiled = texts_of(out)
    assert [text for place, text in enumerate(veiled) if place != 700] == [COMMON] * 2499
    assert veiled[700].startswith(COMMON)
    assert LONELY not in veiled[700]
    facts = json.loads(report.read_text())
    assert facts["counts"]["left_alone"] == 2500 * 5
    assert facts["counts"]["drawn"] == 3
    assert facts["rare"]["tree_epsilon_per_record"] == 2.0
    assert facts["guarantee"]["notion"] == "metric differential privacy"
    assert any("e^2" in caveat for caveat in facts["guarantee"]["caveats"])
    assert any("common in its context is released as it is" in line for line in facts["not_protected"])
    assert names(tmp_path) == sorted([f"in.{kind}", f"out.{kind}", "report.json"])


@pytest.mark.parametrize(("words", "is_veiled"), [(5, True), (8, False)])
def test_the_columns_of_a_record_count_together(
    words: int, is_veiled: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("subject,text\n" + f"{COMMON},{LONELY}\n" * 2500)
    options = ["-m", "ring", "-e", "0.1", "--case", "lower", "--select", "rare", "--tree-epsilon", "3"]
    options += [] if is_veiled else ["--unproven"]  # a job that veils nothing is refused otherwise
    assert here(capfd, source, "-o", out, *options, "--tree-words", str(words), "-c", "subject", "-c", "text")[0] == 0
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert {subject for subject, _ in rows} == {COMMON}
    assert ({text for _, text in rows} != {LONELY}) is is_veiled


def test_the_summary_says_both_promises(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("the harbour\n")
    code, out, err = here(capfd, source, *OPTIONS)
    assert code == 0
    assert out.strip() != "the harbour"  # with one record, nothing is common
    assert "e^0.1" in err  # of the words
    assert "e^1" in err  # of the choice of words


def test_a_stopped_job_goes_on_with_its_tree(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    learnt, checkpoint = tmp_path / "out.csv.part.learnt.json", tmp_path / "out.csv.part.json"
    WRITERS["csv"](source, records(2500))
    options = [*OPTIONS, "-c", "text", "--batch-words", "100"]
    process = start(source, "-o", out, *options)
    while process.poll() is None and batches(checkpoint) < 3:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert learnt.stat().st_mode & 0o077 == 0
    kept = learnt.read_text()
    assert "thank" not in kept
    resume: list[str | Path] = [source, "-o", out, *options, "--resume"]
    for changed in (["--tree-epsilon", "3"], ["--rare-below", "0.5"]):
        code, _, err = here(capfd, *resume, *changed)
        assert (code, err.count("\n")) == (2, 1)
        assert "--overwrite" in err
    learnt.unlink()
    code, _, err = here(capfd, *resume)
    assert code == 2
    assert learnt.name in err
    learnt.write_text("[]")
    code, _, err = here(capfd, *resume)
    assert code == 2
    assert learnt.name in err
    learnt.write_text(kept)
    assert here(capfd, *resume, "--report", tmp_path / "report.json")[0] == 0
    veiled = texts_of(out)
    assert len(veiled) == 2500
    assert veiled[:700] == [COMMON] * 700
    assert LONELY not in veiled[700]
    assert json.loads((tmp_path / "report.json").read_text())["job"]["runs"] == 2
    assert names(tmp_path) == ["in.csv", "out.csv", "report.json"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-"], "--select rare"),
        (["in.txt", "--select", "content", "--tree-epsilon", "1"], "--tree-epsilon"),
        (["in.txt", "--tree-epsilon", "0"], "--tree-epsilon"),
        (["in.txt", "--tree-epsilon", "inf"], "--tree-epsilon"),
        (["in.txt", "--rare-below", "2"], "--rare-below"),
        (["in.txt", "--engine", "spark", "-o", "out"], "--engine spark"),
    ],
)
def test_refusals(
    arguments: list[str], told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("the river\n")
    how = () if "--select" in arguments else ("--select", "rare")
    code, out, err = here(capfd, "-e", "1", *how, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert names(tmp_path) == ["in.txt"]


def test_a_job_that_is_stopped_twice_before_its_first_block_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join([*[COMMON] * 499, LONELY]) + "\n")
    learnt = tmp_path / "out.txt.part.learnt.json"
    trees = []

    def killed(self: FileJob) -> bool:
        return True  # leaves everything, as a kill would

    for again in ([], ["--resume"], ["--resume"]):
        with monkeypatch.context() as patch:
            patch.setattr(FileJob, "_leave", killed)
            patch.setattr(FileJob, "_do", _stop)
            assert here(capfd, source, "-o", out, *OPTIONS, *again)[0] != 0
        trees.append(learnt.read_text())
    assert len(set(trees)) == 1
    assert here(capfd, source, "-o", out, *OPTIONS, "--resume")[0] == 0
    assert len(out.read_text().splitlines()) == 500


def _stop(*_: object) -> None:
    raise WordveilError("stopped.")
