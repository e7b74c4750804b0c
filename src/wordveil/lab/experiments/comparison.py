"""Mechanisms at the same success of the attacker: what they promise between similar words, and what stays useful."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wordveil._mechanisms import MECHANISMS, kind_named
from wordveil._mechanisms.laws import Effort, Law
from wordveil._mechanisms.priors import LEAST
from wordveil.calibration import Maker, Meter, maker
from wordveil.engines import on_engine
from wordveil.errors import WordveilError
from wordveil.extras import new_figure
from wordveil.files import digest_of
from wordveil.lab.experiments.attacker import (
    PRIORS,
    Attacker,
    ContextAttacker,
    SentenceAttacker,
    TokenAttacker,
    at_levels,
)
from wordveil.lab.experiments.run import Cell, Parts, Table, done_in_turn, shown
from wordveil.lab.tasks import (
    AS_IT_STANDS,
    NETWORKS,
    AveragedVectors,
    Outcome,
    Reading,
    Task,
    TaskTexts,
    share_of_the_way,
)
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore, within
from wordveil.reading.places import Cutter, Words
from wordveil.spaces import EuclideanSpace, Space
from wordveil.stats import Estimate, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mechanisms that also take part with other options, if the words have vectors.
_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "graph": ({"first": 1}, {"k": 3, "first": 1}, {"k": 0, "first": 1}),
    "exponential": ({"prior": "frequency"}, {"prior": "density"}, {"prior": LEAST}),
}
_TRIED = (5.0, 500.0)  # an ε that every mechanism accepts on some space


@dataclass(frozen=True)
class Contender:
    """A mechanism in the comparison."""

    label: str
    make: Maker
    space: Space  # the space that was asked for

    @property
    def suits(self) -> bool:
        """Whether the mechanism can be made on the space."""
        for epsilon in _TRIED:
            with suppress(WordveilError):
                self.make(epsilon)
                return True
        return False


def entrant(label: str, name: str, options: dict[str, Any], space: Space, engine: str = "local") -> Contender:
    """Return a mechanism as a contender."""
    placed = on_engine(space, engine) if kind_named(name).searches_points else space
    return Contender(label, maker(name, placed, **options), placed)


def everyone(
    space: Space, engine: str = "local", *, suffix: str = "", among: Sequence[str] | None = None
) -> list[Contender]:
    """Return every registered mechanism that suits a space, some of them also with other options.

    Only mechanisms with noise draw on the engine, because the others do not search for nearest words. The labels end in
    `suffix`. With `among`, only contenders with these labels are made.
    """
    varied = _VARIANTS if isinstance(space, EuclideanSpace) else {}
    everybody = [(name, options) for name in MECHANISMS for options in ({}, *varied.get(name, ()))]
    labelled = [(_label(name, options) + suffix, name, options) for name, options in everybody]
    chosen = [one for one in labelled if among is None or one[0] in among]
    found = [entrant(*one, space, engine) for one in chosen]
    return [one for one in found if one.suits]


def _label(name: str, options: dict[str, Any]) -> str:
    """Return the label of a mechanism as users write it, NAME:OPTION=VALUE and so on."""
    told = ",".join(f"{option}={value}" for option, value in options.items())
    return f"{name}:{told}" if told else name


@dataclass(frozen=True)
class Point:
    """One mechanism at one level of the attacker's success."""

    label: str
    prior: str  # which attacker: `PRIORS` or ``context``
    level: float  # the success that was asked for
    epsilon: float | None  # the ε that reaches it; None if no ε does, and then nothing else is known
    attacker: Estimate | None = None  # the success measured there
    exact: bool = False  # whether that is exact
    # the median over words of the largest log-ratio between a word and its ten most similar words
    near_loss: float | None = None
    near_loss_is_bound: bool = False  # whether that is what is promised, and not computed
    kept: float | None = None  # the share of the texts' words that stay the same
    speed: float | None = None  # words drawn per second of processor time
    # for each task, its score and how far that is on the way from random words to clean text, by the strongest reader
    scores: dict[str, Estimate] = field(default_factory=dict)
    shares: dict[str, Estimate] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict, repr=False)
    # for each reader, the strongest last: the share of each task, and how often its likeliest word is right
    read: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    guessed: dict[str, Estimate] = field(default_factory=dict)

    @property
    def mean_share(self) -> float | None:
        """The mean of the shares over the tasks, by the strongest reader."""
        return float(np.mean([share.value for share in self.shares.values()])) if self.shares else None

    def mean_read(self, reader: str) -> float | None:
        """Return the mean of the shares over the tasks, by one reader."""
        found = self.read.get(reader)
        return float(np.mean([share.value for share in found.values()])) if found else None

    @property
    def near_loss_text(self) -> str | None:
        """The near loss as tables show it."""
        return None if self.near_loss is None else f"{'≤ ' if self.near_loss_is_bound else ''}{self.near_loss:.1f}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            **{name: getattr(self, name) for name in ("prior", "level", "epsilon", "exact", "kept", "mean_share")},
            "words_per_second": self.speed,
            "mechanism": self.label,
            "adversary": None if self.attacker is None else self.attacker.value,
            "adversary_error": None if self.attacker is None else self.attacker.error,
            "near_loss_median": self.near_loss,
            "near_loss_is_bound": self.near_loss_is_bound,
            **{name: plain(getattr(self, name)) for name in ("scores", "shares", "guessed")},
            "read": {reader: plain(found) for reader, found in self.read.items()},
        }

    def packed(self) -> dict[str, Any]:
        """Return everything, including the answers to the tasks, as values that JSON can hold."""
        return dataclasses.asdict(self) | {
            "outcomes": {name: outcome.answers.tolist() for name, outcome in self.outcomes.items()}
        }

    @classmethod
    def unpacked(cls, values: dict[str, Any], tasks: Sequence[Task]) -> Point:
        """Restore a point on these tasks from what `packed` returned."""
        estimates = {name: _estimates(values[name]) for name in ("scores", "shares", "guessed")}
        known = {task.name: task for task in tasks}
        return cls(
            **values
            | estimates
            | {
                "attacker": None if values["attacker"] is None else Estimate(**values["attacker"]),
                "read": {reader: _estimates(found) for reader, found in values["read"].items()},
                "outcomes": {
                    name: Outcome(known[name], np.array(answers)) for name, answers in values["outcomes"].items()
                },
            }
        )


