"""The command ``wordveil privatize``, as people run it: processes, files, pipes, signals."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import make_space
from wordveil.cli import main
from wordveil.spaces.files import write_vectors

# A shell that runs the tests in the background has them, and what they start, ignore an interrupt.
HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
COMMAND = [sys.executable, "-c", f"{HEEDED}; from wordveil.cli import main; main()", "privatize"]
WORDS = ["river", "timber", "mill", "harbour", "night", "money", "letter", "doctor", "garden", "winter"]


def lines(count: int, seed: int = 0) -> list[str]:
    pick = random.Random(seed)
    return [" ".join(pick.choices(WORDS, k=pick.randint(1, 20))) for _ in range(count)]


def start(*arguments: str | Path, **how: Any) -> subprocess.Popen[bytes]:
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **how)


def run(*arguments: str | Path, data: bytes | None = None) -> tuple[int, bytes, str]:
    process = start(*arguments, stdin=subprocess.PIPE if data is not None else subprocess.DEVNULL)
    out, err = process.communicate(data, timeout=60)
    return process.returncode, out, err.decode()


def here(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run the command within this process, which is faster."""
    with pytest.raises(SystemExit) as caught:
        main(["privatize", *map(str, arguments)])
    out, err = capfd.readouterr()
    return int(caught.value.code or 0), out, err


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def write_csv(path: Path, texts: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "text", "kept"], *([n, text, "é\n🚢"] for n, text in enumerate(texts))])


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)))


def write_parquet(path: Path, texts: list[str]) -> None:
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts}), path, row_group_size=200)


def ids(path: Path) -> list[int]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path)["id"].to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line)["id"] for line in path.read_text().splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [int(row["id"]) for row in csv.DictReader(file)]


def batches(checkpoint: Path) -> int:
    """Return how many batches a job has done, as far as its checkpoint says."""
    try:
        return int(json.loads(checkpoint.read_text())["batch"])
    except FileNotFoundError:
        return -1


WRITERS: dict[str, Callable[[Path, list[str]], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_killed_at_any_moment_and_resumed_every_record_is_there_once(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, out, whole = (tmp_path / f"{name}.{kind}" for name in ("in", "out", "whole"))
    checkpoint = tmp_path / f"out.{kind}.part.json"
    WRITERS[kind](source, lines(1000))
    options = ["-m", "ring", "-e", "0.1", "-c", "text", "--seed", "5", "--batch-words", "60"]
    job: list[str | Path] = [source, "-o", out, *options, "--resume", "--report", tmp_path / "out.json"]
    assert here(capfd, source, "-o", whole, *options, "--report", tmp_path / "whole.json")[0] == 0
    moments = random.Random(kind)
    kills = 0
    for _ in range(2):
        before = batches(checkpoint)
        process = start(*job)
        while process.poll() is None and batches(checkpoint) == before:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.2))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if not checkpoint.exists():
            break
        assert not out.exists() or out.read_bytes() == whole.read_bytes()
    else:
        assert here(capfd, *job)[0] == 0
    assert kills > 0
    assert ids(out) == list(range(1000))
    assert out.read_bytes() == whole.read_bytes()
    assert names(tmp_path) == sorted([f"in.{kind}", f"out.{kind}", "out.json", f"whole.{kind}", "whole.json"])
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("whole.json", "out.json"))
    assert second["job"]["runs"] > 1
    assert second["counts"] == first["counts"]
    assert second["document"] == first["document"]
    assert second["job"]["records"] == 1000


