"""Threads, and what a forked process must renew.

BLAS starts a thread for every core. If it is called from several threads, the two numbers multiply and everything slows
down. So our threads run with a single-threaded BLAS.

A fork copies locks in their current state, perhaps held by a thread that the child does not have, and whatever that
thread had half written. Noticing this on the next use would be too late: several threads of the child may use the
object at once, and one would start work while another still resets it. So objects are renewed right after the fork.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from wordveil.errors import OptionError

_MOST_EACH = 16  # the most workers per core
_SHARES = 2  # shares per core, so that waiting for the last one takes less time

Item = TypeVar("Item")
Result = TypeVar("Result")

_chosen: list[int] = []
_here = threading.local()


class Forked(Protocol):
    """An object that a forked process must renew."""

    def after_fork(self) -> None:
        """Renew the object; called in the child while it has only one thread."""


_FORKED: weakref.WeakSet[Forked] = weakref.WeakSet()


def renew_after_fork(thing: Forked) -> None:
    """Call ``thing.after_fork`` in every process forked from now on, as long as the object lives."""
    _FORKED.add(thing)


def _renew_in_child() -> None:
    for thing in list(_FORKED):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)


class _NarrowBlas:
    """A context with a single-threaded BLAS, from when the first thread enters until the last one leaves.

    The number of BLAS threads is global to the process. If every thread restored the number it found, the second of two
    overlapping threads would restore the first one's limit of 1, for good.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._controller: Any = None
        self._modules = 0  # how many modules were imported when libraries were last searched
        self._limits: Any = None
        self._owner: threading.Thread | None = None  # the thread that set the limits, while it is inside
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Forget the threads that were inside; the next one to leave restores the limits."""
        self._lock, self._inside, self._owner = threading.Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._limits is None:
                if self._modules != len(sys.modules):  # a search takes milliseconds, and only imports load another BLAS
                    self._controller, self._modules = ThreadpoolController(), len(sys.modules)
                self._limits = self._controller.limit(limits=1, user_api="blas")
                self._limits.__enter__()
                self._owner = threading.current_thread()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside = max(0, self._inside - 1)
            is_owner = threading.current_thread() is self._owner
            if is_owner:
                self._limits.__exit__(None, None, None)
                self._owner = None
            if self._inside:
                if is_owner:
                    self._controller.limit(limits=1, user_api="blas")
                    self._let_go()
                return
            if not is_owner and self._limits is not None:
                self._limits.restore_original_limits()
                self._let_go()
            self._limits = None

    def _let_go(self) -> None:
        # threadpoolctl accepts changes only from the thread that first set a number, until it leaves a block; here
        # another thread may be the last to leave. This block changes nothing else.
        with self._controller.limit(limits=None):
            pass


#: A context in which BLAS uses one thread, in the whole process.
narrow_blas = _NarrowBlas()


def use(count: int) -> None:
    """Use at most this many cores in this process, because other processes use the rest."""
    _chosen[:] = [count]


def use_here(count: int) -> None:
    """Use at most this many cores for the work of this thread, because other threads use the rest."""
    _here.count = count


def cores() -> int:
    """Return how many cores this process, or this thread if limited by `use_here`, may use."""
    count: int | None = getattr(_here, "count", None)
    if count is not None:
        return count
    if _chosen:
        return _chosen[0]
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, _quota() or there)


@lru_cache(maxsize=1)
def _quota() -> int | None:
    return quota()


def quota(root: Path = Path("/")) -> int | None:
    """Return the CPU quota of this process's control groups in cores (Linux), or None if there is no limit.

    A container limited to 2 of 64 cores sees all 64, and 64 threads would wait for each other.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = next(line.removeprefix("0::/") for line in groups if line.startswith("0::/"))
    except (OSError, UnicodeDecodeError, StopIteration):
        return None
    top = root / "sys/fs/cgroup"
    place, least = top / own, math.inf
    for folder in (place, *place.parents):
        try:
            allowed, _, period = (folder / "cpu.max").read_text(encoding="ascii").partition(" ")
            least = min(least, int(allowed) / int(period))  # "max" is not a number
        except (OSError, ValueError, ZeroDivisionError):
            pass
        if folder == top:
            break
    return None if least == math.inf else max(1, math.ceil(least))


def memory_of_machine() -> float:
    """Return the most bytes of memory that this process may use; infinity if the system does not say."""
    found = [math.inf]
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # a container's; "max" if it has no limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(found)


def check_workers(count: int) -> None:
    """Raise an OptionError for less than one worker process, or more than the machine can run."""
    if count < 1:
        raise OptionError("`workers` must be 1 or more.")
    if count > _MOST_EACH * cores():
        raise OptionError(
            f"`workers` is {count}, too many for this machine: it has {cores()} cores, and more workers than cores "
            "gain nothing."
        )


def blocks(total: int, size: int) -> Iterator[slice]:
    """Divide ``range(total)`` into consecutive slices of at most `size`."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def shares(starts: NDArray[np.int64], least: int) -> Iterator[slice]:
    """Divide rows into a few consecutive slices per core, none with much fewer than `least` entries.

    Row ``i`` has the entries from ``starts[i]`` to ``starts[i + 1]``.
    """
    rows, held = len(starts) - 1, int(starts[-1])
    several = min(_SHARES * cores(), held // least) if cores() > 1 else 1
    aims = np.arange(1, several) * (held + rows) // max(1, several)
    # every row also counts as one entry, because even an empty row takes time
    cuts = np.searchsorted(starts + np.arange(rows + 1), aims).tolist()
    for start, stop in pairwise([0, *cuts, rows]):
        if start < stop:
            yield slice(start, stop)


def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply `work` to every item in order, in a thread that stays one item ahead of the consumer."""
    with ThreadPoolExecutor(1) as pool:
        waiting = None
        for item in items:
            coming = pool.submit(work, item)
            if waiting is not None:
                yield waiting.result()
            waiting = coming
        if waiting is not None:
            yield waiting.result()


def run(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    done: Callable[[], None] | None = None,
    *,
    uses_blas: bool = True,
) -> list[Result]:
    """Apply `work` to every item on all cores and return the results in order; `done` is called after each.

    The work should spend its time in numpy, which releases the GIL. Limiting BLAS takes a while, so set
    ``uses_blas=False`` for short work without it.
    """
    items = list(items)
    results: list[Result] = []
    if len(items) == 1:  # a single item may use all cores inside BLAS
        results.append(work(items[0]))
        if done:
            done()
        return results
    with narrow_blas if uses_blas else nullcontext(), ThreadPoolExecutor(cores()) as pool:
        for result in pool.map(work, items):
            results.append(result)
            if done:
                done()
    return results
