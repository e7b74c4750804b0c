"""How time and memory grow with the words, the vocabulary, the dimension, workers, executors of Spark and 1/ε.

    python -m benchmarks.growth                     # the table
    python -m benchmarks.growth --folder docs       # and the picture, docs/speed-growth.svg
    python -m benchmarks.growth --only executors    # some of what grows; this needs Spark, as the whole does
    python -m benchmarks.growth --keep growth.json  # keeps what was measured there, and takes the rest from there

Times are processor seconds of all threads and processes, so that other work on the machine hardly counts. They show
what workers cost, not what they save.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cluster import SETTINGS, running
from benchmarks.measure import peak_memory, peak_memory_of_all, peak_memory_of_children, processor_seconds
from benchmarks.speeches import million_words
from wordveil import load_space, mechanism
from wordveil._mechanisms import Mechanism
from wordveil.parallel import cores
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.spaces.graph import build_graph

__all__ = ["AXES", "Curve", "growth", "spent_on", "zipfian"]

#: What grows, with its sizes. A curve stops earlier if its next point would take too long.
AXES: dict[str, tuple[float, ...]] = {
    "words drawn": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "vocabulary": (1_000, 4_000, 16_000, 50_000, 100_000, 200_000, 400_000),
    "dimension": (10, 30, 100, 300),
    "workers": (1, 2, 4),
    "executors": (1, 2),
    "rows on Spark": (1_000, 10_000, 100_000, 400_000),
    "1/ε": (0.1, 0.2, 0.5, 1.0, 2.0),
}

_EPSILONS = {"graph": 6.0, "ring": 0.3, "exponential": 3.0, "laplace": 10.0}
_LONGEST = 10.0  # processor seconds for one point
_FITTED = 3  # the last points, where fixed costs no longer hide the growth
_BUILT = {"graph": 50_000, "ring": 16_000}  # the largest vocabularies for which to build a graph or a tour
_JOB = "a million words, file to file"
_ROWS = 100_000  # for one executor and for two


@dataclass
class Curve:
    """Processor seconds and peak megabytes at each size, and the exponents of the last points: time ∝ size^exponent."""

    mechanism: str
    axis: str
    what: str
    sizes: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)

    def _exponent(self, values: list[float]) -> float | None:
        if len(self.sizes) < 2:
            return None
        last = slice(-_FITTED, None)
        return float(np.polyfit(np.log(self.sizes[last]), np.log(values[last]), 1)[0])

    @property
    def exponent(self) -> float | None:
        """The slope of the logarithms of the seconds over the last points."""
        return self._exponent(self.seconds)

    def to_dict(self) -> dict[str, object]:
        """Return the curve as plain values."""
        return {**self.__dict__, "exponent": self.exponent, "memory_exponent": self._exponent(self.memory_mb)}


def growth(axes: Collection[str] = tuple(AXES)) -> list[Curve]:
    """Measure every curve over some of what grows."""
    measured: dict[str, Callable[[], list[Curve]]] = {
        "words drawn": _over_words,
        "vocabulary": lambda: [*_over_vocabulary(), *_building()],
        "dimension": _over_dimension,
        "workers": lambda: [_over_workers()],
        "executors": lambda: [_on_spark("executors", f"{_ROWS:,} rows, file to file")],
        "rows on Spark": lambda: [_on_spark("rows on Spark", "two executors, file to file")],
        "1/ε": lambda: [_over_epsilon()],
    }
    return [curve for axis in AXES if axis in axes for curve in measured[axis]()]


def _over_words() -> list[Curve]:
    space = load_space("glove-50k")
    ids = zipfian(len(space), int(AXES["words drawn"][-1]))
    return [
        _measured(name, "words drawn", "50k × 100, Zipfian words", lambda _: space, lambda size: ids[:size])
        for name in _EPSILONS
    ]


def _over_vocabulary() -> list[Curve]:
    known = load_space("glove-50k")

    def real(name: str, size: int) -> EuclideanSpace | None:
        if size == len(known):
            return known
        if size > _BUILT[name]:
            return None
        return known.restrict(np.arange(size)) if size < len(known) else _made(size, 100)

    def made(size: int) -> EuclideanSpace:
        return _made(size, 100)

    curves = []
    for name in _EPSILONS:
        is_built = name in _BUILT
        on, draws = (partial(real, name), 20_000) if is_built else (made, 2_048 if name == "laplace" else 512)
        what = f"{draws:,} words, 100 dimensions"
        curves.append(_measured(name, "vocabulary", what, on, lambda size, draws=draws: zipfian(size, draws)))  # type: ignore[misc]
    return curves


def _building() -> list[Curve]:
    """Build the neighbour graph of made-up vectors, exactly."""
    curve = Curve("building a graph", "vocabulary", "k = 10, 100 dimensions")
    for size in AXES["vocabulary"]:
        if size <= _BUILT["graph"]:
            space = _made(int(size), 100)
            _add(curve, size, partial(spent_on, partial(build_graph, space, 10)))
    return [curve]


def _over_workers() -> Curve:
    """Veil a million words with one process and with several, each with one thread, file to file."""
    curve = Curve("graph", "workers", _JOB)
    program = [sys.executable, "-m", "wordveil", "privatize", str(million_words()), "--epsilon", "4", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        for count in AXES["workers"]:
            if count <= cores():
                command = [*program, "-o", f"{folder}/{count}.txt", "--workers", str(count)]
                # the peak of the largest process; in a new process each time, since one remembers all its children
                _add(curve, count, partial(_seconds_of, command), peak_memory_of_children)
    return curve


def _on_spark(axis: str, what: str) -> Curve:
    """Veil sentences on a standalone cluster on this machine, file to file, with executors of one core each.

    The time is that of all processes, including Java's, from when every executor has opened the space. The memory is
    the sum of the peaks of all processes.
    """
    curve = Curve("graph on Spark", axis, what)
    for size in AXES[axis]:
        executors, rows = (int(size), _ROWS) if axis == "executors" else (2, int(size))
        if executors <= cores():
            _add(curve, size, partial(_seconds_on_spark, executors, rows), lambda: _HELD[0])
    return curve


_HELD = [0.0]  # megabytes, of the processes of the last cluster


def _seconds_on_spark(executors: int, rows: int) -> float:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra, and it starts a Java

    from wordveil.spark import privatize_files  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name, running(Path(name), executors, cores=1) as master:
        folder = Path(name)
        lines = million_words().read_text(encoding="utf-8").splitlines()
        for file, count in (("few.txt", 1_000), ("in.txt", rows)):
            (folder / file).write_text("".join(f"{lines[n % len(lines)]}\n" for n in range(count)), encoding="utf-8")
        builder = SparkSession.builder.master(master).appName("growth").config("spark.cores.max", str(executors))
        # a partition per executor, whatever the size: the cost of a task is Spark's, and the same for all
        settings = {**SETTINGS, "spark.sql.files.minPartitionNum": str(executors)}
        for setting, value in settings.items():
            builder = builder.config(setting, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        for number in range(2):  # makes the Python workers open the space
            privatize_files(
                str(folder / "few.txt"), str(folder / f"warm-{number}"), [], "text", epsilon=_EPSILONS["graph"]
            )
        before = processor_seconds()
        privatize_files(str(folder / "in.txt"), str(folder / "out"), [], "text", epsilon=_EPSILONS["graph"])
        spent = processor_seconds() - before
        _HELD[0] = peak_memory_of_all()
        session.stop()
    return spent


def _over_epsilon() -> Curve:
    """Draw a million words at smaller and smaller ε."""
    space, ids = load_space("glove-50k"), zipfian(50_000, 1_000_000)
    curve = Curve("graph", "1/ε", "a million words, 50k × 100, Zipfian words")
    for size in AXES["1/ε"]:
        made = partial(mechanism, "graph", space, epsilon=1.0 / size)
        _add(curve, size, partial(_spent_to_draw, made, ids, 1))
    return curve


def _seconds_of(command: list[str]) -> float:
    return spent_on(lambda: subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}))


def spent_on(work: Callable[[], object]) -> float:
    """Return the processor seconds that some work takes, in all threads and in the processes it starts."""
    before = _spent()
    work()
    return _spent() - before


def _spent() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _spent_to_draw(make: Callable[[], Mechanism[Any]], ids: NDArray[np.int64], times: int) -> float:
    """Return the least of several draws, each by a new mechanism, so that no rows are kept from before."""
    spent = []
    for _ in range(times):
        made = make()
        made.draw(ids[:2])  # prepares what is made on first use
        spent.append(spent_on(partial(made.draw, ids)))
    return min(spent)


def _add(curve: Curve, size: float, work: Callable[[], float], memory: Callable[[], float] = peak_memory) -> None:
    """Add a point, measured in its own process, which has no memory of earlier ones."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def measure() -> None:
        there.send((work(), memory()))

    process = context.Process(target=measure)
    process.start()
    there.close()
    spent, held = here.recv()
    process.join()
    curve.sizes.append(size)
    curve.seconds.append(spent)
    curve.memory_mb.append(held)


