"""Prepares attackers one at a time, callers taking turns, so that a slow one does not hold up the others.

There are two lanes: one for mechanisms whose probabilities are known, whose attackers are ready in a moment or two, and
one for those whose probabilities are learnt from draws.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from wordveil.progress import Watch
from wordveil.service.attacker import Attacker
from wordveil.service.problems import busy

__all__ = ["Preparing"]

_FORGOTTEN = 10.0  # seconds after which an attacker who was not asked for again is not prepared further
_KEPT = 4  # attackers: a reader holds columns of a law
_CALLERS = 64  # who may wait for their turn in a lane

Make = Callable[[Watch], Attacker]


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
        """Note how far it is; give up where nobody asks."""
        self.share = share
        if time.monotonic() - self.asked > _FORGOTTEN:
            raise _Forgotten


class _Lane:
    """Prepares one at a time: for each caller the last that they asked for, callers in the order in which they came."""

    def __init__(self, name: str, keep: Callable[[Any, Attacker], None]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"wordveil-{name}")
        self._keep = keep
        self._wishes: OrderedDict[str, _Wish] = OrderedDict()
        self.going: _Going | None = None

    def ask(self, caller: str, key: Any, make: Make) -> None:
        """Note what a caller wants; begin with it if nothing else is being prepared."""
        if self.going is not None and self.going.key == key:
            self.going.asked = time.monotonic()
            return
        if caller not in self._wishes and len(self._wishes) >= _CALLERS:
            raise busy()
        self._wishes[caller] = _Wish(key, make, time.monotonic())
        if self.going is None:
            self._next()

    def stop(self) -> None:
        """Prepare nobody any more."""
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
        if going is not None and not task.cancelled() and task.exception() is None:  # asked, or asyncio logs it
            self._keep(going.key, task.result())
        self._next()


class Preparing:
    """Keeps attackers ready, and prepares those that are asked for."""

    def __init__(self) -> None:
        self._ready: OrderedDict[Any, Attacker] = OrderedDict()
        self._lanes = {is_exact: _Lane(name, self._keep) for is_exact, name in ((True, "read"), (False, "learn"))}

    async def get(self, key: Any, make: Make, *, is_exact: bool, caller: str, seconds: float) -> Attacker | float:
        """Return an attacker; while that one is prepared, which goes on if it is asked for again, how far it is.

        Parameters
        ----------
        key : object
            What the attacker depends on.
        make : callable
            Prepares the attacker, in a thread; takes a watch.
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
                break  # the service is being stopped
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

    def stop(self) -> None:
        """Prepare nobody any more."""
        for lane in self._lanes.values():
            lane.stop()

    def _keep(self, key: Any, attacker: Attacker) -> None:
        self._ready[key] = attacker
        while len(self._ready) > _KEPT:
            self._ready.popitem(last=False)
