"""The one place where threads are made.

BLAS starts a thread for every core. Called from several threads of ours, the two numbers multiply and
everything slows down; so our threads run with a BLAS of one thread each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from wordveil.errors import WordveilError

__all__ = ["ahead", "blocks", "check_workers", "cores", "run", "use"]

_MOST_EACH = 16  # workers for each core

Item = TypeVar("Item")
Result = TypeVar("Result")


_chosen: list[int] = []


def use(count: int) -> None:
    """Use no more than so many cores from now on, because other processes use the others."""
    _chosen[:] = [count]


def cores() -> int:
    """Return how many cores this process may use."""
    if _chosen:
        return _chosen[0]
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(count: int) -> None:
    """Refuse more worker processes than a machine can hold: all are started at once."""
    if count > _MOST_EACH * cores():
        raise WordveilError(
            f"--workers {count} is more than this machine can hold; it has {cores()} cores, and more workers than "
            "cores gain nothing."
        )


def blocks(total: int, size: int) -> Iterator[slice]:
    """Cut ``range(total)`` into consecutive slices of at most `size`."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply `work` to every item, in order, in a thread that is one item ahead of whoever takes the results."""
    with ThreadPoolExecutor(1) as pool:
        waiting = None
        for item in items:
            coming = pool.submit(work, item)
            if waiting is not None:
                yield waiting.result()
            waiting = coming
        if waiting is not None:
            yield waiting.result()


def run(work: Callable[[Item], Result], items: Iterable[Item], done: Callable[[], None] | None = None) -> list[Result]:
    """Apply `work` to every item on all cores and return the results in order.

    Parameters
    ----------
    work : callable
        What to do with one item; it should spend its time in numpy, which lets other threads run.
    items : iterable
        The items, taken all at once.
    done : callable, optional
        Called after each finished item, to move a progress bar.
    """
    items = list(items)
    results: list[Result] = []
    if len(items) == 1:  # one block may as well use every core inside BLAS
        results.append(work(items[0]))
        if done:
            done()
        return results
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(cores()) as pool:
        for result in pool.map(work, items):
            results.append(result)
            if done:
                done()
    return results
