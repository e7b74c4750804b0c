"""What analysts and attackers get from a release, with every reader, on every labelled data set in the folder."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from wordveil._mechanisms import mechanism
from wordveil.calibration import maker, meter_for
from wordveil.errors import FileError, InputError
from wordveil.lab.experiments.attacker import TokenAttacker, matched
from wordveil.lab.experiments.run import Cell, Result, Run, Table, done_in_turn, shown
from wordveil.lab.tasks import AS_IT_STANDS, AveragedVectors, Reading, Task, TaskTexts, load_task, mean_of
from wordveil.spaces import EuclideanSpace
from wordveil.stats import Estimate

_ASKED = ("trec6", "mr", "cr")  # targets are set for the mean over these
_OTHERS = ("mpqa", "subj", "sst2", "sst5", "snips", "insuranceqa", "pang-lee")
_LONG = {"pang-lee": 1000}  # how many texts to use of data sets with long texts
_LEVELS = (0.25, 0.1)
_CLOSE = 0.005  # the relative error of a level
_FOLDS = 3
_RANDOM = 3  # veilings with random words, whose mean is where the way begins
_TITLES = {
    AS_IT_STANDS: "as it stands",
    "table": "table",
    "population": "population",
    "release": "context, from the release alone",
    "shipped": "context, as it comes",
    "context": "context, pre-trained and adapted",
}
#: The mean share on the first three data sets, at the first level, that each reader should reach.
_TO_REACH = {"table": 0.62, "population": 0.66, "context": 0.80}


def reading(run: Run) -> Result:
    """Read releases of every data set at two levels of success of an attacker who looks at one word at a time."""
    space = run.glove()
    names = run.pick((*_ASKED, *_OTHERS), (*_ASKED, *_OTHERS), _ASKED[:2])
    tasks = {name: task for name in names if (task := _loaded(run, name)) is not None}
    missing = [name for name in names if name not in tasks]
    veilings = run.pick(3, 2, 2)
    how = run.reading
    levels = run.pick(_LEVELS, _LEVELS[:1], _LEVELS[:1])
    found, left_out = _all_done(tasks, levels, veilings, space, how, run)
    cells = {(level, name): _Cell.of([one for one in found if (one.level, one.name) == (level, name)], how)
             for level in levels for name in tasks}  # fmt: skip
    tables = [_means(cells, levels, how)]
    pairs = [_by_task(f"at {level:.0%}", cells, level, tasks, how) for level in levels]
    tables += [pair[which] for which in (0, 1) for pair in pairs]
    cut = f" {left_out} further veilings were not run, for lack of time." if left_out else ""
    few = f" Not in the data folder: {', '.join(missing)}." if missing else ""
    return Result(
        tables,
        "A share is how far the score is on the way from random words (0) to clean text (1), by logistic regression "
        "on averaged vectors of 100 dimensions, three folds, with text veiled in training and in testing by the "
        "default mechanism and function words left alone. Each level is the share of the veiled words of TREC-6, MR "
        "and CR that an attacker guesses who looks at one word at a time and knows how often each word occurs in "
        "these very texts. Its ε is the same for all data sets. The readers do not know these frequencies: they "
        "have only the release and what is public. The lower tables show how often each reader's likeliest word is "
        "the original. A drawn function word, which passes for one left alone, counts as not found. Intervals are "
        f"Student's over {veilings} veilings; those of the means treat data sets as independent.{cut}",
        changed="None of the papers reads a release through the mechanism's law. Pang & Lee's reviews are long, "
        f"so only {_LONG['pang-lee']:,} are used.{few}",
        facts={
            "rows": [one.to_dict() for one in found],
            "readers": [AS_IT_STANDS, *how.readers],
            "to_reach": _TO_REACH,
            "means": {
                f"{level:g}": {reader: one.to_dict() for reader, one in _mean(cells, level, how).items()}
                for level in levels
            },
            "left_out": left_out,
        },
    )


def _loaded(run: Run, name: str) -> Task | None:
    """Return a task with every example tested once, or None if the data folder does not have it."""
    try:
        task = load_task(name, run.data)
    except (FileError, InputError):
        if name in _ASKED:
            raise
        return None
    most = run.pick(_LONG.get(name, 1_000_000), min(1500, _LONG.get(name, 1500)), 60)
    return task.cross_validated(_FOLDS).limited(most)


@dataclass(frozen=True)
class _Done:
    """What was found on one veiling of one data set."""

    name: str
    task: str
    texts: int
    level: float
    epsilon: float
    alone: float  # how often an attacker who looks at one word at a time is right
    random: float
    clean: float
    scores: dict[str, float]  # by reader
    guessed: dict[str, float]
    seconds: float
    seed: int

    def share(self, reader: str) -> float:
        """Return how far a reader's score is on the way from random words to clean text."""
        way = self.clean - self.random
        return (self.scores[reader] - self.random) / way if way else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**vars(self), "shares": {reader: self.share(reader) for reader in self.scores}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> _Done:
        """Restore what `to_dict` returned."""
        return cls(**{name: value for name, value in values.items() if name != "shares"})


