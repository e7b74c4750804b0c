"""What the routes of one application share."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from wordveil._mechanisms import Mechanism
from wordveil.service import metrics
from wordveil.service.batching import Batcher
from wordveil.service.jobs import Jobs
from wordveil.service.keys import Keys
from wordveil.service.schemas import MechanismChoice, Way
from wordveil.service.settings import Settings
from wordveil.service.veils import Kept, Workshop, choice_key, veil_key

__all__ = ["State"]

_THREADS = 2


class State:
    """Everything that lives as long as the application.

    Parameters
    ----------
    settings : Settings
        What is allowed.
    keys : Keys
        Who may call.
    folder : Path
        The run folder, for the state of jobs.
    """

    def __init__(self, settings: Settings, keys: Keys, folder: Path) -> None:
        self.settings = settings
        self.keys = keys
        self.workshop = Workshop(settings)
        self.jobs = Jobs(folder, settings.jobs, settings.job_timeout)
        self.executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="wordveil-draw")
        self.is_ready = False
        self._batchers = Kept(settings.veils)
        self._making: dict[Any, asyncio.Task[Mechanism[Any]]] = {}

    async def batcher(self, way: Way, words: list[str] | None = None) -> Batcher:
        """Return what veils in this way, for all requests that ask for it at the same time.

        One with a list of words is made anew: the list may be private, and is not to be kept.
        """
        key = veil_key(way)
        found: Batcher | None = None if words is not None else self._batchers.ready(key)
        if found is not None:
            return found
        await self.mechanism(way)  # what takes time, the same for all that is made of it
        if words is not None:
            return await asyncio.to_thread(self._make, way, words)
        return await asyncio.to_thread(self._batchers.get, key, lambda: self._make(way))

    async def mechanism(self, choice: MechanismChoice) -> Mechanism[Any]:
        """Return the mechanism that is asked for.

        It is made in one thread for all who wait for it: threads that wait, too, would be missing elsewhere.
        """
        key = choice_key(choice)
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.create_task(asyncio.to_thread(self.workshop.mechanism, choice))
            task.add_done_callback(lambda done: self._made(key, done))
        return await asyncio.shield(task)  # one who gives up does not end it for the others

    def _made(self, key: Any, task: asyncio.Task[Mechanism[Any]]) -> None:
        del self._making[key]
        if not task.cancelled():
            task.exception()  # nobody may be left to hear of it

    def _make(self, way: Way, words: list[str] | None = None) -> Batcher:
        return Batcher(self.workshop.veil(way, words), self.executor, metrics.BATCH.observe)

    async def warm(self) -> None:
        """Make what the first request will most likely need."""
        allowed = self.settings
        way = Way(epsilon=min(max(3.0, allowed.smallest_epsilon), allowed.largest_epsilon))
        if way.mechanism in allowed.mechanisms:
            batcher = await self.batcher(way)
            await asyncio.to_thread(batcher.veil, "Some first words, zqxj and 12.")
        self.is_ready = True

    async def close(self) -> None:
        """End what is running."""
        self.is_ready = False
        await self.jobs.close()
        self.executor.shutdown(wait=True, cancel_futures=True)
