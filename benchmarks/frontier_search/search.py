"""Compares candidates at the same success of an attacker: near loss, utility, and which go on to the held-out tasks.

Veiling, reading and attacking are the lab's (`TaskTexts`, `matched`), with a candidate's channel as the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from benchmarks.frontier_search.candidates import DEFAULT, FORMER, Entry
from benchmarks.frontier_search.channels import Candidate, near_losses, probabilities, success
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.mechanism import ChannelMechanism
from wordveil._mechanisms.laws import sample
from wordveil.lab.experiments.attacker import ContextAttacker, matched
from wordveil.lab.tasks import AveragedVectors, Outcome, Read, Reading, Task, TaskTexts, lead, mean_of
from wordveil.stats import Estimate

__all__ = ["Comparison", "Row", "leading"]

_SIMILAR = 10
_NEAR_WORDS = 1000
_START = 4.0
_TOLERANCE = {"alone": 0.002, "context": 0.02}
_NO_WORSE = 1.02  # a near loss up to 2% larger counts as no worse
_BEST = 3


@dataclass(frozen=True)
class Row:
    """One candidate at one level of the attacker's success."""

    family: str
    label: str
    level: float
    epsilon: float
    attacker: float  # the success that was reached
    uniform: float  # the success of an attacker without context who takes all words to be equally likely
    kept: float  # the share of the texts' words that stay the same
    near_loss: float  # the median over words of the largest log-ratio between a word and its ten most similar words
    # how far utility is between random words (0) and clean text (1), as the mean over the tasks: with the strongest
    # reader, and with each reader
    share: float
    read: dict[str, float]
    # how much larger the share is than the default's, with a 95% interval over texts and draws; None for the default
    gain: Estimate | None
    shares: dict[str, float]  # the share of each task, with the strongest reader

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        """Return the row that `to_dict` wrote."""
        return cls(**{**values, "gain": values["gain"] and Estimate(**values["gain"])})


@dataclass(frozen=True)
class Measured:
    """A row, and the answers used to compare it with the default."""

    row: Row
    outcomes: list[Outcome]


