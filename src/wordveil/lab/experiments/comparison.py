"""Mechanisms at the same success of the adversary: what they promise between similar words, and what stays useful."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.calibration import Maker, Meter
from wordveil.lab.experiments.adversary import TokenAdversary, word_chances
from wordveil.lab.experiments.matched import matched
from wordveil.lab.tasks import Interval, Model, Outcome, Task, evaluate, random_words, share_of_the_way, veiled
from wordveil.parallel import check_workers, cores, use
from wordveil.progress import Watch, ignore
from wordveil.spaces import Space

__all__ = ["Contender", "Frontier", "Point", "compare"]


@dataclass(frozen=True)
class Contender:
    """A mechanism that takes part.

    Attributes
    ----------
    label : str
        What it is called in tables.
    make : callable
        Makes it for an ε.
    space : Space
        The space it was asked for on.
    """

    label: str
    make: Maker
    space: Space


@dataclass(frozen=True)
class Point:
    """One mechanism at one level of the adversary's success.

    Attributes
    ----------
    label, prior : str
        The mechanism, and what the adversary knows.
    level : float
        The success that was asked for.
    epsilon : float or None
        The ε at which it is reached; None where none does, and then nothing else is known.
    adversary : Adversary, optional
        The success measured there.
    exact : bool
        Whether that is exact.
    near_loss : float, optional
        The median over words of the largest log-ratio between a word and its ten most similar words.
    near_loss_is_bound : bool
        Whether that is what is promised, and not computed.
    kept : float, optional
        The share of the texts' words that stay what they are.
    scores, shares : dict
        For each task its score, and how far that is on the way from random words to clean text.
    outcomes : dict
        For each task the answers that this comes from.
    """

    label: str
    prior: str
    level: float
    epsilon: float | None
    adversary: Adversary | None = None
    exact: bool = False
    near_loss: float | None = None
    near_loss_is_bound: bool = False
    kept: float | None = None
    scores: dict[str, Interval] = field(default_factory=dict)
    shares: dict[str, Interval] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict, repr=False)

    @property
    def mean_share(self) -> float | None:
        """The mean of the shares over the tasks."""
        return float(np.mean([share.value for share in self.shares.values()])) if self.shares else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "mechanism": self.label,
            "prior": self.prior,
            "level": self.level,
            "epsilon": self.epsilon,
            "adversary": None if self.adversary is None else self.adversary.low,
            "adversary_error": None if self.adversary is None else self.adversary.error,
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
    """What `compare` found.

    Attributes
    ----------
    points : list of Point
        Every mechanism at every level.
    bounds : dict
        For each task the score of random words and of clean text.
    floors : dict
        For each prior the success of always guessing the likeliest word.
    """

    points: list[Point]
    bounds: dict[str, tuple[Interval, Interval]]
    floors: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        bounds = {
            name: {"random": random.to_dict(), "clean": clean.to_dict()}
            for name, (random, clean) in self.bounds.items()
        }
        return {"points": [point.to_dict() for point in self.points], "bounds": bounds, "floors": self.floors}


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
    """Measure mechanisms at matched success of the adversary.

    Parameters
    ----------
    contenders : sequence of Contender
        The mechanisms.
    tasks : sequence of Task
        What the texts are used for; their texts are also those that the adversary guesses at.
    model : Model
        What learns the tasks.
    levels : sequence of float
        The successes at which to measure.
    priors : sequence of str
        What the adversary knows: ``text`` (word frequencies of the texts), ``uniform``, or both in turn.
    repeats, draws, seed : int
        How often each task is done, how many draws the adversary sees of a mechanism that does not state its
        probabilities, and which random numbers.
    select : {"all", "content"}
        Which words are veiled.
    workers : int
        How many mechanisms to measure at once, each in a process of its own; the figures do not depend on it.
    watch : callable, optional
        Told how far it is.
    keep : callable, optional
        Given what was found so far after each mechanism, so that a long run that is stopped was not in vain.
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
    measured: dict[int, tuple[list[Point], dict[str, float]]] = {}
    for number, found in _measured(race, contenders, workers, watch):
        measured[number] = found
        watch(contenders[number].label, len(measured) / len(contenders))
        if keep is not None:
            keep(_together(measured, bounds))
    return _together(measured, bounds)


