"""A real cluster for all Spark tests: a standalone master and two workers from the installed package."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from benchmarks.cluster import SETTINGS as ALONE
from benchmarks.cluster import running

from tests.conftest import make_space
from wordveil.spaces.files import write_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

try:
    import pyspark
except ImportError:
    pyspark = None

HAS_JAVA = shutil.which("java") is not None or "JAVA_HOME" in os.environ
#: What the session and what is submitted to the cluster share.
SETTINGS = {
    **ALONE,
    "spark.sql.shuffle.partitions": "2",
    "spark.cores.max": "2",
    "spark.task.maxFailures": "8",
    # A second attempt of the slowest task is begun as soon as others are done.
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "500ms",
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


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with running(folder, workers=2, cores=2, cache=folder / "cache") as master:
        yield Cluster(master, folder / "cache")


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
