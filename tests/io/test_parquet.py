"""Parquet."""

from __future__ import annotations

import datetime
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wordveil.errors import InputError, OptionError, WordveilError
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan
from wordveil.text import Veil

WORDS = ["river timber harbour", None, "", "old mill at night", "river timber harbour", "Zürich 🚢 harbour"]
INDEX = pa.dictionary(pa.int16(), pa.string(), ordered=True)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False, metadata={"unit": "none"}),
        pa.field("text", pa.string()),
        pa.field("large", pa.large_string()),
        pa.field("index", INDEX),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        pa.field("tags", pa.list_(pa.struct([("name", pa.string()), ("at", pa.timestamp("ns", "UTC"))]))),
        pa.field("cost", pa.decimal128(12, 3)),
        pa.field("blob", pa.binary()),
    ],
    metadata={"owner": "somebody"},
)
COLUMNS = ("text", "large", "index")


def table(copies: int = 20) -> Any:
    when = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    rows = [
        {
            "id": number,
            "text": WORDS[number % 6],
            "large": WORDS[(number + 1) % 6],
            "index": WORDS[(number + 2) % 6],
            "kind": ["a", "b", None][number % 3],
            "tags": [{"name": "x", "at": when}] * (number % 3),
            "cost": None,
            "blob": b"\0\xff" * number,
        }
        for number in range(6 * copies)
    ]
    place = SCHEMA.get_field_index("index")
    plain = pa.Table.from_pylist(rows, schema=SCHEMA.set(place, SCHEMA.field(place).with_type(pa.string())))
    # encoded by hand: older versions of pyarrow forget the order of a dictionary that they make from values
    coded = plain["index"].combine_chunks().dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(coded.indices.cast(pa.int16()), coded.dictionary, ordered=True)
    return plain.set_column(place, SCHEMA.field(place), ordered)


def veil(veils: Veils, path: Path, out: Path, columns: tuple[str, ...] = COLUMNS, **how: Any) -> Any:
    plan = make_plan(path)
    job = FileJob(plan, Reading(columns=columns, **how), Destination.of(out, plan), unveiled=True)
    job.check()
    job.run(veils)
    job.forget()
    assert sorted(found.name for found in out.parent.iterdir()) == sorted([path.name, out.name])
    return pq.read_table(out)


@pytest.mark.parametrize("batch_words", [3, 1000])
def test_rows_schema_metadata_and_layout_survive(tmp_path: Path, idle: Veils, batch_words: int) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    codecs = {"id": "gzip", "text": "zstd", "large": "snappy", "index": "none"}
    pq.write_table(table(), path, row_group_size=50, compression=codecs)
    result = veil(idle, path, out, batch_words=batch_words)
    for name in SCHEMA.names:
        assert result[name].to_pylist() == pq.read_table(path)[name].to_pylist(), name
    schema = pq.read_schema(path)
    index = schema.get_field_index("index")
    wide = schema.set(index, schema.field("index").with_type(pa.dictionary(pa.int32(), pa.string())))
    wide = wide.with_metadata(None)  # which may be anything, also about the texts
    assert result.schema.equals(wide, check_metadata=True)
    before, after = pq.read_metadata(path), pq.read_metadata(out)
    assert [after.row_group(n).num_rows for n in range(after.num_row_groups)] == [50, 50, 20]
    assert [after.row_group(0).column(n).compression for n in range(after.num_columns)] == [
        before.row_group(0).column(n).compression for n in range(before.num_columns)
    ]


@pytest.mark.parametrize("rows", [0, 6])
def test_what_a_file_says_of_its_texts_is_not_copied(tmp_path: Path, seeded: Veils, rows: int) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame = pd.DataFrame({"text": pd.Categorical(["moonlit"] * 6), "kind": pd.Categorical(["a"] * 6)})[:rows]
    frame.attrs["note"] = "SECRETNOTE"
    plain = pa.Table.from_pandas(frame)
    told = plain.schema.field("text").with_metadata({"example": "SECRETFIELD"})
    whole = plain.cast(plain.schema.set(0, told))
    pq.write_table(whole.replace_schema_metadata({**whole.schema.metadata, b"key": b"SECRETKEY"}), path)
    assert b"SECRETKEY" in path.read_bytes()
    veil(seeded, path, out, columns=("text",))
    written = out.read_bytes()
    assert not any(secret in written for secret in (b"SECRETNOTE", b"SECRETFIELD", b"SECRETKEY", b"moonlit"))
    back = pd.read_parquet(out)
    assert list(back.columns) == ["text", "kind"]
    assert len(back) == rows
    facts = {one["name"]: one for one in json.loads(pq.read_schema(out).metadata[b"pandas"])["columns"]}
    assert facts["text"]["metadata"] is None
    assert facts["text"]["numpy_type"] == "int32"
    if rows:  # of a table without rows nothing is kept
        assert facts["kind"]["metadata"] == {"num_categories": 1, "ordered": False}


