"""What an experiment takes (a `Run`) and returns: tables beside the paper's, pictures, and a conclusion."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
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

#: How much an experiment does: everything, enough for a first look in minutes, or just enough to see that it works.
SIZES = ("full", "quick", "tiny")

#: The attacker whose success is made equal: one who looks at one word at a time, or one who reads the whole release.
ATTACKERS = ("alone", "context")
USUAL_ATTACKER = ATTACKERS[0]

#: With fewer examples of a task, nothing is learnt.
FEWEST_ROWS = 50

_TINY_WORDS = 200


@dataclass(frozen=True)
class Parts:
    """A file with a line for each part of a long experiment, so that a run can continue where another stopped."""

    path: Path | None = None  # without one, nothing is kept

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
        """Keep one more part."""
        if self.path is not None:
            with file_errors("write", self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(part, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Run:
    """How to run an experiment."""

    folder: Path | None = None  # the folder of data sets
    size: str = "full"  # how many words, examples and repetitions to use; the figures of a tiny run mean nothing
    seed: int = 0
    watch: Watch = ignore
    workers: int = 1  # how many mechanisms or tasks to measure at once, if an experiment has several
    engine: str = "local"  # where mechanisms with noise draw, if an experiment compares several
    attacker: str = USUAL_ATTACKER  # the attacker whose success is made equal: `ATTACKERS`
    reader: str = "population"  # the strongest reader for measuring utility: `READERS`
    device: str | None = None  # where to fit networks: cpu or cuda; by default, the GPU if there is one
    rows: int | None = None  # the most examples of each task, if an experiment does tasks
    levels: tuple[float, ...] | None = None  # the successes to compare mechanisms at; by default, an experiment's own
    only: tuple[str, ...] | None = None  # the labels of the mechanisms that `mechanisms` compares; by default, all
    minutes: float | None = None  # after how long to start no further part, if an experiment has many
    parts: Parts = Parts()  # where to keep these parts

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
        """How to read releases. A tiny run fits a network for only a few steps."""
        return Reading(readers_up_to(self.reader), self.device, self.pick(None, 300, 3))

    @property
    def quick(self) -> bool:
        """Whether this is less than the full experiment."""
        return self.size != "full"

    @cached_property
    def data(self) -> DataFolder:
        """The data sets, for experiments that need them."""
        if self.folder is None:
            raise OptionError("this experiment needs the folder of data sets.")
        return DataFolder(self.folder)

    def examples(self, full: int, quick: int, tiny: int) -> int:
        """Return the most examples of a task to use: as many as were asked for, or the number for this size."""
        return self.pick(full, quick, tiny) if self.rows is None else self.rows

    def pick(self, full: Value, quick: Value, tiny: Value) -> Value:
        """Return the value for this size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]

    def glove(
        self, full: int = 50_000, quick: int = 50_000, *, normalise: bool = False, also: Collection[str] = ()
    ) -> EuclideanSpace:
        """Return the bundled GloVe's most frequent words. If the run is not full, add the rarer ones in `also`."""
        space = load_space("glove-50k", normalise=normalise)
        words = self.pick(full, quick, _TINY_WORDS)
        if words >= len(space):
            return space
        more = [space.vocabulary.ids[word] for word in also if self.size != "full" and word in space.vocabulary.ids]
        return space.restrict(np.union1d(np.arange(words), np.array(more, dtype=np.int64)))

    def ball(self) -> PoincareSpace:
        """Return the bundled Poincaré ball of WordNet's nouns and verbs. A tiny run gets its most frequent words."""
        ball = load_space("wordnet-poincare")
        return ball.restrict(np.arange(_TINY_WORDS)) if self.size == "tiny" else ball


@dataclass(frozen=True)
class Table:
    """A table."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]  # the cells; None if unknown

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"**{self.title}**", "", _line(self.columns), "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(_line([written(cell) for cell in row]) for row in self.rows)])


@dataclass(frozen=True)
class Result:
    """What an experiment found."""

    tables: Sequence[Table]  # the paper's figures beside ours
    reading: str  # our explanation why they agree or differ
    changed: str = ""  # what replaces something the paper used; empty if nothing does
    facts: dict[str, Any] = field(default_factory=dict)  # everything that was measured, as plain values
    figures: dict[str, Figure] = field(default_factory=dict)  # pictures by a short name; the main one's name is empty


def shown(figure: Estimate, digits: int = 2, *, percent: bool = False) -> str:
    """Format a figure with its interval.

    Examples
    --------
    >>> shown(Estimate(0.123, 0.1, 0.2)), shown(Estimate(0.5, 0.4, 0.6), 1, percent=True)
    ('0.12 [0.10, 0.20]', '50.0 [40.0, 60.0]')
    """
    value, low, high = ((100 if percent else 1) * end for end in (figure.value, figure.low, figure.high))
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def written(cell: Cell) -> str:
    """Format a cell: numbers to three digits, and a dash for None.

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
    """Do jobs, and yield the number and result of each when it is done.

    After `minutes`, no further job is started. With several workers, `work` and the jobs must be picklable.
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
    """Do a part of an experiment for each name, several at once if the run has workers. Return them in order."""
    quiet = replace(run, watch=ignore)  # the watch stays in this process
    found: dict[int, Found] = {}
    for number, one in done_in_turn(work, [(quiet, name) for name in names], run.workers):
        found[number] = one
        run.watch(names[number], len(found) / len(names))
    return [found[number] for number in range(len(names))]


def _begin(cores_each: int) -> None:
    """Limit a process to its share of the cores."""
    use(cores_each)
    os.environ["OMP_NUM_THREADS"] = str(cores_each)  # for PyTorch, which reads it when it is loaded
    threadpool_limits(limits=cores_each, user_api="blas")
