"""Packed and encoded files: what comes out of them, what goes on, and what is refused."""

from __future__ import annotations

import codecs
import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordveil.errors import FileError, InputError, OptionError
from wordveil.io import Destination, FileJob, Reading, Tally, Veils, check_encoding, detect_encoding, make_plan

relaxed = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LINES = [f"the river carried timber {n} past the mill" for n in range(120)]
RAW = "Zanzibar"


def packed(data: bytes, packing: str) -> bytes:
    if packing == "gzip":
        return gzip.compress(data)
    return bytes(pa.compress(data, codec="zstd", asbytes=True)) if packing == "zstd" else data


def unpacked(path: Path) -> bytes:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
            return bytes(stream.read())
    return path.read_bytes()


def job_for(source: Path, out: Path, *, resume: bool = False, **how: Any) -> FileJob:
    plan = make_plan(source)
    columns = () if plan.pieces[0].format.name == "text" else ("text",)
    reading = Reading(columns, **{"batch_words": 40, **how})
    job = FileJob(plan, reading, Destination.of(out, plan), resume=resume, unveiled=True)
    job.check()
    return job


class StoppedError(Exception):
    pass


def stop_after(blocks: int) -> Any:
    left = [blocks]

    def watch(tally: Tally, done: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise StoppedError

    return watch


def content_of(form: str) -> bytes:
    if form == "txt":
        return ("\n".join(LINES) + "\n").encode()
    if form == "csv":
        return ("id,text\r\n" + "".join(f'{n},"{line}"\r\n' for n, line in enumerate(LINES))).encode()
    if form == "json":
        return json.dumps([{"text": line} for line in LINES]).encode()
    return "".join(json.dumps({"text": line}) + "\n" for line in LINES).encode()


@pytest.mark.parametrize("form", ["txt", "csv", "jsonl", "json"])
@pytest.mark.parametrize(("given", "wanted"), [("gzip", ".gz"), ("zstd", ".zst"), ("", ".gz"), ("gzip", "")])
def test_a_packed_job_comes_out_the_same_however_often_it_is_stopped(
    tmp_path: Path, seeded: Veils, form: str, given: str, wanted: str
) -> None:
    plain, source = tmp_path / f"plain.{form}", tmp_path / f"in.{form}{'.gz' if given else ''}"
    plain.write_bytes(content_of(form))
    source.write_bytes(packed(content_of(form), given))  # the content says how it is packed, whatever the name says
    whole, out = tmp_path / f"whole.{form}", tmp_path / f"out.{form}{wanted}"
    job_for(plain, whole).run(seeded)
    for blocks in (1, 3, 2):
        with pytest.raises(StoppedError):
            job_for(source, out, resume=True).run(seeded, stop_after(blocks))
        assert not out.exists()
    job_for(source, out, resume=True).run(seeded)
    assert unpacked(out) == whole.read_bytes() != plain.read_bytes()


@pytest.mark.skipif(shutil.which("gzip") is None, reason="no gzip here")
def test_files_of_the_gzip_command_and_of_pandas_are_read_and_ours_are_read_by_them(
    tmp_path: Path, idle: Veils
) -> None:
    table = pandas.DataFrame({"id": range(120), "text": LINES})
    table.to_csv(tmp_path / "a.csv.gz", index=False)
    for part in (LINES[:50], LINES[50:]):  # two members, one behind the other
        lines = "".join(f"{line}\n" for line in part).encode()
        with (tmp_path / "b.txt.gz").open("ab") as file:
            file.write(subprocess.run(["gzip", "-c"], input=lines, capture_output=True, check=True).stdout)
    job_for(tmp_path / "a.csv.gz", tmp_path / "v.csv.gz").run(idle)
    job_for(tmp_path / "b.txt.gz", tmp_path / "v.txt.gz").run(idle)
    assert pandas.read_csv(tmp_path / "v.csv.gz").equals(table)
    shown = subprocess.run(["gzip", "-dc", str(tmp_path / "v.txt.gz")], capture_output=True, check=True)
    assert shown.stdout.decode().splitlines() == LINES


def test_the_same_content_makes_the_same_packed_file(tmp_path: Path, idle: Veils) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(content_of("txt"))
    for name in ("v.txt.gz", "w.txt.gz"):
        job_for(source, tmp_path / name).run(idle)
    assert (tmp_path / "v.txt.gz").read_bytes() == (tmp_path / "w.txt.gz").read_bytes()


@pytest.mark.parametrize(  # not every zstd frame has a checksum that would tell a bit
    ("packing", "damage"), [("gzip", "cut"), ("gzip", "bit"), ("gzip", "tail"), ("zstd", "cut"), ("zstd", "tail")]
)
def test_a_damaged_file_is_refused_in_a_sentence_that_quotes_nothing(
    tmp_path: Path, idle: Veils, packing: str, damage: str
) -> None:
    raw = packed(f"the old mill at {RAW}\n".encode() * 5000, packing)
    if damage == "cut":
        raw = raw[:-5]
    elif damage == "tail":
        raw += b"garbage"
    else:
        raw = raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 64]) + raw[len(raw) // 2 + 1 :]
    source = tmp_path / "in.txt.gz"
    source.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        job_for(source, tmp_path / "out.txt.gz").run(idle)
    assert RAW not in str(caught.value)
    assert not (tmp_path / "out.txt.gz").exists()


def test_a_bomb_is_stopped_at_its_first_endless_line(tmp_path: Path, idle: Veils, monkeypatch: Any) -> None:
    monkeypatch.setattr("wordveil.io.lines.LONGEST", 1 << 20)
    source = tmp_path / "in.txt.gz"
    source.write_bytes(gzip.compress(b"a" * (1 << 24)))
    with pytest.raises(InputError):
        job_for(source, tmp_path / "out.txt").run(idle)


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.txt", b"BZh91AY"), ("a.csv", b"PK\x03\x04abc"), ("a.jsonl", b"\xfd7zXZ\0"), ("a.txt", b"%PDF")],
)
def test_what_is_packed_otherwise_is_named(tmp_path: Path, name: str, start: bytes) -> None:
    (tmp_path / name).write_bytes(start + b"\n")
    with pytest.raises(InputError, match=r"unpack|export"):
        job_for(tmp_path / name, tmp_path / f"out{name}")


