"""Texts beside the columns to veil: they are named before anything is released."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import make_space
from wordveil import Veil, mechanism
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan

VEILS = Veils(lambda seed: Veil(mechanism("graph", make_space(60, 4), epsilon=2.0, k=3), seed=seed))

ROWS = [
    {"id": str(number), "customer": "Ann Lee", "text": "the ship left the harbour early", "note": "we met at the river"}
    for number in range(5)
]


def write(path: Path, rows: Sequence[dict[str, str]] = ROWS) -> None:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(list(rows)), path)


def told(source: Path, *columns: str) -> list[str]:
    plan, found = make_plan(source), list[str]()
    job = FileJob(plan, Reading(columns), Destination.of(source.with_name("out"), plan), overwrite=True)
    job.tell = found.append
    job.run(VEILS)
    return found


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_texts_that_are_not_veiled_are_named(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    write(source)
    (sentence,) = told(source, "customer")
    assert "columns text, note" in sentence
    (sentence,) = told(source, "text")
    assert "column note" in sentence
    assert "harbour" not in sentence
    assert not told(source, "text", "note")  # ids and names are no texts


def test_plain_text_and_an_empty_table_have_none(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the ship left the harbour\n", encoding="utf-8")
    (tmp_path / "in.csv").write_text("id,text\n", encoding="utf-8")
    assert not told(tmp_path / "in.txt")
    assert not told(tmp_path / "in.csv", "id")


def test_a_folder_tells_once_of_files_that_are_alike(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        write(folder / f"{number}.csv")
    assert len(told(folder, "customer")) == 1


def test_keys_that_are_data_are_not_named(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    rows = [
        {
            "text": "the ship left",
            "note": "we met at the river",
            "replies": {f"Ann {number}": "she was late again today"},
        }
        for number in range(9)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (sentence,) = told(source, "text")
    assert "column note and " in sentence
    assert "Ann" not in sentence
    for row in rows:
        del row["note"]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (sentence,) = told(source, "text")
    assert "Ann" not in sentence


def test_names_of_columns_stay_within_a_line_and_are_those_of_the_table(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    write(source, [{"text": "the ship left", "no\nte\x1b[31m": "we met at the river"}] * 5)
    (sentence,) = told(source, "text")
    assert "column 'no" in sentence
    assert sentence.isprintable()