def test_ctrl_c_leaves_what_a_resume_needs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(lines(5_000)))  # long enough to be still at work when it is stopped
    options = ["-m", "ring", "-e", "0.1", "--batch-words", "60"]
    process = start(source, "-o", out, *options)
    while process.poll() is None and batches(tmp_path / "out.txt.part.json") < 3:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"--resume" in err
    assert b"Traceback" not in err
    assert names(tmp_path) == ["in.txt", "out.txt.part", "out.txt.part.json"]
    code, _, message = here(capfd, source, "-o", out, *options)
    assert code == 2
    assert "--resume" in message
    assert "--overwrite" in message
    assert here(capfd, source, "-o", out, *options, "--resume")[0] == 0
    assert names(tmp_path) == ["in.txt", "out.txt"]
    assert len(out.read_text().split("\n")) == 5_000


def test_a_pipe_in_and_a_pipe_out() -> None:
    text = "The doctor's letter,  \r\n\r\nand\tthe 🚢 harbour; Übermut – ok?\nlast line".encode()
    code, out, err = run("-", "--epsilon", "1", "--select", "all", "--seed", "3", data=text)
    assert code == 0
    assert out.count(b"\r\n") == 2
    assert out.count(b"\n") == 3
    assert "🚢".encode() in out
    assert b"doctor" not in out
    assert len(err.splitlines()) == 2


