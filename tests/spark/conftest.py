"""A real cluster for all Spark tests: a standalone master and two workers from the installed package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conftest import make_space
from wordveil.spaces.files import write_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

try:
    import pyspark
except ImportError:
    pyspark = None

HAS_JAVA = shutil.which("java") is not None or "JAVA_HOME" in os.environ
#: What the session and what is submitted to the cluster share: nothing listens or asks outside this machine.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.task.maxFailures": "8",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = "pyspark is not installed" if pyspark is None else "there is no Java (Debian: openjdk-17-jre-headless)"
    for item in items:
        if not item.path.is_relative_to(Path(__file__).parent):
            continue
        item.add_marker(pytest.mark.filterwarnings("default"))  # Spark's own warnings are not ours to mend
        if pyspark is None or not HAS_JAVA:
            item.add_marker(pytest.mark.skip(reason=f"the Spark tests did not run: {reason}"))


class Cluster(NamedTuple):
    """A running cluster, and the folder that its executors take for their cache."""

    master: str
    cache: Path


def start(main: str, log: Path, cache: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a daemon of Spark's as its scripts do, which are not in the package."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",
        "WORDVEIL_CACHE": str(cache),
    }
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    where = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    command = [str(java), "-Xmx256m", "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{main}", *where, *arguments]
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    from tests.serving import until

    folder = tmp_path_factory.mktemp("cluster")
    log, cache = folder / "master.log", folder / "cache"
    started = [start("master.Master", log, cache)]

    def address() -> re.Match[str] | None:
        assert started[0].poll() is None, log.read_text()
        return re.search(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", log.read_text())

    try:
        until(lambda: address() is not None)
        found = address()
        assert found is not None
        for number in range(2):
            own = folder / f"worker-{number}"
            more = ["--cores", "2", "--memory", "2g", "--work-dir", str(own)]
            started.append(start("worker.Worker", folder / f"{number}.log", cache, *more, found[1]))
        yield Cluster(found[1], cache)
    finally:
        for daemon in reversed(started):
            daemon.terminate()
        for daemon in started:
            daemon.wait()


@pytest.fixture(scope="package")
def session(cluster: Cluster) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(cluster.master).appName("wordveil tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]


@pytest.fixture(scope="package")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return how to veil with a small space, which a cold executor opens at once."""
    path = tmp_path_factory.mktemp("space") / "toy.bin"
    made = make_space()
    write_vectors(path, made.vocabulary.words, made.matrix, format="word2vec-binary")
    return {"epsilon": 1.0, "space": str(path), "mechanism": "exponential"}


@pytest.fixture(scope="package")
def words() -> list[str]:
    """Return the words of the small space."""
    return list(make_space().vocabulary.words)
