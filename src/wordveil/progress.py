"""How long-running work reports its progress: one protocol for work and for those who watch it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import TypeAlias, TypeVar

from wordveil.parallel import run

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Told what is being done, in a few words, and which share of it is done.
Watch: TypeAlias = Callable[[str, float], None]


def ignore(what: str, share: float) -> None:
    """Watch nothing."""


_watch: ContextVar[Watch] = ContextVar("watch", default=ignore)


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Have `tell` tell this watch, in this thread, until the block ends: for work that a constructor may have to do."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


def tell(what: str, share: float) -> None:
    """Tell the watch of this thread which share of the work is done."""
    _watch.get()(what, share)


def within(watch: Watch, start: float, end: float) -> Watch:
    """Return a watch for a part of the work, which lies between these shares of the whole."""
    return lambda what, share: watch(what, start + (end - start) * share)


def run_watched(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    what: str,
    watch: Watch,
    weights: Sequence[float] = (),
) -> list[Result]:
    """Do the work for every item, on all cores, tell `watch` after each, and return the results in order.

    `weights` tell how much work each item is, where that differs.
    """
    weights = weights or [1.0] * len(items)
    whole, ended = sum(weights), iter(accumulate(weights))

    def done() -> None:
        watch(what, next(ended) / whole)

    return run(work, items, done)
