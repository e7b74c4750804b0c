"""What a benchmark gives, and how it is measured."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Row", "best_of", "peak_memory", "sgemm_rate"]


@dataclass
class Row:
    """One line of the table: our figure, the peer's, and what the hardware allows, all measured in this run."""

    job: str
    unit: str
    ours: float
    peer: float | None = None
    limit: float | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""
    memory_mb: float = 0.0

    def __post_init__(self) -> None:
        self.memory_mb = peak_memory()


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the shortest of several runs, in seconds."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def sgemm_rate() -> float:
    """Return the float32 operations a second of this machine's own matrix product, all cores."""
    size = 4096
    generator = np.random.default_rng(0)
    left = generator.normal(size=(size, size)).astype(np.float32)
    right = generator.normal(size=(size, size)).astype(np.float32)
    return 2 * size**3 / best_of(10, lambda: left @ right)


def peak_memory() -> float:
    """Return the most memory this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
