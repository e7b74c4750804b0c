"""Threads and forks: the one place where threads are made, and what a forked process must renew.

BLAS starts a thread for every core. Called from several threads of ours, the two numbers multiply and
everything slows down; so our threads run with a BLAS of one thread each.

A fork copies locks as they were, perhaps held by a thread that the child does not have, and whatever that thread had
half written. To notice this at the next use is too late: several threads of the child may come at once, and one of them
would already be at work while another still starts again. So whatever must be renewed is told of the fork at once.
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

_MOST_EACH = 16  # workers for each core
_SHARES = 2  # for each core: the last to be done is waited for

Item = TypeVar("Item")
Result = TypeVar("Result")

_chosen: list[int] = []
_here = threading.local()


class Forked(Protocol):
    """Something that a forked process must not go on with as it is."""

    def after_fork(self) -> None:
        """Start again; called in the child, while it has one thread."""


_FORKED: weakref.WeakSet[Forked] = weakref.WeakSet()


def renew_after_fork(thing: Forked) -> None:
    """Have ``thing.after_fork`` called in every process that is forked from now on, as long as the thing lives."""
    _FORKED.add(thing)


def _renew_in_child() -> None:
    for thing in list(_FORKED):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)


class _NarrowBlas:
    """A BLAS of one thread, from when the first enters until the last has left.

    The number of threads belongs to the whole process. Were each to put back what it has found, the second of two that
    overlap would put back the one thread of the first, for good.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._controller: Any = None
        self._modules = 0  # how many were imported when libraries were last looked for
        self._limits: Any = None
        self._owner: threading.Thread | None = None  # who has set them, as long as it is inside
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Forget the threads that were inside; the next to leave puts back what they would have."""
        self._lock, self._inside, self._owner = threading.Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._limits is None:
                if self._modules != len(sys.modules):  # takes milliseconds, and only an import loads another BLAS
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
        # threadpoolctl ignores every thread but the one that was first to set a number, until that leaves a block: and
        # here another may be the last to leave. This block changes nothing else.
        with self._controller.limit(limits=None):
            pass


#: A context in which BLAS uses one thread, in the whole process.
narrow_blas = _NarrowBlas()


def use(count: int) -> None:
    """Use no more than this many cores from now on, because other processes use the rest."""
    _chosen[:] = [count]


def use_here(count: int) -> None:
    """Use no more than this many cores for the work of this thread, because other threads use the rest."""
    _here.count = count


def cores() -> int:
    """Return how many cores this process may use, or this thread where it was told."""
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
    """Return how many cores' time the control groups of this process allow it (Linux), None where they set no limit.

    A container that may use two cores of sixty-four sees all of them: sixty-four threads would wait for one another.
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
            least = min(least, int(allowed) / int(period))  # "max" is no number
        except (OSError, ValueError, ZeroDivisionError):
            pass
        if folder == top:
            break
    return None if least == math.inf else max(1, math.ceil(least))


def memory_of_machine() -> float:
    """Return how many bytes of memory this process may use at the most, as far as the system says; infinity if not."""
    found = [math.inf]
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # a container's; "max" if it has no limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(found)


def check_workers(count: int) -> None:
    """Refuse fewer worker processes than one, and more than a machine can hold: all are started at once."""
    if count < 1:
        raise OptionError("`workers` must be 1 or more.")
    if count > _MOST_EACH * cores():
        raise OptionError(
            f"`workers` is {count}, too many for this machine: it has {cores()} cores, and more workers than cores "
            "gain nothing."
        )


def blocks(total: int, size: int) -> Iterator[slice]:
    """Cut ``range(total)`` into consecutive slices of at most `size`."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def shares(starts: NDArray[np.int64], least: int) -> Iterator[slice]:
    """Cut rows into a few consecutive slices for each core, none with much less than `least` of what the rows hold.

    Row ``i`` holds what lies between ``starts[i]`` and ``starts[i + 1]``.
    """
    rows, held = len(starts) - 1, int(starts[-1])
    several = min(_SHARES * cores(), held // least) if cores() > 1 else 1
    aims = np.arange(1, several) * (held + rows) // max(1, several)
    # a row takes some time even where it holds little
    cuts = np.searchsorted(starts + np.arange(rows + 1), aims).tolist()
    for start, stop in pairwise([0, *cuts, rows]):
        if start < stop:
            yield slice(start, stop)


def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply `work` to every item, in order, in a thread that is one item ahead of the consumer."""
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

    The work should spend its time in numpy, which lets other threads run. To hold BLAS to one thread takes a while, so
    short work that does not use it should say so.
    """
    items = list(items)
    results: list[Result] = []
    if len(items) == 1:  # one block may as well use every core inside BLAS
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
