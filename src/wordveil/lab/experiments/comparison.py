"""Mechanisms at the same success of the attacker: what they promise between similar words, and what stays useful."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil._mechanisms import MECHANISMS
from wordveil._mechanisms.laws import Law
from wordveil.calibration import Maker, Meter, maker
from wordveil.engines import on_engine
from wordveil.errors import WordveilError
from wordveil.extras import new_figure
from wordveil.lab.experiments.attacker import TokenAttacker, matched, word_chances
from wordveil.lab.experiments.run import Cell, Table, shown
from wordveil.lab.tasks import Model, Outcome, Task, evaluate, random_words, share_of_the_way, veiled
from wordveil.parallel import check_workers, cores, use
from wordveil.progress import Watch, ignore, within
from wordveil.spaces import EuclideanSpace, Space
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Contender", "Frontier", "Point", "compare", "draw_frontier", "entrant", "everyone", "points_table"]

# Mechanisms that also take part with other options, where the words have vectors.
_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "graph": ({"first": 1}, {"k": 3, "first": 1}, {"k": 0, "first": 1}),
    "exponential": ({"prior": "frequency"}, {"prior": "density"}),
}
_TRIED = (5.0, 500.0)  # an ε that every mechanism accepts on some space


@dataclass(frozen=True)
class Contender:
    """A mechanism that takes part."""

    label: str
    make: Maker
    space: Space  # the space it was asked for on

    @property
    def suits(self) -> bool:
        """Whether the mechanism can be made on the space."""
        for epsilon in _TRIED:
            with suppress(WordveilError):
                self.make(epsilon)
                return True
        return False


def entrant(label: str, name: str, options: dict[str, Any], space: Space, engine: str = "local") -> Contender:
    """Return one mechanism that takes part."""
    searches = name in MECHANISMS and MECHANISMS[name].searches_points
    placed = on_engine(space, engine) if searches else space
    return Contender(label, maker(name, placed, **options), placed)


def everyone(space: Space, engine: str = "local") -> list[Contender]:
    """Return every mechanism of the registry that suits a space, some also with other options.

    Only mechanisms with noise draw on the engine; the others do not search for nearest words.
    """
    varied = _VARIANTS if isinstance(space, EuclideanSpace) else {}
    everybody = [(name, options) for name in MECHANISMS for options in ({}, *varied.get(name, ()))]
    found = [entrant(_label(name, options), name, options, space, engine) for name, options in everybody]
    return [one for one in found if one.suits]


def _label(name: str, options: dict[str, Any]) -> str:
    """Return how the mechanism is asked for, NAME:OPTION=VALUE and so on."""
    told = ",".join(f"{option}={value}" for option, value in options.items())
    return f"{name}:{told}" if told else name


@dataclass(frozen=True)
class Point:
    """One mechanism at one level of the attacker's success."""

    label: str
    prior: str
    level: float  # the success that was asked for
    epsilon: float | None  # the ε at which it is reached; None if there is none, and then nothing else is known
    attacker: Estimate | None = None  # the success measured there
    exact: bool = False  # whether that is exact
    # the median over words of the largest log-ratio between a word and its ten most similar words
    near_loss: float | None = None
    near_loss_is_bound: bool = False  # whether that is what is promised, and was not computed
    kept: float | None = None  # the share of the texts' words that stay what they are
    scores: dict[str, Estimate] = field(default_factory=dict)
    # for each task how far its score is on the way from random words to clean text
    shares: dict[str, Estimate] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict, repr=False)

    @property
    def mean_share(self) -> float | None:
        """The mean of the shares over the tasks."""
        return float(np.mean([share.value for share in self.shares.values()])) if self.shares else None

    @property
    def near_loss_text(self) -> str | None:
        """The near loss as tables show it."""
        return None if self.near_loss is None else f"{'≤ ' if self.near_loss_is_bound else ''}{self.near_loss:.1f}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "mechanism": self.label,
            "prior": self.prior,
            "level": self.level,
            "epsilon": self.epsilon,
            "adversary": None if self.attacker is None else self.attacker.value,
            "adversary_error": None if self.attacker is None else self.attacker.error,
            "exact": self.exact,
            "near_loss_median": self.near_loss,
            "near_loss_is_bound": self.near_loss_is_bound,
            "kept": self.kept,
            "mean_share": self.mean_share,
            "scores": {name: found.to_dict() for name, found in self.scores.items()},
            "shares": {name: found.to_dict() for name, found in self.shares.items()},
        }


