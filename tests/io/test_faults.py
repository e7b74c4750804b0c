"""What goes wrong in the middle of a job: nothing is lost, nothing comes out raw or twice, and one sentence says it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.faults import CANARY, Found, Job, kills, on_a_disk_of

from tests.io.test_job import StoppedError, job_for, names, stop_after
from wordveil.errors import FileError, InputError
from wordveil.files import Lock
from wordveil.io import Destination, FileJob, Reading, Tally, Veils, make_plan

LINES = [f"the river carried timber {n} past the mill" for n in range(120)]


def files(folder: Path) -> dict[str, Path]:
    made = {form: folder / f"in.{form}" for form in ("txt", "csv", "jsonl", "parquet")}
    made["txt"].write_text("\n".join(LINES) + "\n")
    made["csv"].write_text("text\n" + "\n".join(LINES) + "\n")
    made["jsonl"].write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES))
    pq.write_table(pa.table({"text": LINES}), made["parquet"], row_group_size=30)
    return made


def job(source: Path, out: Path, **again: bool) -> FileJob:
    plan = make_plan(source)
    columns = () if source.suffix == ".txt" else ("text",)
    made = FileJob(plan, Reading(columns, batch_words=40), Destination.of(out, plan), unveiled=True, **again)
    made.check()
    return made


def after(blocks: int, act: Callable[[], None]) -> Any:
    left = [blocks]

    def watch(tally: Tally, done: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    return watch


@pytest.mark.parametrize("form", ["txt", "csv", "jsonl", "parquet"])
def test_an_input_that_is_cut_in_mid_record_and_put_right_again(tmp_path: Path, idle: Veils, form: str) -> None:
    source, out = files(tmp_path)[form], tmp_path / f"out.{form}"
    content = source.read_bytes()
    state = source.stat()
    middle = len(content) // 2 + 17  # neither at the end of a line nor of a row group

    with pytest.raises(InputError) as caught:
        job(source, out).run(idle, after(2, lambda: os.truncate(source, middle)))
    assert not out.exists()
    assert f"out.{form}.part" in str(caught.value)
    assert "`resume`" in str(caught.value)
    assert "timber" not in str(caught.value)
    source.write_bytes(content)
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    tally = job(source, out, resume=True).run(idle)
    assert tally.records == 120
    if form == "parquet":
        assert pq.read_table(out)["text"].to_pylist() == LINES
    else:
        assert out.read_bytes() == content


@pytest.mark.parametrize("form", ["txt", "csv", "jsonl"])
def test_a_last_line_that_has_grown_is_not_taken_for_two(tmp_path: Path, idle: Veils, form: str) -> None:
    source, out = files(tmp_path)[form], tmp_path / f"out.{form}"
    source.write_bytes(source.read_bytes().removesuffix(b"\n"))
    with pytest.raises(StoppedError):
        job(source, out).run(idle, lambda tally, _: stop_after(1)(tally, 0) if tally.records == 120 else None)
    with source.open("ab") as file:
        file.write(b" and on\n")
    with pytest.raises(InputError):
        job(source, out, resume=True).run(idle)


def test_lines_that_were_added_are_read(tmp_path: Path, idle: Veils) -> None:
    source, out = files(tmp_path)["txt"], tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        job(source, out).run(idle, stop_after(3))
    with source.open("ab") as file:
        file.write(b"one more\n")
    assert job(source, out, resume=True).run(idle).records == 121


@pytest.mark.parametrize("form", ["txt", "parquet"])
def test_an_input_that_is_removed(tmp_path: Path, idle: Veils, form: str) -> None:
    source, out = files(tmp_path)[form], tmp_path / f"out.{form}"
    with pytest.raises(FileError):
        job(source, out).run(idle, after(2, source.unlink))


def test_parquet_is_whole_at_every_step_of_its_end(
    tmp_path: Path, seeded: Veils, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop the job before each of the last changes of names, as a kill would, and go on."""
    source = files(tmp_path)["parquet"]
    job(source, tmp_path / "whole.parquet").run(seeded)
    whole = pq.read_table(tmp_path / "whole.parquet")
    replace = Path.replace
    for step in range(1, 10):
        out = tmp_path / f"out-{step}.parquet"
        left = [step]

        def stopping(self: Path, target: Path, left: list[int] = left) -> Path:
            if self.suffix != ".wordveil-new":  # the checkpoint's own
                left[0] -= 1
                if left[0] == 0:
                    raise StoppedError
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", stopping)
        try:
            job(source, out).run(seeded)
            break
        except StoppedError:
            monkeypatch.setattr(Path, "replace", replace)
            job(source, out, resume=True).run(seeded)
        assert pq.read_table(out) == whole
        assert not out.with_name(out.name + ".part").exists()
    assert step == 3  # there were two such changes


