"""`wordveil privatize` on the files that people have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.test_privatize import here
from wordveil.cli import main

RAW = "Zanzibar"
GERMAN = "Das Paket ist nicht da, und niemand kann mir sagen, wo es jetzt ist oder wann es zu mir kommen soll."
Told = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(f"id,text\n1,The mill at {RAW} by the river\n")
    return tmp_path


def test_a_packed_name_is_never_a_plain_file(folder: Path, capfd: Told) -> None:
    code, _, err = here(capfd, "a.csv", "-o", "v.csv.gz", "-c", "text", "-e", "4")
    assert code == 0
    assert "(csv, utf-8)" in err
    assert gzip.decompress(Path("v.csv.gz").read_bytes()).startswith(b"id,text\n1,The ")
    assert here(capfd, "v.csv.gz", "-o", "w.csv", "-c", "text", "-e", "4", "--report", "s.json")[0] == 0
    assert json.loads(Path("s.json").read_text())["job"]["packing"] == ["gzip"]
    assert Path("w.csv").read_text().startswith("id,text\n1,The ")


def test_a_release_that_is_packed_is_read(folder: Path, capfd: Told) -> None:
    assert here(capfd, "a.csv", "-o", "v.csv.gz", "-c", "text", "-e", "4", "-q")[0] == 0
    with pytest.raises(SystemExit) as caught:
        main(["read", "v.csv.gz", "-o", "g.csv.gz", "-c", "text", "-e", "4", "-q"])
    assert not caught.value.code
    assert gzip.decompress(Path("g.csv.gz").read_bytes()).startswith(b"id,text\n1,The ")


def test_several_inputs_go_into_a_folder(folder: Path, capfd: Told) -> None:
    Path("b.jsonl").write_text('{"text": "the old mill"}\n')
    arguments = ["a.csv", "b.jsonl", "-c", "text", "-e", "4", "-q"]
    assert here(capfd, *arguments, "-o", "out")[0] == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["a.csv", "b.jsonl"]
    for wrong in (["-o", "a.csv"], [], ["-o", "out"], ["-", "-o", "new"], ["a.csv", "-o", "new"], ["out", "-o", "new"]):
        code, _, err = here(capfd, *arguments, *wrong)
        assert (code, err.count("\n")) == (2, 1), wrong
    assert not Path("new").exists()


def test_the_encoding_is_told_and_taken(folder: Path, capfd: Told) -> None:
    Path("w.csv").write_bytes(f"id;text\r\n1;The caf\xe9 at {RAW}\r\n".encode("cp1252"))
    code, _, err = here(capfd, "w.csv", "-c", "text", "-e", "4")
    assert code == 2
    assert "--encoding to cp1252" in err
    assert RAW not in err
    code, out, err = here(capfd, "w.csv", "-c", "text", "-e", "4", "--encoding", "cp1252")
    assert code == 0
    assert "(csv, cp1252)" in err
    assert out.startswith("id;text")
    assert here(capfd, "w.csv", "-c", "text", "-e", "4", "--encoding", "rot13")[0] == 2


def test_chat_logs(folder: Path, capfd: Told) -> None:
    Path("c.jsonl").write_text(json.dumps({"messages": [{"content": f"at {RAW}"}, {"role": "tool"}]}) + "\n")
    assert here(capfd, "c.jsonl", "-c", "messages[*].content", "-e", "1")[0] == 2
    code, out, _ = here(capfd, "c.jsonl", "-c", "messages[*].content", "-e", "1", "--missing", "pass", "-q")
    assert code == 0
    assert RAW not in out
    assert json.loads(out)["messages"][1] == {"role": "tool"}
    for wrong in (["c.jsonl", "--missing", "drop"], ["a.csv", "--missing", "pass"], ["a.csv", "--sheet", "x"]):
        assert here(capfd, *wrong, "-c", "text", "-e", "4")[0] == 2


def test_what_is_left_out_is_said(folder: Path, capfd: Told) -> None:
    Path("m.eml").write_text(f"From: {RAW}\nSubject: the mill\n\nby the river\n")
    code, out, err = here(capfd, "m.eml", "-e", "4", "--report", "r.json")
    assert code == 0
    assert RAW not in out
    assert "left out" in err
    assert json.loads(Path("r.json").read_text())["job"]["left_out"]


def test_texts_in_another_language_are_refused_unless_somebody_says_otherwise(folder: Path, capfd: Told) -> None:
    Path("d.txt").write_text(f"{GERMAN} {RAW}\n")
    code, out, err = here(capfd, "d.txt", "-e", "4")
    assert (code, out) == (2, "")
    assert "German" in err
    assert RAW not in err
    assert not here(capfd, "d.txt", "-o", "v.txt", "-e", "4")[1]
    assert [path.name for path in folder.iterdir() if path.name.startswith("v.txt")] == []
    Path("many").mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (Path("many") / name).write_text("By the mill.\n" if name == "a.txt" else f"{GERMAN}\n")
    code, _, err = here(capfd, "many", "-o", "out", "-e", "4")
    assert (code, Path("out").exists()) == (2, False)
    assert "b.txt" in err  # which of them
    code, _, err = here(capfd, "many", "-o", "out", "-e", "4", "-q", "--select", "all")
    assert (code, err.count("German")) == (0, 1)
    for said in (["--select", "all"], ["--language", "en"], ["--language", "de"]):
        code, _, err = here(capfd, "d.txt", "-e", "4", "-q", *said)
        assert code == 0, said
        assert "warning" in err, said
    Path("own.txt").write_text("nicht\nist\n")
    code, out, _ = here(capfd, "d.txt", "-e", "4", "-q", "--stopwords", "own.txt")
    assert code == 0
    assert out.count("ist") >= 2
    assert here(capfd, "d.txt", "-e", "4", "--language", "xx")[2].count("\n") == 1
    for wrong in (["--stopwords", "own.txt", "--select", "all"], ["--language", "xx"], ["--stopwords", "none.txt"]):
        assert here(capfd, "d.txt", "-e", "4", *wrong)[0] == 2
    assert here(capfd, "d.txt", "-o", "own.txt", "--overwrite", "-e", "4", "--stopwords", "own.txt")[0] == 2