@dataclass(frozen=True)
class Frontier:
    """What `compare` found."""

    points: list[Point]  # every mechanism at every level
    bounds: dict[str, tuple[Estimate, Estimate]]  # for each task the score of random words and of clean text
    floors: dict[str, float]  # for each prior the success of always guessing the likeliest word

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        bounds = {
            name: {"random": random.to_dict(), "clean": clean.to_dict()}
            for name, (random, clean) in self.bounds.items()
        }
        return {"points": [point.to_dict() for point in self.points], "bounds": bounds, "floors": self.floors}


_Measured = tuple[list[Point], dict[str, float]]


def compare(
    contenders: Sequence[Contender],
    tasks: Sequence[Task],
    model: Model,
    levels: Sequence[float],
    *,
    priors: Sequence[str] = ("text",),
    repeats: int = 2,
    draws: int = 150_000,
    seed: int = 0,
    select: str = "all",
    workers: int = 1,
    watch: Watch = ignore,
    keep: Callable[[Frontier], None] | None = None,
) -> Frontier:
    """Measure mechanisms at matched success of the attacker.

    The attacker guesses the words of the tasks' own texts and sees `draws` of a mechanism whose law is not exact. The
    figures do not depend on `workers`, which is how many mechanisms are measured at once. `keep` is given what was
    found so far after each mechanism, so that little is lost if a long run is stopped.
    """
    check_workers(workers)
    watch("clean text and random words", 0.0)
    clean = [evaluate(task, model, seed=seed) for task in tasks]
    bottom = random_words(model.reader.space, select=select)
    random = [evaluate(task, model, bottom, repeats=repeats, seed=seed) for task in tasks]
    bounds = {
        task.name: (low.interval(), high.interval()) for task, low, high in zip(tasks, random, clean, strict=True)
    }
    race = _Race(tasks, model, clean, random, levels, priors, repeats, draws, seed, select)
    measured: dict[int, _Measured] = {}

    def so_far() -> Frontier:
        """Return what was found, in the order of the contenders, whichever was done first."""
        points: list[Point] = []
        floors: dict[str, float] = {}
        for _, (found, lowest) in sorted(measured.items()):
            points += found
            floors = {prior: max(floor, floors.get(prior, 0.0)) for prior, floor in lowest.items()}
        return Frontier(points, bounds, floors)

    for number, found in _each(race, contenders, workers, watch):
        measured[number] = found
        watch(contenders[number].label, len(measured) / len(contenders))
        if keep is not None:
            keep(so_far())
    return so_far()


@dataclass(frozen=True)
class _Race:
    """What is the same for all contenders."""

    tasks: Sequence[Task]
    model: Model
    clean: Sequence[Outcome]
    random: Sequence[Outcome]
    levels: Sequence[float]
    priors: Sequence[str]
    repeats: int
    draws: int
    seed: int
    select: str

    def run(self, contender: Contender, watch: Watch = ignore) -> _Measured:
        """Return the points of one contender, and for each prior the success of always guessing the likeliest word."""
        texts = [text for task in self.tasks for text in task.texts]
        chances = word_chances(texts, contender.space, select=self.select)
        points: list[Point] = []
        floors: dict[str, float] = {}
        for place, prior in enumerate(self.priors):
            share = place / len(self.priors)
            watch(f"{contender.label}, attacker", share)
            attacker = TokenAttacker(contender.make, contender.space, chances, prior, self.draws, self.seed)
            floors[prior] = attacker.floor
            meter = attacker.meter()
            for level, (law, success) in _at_levels(attacker, meter, self.levels).items():
                if law is None or success is None:
                    points.append(Point(contender.label, prior, level, None))
                    continue
                watch(f"{contender.label}, tasks at {level:.0%}", share)
                points.append(self._point(contender.label, attacker, meter, law, level, success))
        return points, floors

    def _point(
        self, label: str, attacker: TokenAttacker, meter: Meter, law: Law, level: float, success: Estimate
    ) -> Point:
        rewrite = veiled(law.mechanism, select=self.select)
        outcomes = [evaluate(task, self.model, rewrite, repeats=self.repeats, seed=self.seed) for task in self.tasks]
        loss = meter.near_loss([law.mechanism.epsilon])[0]
        median = float(np.median(loss.values))
        ends = zip(outcomes, self.random, self.clean, strict=True)
        return Point(
            label,
            attacker.prior,
            level,
            law.mechanism.epsilon,
            success,
            law.exact,
            median if np.isfinite(median) else None,
            loss.bound,
            attacker.kept(law),
            {outcome.task.name: outcome.interval() for outcome in outcomes},
            {outcome.task.name: share_of_the_way(outcome, low, high) for outcome, low, high in ends},
            {outcome.task.name: outcome for outcome in outcomes},
        )


