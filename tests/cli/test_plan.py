"""``wordveil plan``, and what ``privatize`` looks at before it writes."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attacks.doubles import texts_of
from tests.plan.desk import tickets, write_desk
from wordveil.cli import main
from wordveil.cli.plan import NOT_MET
from wordveil.plan import RULES
from wordveil.plan.presets import Protection
from wordveil.spaces import EuclideanSpace
from wordveil.spaces.files import write_vectors
from wordveil.text.tokens import tokenise


@pytest.fixture(autouse=True, scope="module")
def _few_words() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordveil.plan.trial._TARGETS", 300)
        patch.setattr("wordveil.plan.trial._AGAIN", 60)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, glove: EuclideanSpace) -> Path:
    """A folder with the desk's table and a small space of its words."""
    made = tmp_path_factory.mktemp("plan")
    desk = write_desk(made / "tickets.csv", 200)
    words = set(tokenise(desk.read_text()).keys)
    known = [glove.vocabulary.id(word) for word in words if word in glove.vocabulary]
    space = glove.restrict(np.union1d(np.arange(300), known))
    write_vectors(made / "small.txt", list(space.vocabulary), space.points(np.arange(len(space))))
    letters = texts_of(list(space.vocabulary)[100:], 200, 12, 0)  # unlike tickets, nobody can guess them
    (made / "letters.txt").write_text("\n".join(letters) + "\n")
    return made


def run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([*map(str, arguments)])
    out, err = capfd.readouterr()
    return int(caught.value.code or 0), out, err


def test_a_plan_as_json(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capfd, "plan", folder / "tickets.csv", "-c", "body", "--space", folder / "small.txt", "-e", "1.5", "--fast",
        "--person", "customer", "--json",
    )  # fmt: skip
    facts: dict[str, Any] = json.loads(out)
    assert code == 0
    assert facts["input"]["untouched_text"] == ["subject", "reply"]
    assert facts["chosen"]["epsilon"] == 1.5
    assert facts["input"]["people"]["people"] == len({row["customer"] for row in tickets(200)})
    stops = [one["code"] for one in facts["recommendation"]["advice"] if one["kind"] == "stop"]
    assert (facts["command"] is None) == bool(stops)


