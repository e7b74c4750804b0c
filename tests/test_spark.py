"""The work on a real Spark: local, and on a small cluster whose executors are killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space
from wordveil.errors import FileError, InputError, OptionError, UnprovenError, WordveilError
from wordveil.spaces.files import write_vectors

pytest.importorskip("pyspark", reason="the Spark tests did not run: pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip(
        "the Spark tests did not run: there is no Java (Debian: openjdk-17-jre-headless)", allow_module_level=True
    )

from wordveil import spark as engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Spark's own warnings are not ours to mend
    pytest.mark.xdist_group("spark"),  # one Java machine for all, and not one in each process
]

WORDS = ["ship", "harbour", "letter", "music", "doctor", "garden", "winter", "bridge", "market", "river"]


def session(master: str, **settings: Any) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("wordveil tests")
    chosen = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **settings,
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture
def local() -> SparkSession:
    return session("local[2]")  # the one there is, unless a test has stopped it


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left_running() -> Iterator[None]:
    from pyspark.sql import SparkSession

    yield
    left = SparkSession.getActiveSession()
    if left is not None:
        left.stop()


def frame(spark: SparkSession, rows: int = 400) -> Any:
    data = [
        (f"user{n}", None if n % 50 == 7 else f"The {WORDS[n % 10]} was near the {WORDS[n % 7]}.", n)
        for n in range(rows)
    ]
    return spark.createDataFrame(data, "user string, text string, number int").repartition(4)


def test_columns_are_veiled_once(local: SparkSession, tmp_path: Path) -> None:
    data = frame(local)
    veiled = engine.privatize(data, ["text"], epsilon=3.0, store=str(tmp_path / "veiled"))
    assert veiled.columns == data.columns
    first = {row.number: row for row in veiled.collect()}
    assert {row.number: row for row in veiled.collect()} == first  # a second action draws nothing
    before = {row.number: row for row in data.collect()}
    assert set(first) == set(before)
    assert all(first[n].user == before[n].user for n in first)
    assert all((first[n].text is None) == (before[n].text is None) for n in first)
    texts = [(first[n].text, before[n].text) for n in first if before[n].text is not None]
    assert all(after.startswith("The ") and " was near the " in after for after, _ in texts)
    assert sum(after != text for after, text in texts) > 100
    assert len({first[n].text for n in range(3, 400, 70)}) > 1  # equal texts are drawn apart
    with pytest.raises(FileError):
        engine.privatize(data, ["text"], epsilon=3.0, store=str(tmp_path / "veiled"))


def test_a_shuffle_keeps_the_rows_and_drops_the_users(local: SparkSession, tmp_path: Path) -> None:
    data = frame(local)
    out = engine.shuffle(data, store=str(tmp_path / "keys"), drop=["user"])
    assert out.columns == ["text", "number"]
    numbers = [row.number for row in out.collect()]
    assert sorted(numbers) == list(range(400))
    assert abs(stats.spearmanr(numbers, range(400)).statistic) < 0.25
    assert [row.number for row in out.collect()] == numbers


def test_a_sample_has_its_size(local: SparkSession, tmp_path: Path) -> None:
    out = engine.subsample(frame(local), 0.1, store=str(tmp_path / "keys"), drop=["user"])
    assert out.count() == 40
    assert len({row.number for row in out.collect()}) == 40


def test_a_threshold_drops_the_rare(local: SparkSession, tmp_path: Path) -> None:
    data = local.createDataFrame([("often",)] * 300 + [("seldom",)] * 5, "word string").repartition(3)
    out = Counter(row.word for row in engine.k_threshold(data, ["word"], 20, 0.5, store=str(tmp_path / "s")).collect())
    assert set(out) == {"often"}
    assert stats.binomtest(out["often"], 300, 0.5).pvalue > ALPHA


def test_mistakes_are_told_before_anything_runs(local: SparkSession, tmp_path: Path) -> None:
    data, store = frame(local, 5), str(tmp_path / "never")
    mistakes: list[Callable[[], Any]] = [
        lambda: engine.privatize(data, ["nothing"], epsilon=3.0, store=store),
        lambda: engine.privatize(data, ["number"], epsilon=3.0, store=store),
        lambda: engine.privatize(data, [], epsilon=3.0, store=store),
        lambda: engine.privatize(data, ["text"], epsilon=-3.0, store=store),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, mechanism="magic"),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, select="spans"),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, select="rare"),
        lambda: engine.subsample(data, 0.0, store=store),
        lambda: engine.shuffle(data, store=store, drop=["nothing"]),
        lambda: engine.k_threshold(data, ["text"], 0, 0.5, store=store),
    ]
    for wrong in mistakes:
        with pytest.raises(WordveilError):
            wrong()
    assert not Path(store).exists()


def test_what_is_not_promised_is_said(local: SparkSession, tmp_path: Path) -> None:
    data = frame(local, 5).na.drop()
    how: dict[str, Any] = {"epsilon": 3.0, "space": str(tmp_path / "toy.bin")}
    toy = make_space()
    write_vectors(tmp_path / "toy.bin", toy.vocabulary.words, toy.matrix, format="word2vec-binary")
    with pytest.raises(UnprovenError):
        engine.privatize(data, ["text"], store=str(tmp_path / "never"), mechanism="jaccard", **how)
    assert not (tmp_path / "never").exists()
    with pytest.warns(UserWarning, match="jaccard"):
        engine.privatize(data, ["text"], store=str(tmp_path / "a"), mechanism="jaccard", unproven=True, **how)
    said: list[str] = []
    engine.privatize(data, ["text"], store=str(tmp_path / "b"), oov="keep", tell=said.append, **how)
    assert len(said) == 1


@pytest.mark.parametrize("form", ["text", "csv", "jsonl", "parquet"])
def test_files_are_veiled_by_the_command(
    form: str, local: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from wordveil.cli import main

    def command(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as caught:
            main(["privatize", "--engine", "spark", "--epsilon", "3", *map(str, arguments)])
        return int(caught.value.code or 0), capfd.readouterr().err

    source, out = tmp_path / ("in.txt" if form == "text" else f"in.{form}"), tmp_path / "out"
    data = frame(local, 30).na.drop()
    if form == "text":
        source.write_text("\n".join(row.text for row in data.collect()))
    else:
        table = data.toPandas()
        if form == "csv":
            table.to_csv(source, index=False)
        elif form == "jsonl":
            table.to_json(source, orient="records", lines=True)
        else:
            table.to_parquet(source)
    named = [] if form == "text" else ["--column", "text"]
    assert command(source, "-o", out, *named)[0] == 0
    rows = local.read.parquet(str(out)).collect()
    assert len(rows) == data.count()
    assert all((row.value if form == "text" else row.text).startswith("The ") for row in rows)
    status, told = command(source, "-o", out, *named)
    assert status == 2
    assert str(out) in told
    assert command(source, "-o", tmp_path / "x", *named, "--seed", "1")[0] == 2
    assert command(source, "-o", tmp_path / "x", *([] if named else ["--column", "text"]))[0] == 2
    assert command(source)[0] == 2


def test_equal_words_are_drawn_once_in_every_task(local: SparkSession, tmp_path: Path) -> None:
    rows = [("ann" if n % 2 else "bob" if n % 4 else None, "river mill river", "mill") for n in range(40)]
    data = local.createDataFrame(rows, ["who", "text", "more"]).repartition(4)
    data = data.withMetadata("text", {"values": "river mill"}).withMetadata("who", {"about": "customers"})
    how: dict[str, Any] = {"case": "lower", "once": "person", "person": "who"}
    written = engine.privatize(data, ["text", "more"], epsilon=1.0, store=str(tmp_path / "person"), **how)
    assert [written.schema[name].metadata for name in ("text", "who")] == [{}, {"about": "customers"}]
    veiled = written.collect()
    by_person: dict[Any, set[tuple[str, str]]] = {}
    for row in veiled:
        by_person.setdefault(row["who"], set()).add((row["text"], row["more"]))
        first, second, third = row["text"].split()
        assert first == third
        assert second == row["more"]
    assert len(by_person["ann"]) == len(by_person["bob"]) == 1
    assert by_person["ann"] != by_person["bob"]
    assert len(by_person[None]) > 1
    with pytest.raises(OptionError):
        engine.privatize(data, ["text"], epsilon=1.0, once="person", store=str(tmp_path / "none"))


def executors() -> list[int]:
    """Return the executors that this process's Spark has started."""
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


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the Spark cluster test did not run: there is no /proc"
)
@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("jsonl", '{"text": "a ship", "id": 1}\n{"text": "zyqxcanary"\n{"text": "fine", "id": 3}\n'),
        ("csv", "id,text\n1,a ship\n2,zyqxcanary,zyqxcanary\n"),
        ("csv", "id,text\n1,a ship\n2\n"),
        ("tsv", "id\ttext\n1\ta ship\tmore\n"),
    ],
)
@pytest.mark.usefixtures("local")
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


