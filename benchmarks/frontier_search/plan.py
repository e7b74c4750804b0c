"""What every process that measures candidates needs, in its own module so that new processes can import it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from benchmarks.frontier_search.candidates import entries
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.search import Comparison, Measured
from wordveil.lab.tasks import Reading, load_task
from wordveil.spaces import load_space


@dataclass(frozen=True)
class Plan:
    """The settings of a search, for every process that measures candidates."""

    data: Path
    wordnet: Path | None
    words: int
    quick: bool
    attacker: str
    reading: Reading
    repeats: int
    texts: int  # of each task, at most
    looked_for: int | None = None  # about how many words the attacker with context looks for; all if None

    @property
    def ground(self) -> Ground:
        """The words, on the device."""
        return _ground(self.words, self.wordnet)

    def comparison(self, tasks: tuple[str, ...]) -> Comparison:
        """Return what compares candidates on some tasks."""
        return _comparison(self, tasks)

    def measured(self, tasks: tuple[str, ...], label: str, levels: Sequence[float]) -> dict[float, Measured]:
        """Measure the candidate with this label."""
        every = entries(wordnet=self.wordnet is not None)
        return self.comparison(tasks).measured(next(one for one in every if one.label == label), levels)


@lru_cache(maxsize=1)
def _ground(words: int, wordnet: Path | None) -> Ground:
    space = load_space("glove-50k")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Ground(space.restrict(np.arange(min(words, len(space)))), device, wordnet)


@lru_cache(maxsize=2)
def _comparison(plan: Plan, tasks: tuple[str, ...]) -> Comparison:
    read = [load_task(name, plan.data).limited(plan.texts) for name in tasks]
    attacker, looked_for = plan.attacker, plan.looked_for
    return Comparison(
        plan.ground, read, repeats=plan.repeats, attacker=attacker, reading=plan.reading, looked_for=looked_for
    )