def _epsilons(tasks: Sequence[Task], levels: Sequence[float], space: EuclideanSpace) -> dict[float, float]:
    """Return, for each level, the ε at which the attacker is right for that share of all veiled words of some tasks.

    For each task, they know how often each word occurs in its texts.
    """
    texts = [TaskTexts([task], space, select="content") for task in tasks]
    attackers = [TokenAttacker(maker("graph", space), space, one.chances) for one in texts]
    words = np.array([len(one.clean.veiled) for one in texts])
    meter = meter_for(attackers[0].make, space)

    def success(epsilon: float) -> float:
        law = meter.laws([epsilon])[0]
        return float(np.average([one.success(law).value for one in attackers], weights=words))

    found = matched(success, levels, meter.probe.epsilon, tolerance=_CLOSE)
    return {level: epsilon for level, epsilon in found.items() if epsilon is not None}


@dataclass(frozen=True)
class _Ground:
    """What all veilings of a data set share."""

    random: float
    clean: float
    epsilons: dict[float, tuple[float, float]]  # for each level, the ε and the success on this data set

    @classmethod
    def of(cls, task: Task, epsilons: dict[float, float], space: EuclideanSpace, seed: int) -> _Ground:
        """Do the task with random words and with clean text, and attack it one word at a time."""
        texts = TaskTexts([task], space, select="content")
        attacker = TokenAttacker(maker("graph", space), space, texts.chances)
        random, clean = texts.ends(AveragedVectors(space), repeats=_RANDOM, seed=seed)
        return cls(
            random[0].score,
            clean[0].score,
            {
                level: (epsilon, attacker.success(attacker.make(epsilon).law()).value)
                for level, epsilon in epsilons.items()
            },
        )


@dataclass(frozen=True)
class _Job:
    """One veiling of one data set."""

    name: str
    task: Task
    level: float
    seed: int

    def run(self, space: EuclideanSpace, reading: Reading, ground: _Ground) -> _Done:
        """Veil and read."""
        started = time.perf_counter()
        epsilon, alone = ground.epsilons[self.level]
        texts = TaskTexts([self.task], space, select="content")
        made = mechanism("graph", space, epsilon=epsilon)
        read = texts.read(made, AveragedVectors(space), reading, seed=self.seed)
        return _Done(
            self.name,
            self.task.name,
            len(texts),
            self.level,
            epsilon,
            alone,
            ground.random,
            ground.clean,
            {reader: one.outcomes[0].score for reader, one in read.items()},
            {reader: float(one.right[0]) for reader, one in read.items()},
            round(time.perf_counter() - started, 1),
            self.seed,
        )

    def is_done(self, found: _Done, reading: Reading) -> bool:
        """Whether this job was done before, with the same readers."""
        same = (found.name, found.level, found.seed, found.texts) == (self.name, self.level, self.seed, len(self.task))
        return same and set(found.scores) == {AS_IT_STANDS, *reading.readers}


def _all_done(
    tasks: dict[str, Task], levels: Sequence[float], veilings: int, space: EuclideanSpace, how: Reading, run: Run
) -> tuple[list[_Done], int]:
    """Veil and read, every data set once before any is veiled again, as long as there is time.

    Also return how many veilings were left out. Those that an earlier run kept among its parts are taken from there.
    """
    started = time.monotonic()
    names = list(tasks)
    grounds: dict[str, _Ground] = {}
    epsilons = _epsilons([task for name, task in tasks.items() if name in _ASKED], levels, space)
    first: list[tuple[Any, ...]] = [(tasks[name], epsilons, space, run.seed) for name in names]
    for number, ground in done_in_turn(_Ground.of, first, run.workers):
        grounds[names[number]] = ground
        run.watch(f"{tasks[names[number]].name}, random words and clean text", 0.1 * len(grounds) / len(names))
    jobs = [
        _Job(name, tasks[name], level, 1000 * run.seed + number)
        for number in range(veilings)
        for level in levels
        for name in (*_ASKED, *_OTHERS)
        if name in tasks and level in grounds[name].epsilons
    ]
    earlier = [_Done.from_dict(one) for one in run.parts.known([one.name for one in fields(_Done)])]
    found = [next(one for one in earlier if job.is_done(one, how)) for job in jobs if _among(job, earlier, how)]
    left = None if run.minutes is None else run.minutes - (time.monotonic() - started) / 60.0
    second = [(job, space, how, grounds[job.name]) for job in jobs if not _among(job, earlier, how)]
    for _, done in done_in_turn(_Job.run, second, run.workers, left):
        found.append(done)
        run.parts.add(done.to_dict())
        run.watch("veilings", 0.1 + 0.9 * len(found) / len(jobs))
    return sorted(found, key=lambda one: (-one.level, names.index(one.name))), len(jobs) - len(found)


