"""Opening a space, and one worker against two."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, best_of, peak_memory_of_children
from benchmarks.speeches import million_words
from wordveil.parallel import cores
from wordveil.text import tokenise

__all__ = ["opening", "workers"]

_OPEN = """
import time
from benchmarks.measure import peak_memory
from wordveil.spaces import load_space
started = time.perf_counter()
space = load_space("glove-50k")
print(1000 * (time.perf_counter() - started), peak_memory())
"""


def opening() -> list[Row]:
    """Open the bundled space in a new process."""
    runs = [
        subprocess.run([sys.executable, "-c", _OPEN], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(7)
    ]
    spent, memory = min(float(run[0]) for run in runs), max(float(run[1]) for run in runs)
    return [
        Row(
            "opening the bundled space, 50k × 100", "ms", spent, target="< 50", met=spent < 50.0,
            note="memory-mapped", memory_mb=memory,
        )
    ]  # fmt: skip


def workers() -> list[Row]:
    """Veil a million words with one process and with two, each with one thread, file to file."""
    path = million_words()
    words = sum(len(tokenise(line).keys) for line in path.read_text(encoding="utf-8").splitlines())
    program = str(Path(sys.executable).parent / "wordveil")
    rows: list[Row] = []
    for name, epsilon, lines in (("graph", "6", None), ("laplace", "10", 2500)):
        with tempfile.TemporaryDirectory() as folder:
            source, out = path, Path(folder) / "out.txt"
            if lines is not None:
                source = Path(folder) / "in.txt"
                chosen = path.read_text(encoding="utf-8").splitlines()[:lines]
                source.write_text("\n".join(chosen) + "\n", encoding="utf-8")
                words = sum(len(tokenise(line).keys) for line in chosen)
            command = [program, "privatize", str(source), "-o", str(out), "-m", name, "-e", epsilon, "--overwrite"]
            command += ["--quiet", "--batch-words", str(max(1000, words // 24))]
            one, two = (words / _seconds(command, many) for many in (1, 2))
        rows.append(
            Row(
                f"{name}, ε = {epsilon}, {words:,} words, --workers 2 against 1 worker on 1 core", "words/s", two,
                peers={"one worker": one}, limit=2.0 * one, target="≥ 80% of twice" if cores() > 1 else "",
                met=two >= 1.6 * one if cores() > 1 else None, memory_mb=peak_memory_of_children(),
            )
        )  # fmt: skip
    return rows


def _seconds(command: list[str], workers: int) -> float:
    """Time a command on this many cores, so that one worker does not use two for its matrix products."""
    taskset = ["taskset", "--cpu-list", f"0-{workers - 1}"] if sys.platform == "linux" else []
    return best_of(2, lambda: subprocess.run([*taskset, *command, "--workers", str(workers)], check=True))
