"""Keeps what is slow to make, such as mechanisms and attackers, and knows how far the making is."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from wordveil.progress import Watch, watched_by
from wordveil.service.attacker import Attacker
from wordveil.service.problems import busy

__all__ = ["Kept", "Preparing", "Progress"]

Thing = TypeVar("Thing")

_WORTH_TELLING = 0.02  # the share of work from which its speed predicts the end
_NEARLY = 0.95  # the most progress shown for something that takes longer than last time

_FORGOTTEN = 10.0  # seconds after which to stop preparing an attacker that nobody asked for again
_KEPT = 4  # attackers; few, because a reader holds columns of a law
_CALLERS = 64  # how many may wait for their turn in a lane
Make = Callable[[Watch], Attacker]


class Progress(NamedTuple):
    """How far something is made, from 0 to 1, and how many seconds are left. None where unknown."""

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
    """A cache of the most recently used things that are slow to make.

    Each is made once, in one thread, for everybody who waits for it. The threads are few and separate, so that callers
    who ask for one new thing after another do not hold up draws and charges.

    Parameters
    ----------
    most
        How many to keep.
    makers
        The threads that make them.
    waiting
        How many may be in the making at once. More are refused as busy.
    kind
        Returns the kind of a key. Things of one kind take about the same time. There must be few kinds, because the
        time of each is kept for ever; by default there is one.
    usual
        Returns how many seconds the first thing of a kind takes, if known.
    """

    def __init__(
        self,
        most: int,
        makers: ThreadPoolExecutor,
        waiting: int = 16,
        kind: Callable[[Any], Any] = lambda _: None,
        usual: Callable[[Any], float | None] = lambda _: None,
    ) -> None:
        self._usual = usual
        self._most, self._makers, self._waiting, self._kind = most, makers, waiting, kind
        self._things: OrderedDict[Any, Thing] = OrderedDict()
        self._making: dict[Any, _Making[Thing]] = {}
        self._took: dict[Hashable, float] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._things)

    def oldest(self) -> Any:
        """Return the key of what was used longest ago."""
        return next(iter(self._things))

    def forget(self, is_meant: Callable[[Any], bool]) -> None:
        """Drop the things of some keys."""
        for key in [key for key in self._things if is_meant(key)]:
            del self._things[key]

    def ready(self, key: Any) -> Thing | None:
        """Return a thing if it is there already."""
        if key in self._things:
            self._things.move_to_end(key)
        return self._things.get(key)

    async def get(self, key: Any, make: Callable[[], Thing]) -> Thing:
        """Return a thing. Make it first if it is not there."""
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
        return await asyncio.shield(making.task)  # if one caller gives up, the others still get it

    def progress(self, key: Any) -> Progress:
        """Return how far a thing is, from its own progress or from how long the last of its kind took."""
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


class _Forgotten(Exception):  # noqa: N818 - nothing went wrong
    """Raised where nobody waits for an attacker any more."""


class _Wish(NamedTuple):
    key: Any
    make: Make
    asked: float


class _Going:
    """An attacker in preparation."""

    task: asyncio.Future[Attacker]

    def __init__(self, key: Any) -> None:
        self.key, self.share, self.asked = key, 0.0, time.monotonic()

    def watch(self, _: str, share: float) -> None:
        """Note how far it is. Give up if nobody has asked lately."""
        self.share = share
        if time.monotonic() - self.asked > _FORGOTTEN:
            raise _Forgotten


class _Lane:
    """Prepares attackers one at a time: each caller's latest request, in the order in which callers came."""

    def __init__(self, name: str, keep: Callable[[Any, Attacker], None]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"wordveil-{name}")
        self._keep = keep
        self._wishes: OrderedDict[str, _Wish] = OrderedDict()
        self.going: _Going | None = None

    def ask(self, caller: str, key: Any, make: Make) -> None:
        """Note what a caller wants, and start on it if nothing else is being prepared."""
        if self.going is not None and self.going.key == key:
            self.going.asked = time.monotonic()
            return
        if caller not in self._wishes and len(self._wishes) >= _CALLERS:
            raise busy()
        self._wishes[caller] = _Wish(key, make, time.monotonic())
        if self.going is None:
            self._next()

    def stop(self) -> None:
        """Stop preparing."""
        self._wishes.clear()
        if self.going is not None:
            self.going.asked = -math.inf
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> None:
        while self._wishes:
            _, wish = self._wishes.popitem(last=False)
            if time.monotonic() - wish.asked > _FORGOTTEN:
                continue
            self.going = going = _Going(wish.key)
            work = asyncio.get_running_loop().run_in_executor(self._thread, wish.make, going.watch)
            going.task = asyncio.ensure_future(work)
            going.task.add_done_callback(self._done)
            return

    def _done(self, task: asyncio.Future[Attacker]) -> None:
        going, self.going = self.going, None
        if going is not None and not task.cancelled() and task.exception() is None:  # unread, asyncio would log it
            self._keep(going.key, task.result())
        self._next()


class Preparing:
    """Keeps attackers ready, and prepares those that callers ask for."""

    def __init__(self) -> None:
        self._ready: OrderedDict[Any, Attacker] = OrderedDict()
        self._lanes = {is_exact: _Lane(name, self._keep) for is_exact, name in ((True, "read"), (False, "learn"))}

    async def get(self, key: Any, make: Make, *, is_exact: bool, caller: str, seconds: float) -> Attacker | float:
        """Return an attacker, or how far its preparation is. That goes on as long as somebody asks again.

        Parameters
        ----------
        key : object
            What the attacker depends on.
        make : callable
            Prepares the attacker, in a thread. Takes a watch.
        is_exact : bool
            Whether the probabilities of the mechanism are known.
        caller : str
            Who asks.
        seconds : float
            How long to wait for it.
        """
        lane, until = self._lanes[is_exact], time.monotonic() + seconds
        while key not in self._ready:
            lane.ask(caller, key, make)
            going, left = lane.going, until - time.monotonic()
            if going is None:
                break  # the service is stopping
            if left > 0:
                await asyncio.wait({going.task}, timeout=left)
            is_mine = going.key == key
            if is_mine and going.task.done() and not isinstance(going.task.exception(), _Forgotten):
                return going.task.result()
            if left <= 0:
                return going.share if is_mine else 0.0
        if key not in self._ready:
            return 0.0
        self._ready.move_to_end(key)
        return self._ready[key]

    def forget(self, is_meant: Callable[[Any], bool]) -> None:
        """Drop the attackers of some keys."""
        for key in [key for key in self._ready if is_meant(key)]:
            del self._ready[key]

    def stop(self) -> None:
        """Stop preparing."""
        for lane in self._lanes.values():
            lane.stop()

    def _keep(self, key: Any, attacker: Attacker) -> None:
        self._ready[key] = attacker
        while len(self._ready) > _KEPT:
            self._ready.popitem(last=False)