def test_parquet_is_not_packed_again(tmp_path: Path) -> None:
    pandas.DataFrame({"text": LINES}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileError):
        job_for(tmp_path / "a.parquet", tmp_path / "v.parquet.gz")


TEXT = "the café’s old “mill” – by the river\nschöne Grüße\r\nlast"


@relaxed
@given(
    st.sampled_from(["cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis", "cp1251"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40),
)
def test_any_encoding_comes_out_as_the_same_text(
    tmp_path: Path, idle: Veils, through: Any, encoding: str, text: str
) -> None:
    raw = text.encode(encoding, "ignore")
    text = raw.decode(encoding)
    path = tmp_path / "in.txt"
    path.write_bytes(raw)
    if not text:
        return
    found = through(idle, path, "text", encoding=encoding, batch_words=2)
    assert found.decode("utf-8-sig" if encoding in ("utf-16", "utf-32") else "utf-8") == text


def test_an_encoded_job_is_resumed(tmp_path: Path, seeded: Veils) -> None:
    text = "".join(f"{line} – café\n" for line in LINES)
    (tmp_path / "plain.txt").write_text(text, encoding="utf-8")
    (tmp_path / "in.txt").write_text(text, encoding="cp1252")
    job_for(tmp_path / "plain.txt", tmp_path / "whole.txt").run(seeded)
    for blocks in (2, 1):
        with pytest.raises(StoppedError):
            job_for(tmp_path / "in.txt", tmp_path / "out.txt", resume=True, encoding="cp1252").run(
                seeded, stop_after(blocks)
            )
    job_for(tmp_path / "in.txt", tmp_path / "out.txt", resume=True, encoding="cp1252").run(seeded)
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


def test_a_byte_order_mark_stays_one(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.txt"
    path.write_text(TEXT, encoding="utf-16", newline="")
    assert through(idle, path, "text", encoding="utf-16") == codecs.BOM_UTF8 + TEXT.encode()


@pytest.mark.parametrize(
    ("encoding", "likely"),
    [("cp1252", "cp1252"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("mac-roman", "mac-roman")],
)
def test_a_file_that_is_not_utf8_is_refused_with_the_likely_encoding(
    tmp_path: Path, idle: Veils, through: Any, encoding: str, likely: str
) -> None:
    path = tmp_path / "in.txt"
    path.write_text(TEXT + f" {RAW}", encoding=encoding)
    assert detect_encoding(path)[0] == likely
    with pytest.raises(InputError, match=f"`encoding` to {likely}") as caught:
        through(idle, path, "text")
    assert RAW not in str(caught.value)
    assert caught.value.__context__ is None
    through(idle, path, "text", encoding=likely)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("The customer’s parcel", "cp1252"),
        ("I paid 20 € for it", "cp1252"),
        ("jalapeño", "cp1252"),
        ("Der Kunde möchte die Ware zurückgeben, weil die Tür größer war", "cp1252"),
        (
            "Paczka została uszkodzona, proszę o zwrot pieniędzy jak najszybciej i nie dzwonić już do mnie. " * 3,
            "cp1250",
        ),
        ("Клиент недоволен доставкой и просит вернуть деньги", "cp1251"),
        ("客户说包裹还没有到达,要求退款。", "gb18030"),
    ],
)
def test_encodings_are_guessed(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"plain words\n" * 9000 + text.encode(encoding)))
    assert detect_encoding(path)[0] == encoding