def _together(
    measured: dict[int, tuple[list[Point], dict[str, float]]], bounds: dict[str, tuple[Interval, Interval]]
) -> Frontier:
    """Return what was found, in the order of the contenders, whichever was done first."""
    points: list[Point] = []
    floors: dict[str, float] = {}
    for _, (found, lowest) in sorted(measured.items()):
        points += found
        floors = {prior: max(floor, floors.get(prior, 0.0)) for prior, floor in lowest.items()}
    return Frontier(points, bounds, floors)


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

    def run(self, contender: Contender, watch: Watch = ignore) -> tuple[list[Point], dict[str, float]]:
        """Return the points of one contender, and for each prior the success of always guessing the likeliest word."""
        texts = [text for task in self.tasks for column in task.columns for text in column]
        chances = word_chances(texts, contender.space, select=self.select)
        points: list[Point] = []
        floors: dict[str, float] = {}
        for place, prior in enumerate(self.priors):
            share = place / len(self.priors)
            watch(f"{contender.label}, adversary", share)
            adversary = TokenAdversary(contender.make, contender.space, chances, prior, self.draws, self.seed)
            floors[prior] = adversary.floor
            meter = adversary.meter()
            for level, (epsilon, success) in _epsilons(adversary, meter, self.levels).items():
                if epsilon is None or success is None:
                    points.append(Point(contender.label, prior, level, None))
                    continue
                watch(f"{contender.label}, tasks at {level:.0%}", share)
                points.append(self._point(contender, adversary, meter, level, epsilon, success))
        return points, floors

    def _point(
        self,
        contender: Contender,
        adversary: TokenAdversary,
        meter: Meter,
        level: float,
        epsilon: float,
        success: Adversary,
    ) -> Point:
        rewrite = veiled(contender.make(epsilon), select=self.select)
        outcomes = [evaluate(task, self.model, rewrite, repeats=self.repeats, seed=self.seed) for task in self.tasks]
        loss = meter.near_loss([epsilon])[0]
        median = float(np.median(loss.values))
        return Point(
            contender.label,
            adversary.prior,
            level,
            epsilon,
            success,
            meter.exact,
            median if np.isfinite(median) else None,
            loss.bound,
            adversary.kept(epsilon),
            {outcome.task.name: outcome.interval() for outcome in outcomes},
            {
                outcome.task.name: share_of_the_way(outcome, low, high)
                for outcome, low, high in zip(outcomes, self.random, self.clean, strict=True)
            },
            {outcome.task.name: outcome for outcome in outcomes},
        )


def _measured(
    race: _Race, contenders: Sequence[Contender], workers: int, watch: Watch
) -> Iterator[tuple[int, tuple[list[Point], dict[str, float]]]]:
    """Give the number of each contender and what was found of it, as they are done."""
    if workers == 1:
        for number, contender in enumerate(contenders):
            yield number, race.run(contender, _within(watch, number, len(contenders)))
        return
    cores_each = max(1, cores() // workers)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (cores_each,)) as pool:
        running = {pool.submit(race.run, contender): number for number, contender in enumerate(contenders)}
        for future in as_completed(running):
            yield running[future], future.result()


def _within(watch: Watch, number: int, total: int) -> Watch:
    """Return what takes the progress of one of several for progress of the whole."""
    return lambda what, share: watch(what, (number + share) / total)


def _begin(cores_each: int) -> None:
    use(cores_each)
    threadpool_limits(limits=cores_each, user_api="blas")


def _epsilons(
    adversary: TokenAdversary, meter: Meter, levels: Sequence[float]
) -> dict[float, tuple[float | None, Adversary | None]]:
    seen: dict[float, Adversary] = {}

    def success(epsilon: float) -> float:
        seen[epsilon] = adversary(epsilon, meter)
        return seen[epsilon].low

    reachable = [level for level in levels if level > adversary.floor * 1.02]
    found = matched(success, reachable, meter.probe.epsilon) if reachable else {}
    epsilons = {level: found.get(level) for level in levels}
    return {level: (one, None if one is None else seen[one]) for level, one in epsilons.items()}
