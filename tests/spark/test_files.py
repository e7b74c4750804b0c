"""Files on the cluster: what Spark would read wrongly is refused, and what it can cut is cut."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.test_frames import frame
from wordveil import spark as engine
from wordveil.errors import InputError
from wordveil.reading.released import doubt_of
from wordveil.spark import store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(toy: dict[str, Any], session: SparkSession, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return what runs the command in this session, and says its status and what it wrote to standard error."""
    from wordveil.cli import main

    how = ["--epsilon", "1", "--mechanism", toy["mechanism"], "--space", toy["space"]]

    def run(*arguments: str | Path) -> tuple[int, str]:
        assert session  # which the command finds by itself
        with pytest.raises(SystemExit) as caught:
            main(["privatize", "--engine", "spark", *how, *map(str, arguments)])
        return int(caught.value.code or 0), capfd.readouterr().err

    return run


@pytest.mark.parametrize("form", ["text", "csv", "jsonl", "parquet"])
def test_files_are_veiled_by_the_command(form: str, session: SparkSession, command: Command, tmp_path: Path) -> None:
    source, out = tmp_path / ("in.txt" if form == "text" else f"in.{form}"), tmp_path / "out"
    data = frame(session, 30).na.drop().toPandas()
    if form == "text":
        source.write_text("\n".join(data["text"]))
    elif form == "csv":
        data.to_csv(source, index=False)
    elif form == "jsonl":
        data.to_json(source, orient="records", lines=True)
    else:
        data.to_parquet(source)
    named = [] if form == "text" else ["--column", "text"]
    assert command(source, "-o", out, *named)[0] == 0
    rows = session.read.parquet(str(out)).collect()
    assert len(rows) == len(data)
    assert all((row.value if form == "text" else row.text).startswith("The ") for row in rows)
    status, told = command(source, "-o", out, *named)
    assert status == 2
    assert str(out) in told
    assert command(source, "-o", tmp_path / "x", *([] if named else ["--column", "text"]))[0] == 2
    assert command(source)[0] == 2


