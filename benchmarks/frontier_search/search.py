"""Candidates at the same success of the adversary: near loss and utility, and who goes on to the tasks held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.frontier_search.candidates import DEFAULT, FORMER, Entry
from benchmarks.frontier_search.channels import Candidate, near_losses, probabilities, success
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.scoring import Scorer
from wordveil._mechanisms.laws import sample
from wordveil.lab.experiments.attacker import matched, word_chances
from wordveil.lab.tasks import Outcome, Task, lead, mean_of
from wordveil.stats import Estimate

__all__ = ["Comparison", "Row", "leading"]

_SIMILAR = 10
_NEAR_WORDS = 1000
_START = 4.0
_TOLERANCE = 0.002
_NO_WORSE = 1.02  # a near loss that is larger by less is no worse
_BEST = 3


@dataclass(frozen=True)
class Row:
    """One candidate at one level of the adversary's success."""

    family: str
    label: str
    level: float
    epsilon: float
    uniform: float  # the success of an adversary who takes all words for equally likely
    kept: float  # the share of the texts' words that stay what they are
    near_loss: float  # the median over words of the largest log-ratio between a word and its ten most similar words
    share: float  # how far utility is on the way from random words to clean text, in the mean over the tasks
    # how much more that is than the default's, with a 95% interval over texts and draws; None for the default
    gain: Estimate | None
    shares: dict[str, float]  # the share of each task

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        """Return what `to_dict` wrote."""
        return cls(**{**values, "gain": values["gain"] and Estimate(**values["gain"])})


class Comparison:
    """Compares candidates on some tasks.

    The attacker knows how often each word occurs in the texts of the tasks.
    """

    def __init__(self, ground: Ground, tasks: Sequence[Task], *, repeats: int, seed: int = 0) -> None:
        self.ground = ground
        self.repeats, self.seed = repeats, seed
        self.scorer = Scorer(ground, tasks)
        texts = [text for task in tasks for column in task.columns for text in column]
        self.chances = torch.as_tensor(word_chances(texts, ground.space), device=ground.device).float()
        self.asked = sample(len(ground), _NEAR_WORDS, 0)
        self.similar = ground.space.similar(self.asked, _SIMILAR)[0]
        self.clean, self.random = self.scorer.clean(), self.scorer.random(repeats, seed)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """For each task the score of random words and of clean text."""
        return {low.task.name: (low.score, high.score) for low, high in zip(self.random, self.clean, strict=True)}

    def rows(self, chosen: Sequence[Entry], levels: Sequence[float]) -> Iterator[Row]:
        """Measure candidates, the default first, at each level that they reach."""
        default: dict[float, list[Outcome]] = {}
        for entry in sorted(chosen, key=lambda entry: entry.label != DEFAULT):
            candidate = entry.make(self.ground)
            for level, epsilon in matched(self._success(candidate), levels, _START, tolerance=_TOLERANCE).items():
                if epsilon is None:
                    continue
                channel = probabilities(candidate, epsilon)
                outcomes = self.scorer.veiled(channel, self.repeats, self.seed)
                if entry.label == DEFAULT:
                    default[level] = outcomes
                shares = self._shares(outcomes)
                yield Row(
                    entry.family,
                    entry.label,
                    level,
                    epsilon,
                    success(channel, torch.full_like(self.chances, 1.0 / len(self.ground))),
                    float((channel.diagonal() * self.chances).sum()),
                    float(np.median(near_losses(candidate, epsilon, self.asked, self.similar))),
                    float(np.mean(list(shares.values()))),
                    None if entry.label == DEFAULT else self._gain(outcomes, default[level]),
                    shares,
                )

    def _success(self, candidate: Candidate) -> Callable[[float], float]:
        return lambda epsilon: success(probabilities(candidate, epsilon), self.chances)

    def _shares(self, outcomes: Sequence[Outcome]) -> dict[str, float]:
        return {
            one.task.name: (one.score - low) / (high - low)
            for one, (low, high) in zip(outcomes, self.bounds.values(), strict=True)
        }

    def _gain(self, outcomes: Sequence[Outcome], default: Sequence[Outcome]) -> Estimate:
        gains = []
        for one, other, (low, high) in zip(outcomes, default, self.bounds.values(), strict=True):
            gain = lead(one, other, self.seed)
            way = high - low
            gains.append(Estimate(gain.value / way, gain.low / way, gain.high / way, gain.n))
        return mean_of(gains)


def leading(rows: Sequence[Row]) -> list[str]:
    """Return who goes on: the default, the former one, and the best few at no worse near loss and at any."""
    limit = _NO_WORSE * next(row.near_loss for row in rows if row.label == DEFAULT)
    others = sorted((row for row in rows if row.label not in (DEFAULT, FORMER)), key=lambda row: -row.share)
    fair = [row.label for row in others if row.near_loss <= limit]
    return list(dict.fromkeys([DEFAULT, FORMER, *fair[:_BEST], *[row.label for row in others][:_BEST]]))
