"""Things that take time to make: kept for the next request, with progress while they are being made."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from wordveil.progress import watched_by
from wordveil.service.problems import busy

__all__ = ["Kept", "Progress"]

Thing = TypeVar("Thing")

_WORTH_TELLING = 0.02  # the share of work from which on its speed says when it ends
_NEARLY = 0.95  # what takes longer than the last time is never told to be done


class Progress(NamedTuple):
    """How far something in the making is, from 0 to 1, and the seconds until it is done; None where unknown."""

    share: float | None
    seconds_left: float | None


class _Making(Generic[Thing]):
    """Something that is being made."""

    task: asyncio.Future[Thing]

    def __init__(self, make: Callable[[], Thing]) -> None:
        self._make = make
        self.begun: float | None = None
        self.took = self.share = 0.0

    def __call__(self) -> Thing:
        """Make it, in a thread."""
        self.begun = time.monotonic()
        with watched_by(self._watch):
            made = self._make()
        self.took = time.monotonic() - self.begun
        return made

    def _watch(self, _: str, share: float) -> None:
        self.share = share


class Kept(Generic[Thing]):
    """Keeps the most recently used of things that take time to make.

    Each is made once, in one thread, for all who wait for it. The threads are few and of their own, so that callers who
    ask for one thing after the other leave those that draw and charge alone.

    Parameters
    ----------
    most : int
        How many are kept.
    makers : ThreadPoolExecutor
        The threads that make them.
    waiting : int
        How many may be made or wait for it at once; more are refused as busy.
    kind : callable
        Says of a key what kind of thing it is: things of one kind take about the same time.
    usual : callable
        Says of a kind how many seconds the first of it takes, where that is known.
    """

    def __init__(
        self,
        most: int,
        makers: ThreadPoolExecutor,
        waiting: int = 16,
        kind: Callable[[Any], Any] = lambda key: key,
        usual: Callable[[Any], float | None] = lambda _: None,
    ) -> None:
        self._usual = usual
        self._most, self._makers, self._waiting, self._kind = most, makers, waiting, kind
        self._things: OrderedDict[Any, Thing] = OrderedDict()
        self._making: dict[Any, _Making[Thing]] = {}
        self._took: dict[Hashable, float] = {}

    def ready(self, key: Any) -> Thing | None:
        """Return a thing if it is there already."""
        if key in self._things:
            self._things.move_to_end(key)
        return self._things.get(key)

    async def get(self, key: Any, make: Callable[[], Thing]) -> Thing:
        """Return a thing, made now if it is not there."""
        found = self.ready(key)
        if found is not None:
            return found
        making = self._making.get(key)
        if making is None:
            if len(self._making) >= self._waiting:
                raise busy()
            making = self._making[key] = _Making(make)
            making.task = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(self._makers, making))
            making.task.add_done_callback(partial(self._made, key))
        return await asyncio.shield(making.task)  # one who gives up does not end it for the others

    def progress(self, key: Any) -> Progress:
        """Say how far a thing is: by what its making tells, or by how long the last of its kind took."""
        if key in self._things:
            return Progress(1.0, 0.0)
        kind, making = self._kind(key), self._making.get(key)
        expected = self._took.get(kind, self._usual(kind))
        if making is None or making.begun is None:
            return Progress(0.0, expected)
        spent = time.monotonic() - making.begun
        if making.share >= _WORTH_TELLING:
            return Progress(making.share, spent * (1.0 - making.share) / making.share)
        if expected:
            return Progress(min(_NEARLY, spent / expected), max(0.0, expected - spent))
        return Progress(None, None)

    def _made(self, key: Any, task: asyncio.Future[Thing]) -> None:
        making = self._making.pop(key)
        if not task.cancelled() and task.exception() is None:
            self._took[self._kind(key)] = making.took
            self._things[key] = task.result()
            while len(self._things) > self._most:
                self._things.popitem(last=False)