def test_a_report_a_seed_and_a_resume_are_had_by_the_command(
    command: Command, session: SparkSession, tmp_path: Path
) -> None:
    source, out, report = tmp_path / "in.txt", tmp_path / "out", tmp_path / "report.json"
    source.write_text("a ship left\n" * 20)
    arguments = [source, "-o", out, "--report", report]
    assert command(*arguments)[0] == 0
    facts = json.loads(report.read_text())
    assert (facts["counts"]["words"], facts["job"]["records"], facts["job"]["engine"]) == (60, 20, "spark")
    assert report.stat().st_mode & 0o077 == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    status, told = command(source, "-o", out, "--resume")
    assert (status, "complete" in told) == (0, True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert command(*arguments, "--resume")[0] == 2  # no counts are kept for a report
    assert command(source, "-o", out, "--resume", "--oov", "drop")[0] == 2
    source.write_text("a ship left\n" * 21)
    assert command(source, "-o", out, "--resume")[0] == 2
    assert command(source, "-o", tmp_path / "x", "--overwrite")[0] == 2
    for name in ("first", "second"):
        status, told = command(source, "-o", tmp_path / name, "--seed", "7")
        assert (status, "No privacy" in told) == (0, True)
    first, second = (session.read.parquet(str(tmp_path / name)).collect() for name in ("first", "second"))
    assert first == second


def test_a_first_line_that_is_a_record_is_refused_or_veiled(
    command: Command, session: SparkSession, tmp_path: Path
) -> None:
    source, out, report = tmp_path / "in.csv", tmp_path / "out", tmp_path / "r.json"
    source.write_text("1,the zyqxcanary left the harbour early\n2,nobody came to the old house\n")
    first = "the zyqxcanary left the harbour early"
    status, told = command(source, "-o", out, "-c", first)
    assert (status, told.count("\n"), "canary" in told, out.exists()) == (2, 1, False, False)
    assert command(source, "-o", out, "-c", "2", "--header", "no", "--report", report)[0] == 0
    rows = session.read.parquet(str(out)).collect()
    assert sorted(row["1"] for row in rows) == ["1", "2"]
    assert "canary" not in str(rows)
    assert command(source, "-o", tmp_path / "x", "-c", first, "--header", "yes")[0] == 0
    # the report knows the files of its release
    facts = json.loads(report.read_text())
    assert doubt_of(facts, out) == ""
    assert all(doubt_of(facts, part) == "" for part in out.glob("*.parquet"))
    assert doubt_of(facts, tmp_path / "x")


def test_tasks_of_the_command_get_batches_of_some_megabytes(
    command: Command, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    source, seen = tmp_path / "in.txt", list[str | None]()
    source.write_text("a ship\n" * 20)
    write = store.write_once

    def watched(*given: Any, **how: Any) -> Any:
        seen.append(session.conf.get(name))
        return write(*given, **how)

    monkeypatch.setattr("wordveil.spark.frames.write_once", watched)
    usual = session.conf.get(name)
    assert command(source, "-o", tmp_path / "large")[0] == 0
    assert session.conf.get(name) == usual
    session.conf.set(name, "7")
    try:
        assert command(source, "-o", tmp_path / "small")[0] == 0
    finally:
        session.conf.unset(name)
    assert seen == ["100000", "7"]


def test_tables_are_cut_unless_a_record_is_longer_than_a_line(
    toy: dict[str, Any], session: SparkSession, tmp_path: Path
) -> None:
    rows = [f'{n},"a ""ship"", left",{n}' for n in range(60)]
    long = [*rows[:30], '30,"a ship\nleft, so it is",30', *rows[31:]]
    session.conf.set("spark.sql.files.maxPartitionBytes", "400")
    try:
        for name, lines, end in (("short", rows, "\r\n"), ("long", long, "\n")):
            source, out = tmp_path / f"{name}.csv", tmp_path / name
            source.write_bytes(end.join(["id,text,number", *lines, ""]).encode())
            engine.privatize_files(str(source), str(out), ["text"], "csv", **toy)
            found = sorted(session.read.parquet(str(out)).collect(), key=lambda row: int(row.id))
            assert [row.id for row in found] == [row.number for row in found] == [str(n) for n in range(60)]
            assert all(row.text.count('"') == 2 for row in found if row.id != "30" or name == "short")
            assert (len(list(out.glob("*.parquet"))) > 1) is (name == "short")
        assert "\n" in found[30].text
    finally:
        session.conf.unset("spark.sql.files.maxPartitionBytes")


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("text", b"a ship\xff left\nfine\n"),
        ("csv", b"id,text\n1,a ship\xff left\n2,fine\n"),
        ("jsonl", b'{"id": 1, "text": "a ship\xff left"}\n{"id": 2, "text": "fine"}\n'),
    ],
)
def test_bytes_that_are_no_text_are_refused_or_replaced(
    form: str, content: bytes, command: Command, session: SparkSession, tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(content)
    arguments = [source, "-o", out, "--format", form, *([] if form == "text" else ["--column", "text"])]
    status, told = command(*arguments)
    assert (status, told.count("\n"), out.exists()) == (2, 1, False)
    assert command(*arguments, "--encoding-errors", "replace")[0] == 0
    texts = [row["value" if form == "text" else "text"] for row in session.read.parquet(str(out)).collect()]
    assert sum("\ufffd" in text for text in texts) == 1
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("jsonl", '{"text": "a ship", "id": 1}\n{"text": "zyqxcanary"\n{"text": "fine", "id": 3}\n'),
        ("csv", "id,text\n1,a ship\n2,zyqxcanary,zyqxcanary\n"),
        ("csv", "id,text\n1,a ship\n2\n"),
        ("tsv", "id\ttext\n1\ta ship\tmore\n"),
    ],
)
@pytest.mark.usefixtures("session")
def test_records_that_cannot_be_read_are_refused_and_never_come_out_raw(
    tmp_path: Path, form: str, content: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # Left to itself, Spark writes a broken line of JSON into a column _corrupt_record, as it is.
    source, out = tmp_path / f"in.{form}", tmp_path / "out"
    source.write_text(content)
    with pytest.raises(InputError, match=source.name) as caught:
        engine.privatize_files(str(source), str(out), ["text"], form, epsilon=1.0)
    assert not out.exists()
    assert "canary" not in str(caught.value)
    assert "canary" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("session")
def test_a_folder_of_tables_with_different_headers_is_refused(tmp_path: Path) -> None:
    # Left to itself, Spark goes by the place of a column and would put the texts of one file among the ids.
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id,text\n1,a ship\n")
    (tmp_path / "in" / "b.csv").write_text("text,id\nzyqxcanary,2\n")
    with pytest.raises(InputError) as caught:
        engine.privatize_files(str(tmp_path / "in"), str(tmp_path / "out"), ["text"], "csv", epsilon=1.0)
    assert not (tmp_path / "out").exists()
    assert "canary" not in str(caught.value)


def test_a_digest_of_an_output_takes_no_memory_for_it(session: SparkSession, tmp_path: Path) -> None:
    sizes = {"part-00000.parquet": 300 << 20, "part-00001.parquet": 5, "part-00002.parquet": 0}
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    (tmp_path / "_SUCCESS").touch()
    expected = []
    for size in sizes.values():
        told = hashlib.sha256()
        for begin in range(0, size, 1 << 20):
            told.update(bytes(min(1 << 20, size - begin)))
        expected.append(told.hexdigest())
    assert store.digests(session, str(tmp_path)) == sorted(expected)
