"""Work on all cores that tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from wordveil.parallel import run
from wordveil.progress import Watch

__all__ = ["run_watched"]

Result = TypeVar("Result")


def run_watched(work: Callable[[slice], Result], parts: Sequence[slice], what: str, watch: Watch) -> list[Result]:
    """Do the work for every part, on all cores, and return the results in order.

    Parameters
    ----------
    work : callable
        What to do with one part.
    parts : sequence of slice
        The parts.
    what : str
        What is being done, in a few words.
    watch : callable
        Told after every part.
    """
    finished = 0

    def done() -> None:
        nonlocal finished
        finished += 1
        watch(what, finished / len(parts))

    return run(work, parts, done)
