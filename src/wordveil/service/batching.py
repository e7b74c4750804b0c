"""Requests that wait at the same time are drawn for together: one search then serves them all."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

import orjson

from wordveil.errors import WordveilError
from wordveil.text import Document, Release, Veil

__all__ = ["Batcher"]

_TEXTS = 256  # together: more save little, and make the first wait for the last
_CHARACTERS = 1 << 18


class _Waiting(NamedTuple):
    documents: list[Document]
    answer: asyncio.Future[list[Release]]


class Batcher:
    """Veils documents of several requests at once, in order of their arrival.

    While one batch is drawn for, the next gathers; there is no timer, so a lone request never waits.

    Parameters
    ----------
    veil : Veil
        What veils them.
    executor : Executor
        Where the drawing runs.
    seen : callable
        Told the number of texts of every batch.
    """

    def __init__(self, veil: Veil, executor: Executor, seen: Callable[[int], None]) -> None:
        self.veil = veil
        #: The guarantee as JSON, the same for every answer.
        self.promise = orjson.dumps(veil.guarantee.to_dict())
        self._executor = executor
        self._seen = seen
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, documents: list[Document]) -> list[Release]:
        """Veil the documents of one request."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Release]] = loop.create_future()
        self._waiting.append(_Waiting(documents, answer))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next():
            self._seen(sum(len(one.documents) for one in batch))
            outcomes = await loop.run_in_executor(self._executor, self._together, [one.documents for one in batch])
            for one, outcome in zip(batch, outcomes, strict=True):
                if one.answer.done():  # its request was given up
                    continue
                if isinstance(outcome, Exception):
                    one.answer.set_exception(outcome)
                else:
                    one.answer.set_result(outcome)

    def _next(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        texts = characters = 0
        while self._waiting and texts < _TEXTS and characters < _CHARACTERS:
            one = self._waiting.popleft()
            if not one.answer.done():
                batch.append(one)
                texts += len(one.documents)
                characters += sum(len(document.text) for document in one.documents)
        return batch

    def _together(self, requests: list[list[Document]]) -> list[list[Release] | Exception]:
        try:
            releases = iter(self.veil.together([document for documents in requests for document in documents]))
        except Exception as error:  # noqa: BLE001 - given to the request it belongs to
            if len(requests) == 1:
                return [error]
            if isinstance(error, WordveilError):  # of one of them: the others must not suffer
                return [outcome for documents in requests for outcome in self._together([documents])]
            return [error] * len(requests)
        return [[next(releases) for _ in documents] for documents in requests]
