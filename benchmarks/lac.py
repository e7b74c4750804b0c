"""Recovery of a histogram, and the external shuffle."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from benchmarks.measure import Row
from wordveil import load_space
from wordveil.lac import dense_channel, update
from wordveil.mechanisms import Graph
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary

__all__ = ["recovery", "shuffling"]

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
    for epsilon in (2.0, 3.0):
        made = Graph(space, epsilon)
        counts = np.bincount(made.draw(ids, Entropy(0)), minlength=words).astype(np.float64)
        channel = dense_channel(made, dtype=np.float32)
        started = time.perf_counter()
        found = update(counts, channel, steps=200, tolerance=1e-3).values
        spent = time.perf_counter() - started
        raw, recovered = (float(np.abs(one[top] - truth[top]).sum()) for one in (counts, found))
        rows.append(
            Row(f"graph ε = {epsilon:g}: error of the top 100, recovered (peer: as drawn)", "records", recovered, raw,
                target="< half", met=recovered < 0.5 * raw, note=f"recovered in {spent:.1f} s")
        )  # fmt: skip
    return rows


def shuffling() -> list[Row]:
    """Shuffle one and ten million records, each in a process of its own, and compare the memory they took."""
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
