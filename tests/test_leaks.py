"""Canary words, and everywhere they must not turn up: output, report, messages, cache, temporary files, checkpoints."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wordveil.spaces import EuclideanSpace
from wordveil.spaces.files import write_vectors

IN = "accordion"  # in the bundled vocabulary, and at the ε below as unlikely to be drawn as any other of 50,000 words
OUT = "zyqxcanary"
NUMBER = "918273645"
OTHER = "othercanary"  # in a column that is not veiled
HEADER = "headercanary"  # the name of such a column
FILE = "namecanary"
FORMS = ("txt", "csv", "jsonl", "parquet")
TEXT = f"Der {IN} of {OUT}, paid {NUMBER}"
RECORDS = 40
LATE = 240  # records before one that cannot be read: more than are looked at before a job begins


class Place:
    """A machine of its own: a home, a cache, a folder for temporary files and one for the job."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.job, self.cache, self.temporary, self.home = (root / name for name in ("job", "cache", "tmp", "home"))
        for folder in (self.job, self.cache, self.temporary, self.home):
            folder.mkdir()
        self.environment = {
            **os.environ,
            "WORDVEIL_CACHE": str(self.cache),
            "TMPDIR": str(self.temporary),
            "HOME": str(self.home),
        }

    def source(self, form: str, *, broken: bool = False) -> Path:
        """Write the input; with a record at the end that cannot be read, which holds a canary too."""
        path = self.job / f"{FILE}.{form}"
        texts = [TEXT] * (LATE if broken else RECORDS)
        if form == "txt":
            path.write_bytes("\n".join(texts).encode() + (b"\n" + OUT.encode() + b" \xff\n" if broken else b"\n"))
        elif form == "csv":
            rows = [f"{HEADER},text", *(f'{OTHER},"{text}"' for text in texts)]
            path.write_text("\n".join(rows) + (f'\n{OTHER},"{OUT},{IN}\n' if broken else "\n"))
        elif form == "jsonl":
            lines = [json.dumps({HEADER: OTHER, "text": text}) for text in texts]
            path.write_text("\n".join(lines) + (f'\n{{"text": "{OUT} {IN}"\n' if broken else "\n"))
        else:
            column = pa.array([text.encode() for text in texts] + [OUT.encode() + b"\xff"] * broken)
            bad = pa.StringArray.from_buffers(len(column), *column.buffers()[1:])
            pq.write_table(pa.table({HEADER: [OTHER] * len(column), "text": bad}), path, row_group_size=10)
        return path

    def run(self, *arguments: object) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "wordveil", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, check=False, env=self.environment, cwd=self.home)

    def veil(self, source: Path, *more: object) -> subprocess.CompletedProcess[bytes]:
        columns = [] if source.suffix == ".txt" else ["--column", "text"]
        out = self.root / "out"
        out.mkdir(exist_ok=True)
        return self.run(
            "privatize", source, "-o", out / f"veiled{source.suffix}", "--epsilon", "0.2", "--seed", "1",
            "--report", out / "report.json", "--batch-words", "50", *columns, *more,
        )  # fmt: skip

    def where(self, word: str, *spoken: bytes) -> set[str]:
        """Say in what the word is found: names of files, their content as it can be read, and what was said."""
        found = {"said" for said in spoken if word.encode() in said.lower()}
        for path in self.root.rglob("*"):
            if self.job in path.parents:
                continue
            name = path.relative_to(self.root).as_posix()
            if word in name.lower():
                found.add(f"the name {name}")
            if path.is_file() and any(word.encode() in content.lower() for content in contents(path)):
                found.add(name)
        return found


def contents(path: Path) -> Iterator[bytes]:
    """Give a file as it is, and unpacked where it is packed."""
    yield path.read_bytes()
    with suppress(pa.ArrowException, OSError):
        table = pq.read_table(path)
        yield repr((table.to_pylist(), table.schema.metadata)).encode()
    with suppress(pa.ArrowException, OSError), path.open("rb") as streams:
        while True:
            with pa.ipc.open_stream(streams) as stream:
                yield repr(stream.read_all().to_pylist()).encode()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("oov", ["replace", "drop", "keep"])
