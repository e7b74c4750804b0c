"""What an experiment takes (a `Run`) and returns: tables beside the paper's, pictures, and a conclusion."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.errors import FileError, OptionError
from wordveil.files import file_errors, write_whole
from wordveil.lab.tasks import DataFolder, Reading, readers_up_to
from wordveil.parallel import check_workers, cores, use
from wordveil.progress import Watch, ignore
from wordveil.spaces import EuclideanSpace, PoincareSpace, load_space
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell: TypeAlias = str | float | int | None
Value = TypeVar("Value")

#: How much an experiment does: all of it, enough for a first look in minutes, or just enough to see that it works.
SIZES = ("full", "quick", "tiny")

#: By whose success mechanisms are made equal: who looks at one word at a time, or who reads the whole release.
ATTACKERS = ("alone", "context")
USUAL_ATTACKER = ATTACKERS[0]

#: With fewer examples of a task nothing is learnt.
FEWEST_ROWS = 50

_TINY_WORDS = 200


@dataclass(frozen=True)
class Parts:
    """A file with a line for each part of a long experiment, so that a run can continue where another stopped."""

    path: Path | None = None  # nothing is kept without one

    def known(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the parts that were kept, whose values have these names.

        One that a stopped run had only begun to write, which begins with the first of them, is taken out of the file.
        """
        if self.path is None or not self.path.exists():
            return []
        found = list[Any]()
        try:
            with file_errors("read", self.path):
                whole, _, begun = self.path.read_text(encoding="utf-8").rpartition("\n")
            found = [json.loads(line) for line in whole.split("\n") if line]
        except ValueError:
            found.append(None)
        is_cut = f'{{"{names[0]}": '.startswith(begun[: len(names[0]) + 5])
        if not (is_cut and all(isinstance(part, dict) and set(names) <= set(part) for part in found)):
            raise FileError(f"{self.path} does not hold the parts of this experiment; name another file.")
        if begun:
            write_whole(self.path, f"{whole}\n" if whole else "")
        return found

    def add(self, part: dict[str, Any]) -> None:
        """Keep one more."""
        if self.path is not None:
            with file_errors("write", self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(part, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Run:
    """How an experiment is run."""

    folder: Path | None = None  # the folder of data sets
    size: str = "full"  # how many words, examples and repetitions to use; figures of a tiny run mean nothing
    seed: int = 0
    watch: Watch = ignore
    workers: int = 1  # how many mechanisms or tasks are measured at once, where an experiment has several
    engine: str = "local"  # where mechanisms with noise draw, where an experiment compares several
    attacker: str = USUAL_ATTACKER  # by whose success mechanisms are made equal: `ATTACKERS`
    reader: str = "population"  # the strongest reader that utility is measured by: `READERS`
    device: str | None = None  # where networks are fitted: cpu or cuda; the GPU if there is one
    rows: int | None = None  # how many examples of each task at most, where an experiment does tasks
    levels: tuple[float, ...] | None = None  # the successes at which mechanisms are compared; an experiment's own ones
    only: tuple[str, ...] | None = None  # which mechanisms `mechanisms` compares, by their labels; all of them
    minutes: float | None = None  # after how long nothing new is begun, where an experiment has many parts
    parts: Parts = Parts()  # where each of these is kept

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise OptionError(f"size must be one of {', '.join(SIZES)}, not {self.size!r}.")
        if self.rows is not None and self.rows < FEWEST_ROWS:
            raise OptionError(f"rows must be {FEWEST_ROWS} or more.")
        if not all(0.0 < level < 1.0 for level in self.levels or ()):
            raise OptionError("a level is a probability between 0 and 1, such as 0.25.")
        if self.attacker not in ATTACKERS:
            raise OptionError(f"attacker must be one of {', '.join(ATTACKERS)}, not {self.attacker!r}.")
        readers_up_to(self.reader)

    @property
    def reading(self) -> Reading:
        """How releases are read; a tiny run fits a network for a few steps only."""
        return Reading(readers_up_to(self.reader), self.device, self.pick(None, 300, 3))

    @property
    def quick(self) -> bool:
        """Whether this is not the full experiment."""
        return self.size != "full"

    @cached_property
    def data(self) -> DataFolder:
        """The data sets, for experiments that need them."""
        if self.folder is None:
            raise OptionError("this experiment needs the folder of data sets.")
        return DataFolder(self.folder)

    def examples(self, full: int, quick: int, tiny: int) -> int:
        """Return how many examples of a task to use at most: as many as were asked for, or those of this size."""
        return self.pick(full, quick, tiny) if self.rows is None else self.rows

    def pick(self, full: Value, quick: Value, tiny: Value) -> Value:
        """Return the value for this size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]

    def glove(
        self, full: int = 50_000, quick: int = 50_000, *, normalise: bool = False, also: Collection[str] = ()
    ) -> EuclideanSpace:
        """Return the bundled GloVe with its most frequent words, and `also` rarer ones where a run is not full."""
        space = load_space("glove-50k", normalise=normalise)
        words = self.pick(full, quick, _TINY_WORDS)
        if words >= len(space):
            return space
        more = [space.vocabulary.ids[word] for word in also if self.size != "full" and word in space.vocabulary.ids]
        return space.restrict(np.union1d(np.arange(words), np.array(more, dtype=np.int64)))

    def ball(self) -> PoincareSpace:
        """Return the bundled Poincaré ball of WordNet's nouns and verbs; a tiny run has its most frequent words."""
        ball = load_space("wordnet-poincare")
        return ball.restrict(np.arange(_TINY_WORDS)) if self.size == "tiny" else ball


@dataclass(frozen=True)
class Table:
    """A table."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]  # the cells; None for what is not known

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}

    def markdown(self) -> str:
        """Write it as Markdown."""
        lines = [f"**{self.title}**", "", _line(self.columns), "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(_line([written(cell) for cell in row]) for row in self.rows)])


@dataclass(frozen=True)
class Result:
    """What an experiment found."""

    tables: Sequence[Table]  # the paper's figures beside ours
    reading: str  # why they agree or differ, as we see it
    changed: str = ""  # what stands in for what the paper used; empty if nothing does
    facts: dict[str, Any] = field(default_factory=dict)  # everything that was measured, as plain values
    figures: dict[str, Figure] = field(default_factory=dict)  # pictures by a short name; the main one has an empty name


def shown(figure: Estimate, digits: int = 2, *, percent: bool = False) -> str:
    """Write a figure with its interval.

    Examples
    --------
    >>> shown(Estimate(0.123, 0.1, 0.2)), shown(Estimate(0.5, 0.4, 0.6), 1, percent=True)
    ('0.12 [0.10, 0.20]', '50.0 [40.0, 60.0]')
    """
    value, low, high = ((100 if percent else 1) * end for end in (figure.value, figure.low, figure.high))
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def written(cell: Cell) -> str:
    """Write a cell: numbers to three digits, a dash for what is not known.

    Examples
    --------
    >>> written(0.12345), written(None), written(1234), written("as it is")
    ('0.123', '–', '1,234', 'as it is')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 999.5 else f"{cell:.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


Found = TypeVar("Found")


def done_in_turn(
    work: Callable[..., Found], jobs: Sequence[tuple[Any, ...]], workers: int = 1, minutes: float | None = None
) -> Iterator[tuple[int, Found]]:
    """Do jobs, and yield the number and result of each as it is done.

    After `minutes` none is started. With several workers, what does the jobs and their parts must be able to travel to
    another process.
    """
    check_workers(workers)
    end = math.inf if minutes is None else time.monotonic() + 60.0 * minutes
    if workers == 1:
        for number, job in enumerate(jobs):
            if time.monotonic() > end:
                return
            yield number, work(*job)
        return
    share = max(1, cores() // workers)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (share,)) as pool:
        waiting = list(enumerate(jobs))
        running: dict[Future[Found], int] = {}
        while waiting or running:
            while waiting and len(running) < workers and time.monotonic() <= end:
                number, job = waiting.pop(0)
                running[pool.submit(work, *job)] = number
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def each(run: Run, work: Callable[[Run, str], Found], names: Sequence[str]) -> list[Found]:
    """Do a part of an experiment for each name, several at once if the run has workers; return them in that order."""
    quiet = replace(run, watch=ignore)  # what watches stays in this process
    found: dict[int, Found] = {}
    for number, one in done_in_turn(work, [(quiet, name) for name in names], run.workers):
        found[number] = one
        run.watch(names[number], len(found) / len(names))
    return [found[number] for number in range(len(names))]


def _begin(cores_each: int) -> None:
    """Keep a process to its share of the cores."""
    use(cores_each)
    threadpool_limits(limits=cores_each, user_api="blas")