def test_people_see_tables_a_page_and_no_word(folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    code, out, _ = run(
        capfd, "plan", folder / "tickets.csv", "-c", "body", "--space", folder / "small.txt", "--protect", "light",
        "--fast", "--html", page,
    )  # fmt: skip
    assert code == 0
    written = page.read_text()
    assert page.stat().st_mode & 0o077 == 0
    assert not re.search(r"(src|href)=|https?://|@import|url\(", written)
    for told in (out, written):
        assert "subject" in told
        assert "customer" in told
        for row in tickets(200)[:40]:
            assert row["customer"] not in told
            assert row["customer"].split()[1] not in told
            assert row["email"] not in told
        for word in ("printer", "courier", "lawyer", "Hamburg", "grandfather"):
            assert word not in told


def test_what_is_required_decides_the_exit_status(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan: list[str | Path] = [
        "plan",
        folder / "tickets.csv",
        "-c",
        "body",
        "--space",
        folder / "small.txt",
        "-e",
        "1.5",
        "--fast",
    ]
    code, out, _ = run(capfd, *plan, "--require", "coverage>=0.5", "--require", "attacker<=100%", "--json")
    assert code == 0
    assert [one["met"] for one in json.loads(out)["figures"]["required"]] == [True, True]
    code, out, _ = run(capfd, *plan, "--require", "identifiers=0", "--json")
    assert code == NOT_MET
    assert [one["met"] for one in json.loads(out)["figures"]["required"]] == [False]
    code, _, err = run(capfd, *plan, "--require", "nonsense<=0")
    assert code == 2
    assert len(err.splitlines()) == 1


def test_privatize_writes_nothing_that_is_not_as_required(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target, report = folder / "veiled.csv", folder / "report.json"
    job: list[str | Path] = [
        "privatize", folder / "tickets.csv", "-o", target, "-c", "body", "--space", folder / "small.txt",
        "--report", report, "--fast-checks",
    ]  # fmt: skip
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(capfd, *job, "-e", "1.5", "--require", "identifiers=0", "--require", "untouched=0")
    assert code == NOT_MET
    assert not out
    assert "identifiers=0" in err
    assert "untouched=0" in err
    assert sorted(path.name for path in folder.iterdir()) == before
    code, _, _ = run(capfd, *job, "-e", "1.5", "--require", "untouched<=2", "--quiet")
    assert code == 0
    assert target.exists()


def test_privatize_by_protection(folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target, report = tmp_path / "veiled.txt", tmp_path / "report.json"
    how: list[str | Path] = ["--space", folder / "small.txt", "--protect", "light", "--fast-checks", "--report", report]
    code, _, err = run(capfd, "privatize", folder / "tickets.csv", "-o", target, "-f", "csv", "-c", "reply", *how)
    assert code == NOT_MET  # templates: no ε will do
    assert not target.exists()
    code, _, err = run(capfd, "privatize", folder / "letters.txt", "-o", target, *how)
    assert code == 0
    chosen = re.search(r"ε = ([0-9.]+) for protection 'light'", err)
    assert chosen
    assert json.loads(report.read_text())["epsilon"] == float(chosen[1])
    assert len(target.read_text().splitlines()) == 200


def test_few_records_and_no_text_are_told_what_is_known(
    folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    few, numbers, empty = tmp_path / "few.csv", tmp_path / "numbers.csv", tmp_path / "empty.csv"
    header = (folder / "tickets.csv").read_text().splitlines()[0]
    few.write_text(f'{header}\n1,2026-01-02,Ann Lee,a@b.net,,"Call a@b.net, the printer stopped again",,x,1,2\n')
    numbers.write_text("a,b\n" + "".join(f"{n},{n / 2}\n" for n in range(50)))
    empty.write_text("")
    for path, stop in ((few, "few"), (numbers, "nothing")):
        code, out, err = run(capfd, "plan", path, "--space", folder / "small.txt", "--fast", "--json", "--quiet")
        facts = json.loads(out)
        assert (code, err) == (0, "")
        assert facts["input"]["columns"]
        assert [one["code"] for one in facts["recommendation"]["advice"] if one["kind"] == "stop"] == [stop]
        assert facts["recommendation"]["epsilon"] is None
        assert facts["command"] is None
        code, out, _ = run(capfd, "plan", path, "--space", folder / "small.txt", "--fast", "--quiet")
        assert code == 0
        assert "Ann" not in out
    code, out, err = run(capfd, "plan", empty, "--space", folder / "small.txt", "--fast")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    target = tmp_path / "veiled.csv"
    job: list[str | Path] = ["privatize", few, "-o", target, "-c", "body", "--space", folder / "small.txt", "-q"]
    assert run(capfd, *job, "--protect", "light", "--fast-checks")[0] == NOT_MET
    assert not target.exists()
    assert run(capfd, *job, "-e", "2", "--require", "identifiers<=1", "--fast-checks")[0] == 0
    assert target.exists()


def test_it_reads_what_privatize_reads(folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    excel, chats, book = tmp_path / "excel.csv", tmp_path / "chats.jsonl", tmp_path / "book.xlsx"
    excel.write_bytes(b"id,text\n1,The caf\xe9 by the printer was closed.\n")
    chats.write_text('{"id": 1, "text": "The printer stopped."}\n{"id": 2}\n')
    plan: list[str | Path] = ["plan", "-c", "text", "--space", folder / "small.txt", "--fast", "--json", "--quiet"]
    code, _, err = run(capfd, *plan, excel)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "--encoding to cp1252" in err
    assert "--encoding-errors" in err
    assert run(capfd, *plan, excel, "--encoding", "nonsense")[0] == 2
    cases: list[list[str | Path]] = [
        [excel, "--encoding", "cp1252"], [excel, "--encoding-errors", "replace"], [chats],
    ]  # fmt: skip
    if util.find_spec("openpyxl"):
        workbook = importlib.import_module("openpyxl").Workbook()
        workbook.create_sheet("two").append(["id", "text"])
        workbook["two"].append([1, "The printer stopped."])
        workbook.save(book)
        assert run(capfd, *plan, book)[0] == 2
        cases.append([book, "--sheet", "two"])
    for case in cases:
        code, out, err = run(capfd, *plan, *case)
        assert code == 0, err
        assert json.loads(out)["input"]["to_veil"] == ["text"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("privatize", "tickets.csv", "-c", "body", "-e", "4", "--protect", "light"),
        ("privatize", "tickets.csv", "-c", "body", "--protect", "perfect"),
        ("privatize", "tickets.csv", "-c", "body", "-e", "4", "--fast-checks"),
        ("privatize", "tickets.csv", "-c", "body", "-e", "4", "--require", "gain<=0.1", "--fast-checks",
         "--select", "marked"),
        ("plan", "tickets.csv", "--protect", "perfect"),
        ("plan", "tickets.csv", "-c", "nothing", "--fast"),
        ("plan", "tickets.csv", "--person", "nobody", "--fast"),
        ("plan", "tickets.csv", "-e", "0"),
        ("plan", "tickets.csv", "--html", "tickets.csv"),
        ("plan", "nowhere.csv"),
        ("plan", "small.txt", "-c", "body", "--fast"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_sentence(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(capfd, *arguments, "--space", "small.txt")
    assert code == 2
    assert not out
    assert len(err.splitlines()) == 1


def test_the_command_that_is_recommended_runs(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lenient = replace(RULES, weakest=Protection(1.0, 1.0), least_utility=-1.0)
    monkeypatch.setattr("wordveil.plan.recommendation.RULES", lenient)
    desk = tmp_path / "our tickets.csv"
    desk.write_bytes((folder / "tickets.csv").read_bytes())
    code, out, _ = run(
        capfd, "plan", desk, "-c", "body", "--space", folder / "small.txt", "-e", "1.5", "--fast", "--select", "all",
        "--person", "customer", "--json",
    )  # fmt: skip
    assert code == 0
    command = shlex.split(json.loads(out)["command"])
    assert command[:3] == ["wordveil", "privatize", str(desk)]
    assert command[command.index("--select") + 1] == "all"
    monkeypatch.chdir(tmp_path)
    code, _, _ = run(capfd, *command[1:])
    assert code == 0
    assert (tmp_path / "our tickets-veiled.csv").exists()


@pytest.mark.parametrize("command", ["plan", "privatize"])
def test_a_table_without_a_header_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    table, first = tmp_path / "bare.csv", "the lawyer of my grandfather called"
    texts = ["we met the courier at the gate", "nobody came to the old house today"]
    table.write_text("".join(f"{n},{text}\n" for n, text in enumerate([first, *texts], 17)), encoding="utf-8")
    more = ["-o", tmp_path / "out.csv", "-e", "4", "-q"] if command == "privatize" else ["--fast"]
    code, out, err = run(capfd, command, table, "-c", first, "--space", folder / "small.txt", *more)
    assert (code, out, len(err.splitlines()), (tmp_path / "out.csv").exists()) == (2, "", 1, False)
    assert "lawyer" not in err
    table.write_text("".join(f"{text}\n" for text in [first, *texts]), encoding="utf-8")  # which may be a question
    if command == "privatize":
        code, _, err = run(capfd, command, table, "-c", first, "--space", folder / "small.txt", *more)
        assert (code, (tmp_path / "out.csv").exists()) == (2, False)
        assert "lawyer" not in err
        to_yes = (command, table, "-c", first, "--space", folder / "small.txt", *more, "--header", "yes")
        assert run(capfd, *to_yes)[0] == 0
        assert (tmp_path / "out.csv").read_text().startswith(first)
