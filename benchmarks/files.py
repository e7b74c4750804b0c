"""From file to file with `graph`, in CPU seconds, so that other work on the machine hardly counts.

``python -m benchmarks.files`` prints the rates for text and CSV, and what to compare them with: a C program that only
splits at white space and writes back, the draws alone, two workers and one, a small and a large ε, a folder of small
files and one file, and the command's start, measured with one sentence. All come from one run. ``--against FOLDER``
adds the sources in a folder, such as a work tree of an earlier commit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.speeches import million_words
from wordveil.text import tokenise

_SPLIT = r"""
#include <ctype.h>
#include <stdio.h>
int main(void)
{
    static char in[1 << 16], word[1 << 16];
    size_t got, length = 0;
    while ((got = fread(in, 1, sizeof in, stdin)) > 0)
        for (size_t at = 0; at < got; at++) {
            word[length++] = in[at];
            if (isspace((unsigned char)in[at]) || length == sizeof word) {
                fwrite(word, 1, length, stdout);
                length = 0;
            }
        }
    fwrite(word, 1, length, stdout);
    return 0;
}
"""
_FILES = 10_000
_LONGER = 5  # times the text, for workers: the start of the one process then counts for less
_STAGES = """
import json, sys, time
from pathlib import Path
import wordveil
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan

source, target = map(Path, sys.argv[1:])
veils = Veils(lambda seed: wordveil.Veil(epsilon=6.0, seed=seed))
kind, spent = type(veils.whole.mechanism), [0.0]
draw = kind.draw

def timed(*arguments):
    before = time.process_time()
    try:
        return draw(*arguments)
    finally:
        spent[0] += time.process_time() - before

kind.draw = timed
plan = make_plan([source])
before = time.process_time()
FileJob(plan, Reading(), Destination.of(target, plan)).run(veils)
print(json.dumps([spent[0], time.process_time() - before]))
"""


class _Spent(NamedTuple):
    """What a command took: CPU seconds including its children's, and seconds of the clock."""

    cpu: float
    wall: float