def test_canaries_come_out_only_where_the_policy_lets_them(place: Place, oov: str) -> None:
    for form in FORMS:  # all in one job, since a process takes longer to start than to veil them
        place.source(form)
    done = place.veil(place.job, "--oov", oov, "--select", "all", "--workers", 2 if oov == "drop" else 1)
    assert done.returncode == 0, done.stderr
    said, outs = (done.stdout, done.stderr), {form: f"out/veiled/{FILE}.{form}" for form in FORMS}
    assert {path.name for path in (place.root / "out" / "veiled").iterdir()} == {f"{FILE}.{form}" for form in FORMS}
    assert place.where(IN, *said) == set()
    assert place.where(OUT, *said) == (set(outs.values()) if oov == "keep" else set())
    assert place.where(NUMBER, *said) == set()  # whatever becomes of unknown words
    assert place.where(FILE, *said) == {f"the name {out}" for out in outs.values()}
    tables = {out for form, out in outs.items() if form != "txt"}
    assert place.where(OTHER, *said) == tables
    assert place.where(HEADER, *said) == tables
    assert list(place.temporary.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_canaries_in_a_record_that_cannot_be_read(place: Place, form: str) -> None:
    """A job that stops in the middle: what it says, what it leaves behind, and its traceback."""
    more_ways = {"txt": [["--debug", "--overwrite"]], "jsonl": [["--workers", "2", "--overwrite"]]}
    for more in ([], *more_ways.get(form, [])):
        done = place.veil(place.source(form, broken=True), "--select", "all", *more)
        assert done.returncode == (1 if "--debug" in more else 2)
        said = (done.stdout, done.stderr)
        assert (place.root / "out" / f"veiled.{form}.part").exists()
        assert (place.root / "out" / f"veiled.{form}.part.json").exists()
        for word in (IN, OUT, NUMBER):
            assert place.where(word, *said) == set(), more
        assert place.where(FILE, *said) == {"said"}  # a message may name a file
        if form != "txt":
            assert place.where(OTHER, *said) == {f"out/veiled.{form}.part"}
    assert list(place.temporary.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_canaries_after_a_kill(place: Place, form: str) -> None:
    source = place.source(form)
    code = (
        "import os, signal, sys; from wordveil.cli import main; import wordveil.io.checkpoint as c; seen = []\n"
        "save = c.Checkpoint.save\n"
        "def kill(self, path):\n"
        "    save(self, path); seen.append(1)\n"
        "    if len(seen) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "c.Checkpoint.save = kill; main()"
    )
    columns = [] if form == "txt" else ["--column", "text"]
    out = place.root / "out"
    out.mkdir()
    command = [sys.executable, "-c", code, "privatize", str(source), "-o", str(out / f"v.{form}"), "--epsilon", "0.2"]
    command += ["--seed", "1", "--select", "all", "--batch-words", "50", *columns]
    done = subprocess.run(command, capture_output=True, check=False, env=place.environment)
    assert done.returncode == -9
    assert {path.name for path in out.iterdir()} == {f"v.{form}.part", f"v.{form}.part.json"}
    for word in (IN, OUT, NUMBER, FILE):
        assert place.where(word, done.stdout, done.stderr) == set()


def test_a_list_of_words_is_private(place: Place) -> None:
    listed = place.job / "words.txt"
    listed.write_text(f"{IN}\nnever{OUT}\n")
    done = place.veil(place.source("csv", broken=True), "--select", "words", "--words", listed)
    assert done.returncode == 2
    for word in (IN, f"never{OUT}"):
        assert place.where(word, done.stdout, done.stderr) == set()
    assert place.where(OUT, done.stdout, done.stderr) == {"out/veiled.csv.part"}  # not on the list: left alone


@pytest.mark.parametrize(("select", "text"), [("marked", f"the [[{IN}]] of [[{OUT}]] {NUMBER}"), ("content", TEXT)])
def test_selections(place: Place, select: str, text: str) -> None:
    source = place.job / "in.txt"
    source.write_text(f"{text}\n" * 5)
    done = place.veil(source, "--select", select, "--case", "copy")
    assert done.returncode == 0, done.stderr
    for word in (IN, OUT, NUMBER):  # a long number is an identifier, which is replaced wherever it stands
        assert place.where(word, done.stdout, done.stderr) == set()


@pytest.mark.parametrize("broken", [False, True])
def test_what_is_learnt_of_the_whole_input(place: Place, broken: bool) -> None:
    """Strange words are rare however often they come, and are not in what a stopped job keeps of its first pass."""
    done = place.veil(place.source("csv", broken=broken), "--select", "rare", "--tree-epsilon", "5")
    if broken:  # it stops in its first pass, before anything is written
        assert done.returncode == 2
        assert list((place.root / "out").iterdir()) == []
    else:
        assert done.returncode == 0, done.stderr
    for word in (OUT, NUMBER, FILE):
        assert place.where(word, done.stdout, done.stderr) <= ({"said"} if word == FILE else set())


def test_names_of_files_are_in_the_names_of_the_output_alone(place: Place) -> None:
    place.source("txt")
    (place.job / "skipped.pdf").write_bytes(OUT.encode())
    done = place.run("privatize", place.job, "-o", place.root / "out", "--epsilon", "0.2", "--seed", "1",
                     "--report", place.root / "report.json", "--select", "all")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert place.where(FILE, done.stdout, done.stderr) == {f"the name out/{FILE}.txt"}
    assert place.where(OUT, done.stdout, done.stderr) == set()


def test_what_goes_wrong_inside_says_nothing_of_the_text(place: Place) -> None:
    source = place.source("txt")
    for workers in ("1", "2"):
        code = (
            "import wordveil.text.draft as v; from wordveil.cli import main\n"
            "def fail(text, *_): raise RuntimeError('about ' + text)\n"
            "v.tokenise = fail; main()"
        )
        command = [sys.executable, "-c", code, "privatize", str(source), "--epsilon", "1", "--workers", workers]
        done = subprocess.run(command, capture_output=True, check=False, env=place.environment)
        assert done.returncode == 1
        assert b"RuntimeError" in done.stderr
        for word in (IN, OUT, NUMBER):
            assert place.where(word, done.stdout, done.stderr) == set()


def test_the_progress_line(place: Place) -> None:
    source = place.job / "in.txt"
    source.write_text(f"{TEXT}\n" * 3000)
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "wordveil", "privatize", str(source), "-o", str(place.root / "out.txt")]
    command += ["--epsilon", "0.2", "--select", "all", "--batch-words", "500"]
    job = subprocess.Popen(command, stderr=follower, stdout=follower, env={**place.environment, "TERM": "xterm"})
    os.close(follower)
    seen = b""
    with suppress(OSError):  # the end of a terminal
        while part := os.read(leader, 4096):
            seen += part
    os.close(leader)
    assert job.wait() == 0
    assert b"veiling" in seen
    for word in (IN, OUT, NUMBER):
        assert word.encode() not in seen


def test_a_crash_leaves_no_core(place: Place) -> None:
    code = (
        "import os, resource, wordveil.text.draft as v; from wordveil.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "def crash(text, *_): print(resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True); os.abort()\n"
        "v.tokenise = crash; main()"
    )
    command = [sys.executable, "-c", code, "privatize", str(place.source("txt")), "--epsilon", "1"]
    done = subprocess.run(command, capture_output=True, check=False, env=place.environment, cwd=place.home)
    assert done.returncode == -6
    assert done.stdout == b"0\n"
    for word in (IN, OUT, NUMBER):
        assert place.where(word, done.stdout, done.stderr) == set()


def test_the_page_of_a_calibration_after_a_job(place: Place, glove: EuclideanSpace) -> None:
    """It is made from the public vocabulary; nothing of the job before may be in it, by way of the cache."""
    space = glove.restrict(np.union1d(np.arange(1000), glove.vocabulary.id(IN)))
    vectors = place.job / "space.txt"
    write_vectors(vectors, list(space.vocabulary), space.points(np.arange(len(space))))
    assert place.veil(place.source("txt"), "--select", "all", "--space", vectors).returncode == 0
    page = place.root / "page.html"
    small = ("--space", vectors, "--words", "20", "--adversary-words", "20", "--points", "2")
    done = place.run("calibrate", *small, "--html", page, "--output", place.root / "figures.json")
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size > 10_000
    for word in (OUT, NUMBER, FILE):
        assert place.where(word, done.stdout, done.stderr) == set()


def test_words_that_are_asked_about_stay_out_of_the_cache(place: Place) -> None:
    """`explain` prints the word, as it was asked to; it must not be kept."""
    for word in (IN, OUT):
        done = place.run("explain", word, "--epsilon", "3")
        assert done.returncode in (0, 2)
        assert place.where(word) == set()


def test_the_search_finds_what_it_looks_for(place: Place) -> None:
    out = place.root / "out"
    out.mkdir()
    table: dict[str, Any] = {"a": [f"{OUT}{number}" for number in range(3000)]}
    pq.write_table(pa.table(table), out / "packed", compression="zstd")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.table(table).schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(pa.table(table))
    (out / "streams").write_bytes(sink.getvalue())
    (place.cache / f"{OUT}.npy").write_bytes(b"")
    (place.temporary / "x").write_bytes(OUT.upper().encode())
    expected = {"out/packed", "out/streams", f"the name cache/{OUT}.npy", "tmp/x", "said"}
    assert place.where(OUT, OUT.encode()) == expected
