"""What every reader keeps: bytes, records and places to go on from."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordveil.errors import InputError
from wordveil.io import Reading, Veils, format_named

relaxed = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Everything UTF-8 can hold but NUL, which the readers refuse as a sign of binary data.
letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
endings = st.sampled_from(["\n", "\r\n"])


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> tuple[Path, str]:
    """Write rows with an id and a text in the format of a name's extension."""
    path = folder / name
    form = path.suffix[1:].replace("txt", "text")
    if form == "text":
        path.write_text("".join(f"{row['text']}\n" for row in rows), encoding="utf-8", newline="")
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="")
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    else:
        tab = "\t" if form == "tsv" else ","
        lines = [tab.join(rows[0]), *(f"{row['id']}{tab}{row['text']}" for row in rows)]
        path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8", newline="")
    return path, form


def rows_of(count: int) -> list[dict[str, Any]]:
    words = ["the", "river", "carried", "old", "timber", "past", "the", "mill", "and", "the", "harbour", "at", "night"]
    return [{"id": n, "text": " ".join(words[: n % len(words)])} for n in range(count)]


FORMATS = ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.parquet"]


@pytest.mark.parametrize("name", FORMATS)
def test_reading_goes_on_from_every_place(name: str, tmp_path: Path) -> None:
    path, form = write(tmp_path, name, rows_of(60))
    how = Reading(columns=() if form == "text" else ("text",), batch_words=12)
    with format_named(form).open_reader(path, how) as reader:
        blocks = list(reader.blocks())
    assert len(blocks) > 5
    assert blocks[-1].end.record == 60
    for index, block in enumerate(blocks):
        with format_named(form).open_reader(path, how, block.end) as reader:
            rest = list(reader.blocks())
        assert [later.end for later in rest] == [later.end for later in blocks[index + 1 :]]
        assert [later.records for later in rest] == [later.records for later in blocks[index + 1 :]]


@pytest.mark.parametrize("name", FORMATS)
def test_another_beginning_is_noticed(name: str, tmp_path: Path) -> None:
    path, form = write(tmp_path, name, rows_of(60))
    how = Reading(columns=() if form == "text" else ("text",), batch_words=12)
    with format_named(form).open_reader(path, how) as reader:
        end = list(reader.blocks())[2].end
    rows = rows_of(60)
    rows[0]["text"] = "a"
    write(tmp_path, name, rows)
    with pytest.raises(InputError):
        format_named(form).open_reader(path, how, end)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("what", ["change", "truncate"])
def test_an_input_that_changes_under_way_is_noticed(name: str, what: str, tmp_path: Path) -> None:
    path, form = write(tmp_path, name, rows_of(60))
    how = Reading(columns=() if form == "text" else ("text",), batch_words=12)
    with format_named(form).open_reader(path, how) as reader:
        next(reader.blocks())
        content = path.read_bytes()
        path.write_bytes(content[:-9] if what == "truncate" else content + b"\n")
        with pytest.raises(InputError):
            reader.check_unchanged()


@relaxed
@given(st.lists(st.tuples(letters.filter(lambda text: "\n" not in text), endings)), st.booleans(), letters)
def test_text_survives_byte_for_byte(
    tmp_path: Path, idle: Veils, through: Any, lines: list[tuple[str, str]], mark: bool, last: str
) -> None:
    content = "".join(text + end for text, end in lines) + last
    raw = (codecs.BOM_UTF8 if mark else b"") + content.encode()
    path = tmp_path / "in.txt"
    path.write_bytes(raw)
    if not raw:
        with pytest.raises(InputError):
            through(idle, path, "text")
    else:
        assert through(idle, path, "text", batch_words=3) == raw


def test_a_long_line_is_a_record_like_any_other(tmp_path: Path, idle: Veils, through: Any) -> None:
    raw = b"short\n" + b"timber river " * 800_000 + b"\nshort"
    path = tmp_path / "in.txt"
    path.write_bytes(raw)
    assert through(idle, path, "text") == raw


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"fine\nca\xff\xfent\n", "line 2 .*byte 7 "),
        (b"fine\n\0\1\2\n", "line 2 "),
        ("fine\n".encode("utf-16"), "line 1 "),
        (codecs.BOM_UTF8 + b"fine\xe2\x82", "line 1 .*byte 7 "),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, idle: Veils, through: Any, raw: bytes, place: str) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=place) as caught:
        through(idle, path, "text")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_bad_bytes_can_be_replaced(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"fine\nca\xff\xfent\r\n")
    assert through(idle, path, "text", encoding_errors="replace").decode() == "fine\nca��nt\r\n"


@given(size=st.integers(0, 1 << 30), workers=st.integers(1, 9))
def test_workers_get_as_many_blocks_of_a_size_within_bounds(size: int, workers: int) -> None:
    reading = Reading().for_compiled(size, workers)
    assert reading.batch_words is not None
    assert 1 << 18 <= reading.batch_words <= 1 << 20
    if reading.batch_words > 1 << 18:  # else there is too little for so many
        assert -(-size // reading.batch_bytes) % workers == 0
    assert Reading(batch_words=7).for_compiled(size, workers).batch_words == 7
