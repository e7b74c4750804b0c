"""Several workers: the same output in the same order, fresh entropy, and no orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

COMMAND = [sys.executable, "-m", "wordveil", "privatize"]
OPTIONS = ["--epsilon", "3", "--quiet"]
SMALL = ["--batch-words", "700"]  # blocks that are veiled in Python, and so by processes


@pytest.fixture
def inputs(tmp_path: Path, sample_csv: Path) -> dict[str, Path]:
    table = pyarrow.csv.read_csv(sample_csv)
    table = table.slice(0, len(table) // 3)  # still several blocks for each worker
    texts = table.column("text").to_pylist()
    files = {ending: tmp_path / f"in.{ending}" for ending in ("txt", "csv", "jsonl", "parquet")}
    files["txt"].write_text("\n".join(texts), encoding="utf-8")
    pyarrow.csv.write_csv(table, files["csv"])
    import json

    files["jsonl"].write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    pyarrow.parquet.write_table(pa.table({"text": texts}), files["parquet"])
    return files


def veil(source: Path, target: Path, *more: str, batch_words: int = 700) -> None:
    columns = [] if source.suffix == ".txt" else ["--column", "text"]
    options = [*OPTIONS, "--batch-words", str(batch_words), *columns, *more]
    subprocess.run([*COMMAND, str(source), "-o", str(target), *options], check=True)


@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl", "parquet"])
def test_workers_give_what_one_process_gives(inputs: dict[str, Path], ending: str, tmp_path: Path) -> None:
    alone, together = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    veil(inputs[ending], alone, "--seed", "3")
    veil(inputs[ending], together, "--seed", "3", "--workers", "3")
    if ending == "parquet":
        assert pyarrow.parquet.read_table(alone) == pyarrow.parquet.read_table(together)
    else:
        assert alone.read_bytes() == together.read_bytes()


def test_threads_give_what_one_process_gives(inputs: dict[str, Path], tmp_path: Path) -> None:
    # Blocks of text that are large enough for compiled code to veil them are veiled by threads.
    alone, together = tmp_path / "a.txt", tmp_path / "b.txt"
    veil(inputs["txt"], alone, "--seed", "3", batch_words=4000)
    veil(inputs["txt"], together, "--seed", "3", "--workers", "3", batch_words=4000)
    assert alone.read_bytes() == together.read_bytes()
    assert alone.read_bytes() != inputs["txt"].read_bytes()


def test_as_many_workers_as_cores(inputs: dict[str, Path], tmp_path: Path) -> None:
    alone, together = tmp_path / "a.txt", tmp_path / "b.txt"
    veil(inputs["txt"], alone, "--seed", "3")
    veil(inputs["txt"], together, "--seed", "3", "--workers", "auto")
    assert alone.read_bytes() == together.read_bytes()
    for wrong in ("0", "-1", "two", "1.5", "99999"):
        done = subprocess.run(
            [*COMMAND, str(inputs["txt"]), *OPTIONS, "--workers", wrong], check=False, capture_output=True
        )
        assert done.returncode == 2
        assert b"workers" in done.stderr


@pytest.mark.parametrize("batch_words", [700, 4000])
def test_workers_never_share_entropy(batch_words: int, tmp_path: Path) -> None:
    # One sentence over and over: two blocks with the same draws would come out alike.
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    times = batch_words // 9
    source.write_text(("ship harbour sail wind captain storm mast anchor " * times + "\n") * 12, encoding="utf-8")
    veil(source, target, "--workers", "3", batch_words=batch_words)
    lines = target.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12
    assert len(set(lines)) == 12


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def begun(tmp_path: Path, sample_csv: Path) -> tuple[subprocess.Popen[str], list[int], Path]:
    """Start a long job with workers and wait until they are there."""
    source, target = tmp_path / "long.txt", tmp_path / "out.txt"
    source.write_text(sample_csv.read_text(encoding="utf-8") * 5, encoding="utf-8")
    job = subprocess.Popen(
        [*COMMAND, str(source), "-o", str(target), *OPTIONS, *SMALL, "--workers", "2", "--seed", "1"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(1200):
        workers = children(job.pid)
        if len(workers) == 2 and target.with_name("out.txt.part.json").exists():
            return job, workers, target
        time.sleep(0.05)
    raise AssertionError("the workers did not start")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_a_worker_that_dies_gives_one_sentence_and_the_job_goes_on(tmp_path: Path, sample_csv: Path) -> None:
    job, workers, target = begun(tmp_path, sample_csv)
    os.kill(workers[0], signal.SIGKILL)
    _, told = job.communicate(timeout=60)
    assert job.returncode == 2
    assert told.count("\n") == 2  # the warning that a seed was given, and why the job ended
    assert not target.exists()
    again = [*COMMAND, str(tmp_path / "long.txt"), "-o", str(target), *OPTIONS, *SMALL, "--seed", "1", "--resume"]
    subprocess.run([*again, "--workers", "2"], check=True)
    whole = tmp_path / "whole.txt"
    veil(tmp_path / "long.txt", whole, "--seed", "1")
    assert target.read_bytes() == whole.read_bytes()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path, sample_csv: Path) -> None:
    job, workers, target = begun(tmp_path, sample_csv)
    job.kill()
    job.communicate(timeout=30)
    for _ in range(100):
        if not any(Path(f"/proc/{worker}/stat").exists() for worker in workers):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a worker is still there")
    assert not target.exists()


def test_more_workers_than_a_machine_can_hold_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("the ship\n")
    command = [*COMMAND, str(source), *OPTIONS, "--workers", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--workers" in done.stderr