def _over_dimension() -> list[Curve]:
    curves = []
    for name in _EPSILONS:
        words, draws = (2_000, 20_000) if name in ("graph", "ring") else (20_000, 4_096 if name == "laplace" else 512)
        what = f"{draws:,} words of {words:,}"
        curves.append(
            _measured(
                name, "dimension", what, lambda size, words=words: _made(words, size),  # type: ignore[misc]
                lambda _, words=words, draws=draws: zipfian(words, draws),  # type: ignore[misc]
            )
        )  # fmt: skip
    return curves


def _measured(
    name: str,
    axis: str,
    what: str,
    space_of: Callable[[int], EuclideanSpace | None],
    ids_of: Callable[[int], NDArray[np.int64]],
) -> Curve:
    curve = Curve(name, axis, what)
    for size in AXES[axis]:
        space = space_of(int(size))
        if space is None:
            continue
        if curve.seconds and curve.seconds[-1] * (size / curve.sizes[-1]) > _LONGEST:
            break
        mechanism_of = partial(mechanism, name, space, epsilon=_EPSILONS[name])
        times = 3 if size < AXES[axis][-1] else 1
        _add(curve, size, partial(_spent_to_draw, mechanism_of, ids_of(int(size)), times))
    return curve


def zipfian(words: int, count: int) -> NDArray[np.int64]:
    """Return words with frequencies by Zipf's law."""
    chances = 1.0 / (np.arange(words) + 2.7)
    return np.random.default_rng(0).choice(words, count, p=chances / chances.sum())


