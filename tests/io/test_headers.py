"""Tables whose first line is a record: neither shown as names nor released as it is."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import InputError, OptionError
from wordveil.io import Destination, FileJob, Reading, StreamJob, Veils, check_fits, make_plan
from wordveil.io.headers import Header, check_headers, headers, judge

NAMES, DOUBTFUL, RECORD = Header.NAMES, Header.DOUBTFUL, Header.RECORD
TEXTS = ("the ship left the harbour early", "nobody came to the old house", "we met at the river bank")


def header(path: Path, *lines: str, asked: tuple[str, ...] = ()) -> Header:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ((source, found),) = headers(make_plan(path), Reading(asked))
    assert source == str(path)
    return found


@pytest.mark.parametrize(
    ("first", "rows", "expected"),
    [
        ("id,text", [f"{n},{text}" for n, text in enumerate(TEXTS)], NAMES),
        ("id,text", [], NAMES),
        # one thing that no column is named by
        (f"2026-03-01,{TEXTS[0]}", [f"2026-03-0{n},{text}" for n, text in enumerate(TEXTS, 2)], RECORD),
        ("a.b@example.org,kind", [f"x{n}@example.org,good" for n in range(3)], RECORD),
        ("4.5,good", ["3.1,bad", "2.2,fine"], RECORD),
        # two that hardly are
        (f"17,{TEXTS[0]}", [f"{n},{text}" for n, text in enumerate(TEXTS, 18)], RECORD),
        (f"A-100,{TEXTS[0]}", [f"A-20{n},{text}" for n, text in enumerate(TEXTS)], RECORD),
        (f"spam,{TEXTS[0]}", [f"{kind},{text}" for kind in ("spam", "ham") for text in TEXTS], RECORD),
        # one
        ("17,good", ["18,bad", "19,fine"], DOUBTFUL),
        ("spam,words", ["spam,a", "ham,b", "spam,c"], DOUBTFUL),
        (TEXTS[0], TEXTS[1:], DOUBTFUL),
        ("Ann Lee,mood", ["Bo Ray,good", "Cy Orr,bad"], DOUBTFUL),
        # names like values
        ("town,2019,2020", ["Rome,17,18", "Oslo,3,4"], NAMES),
        ("2026-03-01,2026-04-01", ["17,18", "3,4"], NAMES),
        ("What do you like about the place?", TEXTS, NAMES),
        ("Customer Name,mood", ["Bo Ray,good", "Cy Orr,bad"], NAMES),
        ("town,2021,2020", ["Rome,17,18", "Oslo,3,4"], NAMES),
        ("Line Manager,Team Lead", ["Bo Ray,Cy Orr", "Cy Orr,Bo Ray"], NAMES),
        ("Weitere Anmerkungen zu unserem neuen Angebot", TEXTS, NAMES),
        ("kind,text", ["kind,text", "a,b", "kind,text"], NAMES),  # files put together
    ],
)
def test_what_a_first_line_looks_like(tmp_path: Path, first: str, rows: list[str], expected: Header) -> None:
    assert header(tmp_path / "in.csv", first, *rows) is expected


@pytest.mark.parametrize(
    ("asked", "values", "expected"),
    [
        # a text of the first record
        (TEXTS[0], TEXTS[1:], RECORD),
        (TEXTS[0], (), RECORD),
        ("why was my card refused?", TEXTS, RECORD),
        ("can you refund the whole payment?", ("can you send the card?", "is it open?", "lost it"), RECORD),
        ("call a@b.org now", TEXTS, RECORD),
        ("It never came.", TEXTS, RECORD),
        ("It broke. Help", TEXTS, RECORD),
        ("refund", ("lost card", "refund"), RECORD),
        ("lost card", ("stolen card", "lost phone"), RECORD),
        ("银行拒绝了我的卡片请帮助我", ("昨天机器吞了我的卡",), RECORD),
        # one that begins as a question or a heading does
        ("Do not buy this player again", TEXTS, RECORD),
        ("What a waste of time and money", TEXTS, RECORD),
        ("If the door is open nobody can sleep", TEXTS, RECORD),
        ("Would not come back to this place", TEXTS, RECORD),
        ("In general the rooms were clean and quiet", TEXTS, RECORD),
        ("The reason for the delay was never given", TEXTS, RECORD),
        ("Please describe it to a.b@example.org", TEXTS, RECORD),
        ("2. the door did not close at night", TEXTS, RECORD),
        # a name among short values, or made of their words, is only a hint
        ("text", ("text", "call", "text"), DOUBTFUL),
        ("product name", ("name tag", "product box"), DOUBTFUL),
        ("no comment", ("comment", "no"), DOUBTFUL),
        # names, also those of questionnaires
        ("text", TEXTS, NAMES),
        ("customer comment", TEXTS, NAMES),
        ("Comment (free text)", TEXTS, NAMES),
        ("Tel. no.", ("lost card", "refund"), NAMES),
        ("What do you like about the place?", TEXTS, NAMES),
        ("Please tell us what you like about the place", TEXTS, NAMES),
        ("Was gefällt Ihnen an diesem Ort?", TEXTS, NAMES),
        ("2. What is the main reason for the score?", TEXTS, NAMES),
        ("Q12 - In your own words, what should we change?", TEXTS, NAMES),
        ("Please share any additional feedback.", TEXTS, NAMES),
        ("Anything you would like to add", TEXTS, NAMES),
        ("To what extent do you agree with this", TEXTS, NAMES),
        ("If other, please specify what it was", TEXTS, NAMES),
        ("Additional comments or suggestions for the team", TEXTS, NAMES),
        ("Reason for referral to the specialist", TEXTS, NAMES),
        ("description of the reported problem", TEXTS, NAMES),
        ("Nennen Sie drei Dinge, die gut waren", TEXTS, NAMES),
        ("Veuillez préciser les raisons du choix", TEXTS, NAMES),
        ("product name", TEXTS, NAMES),
        ("http://purl.org/dc/terms/title", TEXTS, NAMES),
    ],
)
def test_the_name_of_a_column_that_was_asked_for(
    tmp_path: Path, asked: str, values: tuple[str, ...], expected: Header
) -> None:
    assert header(tmp_path / "in.csv", asked, *values, asked=(asked,)) is expected


def test_the_rest_of_the_line_counts_too(tmp_path: Path) -> None:
    rows = "17,Nobody has come", "18,the door is locked"
    assert header(tmp_path / "in.csv", *rows, asked=("Nobody has come",)) is RECORD
    rows = "17,Why nobody came?", "18,the door is locked"
    assert header(tmp_path / "in.csv", *rows, asked=("Why nobody came?",)) is DOUBTFUL
    rows = "Ann Lee,lost card", "Bo Ray,stolen phone"
    assert header(tmp_path / "in.csv", *rows, asked=("lost card",)) is RECORD
    # What the asked column shows as the separator is what separates.
    rows = "7;we met, and talked, at the river", "8;nobody, it seems, came"
    assert header(tmp_path / "in.csv", *rows, asked=("we met, and talked, at the river",)) is RECORD


def test_a_record_is_refused_without_being_quoted() -> None:
    told: list[str] = []
    judge("in.csv", NAMES, told.append)
    assert not told
    judge("in.csv", DOUBTFUL, told.append)
    assert len(told) == 1
    with pytest.raises(InputError):
        judge("in.csv", RECORD, told.append)


def test_the_last_table_of_a_large_folder_is_looked_at_like_the_first(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"a{number:02}.csv").write_text("id,text\n1,the ship left\n2,nobody came\n", encoding="utf-8")
    plan, told = make_plan(tmp_path), list[str]()
    check_headers(plan, Reading(("text",)), told.append)
    assert not told
    (tmp_path / "b.csv").write_text("4.5,text\n3.1,the ship left\n2.2,nobody came\n", encoding="utf-8")
    with pytest.raises(InputError):
        check_headers(make_plan(tmp_path), Reading(("text",)), told.append)


def test_formats_whose_columns_are_named_otherwise_are_not_asked(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"17": "text"}\n{"17": "18"}\n', encoding="utf-8")
    assert list(headers(make_plan(tmp_path / "in.jsonl"), Reading(("17",)))) == []


def test_a_job_releases_no_record_as_a_header_unless_it_is_told_to(tmp_path: Path, idle: Veils) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("".join(f"{n},{text}\n" for n, text in enumerate(TEXTS)), encoding="utf-8")

    def job(column: str, header: str) -> FileJob:
        plan = make_plan(source)
        return FileJob(plan, Reading((column,), header=header), Destination.of(out, plan), unveiled=True)

    with pytest.raises(InputError) as refused:
        job(TEXTS[0], "check").check()
    assert TEXTS[0] not in str(refused.value)
    told = job(TEXTS[0], "yes")
    told.check()
    assert told.run(idle).records == 2
    out.unlink()
    told = job("2", "no")
    told.check()
    assert told.run(idle).records == 3
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("below", [0, 2])
def test_a_stream_releases_no_record_as_a_header_even_if_it_is_the_only_one(
    idle: Veils, monkeypatch: pytest.MonkeyPatch, below: int
) -> None:
    lines = "".join(f"{n},{text}\n" for n, text in enumerate(TEXTS[: 1 + below]))

    def run(header: str) -> bytes:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(lines.encode()))))
        out = io.BytesIO()
        job = StreamJob(make_plan(None, "csv"), Reading((TEXTS[0],), header=header), out, unveiled=True)
        job.check()
        try:
            job.run(idle)
        except InputError:
            return out.getvalue() + b"refused"
        return out.getvalue()

    assert run("check") == b"refused"
    assert run("yes") == lines.encode()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("batch_words", [2, 1 << 18])
def test_a_table_without_a_header(
    tmp_path: Path, seeded: Veils, through: Any, separator: str, batch_words: int
) -> None:
    rows = [f'{n}{separator}"{text}"{separator}x' for n, text in enumerate(TEXTS)] * 2
    path = tmp_path / "in.csv"
    path.write_text(
        "\ufeff" + "\n".join([*rows, '7,"a\nb, c",x'.replace(",", separator, 1)[:-2] + f"{separator}x"]), "utf-8"
    )
    result = through(seeded, path, "csv", columns=("2",), header="no", batch_words=batch_words).decode()
    assert result.startswith("\ufeff0" + separator)
    assert TEXTS[0] not in result
    assert result.count(f"{separator}x") == 7


def test_a_table_without_a_header_whose_separator_is_not_clear_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    # The last are texts that all have one comma: half of each would not be veiled.
    for content in ("a,b;c\nd,e;f\n", "a,b\nc\n", "we met, and talked\nnobody came, it seems\n"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError):
            make_plan(path).pieces[0].format.open_reader(path, Reading(("2",), header="no"))
    path.write_text("a,b\nc,d\n", encoding="utf-8")
    with pytest.raises(InputError):
        make_plan(path).pieces[0].format.open_reader(path, Reading(("3",), header="no"))
    path.write_text('7,"we met, and talked, at last"\n8,"nobody, it seems, came"\n', encoding="utf-8")
    make_plan(path).pieces[0].format.open_reader(path, Reading(("2",), header="no")).close()


@pytest.mark.parametrize(("name", "header"), [("in.txt", "no"), ("in.jsonl", "yes"), ("in.csv", "maybe")])
def test_header_is_about_tables(tmp_path: Path, name: str, header: str) -> None:
    (tmp_path / name).write_text("a\n", encoding="utf-8")
    with pytest.raises(OptionError):
        check_fits(make_plan(tmp_path / name), Reading(header=header))
