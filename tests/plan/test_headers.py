"""Tables whose first line is a record: neither shown as names nor released as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordveil.errors import InputError
from wordveil.io import Reading, make_plan
from wordveil.plan.columns import Header, check_header, headers

NAMES, DOUBTFUL, RECORD = Header.NAMES, Header.DOUBTFUL, Header.RECORD
TEXTS = ("the ship left the harbour early", "nobody came to the old house", "we met at the river bank")


def header(path: Path, *lines: str) -> Header:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ((source, found),) = headers(make_plan(path), Reading())
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
        # names like values
        ("town,2019,2020", ["Rome,17,18", "Oslo,3,4"], NAMES),
        ("2026-03-01,2026-04-01", ["17,18", "3,4"], NAMES),
        ("What do you like about the place?", TEXTS, NAMES),
        ("kind,text", ["kind,text", "a,b", "kind,text"], NAMES),  # files put together
    ],
)
def test_what_a_first_line_looks_like(tmp_path: Path, first: str, rows: list[str], expected: Header) -> None:
    assert header(tmp_path / "in.csv", first, *rows) is expected


def test_a_record_is_refused_without_being_quoted() -> None:
    check_header("in.csv", NAMES)
    check_header("in.csv", DOUBTFUL)
    with pytest.raises(InputError):
        check_header("in.csv", RECORD)


def test_formats_whose_columns_are_named_otherwise_are_not_asked(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"17": "text"}\n{"17": "18"}\n', encoding="utf-8")
    assert list(headers(make_plan(tmp_path / "in.jsonl"), Reading())) == []
