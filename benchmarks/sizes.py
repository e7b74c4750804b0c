"""Graphs of large embeddings: what building one takes, what it finds, and how fast words are drawn on it.

    python -m benchmarks.sizes 50000x100 400000x50 1000000x300   # made up: clusters within larger clusters
    python -m benchmarks.sizes --space FILE                      # an embedding of your own
    python -m benchmarks.sizes 100000x300 --json docs/speed-sizes.json  # adds to what the page of speed shows

Every embedding has its own processes and cache: one process builds the graph, another draws on it. Times are processor
seconds, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from benchmarks.growth import zipfian
from benchmarks.measure import peak_memory
from wordveil import load_space, mechanism
from wordveil.progress import watched_by
from wordveil.spaces import PointSpace
from wordveil.spaces.listing import memory_for

Result = TypeVar("Result")
Figures: TypeAlias = dict[str, float | None]

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


def build(space: PointSpace) -> Figures:
    """Build the graph; return what that took."""
    stated = memory_for(len(space), space.dimension, _NEIGHBOURS) / 2**20
    told: list[float] = []
    began = time.monotonic()
    with watched_by(lambda _, share: told.append(time.monotonic() - began if not told else share)):
        made, spent = measured(lambda: mechanism("graph", space, epsilon=_EPSILONS[0]))
    found = "".join(made.space.remarks).partition("about ")[2].partition("%")[0] or "100"
    return {
        "neighbours found, %": float(found),
        "building, CPU s": spent,
        "first progress after, s": told[0] if told else None,
        "memory stated, MB": stated,
        "peak MB, building": peak_memory(),
    }


def draw(space: PointSpace) -> Figures:
    """Draw on the graph, which is in the cache; return how fast that was."""
    made, opening = measured(lambda: mechanism("graph", space, epsilon=_EPSILONS[0]))
    ids = zipfian(len(space), _DRAWN)
    made.draw(ids[:2])
    found: Figures = {"opening, CPU s": opening}
    for epsilon in _EPSILONS:
        one = mechanism("graph", made.space, epsilon=epsilon)
        _, spent = measured(partial(one.draw, ids))
        found[f"words drawn a CPU s, ε = {epsilon:g}"] = _DRAWN / spent
    return found | {"peak MB, drawing": peak_memory()}


def main() -> None:
    """Print a row for each embedding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", metavar="WORDSxDIMENSION")
    parser.add_argument("--space", action="append", default=[], help="an embedding of your own; may be repeated")
    parser.add_argument("--json", type=Path, help="also keep the figures here, beside those of other embeddings")
    parser.add_argument("--only", choices=("build", "draw"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        space = load_space(asked.space[0])
        assert isinstance(space, PointSpace)
        print(json.dumps((build if asked.only == "build" else draw)(space)))
        return
    rows: dict[str, Figures] = {}
    for size in (*asked.sizes, *asked.space):
        with tempfile.TemporaryDirectory() as folder:
            space = size
            if size in asked.sizes:
                words, dimension = map(int, size.split("x"))
                make(Path(folder), words, dimension)
                space = folder
            found = [_apart(what, space, Path(folder) / "cache") for what in ("build", "draw")]
        shape = f"{size.replace('x', ' × ')}, made up" if size in asked.sizes else Path(size).name
        rows[shape] = found[0] | found[1]
        print(f"{shape}: {json.dumps(rows[shape], ensure_ascii=False)}", flush=True)
        if asked.json:
            known = json.loads(asked.json.read_text(encoding="utf-8")) if asked.json.exists() else {}
            kept = json.dumps(known | rows, indent=1, ensure_ascii=False)
            asked.json.write_text(kept + "\n", encoding="utf-8")
    print(table_of(rows))


def table_of(rows: dict[str, Figures]) -> str:
    """Write the figures as a Markdown table, one embedding a row."""
    headings = ["embedding", *dict.fromkeys(name for row in rows.values() for name in row)]
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    for shape, row in rows.items():
        lines.append(f"| {' | '.join([shape, *(_told(row.get(name)) for name in headings[1:])])} |")
    return "\n".join(lines)


def _told(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _apart(what: str, space: str, cache: Path) -> Figures:
    command = [sys.executable, "-m", "benchmarks.sizes", "--space", space, "--only", what]
    environment = {**os.environ, "WORDVEIL_CACHE": str(cache)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: Figures = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
