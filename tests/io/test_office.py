"""Workbooks and documents: new files from values, in which nothing else of the old ones is left."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import InputError, OptionError
from wordveil.io import Destination, FileJob, Reading, Tally, Veils, make_plan

openpyxl = pytest.importorskip("openpyxl")
docx = pytest.importorskip("docx")

RAW = "Zanzibar"
ROWS = [
    [1, f"the old mill at {RAW}", datetime(2024, 5, 1, 9, 30), 12.5, True, time(9, 30)],
    [2, "by the river", date(2024, 5, 2), 3, False, timedelta(hours=30)],
    [3, None, None, None, None, "plain"],
]
HEADER = ["id", "text", "when", "cost", "paid", "other"]


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Tickets"
    sheet.append(HEADER)
    for row in ROWS:
        sheet.append(row)
    sheet["D2"].number_format = "0.00%"
    path = tmp_path / "in.xlsx"
    book.save(path)
    return path


def job_for(source: Path, out: Path, *, resume: bool = False, **how: Any) -> FileJob:
    plan = make_plan(source)
    columns = ("text",) if source.suffix == ".xlsx" else ()
    job = FileJob(plan, Reading(columns, **how), Destination.of(out, plan), resume=resume, unveiled=True)
    job.check()
    return job


class StoppedError(Exception):
    pass


def stop(tally: Tally, done: int) -> None:
    raise StoppedError


def values(path: Path) -> list[list[Any]]:
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path).active.iter_rows()]


def has_raw(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return any(RAW.encode() in archive.read(name) or RAW in name for name in archive.namelist())


def test_cells_of_every_type_stay_what_they_are(workbook: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.xlsx"
    tally = job_for(workbook, out).run(idle)
    assert values(out) == values(workbook)
    assert openpyxl.load_workbook(out).active["D2"].number_format == "0.00%"
    assert openpyxl.load_workbook(out).sheetnames == ["Tickets"]
    assert tally.records == 3


@pytest.mark.parametrize("stops", [1, 2])
def test_a_workbook_is_resumed(workbook: Path, tmp_path: Path, seeded: Veils, stops: int) -> None:
    job_for(workbook, tmp_path / "whole.xlsx", batch_words=1).run(seeded)
    for _ in range(stops):
        with pytest.raises(StoppedError):
            job_for(workbook, tmp_path / "out.xlsx", resume=True, batch_words=1).run(seeded, stop)
    job_for(workbook, tmp_path / "out.xlsx", resume=True, batch_words=1).run(seeded)
    assert values(tmp_path / "out.xlsx") == values(tmp_path / "whole.xlsx") != values(workbook)
    assert not has_raw(tmp_path / "out.xlsx")


def test_nothing_else_carries_the_raw_text(workbook: Path, tmp_path: Path, seeded: Veils) -> None:
    book = openpyxl.load_workbook(workbook)
    sheet = book["Tickets"]
    sheet["F2"] = f'=UPPER(B2)&"{RAW}"'
    sheet["B2"].comment = openpyxl.comments.Comment(f"about {RAW}", RAW)
    sheet["B2"].hyperlink = f"http://{RAW}.example"
    sheet.auto_filter.add_filter_column(1, [RAW])
    book.properties.creator = book.properties.title = RAW
    book.create_sheet("Hidden").append([RAW])
    book["Hidden"].sheet_state = "hidden"
    book.defined_names["here"] = openpyxl.workbook.defined_name.DefinedName("here", attr_text=f'"{RAW}"')
    book.save(workbook)
    assert has_raw(workbook)
    with pytest.raises(OptionError, match="Tickets, Hidden"):
        job_for(workbook, tmp_path / "out.xlsx")
    job_for(workbook, tmp_path / "out.xlsx", sheet="Tickets").run(seeded)
    assert not has_raw(tmp_path / "out.xlsx")
    assert values(tmp_path / "out.xlsx")[1][5] is None


def test_what_is_no_text_in_the_veiled_column_is_veiled_too(workbook: Path, tmp_path: Path, seeded: Veils) -> None:
    book = openpyxl.load_workbook(workbook)
    book["Tickets"]["B4"] = 5551234567
    book.save(workbook)
    job_for(workbook, tmp_path / "out.xlsx").run(seeded)
    veiled = values(tmp_path / "out.xlsx")[3][1]
    assert isinstance(veiled, str)
    assert veiled != "5551234567"


def test_a_text_that_looks_like_a_formula_stays_a_text(workbook: Path, tmp_path: Path, idle: Veils) -> None:
    book = openpyxl.load_workbook(workbook)
    book["Tickets"]["B2"] = "=the old mill"
    book["Tickets"]["B2"].data_type = "s"
    book.save(workbook)
    job_for(workbook, tmp_path / "out.xlsx").run(idle)
    cell = openpyxl.load_workbook(tmp_path / "out.xlsx").active["B2"]
    assert (cell.value, cell.data_type) == ("=the old mill", "s")


def test_a_formula_in_the_veiled_column_is_refused(workbook: Path, tmp_path: Path, idle: Veils) -> None:
    book = openpyxl.load_workbook(workbook)
    book["Tickets"]["B3"] = f'="{RAW}"'
    book.save(workbook)
    with pytest.raises(InputError, match="row 3") as caught:
        job_for(workbook, tmp_path / "out.xlsx").run(idle)
    assert RAW not in str(caught.value)


@pytest.mark.parametrize("name", ["in.xlsx", "in.docx"])
@pytest.mark.parametrize("content", [b"id,text\n1,a\n", b"PK\x03\x04broken", b"cut"])
def test_a_damaged_file_is_refused(workbook: Path, tmp_path: Path, idle: Veils, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(workbook.read_bytes()[:3000] if content == b"cut" else content)
    with pytest.raises(InputError) as caught:
        job_for(path, tmp_path / f"out{path.suffix}").run(idle)
    assert RAW not in str(caught.value)


def test_a_bomb_is_refused_before_it_is_unpacked(workbook: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("wordveil.io.whole._MOST_BYTES", 1000)
    with pytest.raises(InputError, match="unpacked"):
        job_for(workbook, tmp_path / "out.xlsx")


def test_other_columns_and_sheets_are_named_where_one_is_missing(workbook: Path, tmp_path: Path) -> None:
    plan = make_plan(workbook)
    for reading in (Reading(("texts",)), Reading(), Reading(("text",), sheet="No")):
        with pytest.raises((InputError, OptionError), match=r"id, text|Tickets"):
            FileJob(plan, reading, Destination.of(tmp_path / "out.xlsx", plan)).check()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    made = docx.Document()
    made.core_properties.author = RAW
    made.add_heading("The old mill", 1)
    made.add_paragraph(f"{RAW} is by the river.")
    made.sections[0].header.paragraphs[0].text = RAW
    table = made.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "timber and the harbour"
    table.cell(1, 0).text, table.cell(1, 1).text = "night", RAW
    made.add_paragraph("last words")
    made.save(tmp_path / "in.docx")
    return tmp_path / "in.docx"


def shown(path: Path) -> list[Any]:
    made = docx.Document(str(path))
    tables = [[cell.text for cell in row.cells] for table in made.tables for row in table.rows]
    return [[(one.text, one.style.name) for one in made.paragraphs], tables]


def test_a_document_keeps_its_paragraphs_and_tables_and_nothing_else(
    document: Path, tmp_path: Path, idle: Veils, seeded: Veils
) -> None:
    tally = job_for(document, tmp_path / "same.docx").run(idle)
    paragraphs, tables = shown(document)
    assert shown(tmp_path / "same.docx") == [paragraphs, [[tables[0][0], ""], tables[1]]]
    assert tally.records == 7
    with pytest.raises(StoppedError):
        job_for(document, tmp_path / "out.docx", batch_words=1).run(seeded, stop)
    job_for(document, tmp_path / "out.docx", resume=True, batch_words=1).run(seeded)
    job_for(document, tmp_path / "whole.docx", batch_words=1).run(seeded)
    assert shown(tmp_path / "out.docx") == shown(tmp_path / "whole.docx")
    assert has_raw(document)
    assert not has_raw(tmp_path / "out.docx")
