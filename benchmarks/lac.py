"""Recovery of a histogram, the external shuffle, and Spark."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.measure import Row
from benchmarks.speeches import million_words
from wordveil import load_space
from wordveil._mechanisms.graph import Graph
from wordveil.lac import dense_law, update
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.text import tokenise

__all__ = ["recovery", "shuffling", "spark"]

_SHUFFLE = """
import re, sys, time
from pathlib import Path
from wordveil.lac import Record, Shuffle

def most_memory():  # in MB; getrusage would count the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

count = int(sys.argv[1])
held = most_memory()
started = time.perf_counter()
out = sum(1 for _ in Shuffle()(Record(f"word{number % 50000}", f"user{number}") for number in range(count)))
assert out == count
print(time.perf_counter() - started, most_memory() - held)
"""


def recovery() -> list[Row]:
    """Draw a million words of a Zipfian truth over 10,000 words with `graph`, and recover the 100 most frequent."""
    whole = load_space("glove-50k")
    words = 10_000
    space = EuclideanSpace("first-10k", Vocabulary(whole.vocabulary.words[:words]), whole.matrix[:words])
    chances = 1.0 / np.arange(1, words + 1)
    ids = np.random.default_rng(0).choice(words, 1_000_000, p=chances / chances.sum())
    truth = np.bincount(ids, minlength=words).astype(np.float64)
    top = np.argsort(-truth)[:100]
    rows = []
    for epsilon in (4.0, 6.0):
        made = Graph(space, epsilon)
        counts = np.bincount(made.draw(ids, Entropy(0)), minlength=words).astype(np.float64)
        law = dense_law(made, dtype=np.float32)
        started = time.perf_counter()
        found = update(counts, law, steps=200, tolerance=1e-3).values
        spent = time.perf_counter() - started
        raw, recovered = (float(np.abs(one[top] - truth[top]).sum()) for one in (counts, found))
        rows.append(
            Row(f"graph ε = {epsilon:g}: error of the top 100, recovered (peer: as drawn)", "records", recovered, raw,
                target="< half", met=recovered < 0.5 * raw, note=f"recovered in {spent:.1f} s")
        )  # fmt: skip
    return rows


def shuffling() -> list[Row]:
    """Shuffle one and ten million records, each in its own process, and compare the memory they take."""
    found = {}
    for count in (1_000_000, 10_000_000):
        done = subprocess.run([sys.executable, "-c", _SHUFFLE, str(count)], check=True, capture_output=True, text=True)
        found[count] = [float(figure) for figure in done.stdout.split()]
    small, large = found.values()
    rate = 10_000_000 / large[0]
    note = f"memory: {small[1]:.0f} MB for 1 million, {large[1]:.0f} MB for 10 million"
    return [
        Row(
            "external shuffle, 10M records",
            "records/s",
            rate,
            target="constant memory",
            met=large[1] < 2 * small[1] + 50,
            note=note,
        )
    ]


def spark() -> list[Row]:
    """Veil ten and fifty million words on Spark with two threads, and with the plain engine, file to file.

    In CPU seconds of all processes. Java compiles what it runs often, which takes as long for ten million words as for
    fifty, and so does opening the space in the Python workers.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - starts a Java

    from wordveil.spark import privatize_files  # noqa: PLC0415

    text = million_words().read_text(encoding="utf-8")
    words = sum(len(tokenise(line).keys) for line in text.splitlines())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, whole = folder / "few.txt", folder / "in.txt"
        few.write_text("\n".join(text.splitlines()[:1000]), encoding="utf-8")
        command = [sys.executable, "-m", "wordveil", "privatize", str(whole), "-o", str(folder / "out.txt")]
        command += ["--epsilon", "6", "--quiet", "--overwrite"]
        for times in (10, 50):
            whole.write_text(text * times, encoding="utf-8")
            session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            privatize_files(str(few), str(folder / f"warm-{times}"), [], "text", epsilon=6.0)  # opens the space
            before, started = _seconds_below(), time.perf_counter()
            privatize_files(str(whole), str(folder / f"out-{times}"), [], "text", epsilon=6.0)
            wall, on_spark = time.perf_counter() - started, times * words / (_seconds_below() - before)
            session.stop()
            if not rows:
                subprocess.run(command, check=True)  # warms the cache
            begun = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            plain = times * words / (ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime)
            rows.append(
                Row(f"Spark local[2], {times}M words (peer: the plain engine)", "words/CPU s", on_spark, plain,
                    target="≥ 60% of plain", met=on_spark >= 0.6 * plain, note=f"{wall:.0f} s of wall time on Spark")
            )  # fmt: skip
    return rows


def _seconds_below() -> float:
    """Return the CPU seconds of this process and of all its descendants, including those that have ended."""
    ticks, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[int(entry.name)], ticks[int(entry.name)] = int(status[1]), sum(map(int, status[11:15]))
    ours = {os.getpid()}
    for _ in range(8):  # deeper than Spark's processes go
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    return sum(ticks[pid] for pid in ours if pid in ticks) / os.sysconf("SC_CLK_TCK")