def _among(job: _Job, earlier: Sequence[_Done], how: Reading) -> bool:
    return any(job.is_done(one, how) for one in earlier)


@dataclass(frozen=True)
class _Cell:
    """What was found on one data set at one level, over its veilings."""

    shares: dict[str, Estimate]
    guessed: dict[str, Estimate]
    epsilon: float | None
    alone: float | None

    @classmethod
    def of(cls, found: Sequence[_Done], how: Reading) -> _Cell:
        """Summarise several veilings."""
        readers = (AS_IT_STANDS, *how.readers)
        return cls(
            {reader: Estimate.of_runs(np.array([one.share(reader) for one in found])) for reader in readers},
            {reader: Estimate.of_runs(np.array([one.guessed[reader] for one in found])) for reader in readers},
            found[0].epsilon if found else None,
            found[0].alone if found else None,
        )


def _mean(cells: dict[tuple[float, str], _Cell], level: float, how: Reading) -> dict[str, Estimate]:
    """Return the mean share over the data sets with targets, by each reader."""
    asked = [cell for (at, name), cell in cells.items() if at == level and name in _ASKED and cell.epsilon is not None]
    means = {}
    for reader in (AS_IT_STANDS, *how.readers):
        figures = [cell.shares[reader] for cell in asked]
        nothing = Estimate(math.nan, math.nan, math.nan)
        means[reader] = replace(mean_of(figures), n=len(figures)) if figures else nothing
    return means


def _means(cells: dict[tuple[float, str], _Cell], levels: Sequence[float], how: Reading) -> Table:
    rows: list[list[Cell]] = []
    for level in levels:
        for reader, mean in _mean(cells, level, how).items():
            asked = _TO_REACH.get(reader) if level == _LEVELS[0] else None
            met = None if asked is None else "yes" if mean.value >= asked else "no"
            rows.append([f"{level:.0%}", _TITLES[reader], _told(mean), asked, met])
    names = ", ".join({"trec6": "TREC-6", "mr": "MR", "cr": "CR"}[name] for name in _ASKED)
    return Table(f"Mean share over {names}", ("level", "reader", "mean share", "asked for", "reached"), rows)


def _by_task(
    title: str, cells: dict[tuple[float, str], _Cell], level: float, tasks: dict[str, Task], how: Reading
) -> list[Table]:
    """Return two tables: what each reader keeps of every data set, and how many words it guesses."""
    readers = (AS_IT_STANDS, *how.readers)
    shares: list[list[Cell]] = []
    guesses: list[list[Cell]] = []
    for name, task in tasks.items():
        cell = cells[level, name]
        shares.append([task.name, len(task), cell.epsilon, *(_told(cell.shares[reader]) for reader in readers)])
        guessed = (_told(cell.guessed[reader], percent=True) for reader in readers)
        guesses.append([task.name, cell.alone, *guessed])
    headings = [_TITLES[reader] for reader in readers]
    return [
        Table(f"Share of the way, {title}", ("data set", "texts", "ε", *headings), shares),
        Table(
            f"Words guessed right, {title}",
            ("data set", "one word at a time", *(f"{heading}, %" for heading in headings)),
            guesses,
        ),
    ]


def _told(figure: Estimate, *, percent: bool = False) -> Cell:
    """Format a figure, with its interval if there are several runs."""
    if not np.isfinite(figure.value):
        return None
    if not np.isfinite(figure.low):
        return f"{100 * figure.value:.1f}" if percent else f"{figure.value:.2f}"
    return shown(figure, 1 if percent else 2, percent=percent)