def test_a_table_through_a_pipe() -> None:
    table = b'\xef\xbb\xbfid;text\r\n1;"river; mill"\r\n'
    code, out, err = run("-e", "1", "--format", "csv", "-c", "text", "--seed", "1", "--quiet", data=table)
    assert (code, err.count("\n")) == (0, 1)  # the warning that a seed was given
    assert out.startswith(b'\xef\xbb\xbfid;text\r\n1;"')
    assert out.endswith(b'"\r\n')


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,ballast\n" + f"river,{'x' * 10_000}\n" * 1000)
    with start(source, "--epsilon", "1", "-c", "text") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) == 141
        assert process.stderr.read() == b""


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(lines(300)))
    ours, theirs = os.openpty()
    options = ["-m", "ring", "-e", "1", "--batch-words", "300"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = start(source, "-o", tmp_path / "out.txt", *options, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the terminal is gone when the process is
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    assert b"veiling" in shown
    assert b"words, " in shown
    assert not any(word.encode() in shown for word in WORDS)


def test_the_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out, report = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "report.json"
    source.write_text("id,text\n1,The river carried timber\n2,qzxvw 1984 past the mill\n")
    code, printed, told = here(capfd, source, "-o", out, "-e", "2", "-c", "text", "--report", report)
    assert (code, printed) == (0, "")
    assert re.match("wordveil: veiled 7 of 9 words in 2 records", told)
    facts = json.loads(report.read_text())
    assert facts["mechanism"] == "graph"
    assert facts["epsilon"] == 2
    assert facts["space"]["name"].startswith("glove-50k")
    assert len(facts["space"]["checksum"]) == 64
    assert facts["guarantee"]["notion"] == "metric differential privacy"
    assert facts["counts"]["words"] == 9
    assert facts["policies"]["oov replace"]["words_drawn"] == facts["counts"]["outside"] == 1
    assert facts["document"]["veiled_words_in_the_longest"] == 4
    assert any("other column" in sentence for sentence in facts["not_protected"])
    job = facts["job"]
    assert (job["records"], job["files"], job["formats"], job["columns"]) == (2, 1, ["csv"], ["text"])
    assert job["words_per_second"] > 0
    assert job["output_sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert set(facts["versions"]) == {"wordveil", "python", "numpy"}
    assert "qzxvw" not in report.read_text()
    again = here(capfd, source, "-o", out, "-e", "2", "-c", "text", "--report", "-", "--overwrite")
    assert json.loads(again[1])["counts"] == facts["counts"]


NO_PROMISE = {
    "a seed": ["--seed", "1"],
    "words kept": ["--oov", "keep"],
    "no mechanism that promises": ["-m", "jaccard", "--unproven"],
    "bare words": ["-m", "nadp", "--unproven"],
}


@pytest.mark.parametrize("case", NO_PROMISE)
@pytest.mark.parametrize("more", [[], ["--quiet"], ["--report", "report.json"], ["--quiet", "--report", "report.json"]])
def test_no_option_hides_what_is_not_promised(
    case: str, more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space = make_space(40)
    write_vectors(Path("small.txt"), space.vocabulary.words, space.matrix)
    Path("in.txt").write_text("zqa river\n")
    code, _, err = here(capfd, "in.txt", "-o", "out.txt", "-e", "4", "-s", "small.txt", *NO_PROMISE[case], *more)
    assert code == 0
    warnings = [line for line in err.splitlines() if line.startswith("wordveil: warning: ")]
    assert len(warnings) >= 1  # and those of the mechanism or the space
    told = [line for line in err.splitlines() if not line.startswith("wordveil: opening ")]  # of a busy machine
    assert [line for line in told if " veiled " in line and line not in warnings] == told[len(warnings) :]
    assert len(told) == len(warnings) + ("--quiet" not in more)  # a report takes nothing away
    if case == "bare words":
        assert " of 40 words" in warnings[0]


def test_what_is_promised_needs_no_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("the river\n")
    assert "warning" not in here(capfd, source, "-e", "4", "-o", tmp_path / "out.txt")[2]


@pytest.mark.parametrize("name", ["jaccard", "nadp"])
def test_a_mechanism_that_does_not_protect_every_word_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space = make_space(40)
    write_vectors(Path("small.txt"), space.vocabulary.words, space.matrix)
    Path("in.txt").write_text("zqa zqb\n")
    code, out, err = here(capfd, "in.txt", "-e", "4", "-s", "small.txt", "-m", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--unproven" in err


def test_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out, report = tmp_path / "in", tmp_path / "out", tmp_path / "report.json"
    (source / "sub").mkdir(parents=True)
    write_jsonl(source / "sub" / "b.jsonl", lines(5))
    write_parquet(source / "a.parquet", lines(5))
    (source / "notes.pdf").write_bytes(b"%PDF")
    assert here(capfd, source, "-o", out, "-e", "2", "-c", "text", "--report", report)[0] == 0
    assert names(out) == ["a.parquet", "sub", "sub/b.jsonl"]
    facts = json.loads(report.read_text())
    assert facts["job"]["skipped_files"] == ["notes.pdf"]
    assert facts["job"]["files"] == 2
    assert facts["job"]["formats"] == ["jsonl", "parquet"]


def test_a_link_stays_a_link(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, link, target = tmp_path / "in.txt", tmp_path / "link.txt", tmp_path / "target.txt"
    source.write_text("river\n")
    link.symlink_to(target)
    assert here(capfd, source, "-o", link, "-e", "1", "-q")[0] == 0
    assert link.is_symlink()
    assert target.read_text().endswith("\n")


def test_a_device_takes_the_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("river\n")
    assert here(capfd, source, "-o", "/dev/null", "-e", "1", "-q") == (0, "", "")
    code, _, err = here(capfd, source, "-o", "/dev/full", "-e", "1", "-q")
    assert code == 2
    assert "No space left" in err


def test_a_word_list_and_marks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, words = tmp_path / "in.txt", tmp_path / "words.txt"
    source.write_text("The river and the [[mill]].\n")
    words.write_text("River\n")
    options = ["-e", "0.01", "-q", "--seed", "1"]
    code, out, _ = here(capfd, source, *options, "--select", "words", "--words", words)
    assert code == 0
    assert "river" not in out
    assert out.endswith(" and the [[mill]].\n")
    code, out, _ = here(capfd, source, *options, "--select", "marked")
    assert out.startswith("The river and the ")
    assert "mill" not in out
    assert "[[" not in out


def test_the_error_says_which_record_has_bad_marks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("the [[river]]\nthe [[canary\n")
    code, out, err = here(capfd, source, "-e", "1", "--select", "marked")
    assert (code, out) == (2, "")
    assert "record 2" in err
    assert "canary" not in err


GOOD = {"in.txt": b"fine\n", "in.csv": b"id,text\n1,fine\n", "in.jsonl": b'{"id": 1, "text": "fine"}\n'}

BAD = {
    "no epsilon": (["in.txt"], "--epsilon"),
    "epsilon zero": (["in.txt", "-e", "0"], "--epsilon"),
    "epsilon negative": (["in.txt", "-e", "-1"], "--epsilon"),
    "epsilon nan": (["in.txt", "-e", "nan"], "--epsilon"),
    "epsilon infinite": (["in.txt", "-e", "inf"], "--epsilon"),
    "epsilon no number": (["in.txt", "-e", "much"], "epsilon"),
    "no such mechanism": (["in.txt", "-e", "1", "-m", "magic"], "'magic'"),
    "no such space": (["in.txt", "-e", "1", "-s", "outer"], "'outer'"),
    "no such option": (["in.txt", "-e", "1", "--bogus"], "bogus"),
    "no such selection": (["in.txt", "-e", "1", "--select", "few"], "'few'"),
    "no such policy": (["in.txt", "-e", "1", "--oov", "hide"], "'hide'"),
    "no such case": (["in.txt", "-e", "1", "--case", "upper"], "'upper'"),
    "no such format": (["in.txt", "-e", "1", "--format", "xml"], "'xml'"),
    "no such input": (["gone.txt", "-e", "1"], "gone.txt"),
    "no known extension": (["in.dat", "-e", "1"], "in.dat .*--format"),
    "no such column": (["in.csv", "-e", "1", "-c", "txt"], "'txt'.* 'text'"),
    "no such key": (["in.jsonl", "-e", "1", "-c", "txt"], "no key 'txt'"),
    "no column for csv": (["in.csv", "-e", "1"], "--column "),
    "no column for jsonl": (["in.jsonl", "-e", "1"], "--column .* 2 keys"),
    "a column for text": (["in.txt", "-e", "1", "-c", "text"], "--column"),
    "empty": (["empty.txt", "-e", "1"], "empty.txt"),
    "binary": (["binary.txt", "-e", "1"], "line 1 "),
    "not utf-8": (["latin.txt", "-e", "1"], "line 2 .*byte 7 .* --encoding-errors"),
    "a folder as output": (["in.txt", "-e", "1", "-o", "folder"], "folder"),
    "a folder to standard output": (["folder", "-e", "1"], "--output"),
    "an empty folder": (["folder/hollow", "-e", "1", "-o", "new"], "folder/hollow"),
    "a file where a folder is meant": (["folder", "-e", "1", "-o", "in.csv"], "in.csv"),
    "no output folder": (["in.txt", "-e", "1", "-o", "gone/out.txt"], "gone/out.txt"),
    "a file as output folder": (["in.txt", "-e", "1", "-o", "in.csv/out.txt"], "in.csv/out.txt"),
    "an output name too long": (["in.txt", "-e", "1", "-o", "x" * 300], "xxx"),
    "output = input": (["in.txt", "-e", "1", "-o", "in.txt"], "in.txt"),
    "output = input by a symlink": (["in.txt", "-e", "1", "-o", "soft.txt"], "in.txt"),
    "output = input by a hardlink": (["in.txt", "-e", "1", "-o", "hard.txt", "--overwrite"], "in.txt"),
    "part = input": (["x.txt.part", "-f", "text", "-e", "1", "-o", "x.txt", "--overwrite"], "x.txt.part"),
    "output is there": (["in.txt", "-e", "1", "-o", "there.txt"], "there.txt .*--overwrite"),
    "another format": (["in.csv", "-e", "1", "-c", "text", "-o", "out.jsonl"], "out.jsonl"),
    "another format, packed": (["in.csv", "-e", "1", "-c", "text", "-o", "out.parquet.gz"], "out.parquet.gz"),
    "parquet to standard output": (["in.parquet", "-e", "1", "-c", "text"], "Parquet"),
    "parquet from standard input": (["-", "-f", "parquet", "-e", "1", "-c", "text"], "Parquet"),
    "resume from standard input": (["-", "-e", "1", "-o", "out.txt", "--resume"], "--resume"),
    "resume to standard output": (["in.txt", "-e", "1", "--resume"], "--resume"),
    "report to standard output": (["in.txt", "-e", "1", "--report", "-"], "--report"),
    "report into the input": (["in.txt", "-e", "1", "-o", "o.txt", "--report", "in.txt"], "in.txt"),
    "report into the output": (["in.txt", "-e", "1", "-o", "o.txt", "--report", "o.txt"], "--report"),
    "the report's working name is the input": (
        [".r.json.wordveil-new", "-f", "text", "-e", "1", "-o", "o.txt", "--report", "r.json"],
        "r.json",
    ),
    "report is there": (["in.txt", "-e", "1", "-o", "o.txt", "--report", "there.txt"], "there.txt"),
    "report is a folder": (["in.txt", "-e", "1", "-o", "o.txt", "--report", "folder"], "folder"),
    "spans without a key": (["in.jsonl", "-e", "1", "-c", "text", "--select", "spans"], "--spans"),
    "spans in text": (["in.txt", "-e", "1", "--spans", "at"], "--spans"),
    "spans of two columns": (["in.jsonl", "-e", "1", "-c", "text", "-c", "id", "--spans", "at"], "--column"),
    "spans and a selection": (["in.jsonl", "-e", "1", "-c", "text", "--select", "all", "--spans", "at"], "--spans"),
    "words without a list": (["in.txt", "-e", "1", "--select", "words"], "words"),
    "a list that is not there": (["in.txt", "-e", "1", "--select", "words", "--words", "gone"], "gone"),
    "a list that is no text": (["in.txt", "-e", "1", "--select", "words", "--words", "latin.txt"], "latin.txt"),
    "no such errors": (["in.txt", "-e", "1", "--encoding-errors", "ignore"], "--encoding-errors"),
    "a negative seed": (["in.txt", "-e", "1", "--seed", "-1"], "seed"),
    "no batch": (["in.txt", "-e", "1", "--batch-words", "0"], "batch-words"),
    "a ragged row": (["ragged.csv", "-e", "1", "-c", "text", "-o", "out.csv"], "record 2 .*line 3"),
    "a broken record": (["broken.jsonl", "-e", "1", "-c", "text", "-o", "out.jsonl"], "line 2 "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_leaves_nothing(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in GOOD.items():
        Path(name).write_bytes(content)
    for name in ("in.dat", "there.txt", "x.txt.part", ".r.json.wordveil-new"):
        Path(name).write_bytes(b"fine\n")
    write_parquet(Path("in.parquet"), ["fine"])
    Path("empty.txt").touch()
    Path("binary.txt").write_bytes(bytes(range(256)))
    Path("latin.txt").write_bytes(b"fine\nca\xe9nary\n")
    Path("ragged.csv").write_bytes(b"id,text\n1,fine\n2,canary,canary\n")
    Path("broken.jsonl").write_bytes(b'{"text": "fine"}\n{"text": "canary"\n')
    Path("folder/hollow").mkdir(parents=True)
    Path("folder/a.txt").write_bytes(b"fine\n")
    Path("soft.txt").symlink_to("in.txt")
    Path("hard.txt").hardlink_to("in.txt")
    before = {name: Path(name).stat() for name in names(tmp_path)}
    arguments, complaint = BAD[case]
    code, out, err = here(capfd, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("wordveil: ")
    assert len(err.splitlines()) == 1
    assert re.search(complaint, err), err
    assert "canary" not in err
    assert {name: Path(name).stat().st_mtime_ns for name in names(tmp_path)} == {
        name: state.st_mtime_ns for name, state in before.items()
    }


def test_an_unwritable_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("fine\n")
    code, _, err = here(capfd, source, "-e", "1", "-o", "/proc/out.txt")
    assert code == 2
    assert "cannot write /proc/out.txt" in err


def test_closed_streams() -> None:
    script = f'"{sys.executable}" -c "from wordveil.cli import main; main()" privatize -e 1'
    done = subprocess.run(f"{script} <&-", shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = subprocess.run(  # noqa: S602
        f"echo river | {script} >&-", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_report_needs_an_open_stream_and_is_for_its_owner(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out, report = tmp_path / "in.txt", tmp_path / "out.txt", tmp_path / "report.json"
    source.write_text("the harbour\n")
    script = f'"{sys.executable}" -c "from wordveil.cli import main; main()" privatize "{source}" -e 1 -o "{out}"'
    done = subprocess.run(  # noqa: S602
        f"{script} --report - >&-", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not out.exists()
    assert here(capfd, source, "-e", "1", "-o", out, "--report", report)[0] == 0
    assert report.stat().st_mode & 0o077 == 0


def test_what_a_folder_has_besides_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, other = tmp_path / "in", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "b.txt").write_text("the harbour\n")
    (folder / "a.txt").write_text("the harbour\n")
    (folder / "c.txt.bz2").write_bytes(b"x")
    (folder / "linked").symlink_to(other, target_is_directory=True)
    code, _, err = here(capfd, folder, "-e", "1", "-o", tmp_path / "out")
    assert code == 0
    assert " 2 of the folder's files" in err
    report = tmp_path / "report.json"
    assert here(capfd, folder, "-e", "1", "-o", tmp_path / "again", "--report", report)[0] == 0
    assert json.loads(report.read_text())["job"]["skipped_files"] == ["c.txt.bz2", "linked"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(kind: str, tmp_path: Path) -> None:
    peaks = []
    for megabytes in (13, 60):  # at first what several blocks take as well
        source = tmp_path / f"{megabytes}.{kind}"
        rows = megabytes * 100
        if kind == "csv":
            ballast = "x" * 10_000
            source.write_text("text,ballast\n" + "".join(f"river mill,{ballast}\n" for _ in range(rows)))
        else:
            noise = random.Random(1)
            table = pa.table({"text": ["river mill"] * rows, "ballast": [noise.randbytes(10_000) for _ in range(rows)]})
            pq.write_table(table, source, row_group_size=100)
        target = tmp_path / f"out{megabytes}.{kind}"
        measure = "import re; print(re.search(r'VmHWM: *\\t* *(\\d+)', open('/proc/self/status').read())[1])"
        code = f"from wordveil.cli import main\ntry:\n main()\nfinally:\n {measure}"
        arguments = ["privatize", str(source), "-o", str(target), "-e", "1", "-c", "text", "-q"]
        command = [sys.executable, "-c", code, *arguments]
        # Arrow's own allocator keeps what it was given for later, up to a limit that a small file does not reach.
        env = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        done = subprocess.run(command, capture_output=True, check=True, env=env)
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 35  # of 47 more; an older Arrow takes 29


def test_a_report_goes_into_a_pipe_or_through_a_link_and_replaces_neither(tmp_path: Path) -> None:
    source, pipe, link = tmp_path / "in.txt", tmp_path / "pipe", tmp_path / "link"
    source.write_text("the river\n")
    os.mkfifo(pipe)
    job = start(source, "-o", tmp_path / "out.txt", "-e", "3", "--quiet", "--report", pipe)
    assert json.loads(pipe.read_text())["counts"]["words"] == 2
    assert job.communicate()[1] == b""
    assert pipe.is_fifo()
    (tmp_path / "report.json").write_text("old")
    link.symlink_to(tmp_path / "report.json")
    assert run(source, "-o", tmp_path / "out.txt", "-e", "3", "--report", link, "--overwrite")[0] == 0
    assert link.is_symlink()
    assert json.loads((tmp_path / "report.json").read_text())["counts"]["words"] == 2