@pytest.mark.usefixtures("local")
def test_a_folder_of_tables_with_different_headers_is_refused(tmp_path: Path) -> None:
    # Left to itself, Spark goes by the place of a column and would put the texts of one file among the ids.
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id,text\n1,a ship\n")
    (tmp_path / "in" / "b.csv").write_text("text,id\nzyqxcanary,2\n")
    with pytest.raises(InputError) as caught:
        engine.privatize_files(str(tmp_path / "in"), str(tmp_path / "out"), ["text"], "csv", epsilon=1.0)
    assert not (tmp_path / "out").exists()
    assert "canary" not in str(caught.value)


def test_a_killed_executor_releases_nothing_twice(local: SparkSession, tmp_path: Path) -> None:
    """On a cluster of two executors, of which two are killed when some of the tasks are done."""
    local.stop()
    cluster = session("local-cluster[2,1,1024]", **{"spark.task.maxFailures": "8", "spark.executor.memory": "512m"})
    killed: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        for tasks in (1, 3):
            while len(list(tmp_path.glob("veiled/_temporary/0/task_*"))) < tasks and not is_over.wait(0.05):
                pass
            for pid in [] if is_over.is_set() else executors()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill)
    try:
        toy = make_space()
        write_vectors(tmp_path / "toy.bin", toy.vocabulary.words, toy.matrix, format="word2vec-binary")
        rows = [(n, " ".join(toy.vocabulary.words[n % 50 : n % 50 + 3])) for n in range(800)]
        data = cluster.createDataFrame(rows, "number int, text string").repartition(8)
        killer.start()
        veiled = engine.privatize(
            data,
            ["text"],
            epsilon=1.0,
            store=str(tmp_path / "veiled"),
            mechanism="exponential",
            space=str(tmp_path / "toy.bin"),  # small, for every executor opens it anew
        )
        is_over.set()
        found = sorted(veiled.collect())
        assert killed
        assert [row.number for row in found] == list(range(800))
        assert sorted(veiled.collect()) == found
        # no other draw lies anywhere in the folder
        assert not list((tmp_path / "veiled").glob("_temporary*"))
    finally:
        is_over.set()
        killer.join()
        cluster.stop()