def _estimates(values: dict[str, Any]) -> dict[str, Estimate]:
    return {name: Estimate(**one) for name, one in values.items()}


@dataclass(frozen=True)
class Frontier:
    """The result of `compare`."""

    points: list[Point]  # every mechanism at every level
    bounds: dict[str, tuple[Estimate, Estimate]]  # for each task, the scores of random words and of clean text
    floors: dict[str, float]  # for each attacker, the success of always guessing the likeliest word
    repeats: int = 1  # how often the texts were veiled

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        bounds = {name: plain({"random": random, "clean": clean}) for name, (random, clean) in self.bounds.items()}
        points = [point.to_dict() for point in self.points]
        return {"points": points, "bounds": bounds, "floors": self.floors, "repeats": self.repeats}


_LOOKED_FOR = 20_000  # about how many words an attacker with context guesses at each ε
_TIMED = 2000  # words to draw for measuring the speed
#: An attacker who knows some of the texts and reads the others with trigrams.
SENTENCES = "sentences"

_Measured = tuple[list[Point], dict[str, float]]


def compare(
    contenders: Sequence[Contender],
    tasks: Sequence[Task],
    model: AveragedVectors,
    levels: Sequence[float],
    *,
    attackers: Sequence[str] = ("text",),
    reading: Reading | None = None,
    repeats: int = 2,
    draws: int = 150_000,
    seed: int = 0,
    select: str = "all",
    tolerance: float = 0.0,
    looked_for: int = _LOOKED_FOR,
    share: Callable[[Outcome, Outcome, Outcome], Estimate] = share_of_the_way,
    workers: int = 1,
    minutes: float | None = None,
    watch: Watch = ignore,
    keep: Callable[[Frontier], None] | None = None,
    parts: Parts = Parts(),  # noqa: B008 - frozen
) -> Frontier:
    """Measure mechanisms at matched success of the attacker.

    An attacker is one of `PRIORS` (who look at one word at a time), ``context`` or the name of another network (who
    read the whole release), or `SENTENCES`. They guess the words of the tasks' own texts, all but `PRIORS` only about
    `looked_for` of them. If a law is not exact, they see `draws` of it. Their success is matched to within `tolerance`,
    relative to the level, or as closely as is worth the time with that attacker.

    Utility is measured on the texts as they stand and through the readers of `reading`. `share` computes from an
    outcome, and those of random words and of clean text, how far it is on the way, with its interval. The figures do
    not depend on `workers`, the number of mechanisms to measure at once. After `minutes`, no further one is started.
    `keep` gets what was found so far after each mechanism, so that little is lost if a long run is stopped. `parts` is
    a file that keeps all of that; a later run of the same comparison takes from it what it has.
    """
    watch("clean text and random words", 0.0)
    random, clean = TaskTexts(tasks, model.space, select=select).ends(model, repeats=repeats, seed=seed)
    bounds = {
        task.name: (low.interval(), high.interval()) for task, low, high in zip(tasks, random, clean, strict=True)
    }
    reading = replace(reading or Reading(), effort=Effort(column_draws=draws, seed=seed))
    race = _Race(
        tasks, model, clean, random, levels, attackers, reading, repeats, draws, seed, select, tolerance, looked_for,
        share,
    )  # fmt: skip
    earlier = parts.known(("of", "points", "floors"))
    keys = [race.key(contender) for contender in contenders]
    measured = {
        number: _unpacked(known[-1], tasks)
        for number, key in enumerate(keys)
        if (known := [part for part in earlier if part["of"] == key])
    }
    left = [number for number in range(len(contenders)) if number not in measured]

    def so_far() -> Frontier:
        """Return what was found, in the order of the contenders, not of completion."""
        points: list[Point] = []
        floors: dict[str, float] = {}
        for _, (found, lowest) in sorted(measured.items()):
            points += found
            floors = {prior: max(floor, floors.get(prior, 0.0)) for prior, floor in lowest.items()}
        return Frontier(points, bounds, floors, repeats)

    def run(number: int) -> _Measured:
        part = within(watch, number / len(contenders), (number + 1) / len(contenders))
        return race.run(contenders[number], part)

    jobs: list[tuple[Any, ...]] = [(contenders[number] if workers > 1 else number,) for number in left]
    for place, found in done_in_turn(race.run if workers > 1 else run, jobs, workers, minutes):
        number = left[place]
        measured[number] = found
        parts.add({"of": keys[number], "points": [point.packed() for point in found[0]], "floors": found[1]})
        watch(contenders[number].label, len(measured) / len(contenders))
        if keep is not None:
            keep(so_far())
    return so_far()


