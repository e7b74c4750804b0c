from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.plan.conftest import RECORDS
from tests.plan.desk import COLUMNS, tickets
from wordveil.calibration import Maker
from wordveil.errors import InputError
from wordveil.io import Reading, make_plan
from wordveil.plan.survey import Survey, survey
from wordveil.text import Veil

KINDS = {
    "ticket_id": "id", "opened": "date", "customer": "name-like", "email": "e-mail", "subject": "text", "body": "text",
    "reply": "text", "category": "category", "amount": "number", "rating": "number",
}  # fmt: skip


@pytest.fixture(scope="module")
def veil(make: Maker) -> Veil:
    return Veil(make(4.0))


@pytest.fixture(scope="module")
def found(desk: Path, veil: Veil) -> Survey:
    return survey(make_plan(desk), Reading(), veil, person="customer", label="category")


def test_columns_are_recognised(found: Survey) -> None:
    assert {column.name: column.kind for column in found.columns} == KINDS
    assert found.chosen == ("subject", "body", "reply")
    assert [column.name for column in found.personal] == ["ticket_id", "customer", "email"]
    assert {column.name: column.language for column in found.texts} == {"subject": "en", "body": "en", "reply": "en"}
    assert all(column.values == RECORDS and column.empty == 0 for column in found.columns)
    assert found.coverage is not None
    assert found.coverage > 0.9


def test_macros_are_templates_and_free_text_is_less_so(found: Survey) -> None:
    templated = {column.name: column.templated for column in found.texts}
    assert templated["reply"] > 0.9 > templated["body"]


def test_text_that_stays_is_named(desk: Path, veil: Veil) -> None:
    some = survey(make_plan(desk), Reading(("body",)), veil)
    assert [column.name for column in some.untouched] == ["subject", "reply"]
    assert some.identifiers["EMAIL"] > 0
    assert some.identifiers["PHONE"] > 0
    assert "AMOUNT" not in some.identifiers


def test_what_recurs_is_counted_for_records_and_people(found: Survey) -> None:
    assert found.records.records == RECORDS
    assert found.records.recurring > 0.9  # names, and words of the macro
    assert found.people is not None
    assert found.people.people == len({row["customer"] for row in tickets(RECORDS)})
    assert found.people.recurring > 0.2
    assert found.people.draws >= 2.0
    assert sum(map(len, found.by_person)) == RECORDS


def test_records_of_one_shape_are_not_singled_out(tmp_path: Path, veil: Veil) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("The printer broke.\nThe router broke.\nMy router never worked, and neither did yours!\n" * 1)
    some = survey(make_plan(path), Reading(), veil)
    assert some.records.singled_out == pytest.approx(1 / 3)
    assert some.chosen == ("",)


def test_nothing_found_holds_a_word(found: Survey) -> None:
    told = json.dumps(found.to_dict()) + repr(found)
    for row in tickets(RECORDS)[:50]:
        assert row["customer"] not in told
        assert row["email"] not in told
        assert row["customer"].split()[1] not in told
    for word in ("printer", "courier", "lawyer", "Hamburg"):
        assert word not in told


def test_formats_say_the_same(tmp_path: Path, desk: Path, veil: Veil, found: Survey) -> None:
    rows = tickets(RECORDS)
    lines, table = tmp_path / "t.jsonl", tmp_path / "t.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in COLUMNS}), table)
    for path in (lines, table):
        other = survey(make_plan(path), Reading(), veil, person="customer", label="category")
        assert other.to_dict() == found.to_dict()
        assert other.sample == found.sample


def test_nested_values_are_columns(tmp_path: Path, veil: Veil) -> None:
    path = tmp_path / "chat.jsonl"
    said = [{"who": "a", "text": row["body"]} for row in tickets(40)]
    path.write_text("".join(json.dumps({"id": n, "messages": said[n : n + 2]}) + "\n" for n in range(39)))
    some = survey(make_plan(path), Reading(), veil)
    assert some.chosen == ("messages[*].text",)


def test_a_stream_is_read_once(desk: Path, veil: Veil, found: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["cat", str(desk)], stdout=subprocess.PIPE) as process:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=process.stdout))
        some = survey(make_plan(None, "csv"), Reading(), veil, person="customer", label="category")
    assert some.to_dict() == found.to_dict()


def test_the_sample_is_bounded_and_repeatable(desk: Path, veil: Veil) -> None:
    first, again, other = (
        survey(make_plan(desk), Reading(("body",)), veil, sample=40, seed=seed).sample for seed in (1, 1, 2)
    )
    assert len(first) == 40
    assert first == again != other


def test_a_wrong_column_is_refused(desk: Path, veil: Veil) -> None:
    for wrong in ({"person": "nobody"}, {"label": "nothing"}):
        with pytest.raises(InputError):
            survey(make_plan(desk), Reading(), veil, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        survey(make_plan(desk), Reading(("nothing",)), veil)
    with pytest.raises(InputError):
        survey(make_plan(desk), Reading(("body",)), veil, label="body")


def test_a_table_without_text_has_findings_all_the_same(tmp_path: Path, veil: Veil) -> None:
    path = tmp_path / "numbers.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *([n, n / 2] for n in range(50))])
    some = survey(make_plan(path), Reading(), veil)
    assert [column.kind for column in some.columns] == ["id", "number"]
    assert some.chosen == ()
    assert some.records.veiled == 0


def test_keys_that_are_no_columns_are_refused(tmp_path: Path, veil: Veil) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(json.dumps({f"user{n}": "some text of theirs", "id": n}) + "\n" for n in range(1200)))
    with pytest.raises(InputError):
        survey(make_plan(path), Reading(("id",)), veil)


def test_a_record_in_place_of_the_names_is_refused_in_a_stream_too(
    tmp_path: Path, veil: Veil, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "bare.csv"
    table.write_text("2026-03-01,the first\n2026-03-02,the second\n", encoding="utf-8")
    with table.open("rb") as file:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=file))
        with pytest.raises(InputError):
            survey(make_plan(None, "csv"), Reading(), veil)