def test_only_the_asked_columns_change_and_nulls_stay(tmp_path: Path, seeded: Veils) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    before = table()
    pq.write_table(before, path, row_group_size=7)
    after = veil(seeded, path, out, batch_words=5)
    for name in SCHEMA.names:
        if name not in COLUMNS:
            assert after.column(name).equals(pq.read_table(path).column(name))
        else:
            assert after.column(name).null_count == before.column(name).null_count
            assert after.column(name).to_pylist() != before.column(name).to_pylist()


def test_a_small_dictionary_may_grow(tmp_path: Path, graph: Any) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    few = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 400, pa.int8()), ["river timber mill", "old harbour night"])
    pq.write_table(pa.table({"index": few}), path)
    after = veil(Veils(lambda seed: Veil(graph, select="all", seed=seed)), path, out, ("index",), batch_words=300)
    assert len(set(after["index"].to_pylist())) > 256


def test_no_old_word_is_left_in_a_dictionary(tmp_path: Path, graph: Any) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    old = pa.DictionaryArray.from_arrays(pa.array([1, None, 1], pa.int16()), ["qzxcanary", "qzyharbour"])
    pq.write_table(pa.table({"index": old}), path, compression="none")
    assert b"canary" in path.read_bytes()
    veils = Veils(lambda seed: Veil(graph, select="all", seed=seed))
    veil(veils, path, out, ("index",))
    assert b"qzx" not in out.read_bytes()
    assert b"qzy" not in out.read_bytes()


def test_no_rows_are_no_rows(tmp_path: Path, idle: Veils) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table(0), path)
    assert veil(idle, path, out).to_pydict() == {name: [] for name in SCHEMA.names}


def test_text_that_is_not_utf8(tmp_path: Path, idle: Veils) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    bad = pa.array([b"fine", b"ca\xffnary"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": bad}), path)
    with pytest.raises(InputError) as caught:
        veil(idle, path, out, ("text",))
    assert caught.value.__context__ is None
    assert [found.name for found in tmp_path.iterdir()] == ["in.parquet"]
    assert veil(idle, path, out, ("text",), encoding_errors="replace")["text"].to_pylist() == ["fine", "ca�nary"]


@pytest.mark.parametrize(
    ("columns", "kind", "named"),
    [
        (("id",), InputError, "'id' .*int32"),
        (("tags",), InputError, "'tags'"),
        (("blob",), InputError, "'blob'"),
        (("nothing",), InputError, "'nothing'.* id, text"),
        ((), OptionError, "`columns` .* id, text"),
    ],
)
def test_a_bad_column_is_refused(
    tmp_path: Path, idle: Veils, columns: tuple[str, ...], kind: type[WordveilError], named: str
) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(table(), path)
    with pytest.raises(kind, match=named):
        veil(idle, path, tmp_path / "out.parquet", columns)
    assert [found.name for found in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("damage", ["garbage", "footer", "page"])
def test_a_damaged_file_is_refused(tmp_path: Path, idle: Veils, damage: str) -> None:
    buffer = io.BytesIO()
    pq.write_table(table(500), buffer, compression="zstd")
    raw = bytearray(buffer.getvalue())
    if damage == "garbage":
        raw = bytearray(b"no parquet at all" * 9)
    elif damage == "footer":
        raw = raw[:-40]
    else:
        raw[20:2000] = bytes(1980)
    path = tmp_path / "in.parquet"
    path.write_bytes(raw)
    with pytest.raises(InputError):
        veil(idle, path, tmp_path / "out.parquet")
    assert [found.name for found in tmp_path.iterdir()] == ["in.parquet"]
