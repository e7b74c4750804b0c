"""Checks before every request (caller, host name, load) and metrics after every answer.

Metrics hold counts and times, never anything of a text.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fastapi import Response
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wordveil.service.coding import CODINGS, Packer, chosen, unpacked
from wordveil.service.connections import ABORT, Limits
from wordveil.service.keys import Keys
from wordveil.service.metrics import IN_PROGRESS, KEY_REQUESTS, REQUESTS, SECONDS, labelled, note_refusal
from wordveil.service.problems import (
    CODE,
    REQUEST_ID,
    Problem,
    allowed_methods,
    busy,
    fault,
    log_fault,
    problem_response,
    stopping,
)
from wordveil.service.settings import Key, Settings

__all__ = ["ANSWERED", "API", "CHARGED", "STREAM", "TABLE", "Guard"]

_LOG = logging.getLogger("wordveil.service")

STREAM = "/v1/privatize/stream"
#: Set in the scope while a request is being charged. Cancelled now, it would be paid for and not answered.
CHARGED = "wordveil.charged"
#: Addresses that need a key if the service has keys. All but the first belong to other APIs' contracts.
API = ("/v1/", "/beta/", "/anonymize", "/deanonymize")
#: In the scope of a contract's request: says which status the caller gets in the place of another.
ANSWERED = "wordveil.answered"
_METRICS = "/metrics"
_DRAINED = 16 << 20
_AT_ONCE = 1 << 16  # bytes of a body that arrive whether we read them or not
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
TABLE = "/v1/privatize/table"
_JSON = ("application/json",)
_KINDS = {STREAM: ("application/x-ndjson", "application/jsonl", "application/json"), TABLE: ("text/csv",)}
_PACKED = {b"application/json", b"application/problem+json", b"application/x-ndjson", b"text/csv", b"text/plain",
           b"text/html", b"text/css", b"text/javascript", b"image/svg+xml"}  # fmt: skip
_WORTH_IT = 1024  # bytes from which an answer is worth compressing
_ID = re.compile(r"[0-9a-fA-F-]{16,64}")
_ASKED_HEADERS = ("Authorization", "Content-Type", "Content-Encoding", "Wordveil-User", "X-Request-ID")
_TOLD_HEADERS = ("Location", "Retry-After", "Wordveil-Guarantee", "X-Request-ID")

_ONCE = (b"host", b"authorization", b"x-api-key", b"content-type", b"content-encoding", b"content-length",
         b"transfer-encoding", b"wordveil-user")  # fmt: skip

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
        self._app: Any = app  # a FastAPI
        self._settings, self._keys = settings, keys
        #: The limits that the server's connections obey.
        self.limits = Limits(settings)
        self._busy = self._streams = 0
        # A stream lasts as long as its caller likes, so half of the places are kept for short requests.
        self._most_streams = max(1, settings.requests // 2)
        tinned = problem_response(busy())
        self._busy_headers = [*(pair for pair in tinned.raw_headers if pair[0] != _CODE), *_ALWAYS]
        self._busy_body = tinned.body
        names = (*settings.hosts, settings.host, *(_LOOPBACK if settings.is_local else ()))
        # A key protects a public address. On this machine, the host name is what keeps other sites' pages out.
        self._names = None if "*" in names or not settings.is_local else {name.lower() for name in names}
        self._entrance: ASGIApp = self._enter
        if settings.origins:
            self._entrance = CORSMiddleware(
                self._enter, settings.origins, ("GET", "POST"), _ASKED_HEADERS, expose_headers=_TOLD_HEADERS
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":  # we have none, and nothing below checks who asks
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._entrance(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        is_counted, is_stream = path.startswith(API), path == STREAM  # monitoring and the page are never turned away
        if is_counted and (
            self._busy >= self._settings.requests or (is_stream and self._streams >= self._most_streams)
        ):
            await self._refuse(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # the server leaves out the body
            scope = {**scope, "method": "GET"}
        # Decoded once, keeping the first of each name: Starlette's own headers decode anew at every lookup.
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
        is_clear = len(headers) == len(scope["headers"]) or _is_clear(scope["headers"])
        request = _request_id(headers)
        REQUEST_ID.set(request)
        started = time.perf_counter()
        coding = chosen(headers.get("accept-encoding", "")) if self._settings.compress else None
        answer = _Answer(send, request, coding)
        self._busy += is_counted
        self._streams += is_stream
        IN_PROGRESS.inc()
        try:
            await self._admit(scope, headers, receive, answer, is_clear=is_clear)
        except asyncio.CancelledError:  # the service is stopping and its patience has run out
            if answer.status == 0:
                await problem_response(stopping())(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - the server's own log would print its message
            log_fault(error)
            if answer.status == 0:
                await problem_response(fault())(scope, receive, answer)
        finally:
            self._busy -= is_counted
            self._streams -= is_stream
            IN_PROGRESS.dec()
            self._note(scope, answer, request, time.perf_counter() - started)

    def _note(self, scope: Scope, answer: _Answer, request: str, spent: float) -> None:
        """Count and log a request, without its address or anything else that was sent."""
        route, status = getattr(scope.get("route"), "path", "other"), str(scope.get(ANSWERED, int)(answer.status))
        labelled(REQUESTS, route, status).inc()
        labelled(SECONDS, route).observe(spent)
        key = getattr(scope.get("wordveil.key"), "name", "")
        if key:
            labelled(KEY_REQUESTS, key, status).inc()
        if answer.code:
            note_refusal(answer.code, route, key, request)
        if self._settings.access_log:
            _LOG.info("%s %s %s %.1f ms, request %s", scope["method"], route, status, 1000 * spent, request)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell a request to come back later, before spending time that requests in progress need."""
        told = dict(scope["headers"]).get(b"content-length", b"")
        if told.isdigit() and int(told) > _AT_ONCE:
            await self._drain(receive)
        note_refusal(busy().code, "other")
        labelled(REQUESTS, "other", "503").inc()
        await send({"type": "http.response.start", "status": 503, "headers": self._busy_headers})
        await send({"type": "http.response.body", "body": self._busy_body})
        if self._settings.access_log:
            _LOG.info("%s other 503", scope["method"])

    async def _admit(
        self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send, *, is_clear: bool
    ) -> None:
        path, sent = scope["path"], _Sent(receive)
        try:
            if not is_clear or headers.get("transfer-encoding", "chunked").lower() != "chunked":
                raise Problem(
                    400, "a header is given twice, or the transfer encoding is not chunked.", "malformed-request"
                )
            self._check_name(headers.get("host", ""))
            if scope["method"] == "OPTIONS":
                await self._options(path, scope, receive, send)
                return
            if path == _METRICS and not self._keys.may_see_metrics(headers.get("authorization")):
                raise Problem(401, "the metrics need the operator's key; see the setting metrics_hash.")
            if path.startswith(API):
                self._check_site(headers)
                owner = scope["wordveil.key"] = self._owner(headers.get("authorization"))
                self._check_rate(owner)
                if scope["method"] == "POST":
                    receive = await self._check_body(path, headers, sent)
        except (asyncio.TimeoutError, TimeoutError):
            await problem_response(_too_slow())(scope, receive, send)
        except Problem as problem:
            if problem.status == 413 and sent.more:
                await self._drain(sent)
            ended = {"Connection": "close"} if problem.code == "malformed-request" else None
            await problem_response(problem, ended)(scope, receive, send)
        else:
            await self._in_time(scope, receive, send)

    async def _options(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        methods = allowed_methods(self._app, path)
        if not methods:
            raise Problem(404, "there is nothing at this address.")
        await Response(status_code=204, headers={"Allow": ", ".join(methods)})(scope, receive, send)

    async def _drain(self, receive: Receive) -> None:
        with suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(_drain(receive), self._settings.timeout)

    async def _in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == STREAM or not scope["path"].startswith(API):  # no time limit
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
        elif abort := scope.get(ABORT):  # the caller does not read the answer
            abort()

    def _check_name(self, host: str) -> None:
        name = host.lower()
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        if self._names is not None and name not in self._names:
            raise Problem(421, "the service does not answer to this host name; add it to the setting hosts.")

    def _check_site(self, headers: dict[str, str]) -> None:
        """Refuse what another site's page makes a browser ask for, where no key does.

        The page cannot read the answer, but each of its pictures could have a mechanism made.
        """
        is_other = headers.get("sec-fetch-site") == "cross-site" and headers.get("origin") not in self._settings.origins
        if is_other and not self._keys.needed:
            raise Problem(
                403, "the page of another site asks for this; name the site in the setting origins.", "other-site"
            )

    def _owner(self, authorization: str | None) -> Key | None:
        if not self._keys.needed:
            return None
        owner = self._keys.owner(authorization)
        if owner is None:
            raise Problem(401, "this service needs a known key in the header Authorization: Bearer KEY.")
        return owner

    def _check_rate(self, owner: Key | None) -> None:
        wait = 0.0 if owner is None else self._app.state.shared.rates.wait(owner)
        if wait:
            raise Problem(429, "this key makes too many requests; wait as long as Retry-After says.", after=wait)

    async def _check_body(self, path: str, headers: dict[str, str], receive: Receive) -> Receive:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # Requiring JSON also keeps out the forms of other sites' pages.
        wanted = _KINDS.get(path, _JSON)
        if kind not in wanted:
            raise Problem(415, f"send the body as {wanted[0]}.")
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", *CODINGS):
            raise Problem(415, f"send the body as it is, or encoded as {' or '.join(CODINGS)}.")
        body = receive if coding == "identity" else unpacked(receive, coding)
        if path == STREAM:
            return body
        most = self._settings.body_bytes
        told = headers.get("content-length", "0")
        if not told.isdigit() or int(told) > most:
            raise _too_long(most)
        if "content-length" in headers and coding == "identity":
            return receive
        return await asyncio.wait_for(_whole(body, most), self._settings.timeout)


class _Answer:
    """Sends an answer with the headers that all answers have, compressed if that is worth it."""

    def __init__(self, send: Send, request: str, coding: str | None) -> None:
        self._send, self._request, self._coding = send, request, coding
        self._packer: Packer | None = None
        self.status = 0
        self.code = ""  # of the problem, if the answer is one

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            told = dict(message["headers"])
            self.code = told.pop(_CODE, b"").decode()
            kind = told.get(b"content-type", b"").partition(b";")[0]
            if kind in _PACKED:
                told[b"vary"] = b"Accept-Encoding"
                if self._coding is not None and int(told.get(b"content-length", _WORTH_IT)) >= _WORTH_IT:
                    self._packer = Packer(self._coding)
                    told[b"content-encoding"] = self._coding.encode()
                    told.pop(b"content-length", None)
            headers = [*told.items(), (b"x-request-id", self._request.encode()), *_ALWAYS]
            message = {**message, "headers": headers}
        elif self._packer is not None:
            more = message.get("more_body", False)
            message = {**message, "body": self._packer(message.get("body", b""), more)}
        await self._send(message)


def _is_clear(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether each header we rely on is given at most once. A proxy might have checked the other one."""
    names = [name for name, _ in headers]
    return all(names.count(name) <= 1 for name in _ONCE)


def _request_id(headers: dict[str, str]) -> str:
    """Return the caller's request id if it is one in which no word fits, otherwise a new one."""
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else secrets.token_hex(16)


class _Sent:
    """The body of a request, and whether more of it is to come. Waiting for more than that would never end."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.more = receive, True

    async def __call__(self) -> Message:
        """Return the next part."""
        message = await self._receive()
        self.more = bool(message.get("more_body", False))
        return message


async def _whole(receive: Receive, most: int) -> Receive:
    """Read a body of unknown length, up to the limit, and return a function that yields it again."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise _too_long(most)
    messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

    async def again() -> Message:
        return next(messages, None) or await receive()

    return again


async def _drain(receive: Receive) -> None:
    """Read some of a refused body, because most callers read the answer only after sending everything."""
    left = _DRAINED
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _too_slow() -> Problem:
    sentence = "the request took too long and was cancelled; send less at once, or try again later."
    return Problem(503, sentence, "too-slow")


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body is longer than the {most:,} bytes allowed.")