def _unpacked(part: dict[str, Any], tasks: Sequence[Task]) -> _Measured:
    return [Point.unpacked(point, tasks) for point in part["points"]], part["floors"]


@dataclass(frozen=True)
class _Race:
    """What all contenders share."""

    tasks: Sequence[Task]
    model: AveragedVectors
    clean: Sequence[Outcome]
    random: Sequence[Outcome]
    levels: Sequence[float]
    attackers: Sequence[str]
    reading: Reading
    repeats: int
    draws: int
    seed: int
    select: str
    tolerance: float
    looked_for: int
    share: Callable[[Outcome, Outcome, Outcome], Estimate]

    def key(self, contender: Contender) -> dict[str, Any]:
        """Return everything that a contender's points depend on, as plain values."""
        how = self.reading
        return {
            "mechanism": contender.label,
            "space": contender.space.checksum,
            "vectors": self.model.space.checksum,
            "tasks": [[task.name, digest_of([str(task.folds), *task.texts])] for task in self.tasks],
            "levels": list(self.levels),
            "attackers": list(self.attackers),
            "reading": [list(how.readers), how.steps, how.candidates],
            "share": self.share.__name__,
            **{name: getattr(self, name) for name in ("repeats", "draws", "seed", "select", "tolerance", "looked_for")},
        }

    def run(self, contender: Contender, watch: Watch = ignore) -> _Measured:
        """Return the points of one contender and, for each attacker, the success of always guessing one word."""
        texts = TaskTexts(self.tasks, contender.space, select=self.select)
        points: list[Point] = []
        floors: dict[str, float] = {}
        for place, name in enumerate(self.attackers):
            share = place / len(self.attackers)
            watch(f"{contender.label}, attacker", share)
            attacker = self._attacker(name, contender, texts)
            floors[name] = attacker.floor
            meter = attacker.meter()
            for level, (law, success) in at_levels(attacker, meter, self.levels, self.tolerance).items():
                if law is None or success is None:
                    points.append(Point(contender.label, name, level, None))
                    continue
                watch(f"{contender.label}, tasks at {level:.0%}", share)
                points.append(self._point(contender.label, attacker, meter, law, level, success, texts))
        return points, floors

    def _attacker(self, name: str, contender: Contender, texts: TaskTexts) -> Attacker:
        common = (contender.make, contender.space, texts.chances, name, self.draws, self.seed)
        if name in PRIORS:
            return TokenAttacker(*common)
        share = min(1.0, self.looked_for / max(1, len(texts.clean.veiled)))
        if name == SENTENCES:
            return self._sentences(common, contender.space, min(0.5, share))
        some = [task.limited(math.ceil(share * len(task)), self.seed) for task in self.tasks]
        strongest = self.reading.readers[-1] if self.reading.readers[-1] in NETWORKS else "context"
        reader = strongest if name == "context" else name
        return ContextAttacker(
            *common,
            texts=TaskTexts(some, contender.space, select=self.select),
            vectors=texts.table(self.model),
            reading=self.reading,
            reader=reader,
        )

    def _sentences(self, common: tuple[Any, ...], space: Space, share: float) -> SentenceAttacker:
        """Return an attacker who knows the texts that they do not attack."""
        cutter = Cutter(space.vocabulary, self.select)
        texts = [text for task in self.tasks for text in task.texts]
        order = np.random.default_rng(self.seed).permutation(len(texts))
        many = math.ceil(share * len(texts))
        known, veiled = (Words.of(cutter.cut([texts[one] for one in some])) for some in (order[many:], order[:many]))
        return SentenceAttacker(*common, known=known, veiled=veiled)

    def _point(
        self,
        label: str,
        attacker: Attacker,
        meter: Meter,
        law: Law,
        level: float,
        success: Estimate,
        texts: TaskTexts,
    ) -> Point:
        found = texts.read(law.mechanism, self.model, self.reading, repeats=self.repeats, seed=self.seed)
        loss = meter.near_loss([law.mechanism.epsilon])[0]
        median = float(np.median(loss.values))
        read = {
            reader: {
                one.task.name: self.share(one, low, high)
                for one, low, high in zip(what.outcomes, self.random, self.clean, strict=True)
            }
            for reader, what in found.items()
        }
        strongest = list(found)[-1]
        outcomes = found[strongest].outcomes
        return Point(
            label,
            attacker.prior,
            level,
            law.mechanism.epsilon,
            success,
            law.exact and attacker.prior in PRIORS,
            median if np.isfinite(median) else None,
            loss.bound,
            attacker.kept(law),
            _speed(law, texts),
            {outcome.task.name: outcome.interval() for outcome in outcomes},
            read[strongest],
            {outcome.task.name: outcome for outcome in outcomes},
            read,
            {reader: what.guessed for reader, what in found.items()},
        )