def test_the_options_of_a_veil_reach_every_task(local: SparkSession, tmp_path: Path) -> None:
    text = "river to ann@home.net, ann@home.net or bob@home.net on 3 May 2021"
    data = local.createDataFrame([("ann", text)] * 4, ["who", "text"]).repartition(2)

    def veiled(name: str, **how: Any) -> set[str]:
        out = engine.privatize(data, ["text"], epsilon=1.0, store=str(tmp_path / name), **how)
        return {row.text.partition(" to ")[2] for row in out.collect()}

    assert veiled("record", numbered=True, numbers="drop") == {"<EMAIL_1>, <EMAIL_1> or <EMAIL_2> on"}
    (found,) = veiled("person", numbered=True, once="person", person="who")  # the same in every task
    first, second = found.split(", ")
    assert second.startswith(first)
    assert len(first) == len("<EMAIL_123456789>")
    assert all("<DATE>" not in told for told in veiled("metric", numbers="metric", numbers_epsilon=0.01))
    listed = veiled("words", select="words", words=["river"])
    assert listed == {"<EMAIL>, <EMAIL> or <EMAIL> on 3 May 2021"}
    mistakes: list[dict[str, Any]] = [{"colour": "red"}, {"numbers": "metric"}, {"language": "xx"}]
    for wrong in mistakes:
        with pytest.raises(OptionError):
            engine.privatize(data, ["text"], epsilon=1.0, store=str(tmp_path / "never"), **wrong)
    assert not (tmp_path / "never").exists()