def _run(command: Sequence[str], source: Path | None = None, *, cores: int = 0, **environment: str) -> _Spent:
    """Run a command on this many cores, or on all of them if 0."""
    usual = os.sched_getaffinity(0)
    # As in an installation, let Python find its modules compiled.
    given_env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with Path(os.devnull if source is None else source).open("rb") as given:
        try:
            os.sched_setaffinity(0, sorted(usual)[: cores or None])  # children inherit it
            subprocess.run(
                command, check=True, stdin=given, stdout=subprocess.DEVNULL, env={**given_env, **environment}
            )
        finally:
            os.sched_setaffinity(0, usual)
    wall, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return _Spent(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


class _Version:
    """A version of wordveil, given by the folder of its sources."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self._sources, self._folder, self._runs = sources, folder, count()
        folder.mkdir()

    def veil(self, source: Path, *options: str, epsilon: float = 6, times: int = 3, cores: int = 0) -> _Spent:
        """Return what it takes to veil a file or folder: the least of several runs, in CPU seconds and by the clock."""
        spent = []
        for _ in range(times):
            target = self._folder / f"{next(self._runs)}-{source.name}"
            command = [sys.executable, "-m", "wordveil", "privatize", str(source), "-o", str(target), "--quiet"]
            command += ["--epsilon", str(epsilon), *options]
            compiled = str(self._folder / "compiled")
            spent.append(_run(command, cores=cores, PYTHONPATH=str(self._sources), PYTHONPYCACHEPREFIX=compiled))
        return _Spent(*map(min, zip(*spent, strict=True)))

    def stages(self, source: Path) -> tuple[float, float]:
        """Return the CPU seconds of the draws for a text, and of all else of its job; of several runs the least."""
        found = list[list[float]]()
        for _ in range(3):
            target = self._folder / f"{next(self._runs)}-{source.name}"
            command = [sys.executable, "-c", _STAGES, str(source), str(target)]
            environment = {**os.environ, "PYTHONPATH": str(self._sources)}
            told = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
            found.append(json.loads(told))
        return min(draws for draws, _ in found), min(whole - draws for draws, whole in found)


class _Inputs:
    """The inputs: speeches as text, as a table, as many small files and the same in one, and a sentence."""

    def __init__(self, folder: Path, copies: int) -> None:
        million = million_words().read_text(encoding="utf-8")
        self.words = copies * sum(len(tokenise(line).keys) for line in million.splitlines())
        self.text, self.long, self.table, self.sentence, self.many, self.together = (
            folder / name for name in ("in.txt", "long.txt", "in.csv", "1.txt", "many", "together.txt")
        )
        self.text.write_text(million * copies, encoding="utf-8")
        self.long.write_text(million * copies * _LONGER, encoding="utf-8")
        self.sentence.write_text("The ship left the harbour.\n", encoding="utf-8")
        with self.table.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "text"])
            rows.writerows(enumerate((million * copies).splitlines()))
        self.many.mkdir()
        lines = million.splitlines()[: 2 * _FILES]
        for number in range(_FILES):
            two = "\n".join(lines[2 * number : 2 * number + 2]) + "\n"
            (self.many / f"{number}.txt").write_text(two, encoding="utf-8")
        self.together.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _splitter(folder: Path) -> list[str]:
    """Compile the C program."""
    (folder / "split.c").write_text(_SPLIT, encoding="utf-8")
    subprocess.run(["cc", "-O2", "-o", str(folder / "split"), str(folder / "split.c")], check=True)
    return [str(folder / "split")]


def _figures(version: _Version, inputs: _Inputs, floor: float) -> dict[str, float]:
    """Measure a version. `floor` is the CPU seconds of the C program."""
    first, words = version.veil(inputs.sentence, times=5), inputs.words
    start = first.cpu
    text, table = version.veil(inputs.text), version.veil(inputs.table, "--column", "text")
    draws, others = version.stages(inputs.text)
    one, two = (version.veil(inputs.long, "--workers", str(workers), cores=workers) for workers in (1, 2))
    near, far = (version.veil(inputs.text, epsilon=epsilon).cpu for epsilon in (10, 1))
    many, together = version.veil(inputs.many, times=1).cpu, version.veil(inputs.together).cpu
    by_clock = f"times the rate of 1 on 1 by the clock, {_LONGER} times the words"
    return {
        "one sentence, CPU s": start,
        "text, whole command, words per CPU s": words / text.cpu,
        "text, without the start, words per CPU s": words / (text.cpu - start),
        "CSV, whole command, words per CPU s": words / table.cpu,
        "CSV, without the start, words per CPU s": words / (table.cpu - start),
        "text without the start, times the CPU s of splitting in C": (text.cpu - start) / floor,
        "the draws alone, times the CPU s of splitting in C": draws / floor,
        "all but the draws and the start, times the CPU s of splitting in C": others / floor,
        f"2 workers on 2 cores, {by_clock}": one.wall / two.wall,
        "the same without the start": (one.wall - first.wall) / (two.wall - first.wall),
        f"2 workers, times the CPU s of 1, {_LONGER} times the words": two.cpu / one.cpu,
        "ε = 1, times the CPU s of ε = 10": far / near,
        f"{_FILES:,} files, CPU s": many,
        "the same words in one file, CPU s": together,
        "the files, times the CPU s of the one": many / together,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the sources (src) of another version")
    parser.add_argument("--copies", type=int, default=3, help="how many million words to veil")
    parser.add_argument(
        "--json", type=Path, help="write the figures here as well: the page of the documentation has them"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inputs, splitter = _Inputs(folder, chosen.copies), _splitter(folder)
        versions = {"this version": _Version(Path(__file__).parent.parent / "src", folder / "ours")}
        if chosen.against:
            versions["the other"] = _Version(chosen.against.resolve(), folder / "other")
        floor = min(_run(splitter, inputs.text).cpu for _ in range(5))
        facts = {
            "load": round(os.getloadavg()[0], 1),
            "cores": os.cpu_count(),
            "words": inputs.words,
            "split": inputs.words / floor,
            "versions": {name: _figures(version, inputs, floor) for name, version in versions.items()},
        }
        print(table_of(facts))
        if chosen.json:
            chosen.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table_of(facts: dict[str, Any]) -> str:
    """Return the figures as a table."""
    versions = facts["versions"]
    lines = [
        f"Load {facts['load']} on {facts['cores']} cores; splitting in C: {facts['split']:,.0f} words per CPU s.",
        "",
        f"| {facts['words']:,} words, ε = 6 unless said | {' | '.join(versions)} |",
        f"|---|{'---|' * len(versions)}",
    ]
    jobs = next(iter(versions.values()))
    told = (f"| {job} | {' | '.join(_told(one[job]) for one in versions.values())} |" for job in jobs)
    return "\n".join([*lines, *told])


def _told(figure: float) -> str:
    return f"{figure:,.0f}" if figure > 1000 else f"{figure:.2f}"


if __name__ == "__main__":
    main()