def _at_levels(
    attacker: TokenAttacker, meter: Meter, levels: Sequence[float]
) -> dict[float, tuple[Law | None, Estimate | None]]:
    """Return for each level the law and the success at the ε that reaches it; None where none does."""
    seen: dict[float, tuple[Law, Estimate]] = {}

    def success(epsilon: float) -> float:
        law = meter.laws([epsilon])[0]
        seen[epsilon] = law, attacker.success(law)
        return seen[epsilon][1].value

    reachable = [level for level in levels if level > attacker.floor * 1.02]
    found = matched(success, reachable, meter.probe.epsilon) if reachable else {}
    epsilons = {level: found.get(level) for level in levels}
    return {level: (None, None) if one is None else seen[one] for level, one in epsilons.items()}


def _each(race: _Race, contenders: Sequence[Contender], workers: int, watch: Watch) -> Iterator[tuple[int, _Measured]]:
    """Give the number of each contender and what was found of it, as they are done."""
    if workers == 1:
        for number, contender in enumerate(contenders):
            part = within(watch, number / len(contenders), (number + 1) / len(contenders))
            yield number, race.run(contender, part)
        return
    cores_each = max(1, cores() // workers)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (cores_each,)) as pool:
        running = {pool.submit(race.run, contender): number for number, contender in enumerate(contenders)}
        for future in as_completed(running):
            yield running[future], future.result()


def _begin(cores_each: int) -> None:
    use(cores_each)
    threadpool_limits(limits=cores_each, user_api="blas")


_HEADINGS = ("level", "ε", "guess right", "words kept", "near loss", "mean share")


def points_table(title: str, who: str, points: Iterable[Point], tasks: Iterable[str]) -> Table:
    """Return a table with a row for each point; what was not reached has no figures."""
    headings = (who, *_HEADINGS, *tasks)
    return Table(title, headings, [_row(point, len(headings)) for point in points])


def _row(point: Point, width: int) -> list[Cell]:
    if point.attacker is None:
        return [point.label, point.level, *[None] * (width - 2)]
    figures = (f"{point.attacker.value:.3f}", point.kept, point.near_loss_text, point.mean_share)
    return [point.label, point.level, point.epsilon, *figures, *(shown(one) for one in point.shares.values())]


def draw_frontier(frontier: Frontier, prior: str) -> Figure:
    """Draw utility against the attacker's success, and against the near loss."""
    figure = new_figure(11.0, 5.0)
    success, loss = figure.subplots(1, 2, sharey=True)
    points = [point for point in frontier.points if point.prior == prior and point.attacker is not None]
    for number, label in enumerate(dict.fromkeys(point.label for point in points)):
        own = sorted((point for point in points if point.label == label), key=lambda point: point.level)
        style = {"marker": "osD^vPX*"[number % 8], "linewidth": 1.2, "label": label}
        success.plot([one.attacker.value for one in own if one.attacker], [one.mean_share for one in own], **style)
        known = [(point.near_loss, point.mean_share) for point in own if point.near_loss is not None]
        if known:
            loss.plot(*zip(*known, strict=True), **style)
    knows = "knows word frequencies" if prior == "text" else "takes all words for equally likely"
    utility = "utility: share of the way from random words to clean text"
    success.set(xlabel=f"the best guess of a word is right (attacker {knows})", ylabel=utility)
    success.set_xlim(left=0.0)
    loss.set(xscale="log", xlabel="near loss: largest log-ratio to a similar word, median")
    for axes in (success, loss):
        axes.grid(alpha=0.3)
    success.legend(fontsize="small")
    return figure