@pytest.mark.parametrize("text", ["id,text\n1,\0the river\n", "the\0 river\nand the mill\n", "\nthe river\0"])
def test_a_zero_by_accident_makes_no_utf16(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(text.encode())
    assert detect_encoding(path)[0] == ""
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes(("客户说包裹还没有到达。\n" * 3 + "Клиент недоволен\n").encode(encoding))
        assert detect_encoding(path)[0] == encoding


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1251", "mac-roman", "utf-8-sig", "utf-8"])
def test_utf8_is_not_read_as_something_else(tmp_path: Path, idle: Veils, through: Any, encoding: str) -> None:
    path = tmp_path / "in.txt"
    path.write_text(TEXT + " jalapeños für José, Zoë, Jürgen, Søren und Anaïs\n" * 3, encoding="utf-8")
    if encoding.startswith("utf-8"):
        through(idle, path, "text", encoding=encoding)
        return
    with pytest.raises(InputError):
        through(idle, path, "text", encoding=encoding)


def test_utf8_is_certain(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert detect_encoding(path) == ("utf-8", 1.0)


def test_a_wrong_encoding_is_refused_and_quotes_nothing(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(f"{RAW} ".encode() * 9 + b"\x81\x8d")
    with pytest.raises(InputError) as caught:
        through(idle, path, "text", encoding="cp1252")
    assert RAW not in str(caught.value)
    assert caught.value.__context__ is None
    assert "\ufffd" in through(idle, path, "text", encoding="cp1252", encoding_errors="replace").decode()


@pytest.mark.parametrize("name", ["rot13", "base64", "no such", "", "idna\0"])
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    with pytest.raises(OptionError):
        check_encoding(name)


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_a_line_of_excel_says_the_separator(tmp_path: Path, idle: Veils, through: Any, line: str) -> None:
    content = line + "id;text\r\n1;the old mill, by the river\r\n"
    path = tmp_path / "in.csv"
    path.write_bytes(content.encode())
    assert through(idle, path, "csv", columns=("text",)).decode() == content


def test_a_strange_separator_is_taken_at_its_word(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.csv"
    path.write_text("sep=^\nid^text\n1^old, mill;\n")
    assert through(idle, path, "csv", columns=("text",)).decode() == path.read_text()