def _speed(law: Law, texts: TaskTexts) -> float:
    """Return how many words of the texts are drawn per second of processor time, once everything is prepared."""
    words = np.resize(texts.clean.ids[texts.clean.veiled], _TIMED)
    law.mechanism.draw(words, Entropy(0))
    started = time.process_time()
    law.mechanism.draw(words, Entropy(1))
    return len(words) / max(1e-6, time.process_time() - started)


_HEADINGS = ("level", "ε", "guess right", "words kept", "near loss")


def points_table(title: str, who: str, points: Iterable[Point], tasks: Iterable[str]) -> Table:
    """Return a table with a row for each point. A level that was not reached has no figures.

    After the near loss come the mean shares by each reader, then the shares of the tasks by the last reader.
    """
    listed = list(points)
    readers = next((list(point.read) for point in listed if point.read), [])
    headings = (who, *_HEADINGS, *(f"share, {reader}" for reader in readers), *tasks)
    return Table(title, headings, [_row(point, readers, len(headings)) for point in listed])


def _row(point: Point, readers: Sequence[str], width: int) -> list[Cell]:
    if point.attacker is None:
        return [point.label, point.level, *[None] * (width - 2)]
    figures = (f"{point.attacker.value:.3f}", point.kept, point.near_loss_text)
    means = (point.mean_read(reader) for reader in readers)
    return [point.label, point.level, point.epsilon, *figures, *means, *(shown(one) for one in point.shares.values())]


WHO = {
    "text": "knows word frequencies",
    "uniform": "takes all words for equally likely",
    "context": "reads the whole release",
    "shipped": "reads whole texts, by the network that comes with wordveil",
    SENTENCES: "knows the other texts, and reads by trigrams",
}


def draw_frontier(facts: dict[str, Any], prior: str) -> Figure:
    """Plot utility against an attacker's success and against the near loss, from what `Frontier.to_dict` returned."""
    figure = new_figure(11.0, 5.0)
    success, loss = figure.subplots(1, 2, sharey=True)
    points = [point for point in facts["points"] if point["prior"] == prior and point["adversary"] is not None]
    for number, label in enumerate(dict.fromkeys(point["mechanism"] for point in points)):
        own = sorted((point for point in points if point["mechanism"] == label), key=lambda point: point["level"])
        style = {"marker": "osD^vPX*"[number % 8], "linewidth": 1.2, "label": label}
        for axes, along in ((success, "adversary"), (loss, "near_loss_median")):
            known = [(point[along], point["mean_share"]) for point in own if point[along] is not None]
            if known:
                axes.plot(*zip(*known, strict=True), **style)
    readers = next((list(point.get("read", ())) for point in points), [])
    utility = f"share of the way from random words to clean text ({[AS_IT_STANDS, *readers][-1]})"
    success.set(xlabel=f"the best guess of a word is right (attacker {WHO[prior]})", ylabel=utility)
    success.set_xlim(left=0.0)
    loss.set(xscale="log", xlabel="near loss: largest log-ratio to a similar word, median")
    for axes in (success, loss):
        axes.grid(alpha=0.3)
    success.legend(fontsize="small")
    return figure
