"""What a cluster does to a job: executors and drivers that are killed, and machines without the space."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wordveil
from tests.spark.conftest import SETTINGS, Cluster
from wordveil import spark as engine
from wordveil.cli import main

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def slow(session: SparkSession, words: list[str], rows: int = 400) -> DataFrame:
    """Return rows of three words in eight partitions, each of which takes some tenths of a second to read."""
    from pyspark.sql import functions

    listed = functions.array(*(functions.lit(" ".join(words[n : n + 3])) for n in range(50)))
    texts = session.range(0, rows, 1, 8).withColumn("text", listed[(functions.col("id") % 50).cast("int")])
    return texts.where("coalesce(java_method('java.lang.Thread', 'sleep', 6L), '') <> 'over'")


def executors() -> list[int]:
    """Return the executors that the workers of this process have started."""
    parents, named = {}, []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                named.append(int(entry.name))

    def is_ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid in named if is_ours(pid)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no executor was killed: there is no /proc")
def test_a_killed_executor_releases_nothing_twice(
    session: SparkSession, toy: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    killed: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        while not any(tmp_path.glob("killed/_temporary/0/task_*")) and not is_over.wait(0.02):
            pass
        for pid in [] if is_over.is_set() else executors()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    data, reports = slow(session, words), list[dict[str, Any]]()
    how: dict[str, Any] = {**toy, "seed": 5, "tell": lambda _: None, "report": reports.append}
    quiet = engine.privatize(data, ["text"], store=str(tmp_path / "quiet"), **how)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        veiled = engine.privatize(data, ["text"], store=str(tmp_path / "killed"), **how)
    finally:
        is_over.set()
        killer.join()
    assert killed
    found = sorted(veiled.collect())
    assert [row.id for row in found] == list(range(400))
    assert sorted(veiled.collect()) == found
    assert sorted(quiet.collect()) == found  # what was done again was drawn alike
    assert not list((tmp_path / "killed").glob("_temporary*"))
    assert [report["counts"] for report in reports] == [reports[0]["counts"]] * 2  # nothing was counted twice
    assert reports[0]["counts"]["words"] == 1200


@pytest.mark.skipif(sys.platform != "linux", reason="no attempt was speculative: the workers have one host")
def test_a_speculative_attempt_releases_nothing_twice(
    session: SparkSession, toy: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    from pyspark.sql import functions

    marks = str(tmp_path)
    listed = functions.array(*(functions.lit(" ".join(words[n : n + 3])) for n in range(50)))
    data = session.range(0, 400, 1, 8).withColumn("text", listed[(functions.col("id") % 50).cast("int")])

    def straggle(batches: Any) -> Any:
        import time  # of the worker, which has none of this module
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches  # so that it has veiled and written something before it straggles
        attempt = Path(marks, f"{context.partitionId()}-{context.attemptNumber()}")
        attempt.touch()
        if attempt.name == "0-0":
            time.sleep(60)

    reports = list[dict[str, Any]]()
    how: dict[str, Any] = {**toy, "seed": 5, "tell": lambda _: None, "report": reports.append}
    quiet = engine.privatize(data, ["text"], store=str(tmp_path / "quiet"), **how)
    straggling = data.mapInArrow(straggle, data.schema)
    veiled = engine.privatize(straggling, ["text"], store=str(tmp_path / "twice"), **how)
    assert {"0-0", "0-1"} <= {path.name for path in tmp_path.iterdir()}
    found = sorted(veiled.collect())
    assert [row.id for row in found] == list(range(400))
    assert sorted(quiet.collect()) == found
    assert [report["counts"] for report in reports] == [reports[0]["counts"]] * 2


def test_a_space_is_sent_to_the_executors_with_its_graph(
    session: SparkSession, cluster: Cluster, toy: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    data = session.createDataFrame([(" ".join(words[:20]),)] * 8, "text string").repartition(2)
    own = {**toy, "mechanism": "graph", "options": {"k": 2}}
    veiled = engine.privatize(data, ["text"], store=str(tmp_path / "veiled"), **own)
    assert set(" ".join(row.text for row in veiled.collect()).lower().split()) <= set(words)
    # Their cache is not the driver's, and they had to parse nothing and to build nothing.
    assert not list(cluster.cache.glob("*-*"))


def test_what_a_killed_driver_leaves_is_cleared_and_drawn_anew(
    session: SparkSession, cluster: Cluster, toy: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out"
    source.write_text("".join(f"{' '.join(words[n % 50 : n % 50 + 3])}\n" for n in range(3000)))
    options = {**SETTINGS, "spark.cores.max": "1"}  # one executor is enough, and tasks enough to be killed among them
    options |= {"spark.sql.files.maxPartitionBytes": "500", "spark.sql.files.openCostInBytes": "1"}
    settings = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    how = ["privatize", source, "-o", out, "--engine", "spark", "--epsilon", "1", "--mechanism", toy["mechanism"]]
    arguments = [str(part) for part in (*how, "--space", toy["space"])]
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", cluster.master, *settings]
    with (tmp_path / "log").open("wb") as log:
        driver = subprocess.Popen(
            [*submit, str(Path(wordveil.__file__).parent / "__main__.py"), *arguments],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + 300  # seconds: another Java starts, and an executor for it
        while not any(out.glob("_temporary/0/task_*/*.parquet")) and driver.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert driver.poll() is None, (tmp_path / "log").read_text()
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert any(out.glob("_temporary/0/task_*/*.parquet"))  # readable draws, which were never released
    assert not (out / "_SUCCESS").exists()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert not caught.value.code
    assert session.read.parquet(str(out)).count() == 3000
    assert {path.name for path in out.iterdir() if path.suffix not in (".parquet", ".crc")} == {
        "_SUCCESS",
        "_wordveil.json",
    }


@pytest.mark.parametrize("is_late", [False, True])
def test_two_jobs_into_one_folder_never_release_two_draws(
    session: SparkSession, toy: dict[str, Any], words: list[str], tmp_path: Path, is_late: bool
) -> None:
    from py4j.protocol import Py4JJavaError

    data, store, ended = slow(session, words, 200), tmp_path / "store", list[bool]()

    def run() -> None:
        with suppress(wordveil.errors.FileError, Py4JJavaError):  # Spark's own, where its files have gone
            engine.privatize(data, ["text"], store=str(store), tell=lambda _: None, **toy)
            ended.append(True)

    first = threading.Thread(target=run)
    first.start()
    while not any(store.glob("_temporary/0/task_*" if is_late else "_temporary")) and first.is_alive():
        time.sleep(0.01)
    run()
    first.join()
    if (store / "_SUCCESS").exists():
        found = session.read.parquet(str(store)).collect()
        assert sorted(row.id for row in found) == list(range(200))
        assert len(ended) == 1
    else:
        assert not ended


def test_a_folder_of_somebody_else_is_never_cleared(session: SparkSession, toy: dict[str, Any], tmp_path: Path) -> None:
    data = session.createDataFrame([("a ship",)], "text string")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("years of work")
    with pytest.raises(wordveil.errors.FileError):
        engine.privatize(data, ["text"], store=str(tmp_path / "theirs"), **toy)
    assert (tmp_path / "theirs" / "thesis.txt").exists()
