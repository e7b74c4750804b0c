"""What stands before every request (who calls, by which name, how much at once) and is counted after every answer.

What Prometheus is told are counts and times, never anything of a text.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wordveil.service.keys import Keys
from wordveil.service.metrics import IN_PROGRESS, REFUSED, REQUESTS, SECONDS
from wordveil.service.problems import CODE, Problem, busy, fault, log_fault, problem_response
from wordveil.service.settings import Settings

__all__ = ["API", "CHARGED", "STREAM", "Guard"]

_LOG = logging.getLogger("wordveil.service")

STREAM = "/v1/privatize/stream"
#: Set in the scope of a request that is being charged: given up now, it would be paid for and not answered.
CHARGED = "wordveil.charged"
#: What needs a key where there are any; the last three are contracts of others.
API = ("/v1/", "/beta/", "/anonymize", "/anonymizers")
_METRICS = "/metrics"
_DRAINED = 16 << 20
_AT_ONCE = 1 << 16  # bytes of a body that arrive whether they are read or not
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_JSON = {"application/json"}
_LINES = {"application/x-ndjson", "application/jsonl", "application/json"}

_CODE = CODE.encode()

_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-store"),
]


class Guard:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: Keys) -> None:
        self._app, self._settings, self._keys = app, settings, keys
        self._busy = self._streams = 0
        # A stream lasts as long as its caller likes: half of the places are kept for what ends soon.
        self._most_streams = max(1, settings.requests // 2)
        tinned = problem_response(busy())
        self._busy_headers, self._busy_body = [*tinned.raw_headers, *_ALWAYS], tinned.body
        names = (*settings.hosts, settings.host, *(_LOOPBACK if settings.is_local else ()))
        # A public address is protected by its key; on this machine the name is what keeps other sites' pages out.
        self._names = None if "*" in names or not settings.is_local else {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":  # there is none, and nothing below checks who asks for one
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_stream = scope["path"] == STREAM
        if scope["path"].startswith(API) and (
            self._busy >= self._settings.requests or (is_stream and self._streams >= self._most_streams)
        ):
            await self._refuse(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                kept = [pair for pair in message["headers"] if pair[0] != _CODE]
                message["headers"] = [*kept, *_ALWAYS]
            await send(message)

        is_counted = scope["path"].startswith(API)  # monitoring and the page must not be turned away
        self._busy += is_counted
        self._streams += is_stream
        IN_PROGRESS.inc()
        try:
            await self._admit(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - nothing may reach the server's own log, which prints messages
            log_fault(error)
            if status == 0:
                await problem_response(fault())(scope, receive, answer)
        finally:
            self._busy -= is_counted
            self._streams -= is_stream
            IN_PROGRESS.dec()
            spent = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            REQUESTS.labels(route, str(status)).inc()
            SECONDS.labels(route).observe(spent)
            if self._settings.access_log:
                _LOG.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * spent)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell a request to come back later, before anything is done for it: that time is lost to those in progress."""
        told = dict(scope["headers"]).get(b"content-length", b"")
        if told.isdigit() and int(told) > _AT_ONCE:
            await self._drain(receive)
        REFUSED.labels(busy().code).inc()
        REQUESTS.labels("other", "503").inc()
        await send({"type": "http.response.start", "status": 503, "headers": self._busy_headers})
        await send({"type": "http.response.body", "body": self._busy_body})
        if self._settings.access_log:
            _LOG.info("%s other 503", scope["method"])

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        try:
            headers = Headers(scope=scope)
            self._check_name(headers.get("host", ""))
            if path == _METRICS and not self._keys.may_see_metrics(headers.get("authorization")):
                raise Problem(401, "the metrics need the operator's key; see the setting metrics_hash.")
            if path.startswith(API):
                scope["wordveil.key"] = self._owner(headers.get("authorization"))
                if scope["method"] == "POST":
                    receive = await self._check_body(path, headers, receive)
        except (asyncio.TimeoutError, TimeoutError):
            await problem_response(_too_slow())(scope, receive, send)
        except Problem as problem:
            if problem.status == 413:
                await self._drain(receive)
            await problem_response(problem)(scope, receive, send)
        else:
            await self._in_time(scope, receive, send)

    async def _drain(self, receive: Receive) -> None:
        with suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(_drain(receive), self._settings.timeout)

    async def _in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == STREAM or not scope["path"].startswith(API):  # as long as it takes
            await self._app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        work = asyncio.ensure_future(self._app(scope, receive, watched))
        try:
            await asyncio.wait({work}, timeout=self._settings.timeout)
            if work.done() or scope.get(CHARGED):
                await work
                return
        finally:
            work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        if not begun:
            await problem_response(_too_slow())(scope, receive, send)

    def _check_name(self, host: str) -> None:
        name = host.lower()
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        if self._names is not None and name not in self._names:
            raise Problem(421, "the service does not answer to this host name; add it to the setting hosts.")

    def _owner(self, authorization: str | None) -> object:
        owner = self._keys.owner(authorization) if self._keys.needed else None
        if owner is None and self._keys.needed:
            raise Problem(401, "this service needs a known key, in the header Authorization: Bearer KEY.")
        return owner

    async def _check_body(self, path: str, headers: Headers, receive: Receive) -> Receive:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # Also keeps out what a form of another site's page can send.
        if kind not in (_LINES if path == STREAM else _JSON):
            wanted = "application/x-ndjson" if path == STREAM else "application/json"
            raise Problem(415, f"send the body as {wanted}.")
        if path == STREAM:
            return receive
        most = self._settings.body_bytes
        told = headers.get("content-length", "0")
        if not told.isdigit() or int(told) > most:
            raise _too_long(most)
        if "content-length" in headers:
            return receive
        return await asyncio.wait_for(_whole(receive, most), self._settings.timeout)


async def _whole(receive: Receive, most: int) -> Receive:
    """Read a body that did not say its length, as far as is allowed, and return what gives it again."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise _too_long(most)
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        return next(messages, None) or await receive()

    return again


async def _drain(receive: Receive) -> None:
    """Read some of what is refused: most callers look for an answer only after they have sent everything."""
    left = _DRAINED
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _too_slow() -> Problem:
    return Problem(503, "the request took too long and was cancelled; send less at once, or try again later.")


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body is longer than the {most:,} bytes allowed.")
