"""Other APIs that the service speaks: accepts their keys, and answers problems in their form.

The checks before the routes (keys, limits, time-outs) answer problems in our own form. This wraps all of them and
translates, so that nothing can bypass it: even a request that gets no answer at all becomes a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from starlette.types import Message, Receive, Scope, Send

from wordveil.service.guard import ANSWERED, Guard
from wordveil.service.problems import fault, log_fault

__all__ = ["Contracts", "Told"]

_PROBLEM = 400  # the least status of a problem

#: Puts a problem in a contract's form: takes a status and a sentence, returns the status and body to answer with.
Told = Callable[[int, str], tuple[int, dict[str, Any]]]


class Contracts:
    """Wraps the guarded application.

    Parameters
    ----------
    app
        The service.
    told
        How to answer problems, by path.
    """

    def __init__(self, app: Guard, told: Mapping[str, Told]) -> None:
        self._app, self._told = app, dict(told)
        self.limits = app.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        told = self._told.get(scope["path"]) if scope["type"] == "http" else None
        if told is None:
            await self._app(scope, receive, send)
            return
        named = dict(scope["headers"])
        if b"authorization" not in named and b"x-api-key" in named:
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", b"Bearer " + named[b"x-api-key"])]}
        scope = {**scope, ANSWERED: lambda status: told(status, "")[0] if status >= _PROBLEM else status}
        start: Message | None = None
        body, begun = b"", False

        async def answer(message: Message) -> None:
            nonlocal start, body, begun
            if message["type"] == "http.response.start" and message["status"] >= _PROBLEM:
                start = message
            elif start is None:
                begun = True
                await send(message)
            else:
                body += message.get("body", b"")

        try:
            await self._app(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - its message might quote a text
            log_fault(error)
        if not begun:
            await _tell(told, start, body, send)


async def _tell(told: Told, start: Message | None, body: bytes, send: Send) -> None:
    status, sentence = (500, fault().sentence) if start is None else (start["status"], _sentence(body))
    status, values = told(status, sentence)
    content = orjson.dumps(values)
    replaced = (b"content-type", b"content-length", b"content-encoding")
    headers = [pair for pair in (start or {}).get("headers", ()) if pair[0].lower() not in replaced]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _sentence(body: bytes) -> str:
    try:
        return str(orjson.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return fault().sentence
