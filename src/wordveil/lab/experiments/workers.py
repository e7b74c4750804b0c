"""Jobs on several processes, in order; none is started when time is up."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from wordveil.parallel import check_workers, cores, use

Found = TypeVar("Found")


def done_in_turn(
    work: Callable[..., Found], jobs: Sequence[tuple[Any, ...]], workers: int = 1, minutes: float | None = None
) -> Iterator[tuple[int, Found]]:
    """Do jobs, and yield the number and result of each as it is done.

    After `minutes` none is started. With several workers, what does the jobs and their parts must be able to travel to
    another process.
    """
    check_workers(workers)
    end = math.inf if minutes is None else time.monotonic() + 60.0 * minutes
    if workers == 1:
        for number, job in enumerate(jobs):
            if time.monotonic() > end:
                return
            yield number, work(*job)
        return
    share = max(1, cores() // workers)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (share,)) as pool:
        waiting = list(enumerate(jobs))
        running: dict[Future[Found], int] = {}
        while waiting or running:
            while waiting and len(running) < workers and time.monotonic() <= end:
                number, job = waiting.pop(0)
                running[pool.submit(work, *job)] = number
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _begin(cores_each: int) -> None:
    """Keep a process to its share of the cores."""
    use(cores_each)
    threadpool_limits(limits=cores_each, user_api="blas")