class Comparison:
    """Compares candidates on some tasks, with function words left alone.

    The attacker ``alone`` looks at one word at a time, and knows how often each word occurs in the texts of the tasks.
    ``context`` reads the whole release, or as much of it as contains about `looked_for` veiled words.
    """

    def __init__(
        self,
        ground: Ground,
        tasks: Sequence[Task],
        *,
        repeats: int,
        seed: int = 0,
        attacker: str = "alone",
        reading: Reading | None = None,
        looked_for: int | None = None,
    ) -> None:
        self.ground, self.tasks, self.attacker, self.looked_for = ground, tasks, attacker, looked_for
        self.repeats, self.seed, self.reading = repeats, seed, reading or Reading(("population",))
        self.texts = TaskTexts(tasks, ground.space, select="content")
        self.model = AveragedVectors(ground.space)
        self.asked = sample(len(ground), _NEAR_WORDS, 0)
        self.similar = ground.space.similar(self.asked, _SIMILAR)[0]

    @cached_property
    def chances(self) -> Any:
        """How often each word occurs among the veiled ones."""
        return torch.as_tensor(self.texts.chances, device=self.ground.device).float()

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The score of random words and of clean text for each task."""
        random, clean = self.texts.ends(self.model, repeats=self.repeats, seed=self.seed)
        return {low.task.name: (low.score, high.score) for low, high in zip(random, clean, strict=True)}

    def rows(self, chosen: Sequence[Entry], levels: Sequence[float]) -> Iterator[Row]:
        """Measure candidates, the default first, at each level that they reach."""
        default: dict[float, Measured] = {}
        for entry in sorted(chosen, key=lambda entry: entry.label != DEFAULT):
            found = self.measured(entry, levels)
            default = default or found
            yield from self.against(default, found)

    def against(self, default: dict[float, Measured], found: dict[float, Measured]) -> Iterator[Row]:
        """Give the rows of a candidate, with their gain over the default."""
        for level, one in found.items():
            if one.row.label == DEFAULT or level not in default:
                yield one.row
            else:
                yield replace(one.row, gain=self._gain(one.outcomes, default[level].outcomes))

    def measured(self, entry: Entry, levels: Sequence[float]) -> dict[float, Measured]:
        """Measure one candidate at each level that it reaches."""
        candidate = entry.make(self.ground)
        start, reached = _START, self._alone(candidate)
        if self.attacker == "context":  # who does not fall far behind the other: the ε to begin with
            start = matched(reached, levels[:1], _START, tolerance=0.05)[levels[0]] or _START
            reached = self._in_context(candidate)
        seen: dict[float, float] = {}

        def succeeds(epsilon: float) -> float:
            seen[epsilon] = reached(epsilon)
            return seen[epsilon]

        epsilons = matched(succeeds, levels, start, tolerance=_TOLERANCE[self.attacker])
        return {
            level: self._measured(entry, candidate, level, epsilon, seen[epsilon])
            for level, epsilon in epsilons.items()
            if epsilon is not None
        }

    def _measured(self, entry: Entry, candidate: Candidate, level: float, epsilon: float, reached: float) -> Measured:
        channel = probabilities(candidate, epsilon)
        made = ChannelMechanism(self.ground.space, channel, epsilon)
        read = self.texts.read(made, self.model, self.reading, repeats=self.repeats, seed=self.seed)
        strongest = read[list(read)[-1]]
        shares = self._shares(strongest)
        row = Row(
            entry.family,
            entry.label,
            level,
            epsilon,
            reached,
            success(channel, torch.full_like(self.chances, 1.0 / len(self.ground))),
            float((channel.diagonal() * self.chances).sum()),
            float(np.median(near_losses(candidate, epsilon, self.asked, self.similar))),
            float(np.mean(list(shares.values()))),
            {reader: float(np.mean(list(self._shares(one).values()))) for reader, one in read.items()},
            None,
            shares,
        )
        return Measured(row, strongest.outcomes)

    def _alone(self, candidate: Candidate) -> Callable[[float], float]:
        return lambda epsilon: success(probabilities(candidate, epsilon), self.chances)

    def _in_context(self, candidate: Candidate) -> Callable[[float], float]:
        def make(epsilon: float) -> ChannelMechanism:
            return ChannelMechanism(self.ground.space, probabilities(candidate, epsilon), epsilon)

        share = 1.0 if self.looked_for is None else min(1.0, self.looked_for / max(1, len(self.texts.clean.veiled)))
        some = [task.limited(math.ceil(share * len(task)), self.seed) for task in self.tasks]
        attacker = ContextAttacker(
            make,
            self.ground.space,
            self.texts.chances,
            "context",
            seed=self.seed,
            texts=self.texts if share == 1.0 else TaskTexts(some, self.ground.space, select="content"),
            vectors=self.texts.table(self.model),
            reading=self.reading,
            reader=self.reading.readers[-1],
        )
        return lambda epsilon: attacker.success(make(epsilon).law()).value

    def _shares(self, read: Read) -> dict[str, float]:
        return {
            one.task.name: (one.score - low) / (high - low)
            for one, (low, high) in zip(read.outcomes, self.bounds.values(), strict=True)
        }

    def _gain(self, outcomes: Sequence[Outcome], default: Sequence[Outcome]) -> Estimate:
        gains = []
        for one, other, (low, high) in zip(outcomes, default, self.bounds.values(), strict=True):
            gain = lead(one, other, self.seed)
            way = high - low
            gains.append(Estimate(gain.value / way, gain.low / way, gain.high / way, gain.n))
        return mean_of(gains)


def leading(rows: Sequence[Row]) -> list[str]:
    """Return who goes on: the default, the former default, and the best few with no worse near loss and with any."""
    limit = _NO_WORSE * next(row.near_loss for row in rows if row.label == DEFAULT)
    others = sorted((row for row in rows if row.label not in (DEFAULT, FORMER)), key=lambda row: -row.share)
    fair = [row.label for row in others if row.near_loss <= limit]
    return list(dict.fromkeys([DEFAULT, FORMER, *fair[:_BEST], *[row.label for row in others][:_BEST]]))
