"""Graphs of large embeddings: what building one takes, what it finds, and how fast words are drawn on it.

    python -m benchmarks.sizes 50000x100 400000x50 1000000x300   # made up: clusters within larger clusters
    python -m benchmarks.sizes --space FILE                      # an embedding of your own

Every embedding has its own processes and cache: one process builds the graph, another draws on it. Times are processor
seconds, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.growth import zipfian
from benchmarks.measure import peak_memory
from wordveil import load_space, mechanism
from wordveil.progress import watched_by
from wordveil.spaces import PointSpace
from wordveil.spaces.listing import memory_for

Result = TypeVar("Result")

_DRAWN = 1_000_000
_EPSILONS = (6.0, 2.0)
_NEIGHBOURS = 10


def make(folder: Path, words: int, dimension: int) -> None:
    """Write an embedding whose words lie around centres, which lie around fewer centres."""
    generator = np.random.default_rng(0)
    fall = (1.0 + np.arange(dimension)) ** -0.25

    def around(centres: np.ndarray, count: int, spread: float) -> np.ndarray:
        offsets = generator.standard_normal((count, dimension), dtype=np.float32) * (spread * fall).astype(np.float32)
        offsets += centres[generator.integers(len(centres), size=count)]
        return offsets

    far = around(np.zeros((1, dimension), dtype=np.float32), max(2, words // 5000), 1.0)
    near = around(far, max(2, words // 50), 0.7)
    np.save(folder / "vectors.npy", around(near, words, 0.5))
    (folder / "words.txt").write_text("".join(f"w{number}\n" for number in range(words)), encoding="utf-8")


def measured(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what the work returns, and the processor seconds it took."""
    begun = time.process_time()
    return work(), time.process_time() - begun


def build(space: PointSpace) -> str:
    """Build the graph, and return its table cells."""
    stated = memory_for(len(space), space.dimension, _NEIGHBOURS) / 2**20
    told: list[float] = []
    began = time.monotonic()
    with watched_by(lambda _, share: told.append(time.monotonic() - began if not told else share)):
        made, spent = measured(lambda: mechanism("graph", space, epsilon=_EPSILONS[0]))
    found = "".join(made.space.remarks).partition("about ")[2].partition("%")[0] or "100"
    first = f"{told[0]:.1f} s" if told else "-"
    return f"{found}% | {spent:,.0f} | {first} | {stated:,.0f} | {peak_memory():,.0f}"


def draw(space: PointSpace) -> str:
    """Draw on the graph, which is in the cache, and return its table cells."""
    made, opening = measured(lambda: mechanism("graph", space, epsilon=_EPSILONS[0]))
    ids = zipfian(len(space), _DRAWN)
    made.draw(ids[:2])
    cells = [f"{opening:.1f}"]
    for epsilon in _EPSILONS:
        one = mechanism("graph", made.space, epsilon=epsilon)
        cells.append(f"{_DRAWN / measured(lambda one=one: one.draw(ids))[1]:,.0f}")  # type: ignore[misc]
    return " | ".join([*cells, f"{peak_memory():,.0f}"])


def main() -> None:
    """Print a row for each embedding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", metavar="WORDSxDIMENSION")
    parser.add_argument("--space", action="append", default=[], help="an embedding of your own; may be repeated")
    parser.add_argument("--only", choices=("build", "draw"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        space = load_space(asked.space[0])
        assert isinstance(space, PointSpace)
        print((build if asked.only == "build" else draw)(space))
        return
    drawn = " | ".join(f"drawn a CPU s, ε = {epsilon:g}" for epsilon in _EPSILONS)
    headings = "embedding | neighbours found | building, CPU s | first word of it after | memory stated, MB | peak MB"
    print(f"| {headings} | opening, CPU s | {drawn} | peak MB |\n|{'---|' * (8 + len(_EPSILONS))}")
    for size in (*asked.sizes, *asked.space):
        with tempfile.TemporaryDirectory() as folder:
            space = size
            if size in asked.sizes:
                words, dimension = map(int, size.split("x"))
                make(Path(folder), words, dimension)
                space = folder
            cells = [_apart(what, space, Path(folder) / "cache") for what in ("build", "draw")]
        shape = size.replace("x", " × ") if size in asked.sizes else Path(size).name
        print(f"| {shape} | {' | '.join(cells)} |", flush=True)


def _apart(what: str, space: str, cache: Path) -> str:
    command = [sys.executable, "-m", "benchmarks.sizes", "--space", space, "--only", what]
    environment = {**os.environ, "WORDVEIL_CACHE": str(cache)}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.strip()


if __name__ == "__main__":
    main()
