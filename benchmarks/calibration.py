"""Calibrating laplace, against plain repetition: 10,000 words × 1,000 draws × 10 ε on the bundled 50,000 × 100.

    python -m benchmarks.calibration [--words 10000]
    python -m benchmarks.calibration --whole laplace hyperbolic@wordnet-poincare --json docs/speed-calibration.json

Both are timed in one run. Plain repetition is timed on a slice, before and after, and scaled up. The estimates of both
are compared on the words of the slice, in standard errors. ``--whole`` runs the whole command at its defaults instead,
with an empty cache, for each of some mechanisms; what it finds is added to what the page of speed shows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil import load_space, mechanism
from wordveil.calibration import Effort, Measurement, maker, meter_for
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace

EPSILONS = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 17.0)
DRAWS = 1000
COMPARED = 4  # words to repeat plainly at every ε, before and after


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Calibration of laplace against plain repetition.")
    parser.add_argument("--words", type=int, default=10_000, help="how many words to calibrate on")
    parser.add_argument(
        "--whole", nargs="+", metavar="MECHANISM", help="run `wordveil calibrate` with each; NAME@SPACE"
    )
    parser.add_argument("--minutes", type=float, default=6.0, help="how long each may take")
    parser.add_argument("--json", type=Path, help="with --whole: add the figures to those in this file")
    asked = parser.parse_args()
    if asked.whole:
        rows = [_whole(name, 60.0 * asked.minutes) for name in asked.whole]
        known = json.loads(asked.json.read_text(encoding="utf-8")) if asked.json and asked.json.exists() else []
        facts = [*(row for row in known if row["mechanism"] not in asked.whole), *rows]
        if asked.json:
            asked.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(table_of(facts))
        return
    words = asked.words
    space = load_space("glove-50k")
    space.nearest(space.matrix[:1])  # prepares what is made on first use
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORDVEIL_CACHE"] = folder
        meter = meter_for(maker("laplace", space), space, Effort(words=words, draws=DRAWS, adversary_words=1))
        before = _plain(space, meter.ids[:COMPARED], seed=1)
        start = time.perf_counter()
        found = meter.measure(EPSILONS)
        ours = time.perf_counter() - start
        after = _plain(space, meter.ids[COMPARED : 2 * COMPARED], seed=2)
    queries = words * DRAWS * len(EPSILONS)
    rate = 2 * COMPARED * DRAWS * len(EPSILONS) / (before[0] + after[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024) / 1024
    print(f"laplace, 50,000 words × 100 dimensions, {words:,} words × {DRAWS:,} draws × {len(EPSILONS)} ε")
    print(f"  plain repetition   {rate:12,.0f} draws/s   {queries / rate:10,.0f} s (scaled up from a slice)")
    print(f"  calibration        {queries / ours:12,.0f} draws/s   {ours:10,.0f} s")
    print(f"  ratio              {queries / rate / ours:12.1f}   (at least 20 is wanted)")
    print(f"  peak memory        {peak:12.2f} GB  (at most 4 is wanted)")
    _compare(found, np.concatenate([before[1], after[1]], axis=1))


def _whole(name: str, seconds: float) -> dict[str, Any]:
    """Run the command at its defaults with an empty cache. Return what it took, processor seconds of all threads."""
    load, before = os.getloadavg()[0], resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        began, told = time.monotonic(), ""
        mechanism, _, space = name.partition("@")
        command = [sys.executable, "-m", "wordveil", "calibrate", "--mechanism", mechanism]
        command += ["--space", space] if space else []
        environment = {**os.environ, "WORDVEIL_CACHE": folder}
        with subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as run:
            try:
                told, _ = run.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                run.kill()
        took = time.monotonic() - began
    if run.returncode > 0:
        raise SystemExit(run.returncode)
    chosen = [line.partition("= ")[2].strip(" .") for line in told.splitlines() if line.startswith("Choose ε = ")]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "mechanism": name,
        "ended": run.returncode == 0,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "seconds": took,
        "peak_mb": after.ru_maxrss / 1024,
        "load": load,
        "epsilon": chosen[0] if chosen else None,
    }


def table_of(facts: list[dict[str, Any]]) -> str:
    """Return the figures of `wordveil calibrate` as a table."""
    lines = ["| mechanism | s | CPU s | peak MB so far | load before | ε that it finds |", "|---|---|---|---|---|---|"]
    for row in facts:
        least = "" if row["ended"] else "more than "
        chosen = row["epsilon"] or ("none" if row["ended"] else "-")
        took = f"{least}{row['seconds']:,.0f} | {least}{row['cpu']:,.0f}"
        lines.append(f"| {row['mechanism']} | {took} | {row['peak_mb']:,.0f} | {row['load']:.1f} | {chosen} |")
    return "\n".join(lines)


def _plain(space: EuclideanSpace, ids: NDArray[np.int64], seed: int) -> tuple[float, NDArray[np.int64]]:
    """Run the mechanism for these words at every ε. Return the seconds and the outputs."""
    outputs = np.empty((len(EPSILONS), len(ids), DRAWS), dtype=np.int64)
    entropy = Entropy(seed)
    start = time.perf_counter()
    for place, epsilon in enumerate(EPSILONS):
        drawn = mechanism("laplace", space, epsilon=epsilon).draw(np.repeat(ids, DRAWS), entropy)
        outputs[place] = drawn.reshape(len(ids), DRAWS)
    return time.perf_counter() - start, outputs


def _compare(found: list[Measurement], outputs: NDArray[np.int64]) -> None:
    """Print how far the two estimates are apart, in standard errors of the difference."""
    stays, distinct = [], []
    for measured, drawn in zip(found, outputs, strict=True):
        count = len(drawn)
        assert measured.stays.errors is not None
        assert measured.distinct.errors is not None
        counted = (drawn == measured.stays.ids[:count, None]).mean(axis=1)
        error = np.sqrt((counted * (1 - counted) + 0.25 / DRAWS) / DRAWS)
        stays.append((counted - measured.stays.values[:count]) / np.hypot(error, measured.stays.errors[:count]))
        seen = np.array([len(np.unique(row)) for row in drawn])
        spread = np.sqrt(2.0) * np.maximum(measured.distinct.errors[:count], 1.0)
        distinct.append((seen - measured.distinct.values[:count]) / spread)
    for name, scores in (("N_w", np.concatenate(stays)), ("S_w", np.concatenate(distinct))):
        print(
            f"  {name} of the two differ by {np.sqrt(np.square(scores).mean()):.2f} standard errors "
            f"(root mean square of {len(scores)} comparisons), at most {np.abs(scores).max():.2f}"
        )


if __name__ == "__main__":
    main()
