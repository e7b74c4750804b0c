"""The protocol by which long work reports its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import TypeAlias, TypeVar

from wordveil.parallel import run

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Called with what is being done, in a few words, and the share that is done.
Watch: TypeAlias = Callable[[str, float], None]


def ignore(what: str, share: float) -> None:
    """Do nothing."""


_watch: ContextVar[Watch] = ContextVar("watch", default=ignore)


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Make `tell` call this watch within the block, in this thread; for long work in constructors."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


def tell(what: str, share: float) -> None:
    """Report progress to the watch of this thread."""
    _watch.get()(what, share)


def within(watch: Watch, start: float, end: float) -> Watch:
    """Return a watch for a part of the work, from share `start` to share `end` of the whole."""
    return lambda what, share: watch(what, start + (end - start) * share)


def run_watched(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    what: str,
    watch: Watch,
    weights: Sequence[float] = (),
) -> list[Result]:
    """Do the work for every item on all cores, reporting progress after each, and return the results in order.

    `weights` are how much work each item is. Default: all the same.
    """
    weights = weights or [1.0] * len(items)
    whole, ended = sum(weights), iter(accumulate(weights))

    def done() -> None:
        watch(what, next(ended) / whole)

    return run(work, items, done)
