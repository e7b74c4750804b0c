"""How long-running work reports its progress: one protocol for those who work and those who watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from wordveil.parallel import run

__all__ = ["Watch", "ignore", "run_watched", "within"]

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Told what is being done, in a few words, and which share of it is done.
Watch: TypeAlias = Callable[[str, float], None]


def ignore(what: str, share: float) -> None:
    """Watch nothing."""


def within(watch: Watch, start: float, end: float) -> Watch:
    """Return a watch for a part of the work, which lies between these shares of the whole."""
    return lambda what, share: watch(what, start + (end - start) * share)


def run_watched(work: Callable[[Item], Result], items: Sequence[Item], what: str, watch: Watch) -> list[Result]:
    """Do the work for every item, on all cores, and return the results in order.

    Parameters
    ----------
    work : callable
        What to do with one item.
    items : sequence
        The items.
    what : str
        What is being done, in a few words.
    watch : callable
        Told after every item.
    """
    finished = 0

    def done() -> None:
        nonlocal finished
        finished += 1
        watch(what, finished / len(items))

    return run(work, items, done)