def test_parquet_on_a_full_disk(tmp_path: Path) -> None:
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": LINES * 40, "n": range(4800)}), source, compression="NONE")
    command = [sys.executable, "-m", "wordveil", "privatize", str(source), "-o", str(out), "--column", "text"]
    command += ["--epsilon", "3", "--quiet", "--batch-words", "4000"]
    stopped = subprocess.run(on_a_disk_of(60_000, command), capture_output=True, text=True, check=False)
    assert stopped.returncode == 2, stopped.stderr
    assert stopped.stderr.count("\n") == 1
    assert "File too large" in stopped.stderr
    assert "timber" not in stopped.stderr
    assert not out.exists()
    subprocess.run([*command, "--resume"], check=True)
    found = pq.read_table(out)
    assert found["n"].to_pylist() == list(range(4800))
    assert not any("timber 1 " in text for text in found["text"].to_pylist()[:50:49])
    assert names(tmp_path) == ["in.parquet", "out.parquet"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permissions")
def test_an_output_that_may_not_be_written(tmp_path: Path) -> None:
    source = files(tmp_path)["txt"]
    command = [sys.executable, "-m", "wordveil", "privatize", str(source), "--epsilon", "3", "-o"]
    for out in ("/proc/version", "/proc/nowhere/out.txt", str(source / "below.txt")):
        done = subprocess.run([*command, out], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="file names there are Unicode")
def test_file_names_that_are_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    Path(os.fsdecode(bytes(folder) + b"/na\xefve.txt")).write_text("a ship\n")
    Path(os.fsdecode(bytes(folder) + b"/na\xefve.pdf")).write_text("a ship\n")
    command = [sys.executable, "-m", "wordveil", "privatize", str(folder), "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--epsilon", "3", "--report", str(tmp_path / "report.json"), "-q"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert report["job"]["skipped_files"] == ["na\udcefve.pdf"]
    assert os.listdir(bytes(tmp_path / "out")) == [b"na\xefve.txt"]  # noqa: PTH208 - names as bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_process_does_not_hold_the_lock_of_its_parent(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    lock = Lock(held)
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # lives on, as a worker whose parent was killed does for a moment
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        with pytest.raises(FileError):
            Lock(held)
        lock.release()
        Lock(held).release()
    finally:
        os.write(done[1], b"x")
        os.waitpid(child, 0)
        for end in (*ready, *done):
            os.close(end)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no such links")
def test_links_laid_in_the_way_are_not_written_through(
    tmp_path: Path, seeded: Veils, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, victim = files(tmp_path)["txt"], tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out.txt"
    laid = tmp_path / ".out.txt.part.json.wordveil-new"
    laid.symlink_to(victim)
    job(source, out).run(seeded)
    assert victim.read_text() == "mine"
    assert not laid.exists()
    table = tmp_path / "out.parquet"
    (tmp_path / "out.parquet.part.whole").symlink_to(victim)
    job(files(tmp_path)["parquet"], table).run(seeded)
    assert victim.read_text() == "mine"
    assert not table.is_symlink()
    assert pq.read_table(table).num_rows == len(LINES)
    other = tmp_path / "other.txt"
    made = job(source, other)
    begin = Destination.begin

    def late(self: Destination) -> Any:
        self.part.symlink_to(victim)  # after everything was checked
        return begin(self)

    monkeypatch.setattr(Destination, "begin", late)
    with pytest.raises(FileError):
        made.run(seeded)
    assert victim.read_text() == "mine"
    assert not other.exists()


def test_a_job_that_is_done_is_not_begun_again(tmp_path: Path, idle: Veils) -> None:
    source, out = files(tmp_path)["txt"], tmp_path / "out.txt"
    made = job(source, out)
    made.run(idle)
    made.forget()
    with pytest.raises(FileError) as caught:
        job(source, out, resume=True)
    assert "`overwrite`" in str(caught.value)


def test_real_kills(tmp_path: Path) -> None:
    found = kills("jsonl", workers=2, count=3, records=1500, seed=4, folder=tmp_path)
    assert found.is_good, found
    assert found.trials == 3
    assert found.records % 1500 == 0
    assert found.records > 0


def test_the_harness_sees_what_it_looks_for(tmp_path: Path) -> None:
    """Outputs with each fault in them are found out, or the counts above would mean nothing."""
    made = Job(tmp_path, "jsonl", 4)
    good = [{"id": number, "text": f"text {number}"} for number in range(4)]
    wrongs = {
        "lost": good[:2] + good[3:],
        "repeated": [*good, good[3]],
        "misplaced": [good[1], good[0], *good[2:]],
        "raw": [*good[:3], {"id": 3, "text": f"a {CANARY}"}],
        "reused": [*good[:3], {"id": 3, "text": "text 0"}],
    }
    for name, records in wrongs.items():
        made.out.write_text("".join(json.dumps(record) + "\n" for record in records))
        made.drawn.clear()
        found = Found()
        made.check(subprocess.Popen(["true"], stderr=subprocess.PIPE, text=True), found)
        assert getattr(found, name) > 0, name
        assert not found.is_good
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(record) + "\n" for record in good))
    made.drawn.clear()
    found = Found()
    made.check(subprocess.Popen(["true"], stderr=subprocess.PIPE, text=True), found)
    assert found.is_good


def test_a_job_of_before_goes_on(tmp_path: Path, idle: Veils) -> None:
    # The checks above must not refuse what is in order: an empty line at the end, and none.
    for number, content in enumerate((b"one\n\n", b"one\ntwo", b"\n")):
        source, out = tmp_path / f"in{number}.txt", tmp_path / f"out{number}.txt"
        source.write_bytes(content)
        with pytest.raises(StoppedError):
            job_for(source, out, words=1).run(idle, stop_after(1))
        job_for(source, out, words=1, resume=True).run(idle)
        assert out.read_bytes() == content


@pytest.mark.parametrize("name", ["{}.part.whole", ".{}.part.json.wordveil-new", ".{}.part.learnt.json.wordveil-new"])
def test_no_working_name_is_that_of_the_input(tmp_path: Path, name: str) -> None:
    source = tmp_path / name.format("out.txt")
    source.write_text("\n".join(LINES))
    plan = make_plan(source, "text")
    with pytest.raises(FileError):
        FileJob(plan, Reading(), Destination.of(tmp_path / "out.txt", plan)).check()
    assert source.read_text() == "\n".join(LINES)
