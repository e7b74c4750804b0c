"""The rows of a benchmark, and functions that measure them."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, mechanism
from wordveil.spaces import Space

__all__ = [
    "Row",
    "best_of",
    "cpu_rate",
    "peak_memory",
    "peak_memory_of_all",
    "peak_memory_of_children",
    "processor_seconds",
    "seconds_to_draw",
    "sgemm_rate",
]


@dataclass
class Row:
    """One line of the table: our figure, the peers', and what the hardware allows, all measured in this run.

    `peers` holds a figure for each peer that does the same work. By default, `peer` is the best of them.
    """

    job: str
    unit: str
    ours: float
    peer: float | None = None
    limit: float | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""
    memory_mb: float = 0.0
    peers: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory_mb = self.memory_mb or peak_memory()
        if self.peers and self.peer is None:
            self.peer = (max if self.is_rate else min)(self.peers.values())

    @property
    def is_rate(self) -> bool:
        """Whether more is better; a time is better when it is shorter."""
        return "/" in self.unit

    @property
    def to_peer(self) -> float | None:
        """How many times as fast as the best peer we are."""
        if self.peer is None:
            return None
        return self.ours / self.peer if self.is_rate else self.peer / self.ours

    @property
    def of_limit(self) -> float | None:
        """Our share of what the hardware allows."""
        if self.limit is None:
            return None
        return self.ours / self.limit if self.is_rate else self.limit / self.ours


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the shortest of several runs, in seconds."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def seconds_to_draw(make: Callable[[], Mechanism[Any]], ids: NDArray[np.int64], times: int) -> float:
    """Return the shortest of several draws, each by a new mechanism, so that no rows are kept from before."""
    spent = []
    for _ in range(times):
        made = make()
        made.draw(ids[:2])  # prepares what is made on first use
        spent.append(best_of(1, lambda made=made: made.draw(ids)))  # type: ignore[misc]
    return min(spent)


def cpu_rate(name: str, space: Space, words: Sequence[str], epsilon: float, options: dict[str, Any]) -> float:
    """Return how many words a mechanism draws per second of processor time."""
    made = mechanism(name, space, epsilon=epsilon, **options)
    ids = np.array([space.vocabulary.id(word) for word in words])
    made.draw(ids)  # prepares what is made on first use
    spent, done = time.process_time(), 0
    while time.process_time() - spent < 1.0:
        made.draw(ids)
        done += len(ids)
    return done / (time.process_time() - spent)


def processor_seconds() -> float:
    """Return the processor time of this process and all its descendants: a clock for a busy machine."""
    stats = _stats()
    ticks = sum(sum(map(int, stats[one][11:15])) for one in _below(stats))  # includes children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_memory_of_all() -> float:
    """Return the sum of the peak memory of this process and each of its descendants, in megabytes."""
    held = 0.0
    for one in _below(_stats()):
        with contextlib.suppress(OSError):  # it has ended
            held += _most_held(Path(f"/proc/{one}/status"))
    return held


def _stats() -> dict[int, list[str]]:
    """Return the fields of each process's stat file, from its state on."""
    stats = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            stats[int(entry.parent.name)] = entry.read_text(errors="replace").rpartition(")")[2].split()
    return stats


def _below(stats: dict[int, list[str]]) -> set[int]:
    """Return this process and all its descendants."""
    found, parents = set[int](), {os.getpid()}
    while parents:
        found |= parents
        parents = {one for one, told in stats.items() if int(told[1]) in parents}
    return found & set(stats)


def sgemm_rate() -> float:
    """Return how many float32 operations per second numpy's matrix product makes here, on all cores."""
    size = 4096
    generator = np.random.default_rng(0)
    left = generator.normal(size=(size, size)).astype(np.float32)
    right = generator.normal(size=(size, size)).astype(np.float32)
    return 2 * size**3 / best_of(10, lambda: left @ right)


def peak_memory() -> float:
    """Return the peak memory of this process, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count the process that started this one
        return _most_held(status)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _most_held(status: Path) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="utf-8"))
    return int(found[1]) / 1024 if found else 0.0  # processes of the kernel, and those that have just ended, have none


def peak_memory_of_children() -> float:
    """Return the peak memory of any child of this process, in megabytes."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