@cache
def _made(words: int, dimension: int) -> EuclideanSpace:
    vectors = np.random.default_rng(0).standard_normal((words, dimension), dtype=np.float32)
    return EuclideanSpace("made", Vocabulary([f"w{number}" for number in range(words)]), vectors)


def main() -> None:
    """Measure, print the table, and draw the picture."""
    from benchmarks.page import growth_table, picture  # noqa: PLC0415 - it shows what is measured here

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to put the picture")
    parser.add_argument(
        "--only", nargs="+", choices=tuple(AXES), default=tuple(AXES), metavar="WHAT", help="what grows"
    )
    parser.add_argument("--keep", type=Path, help="a JSON file for all that was measured, today or before")
    asked = parser.parse_args()
    curves = json.loads(asked.keep.read_text(encoding="utf-8")) if asked.keep and asked.keep.exists() else []
    for axis in asked.only:
        curves = [curve for curve in curves if curve["axis"] != axis] + [one.to_dict() for one in growth([axis])]
        curves.sort(key=lambda curve: list(AXES).index(str(curve["axis"])))
        if asked.keep:
            asked.keep.write_text(json.dumps(curves, indent=2) + "\n", encoding="utf-8")
    print(growth_table(curves))
    if asked.folder:
        picture(curves, asked.folder)


if __name__ == "__main__":
    main()
