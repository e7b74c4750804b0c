"""A Spark cluster on this machine: a standalone master and workers, started from the installed package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SETTINGS", "running"]

#: Settings that keep a session on this machine: it neither listens nor connects to others.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}
_PATIENCE = 300.0  # seconds for what takes a few, in case the machine is very busy


def _started(main: str, log: Path, cache: Path | None, host: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Spark daemon like Spark's scripts, which are not in the package."""
    import pyspark  # noqa: PLC0415 - an extra

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_SCALA_VERSION": "2.13",
        **({} if cache is None else {"WORDVEIL_CACHE": str(cache)}),
    }
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    where = ["--host", host, "--port", "0", "--webui-port", "0"]
    command = [str(java), "-Xmx256m", "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{main}", *where, *arguments]
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)


@contextmanager
def running(folder: Path, workers: int, cores: int, cache: Path | None = None) -> Iterator[str]:
    """Run a master and some workers with some cores each until the block ends. Yield the master's address.

    Their logs and files go to `folder`. `cache` is the executors' cache; by default, this process's.
    """
    log = folder / "master.log"
    daemons = [_started("master.Master", log, cache, "127.0.0.1")]

    def address() -> str | None:
        assert daemons[0].poll() is None, log.read_text()
        found = re.search(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", log.read_text())
        return None if found is None else found[1]

    try:
        end = time.monotonic() + _PATIENCE
        while (master := address()) is None:
            assert time.monotonic() < end, "the master of Spark did not start"
            time.sleep(0.01)
        for number in range(workers):
            own = folder / f"worker-{number}"
            more = ["--cores", str(cores), "--memory", "2g", "--work-dir", str(own)]
            # Spark begins no second attempt of a task on the host of the first. Linux answers to all of 127.
            host = f"127.0.0.{number + 1 if sys.platform == 'linux' else 1}"
            daemons.append(_started("worker.Worker", folder / f"{number}.log", cache, host, *more, master))
        yield master
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()
