"""The ASGI application: OpenAI's two text endpoints, veiled on the way to the upstream and restored on the way back.

Nothing is sent before everything in it is veiled, and any fault becomes an error. No request is ever passed on as it
came.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from wordveil import __version__
from wordveil.errors import OptionError, WordveilError
from wordveil.proxy.replies import Memory, Reply, Table
from wordveil.proxy.requests import write_chat, write_response
from wordveil.proxy.settings import Settings
from wordveil.text import Document, Veil
from wordveil.text.conversation import Writer, schema_names

__all__ = ["CONVERSATION", "create_app"]

_LOG = logging.getLogger("wordveil.proxy")

#: A header with which a caller can keep its conversations apart. It is not sent on.
CONVERSATION = "x-wordveil-conversation"

_CHAT, _RESPONSES, _MODELS = "/v1/chat/completions", "/v1/responses", "/v1/models"
_CANCEL_AGAIN = 1.0  # seconds; long enough for a stream to send its last event
_STOPPED = "the proxy is stopping; ask again."
_METHODS = {_CHAT: "POST", _RESPONSES: "POST", _MODELS: "GET", "/healthz": "GET"}
#: The only headers of the caller that are sent on, and the only ones of the upstream that come back.
_SENT = ("authorization", "api-key", "openai-organization", "openai-project", "openai-beta")
_RETURNED = ("x-request-id", "retry-after", "retry-after-ms", "openai-processing-ms", "openai-version")
_LIMITS = "x-ratelimit-"
_ERROR_BYTES, _EVENT_BYTES = 1 << 16, 1 << 22
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


class _Refused(Exception):  # noqa: N818 - an answer, not an error
    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers

    @property
    def body(self) -> bytes:
        kind = "invalid_request_error" if self.status < 500 else "api_error"
        told = {"message": self.sentence, "type": kind, "param": None, "code": "wordveil"}
        return orjson.dumps({"error": told})


def create_app(settings: Settings, veil: Veil) -> Proxy:
    """Make the application.

    Parameters
    ----------
    settings
        What the proxy does and allows.
    veil
        Veils the texts. It needs ``once="person"``: then the draws of a message follow from a secret of this process,
        the caller and the message, and a message sent again with the next turn is not drawn again.
    """
    if veil.once is None or veil.once.scope != "person":
        raise OptionError("the proxy needs a veil with once='person', or every turn would draw all messages again.")
    if veil.nonwords.identifiers != "placeholder" or veil.nonwords.numbers not in ("placeholder", "metric"):
        raise OptionError("the proxy needs a veil that replaces identifiers by placeholders.")
    return Proxy(settings, veil)


class Proxy:
    """An ASGI application."""

    def __init__(self, settings: Settings, veil: Veil) -> None:
        self._settings, self._veil = settings, veil
        self._memory = Memory()
        # One thread, because what a veil remembers of its draws is not safe to share.
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="wordveil-draw")
        self._busy = 0
        self._client: httpx.AsyncClient | None = None
        #: Limits on connections, for a server that enforces them.
        self.limits: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        started, status = time.perf_counter(), 500

        async def answer(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await asyncio.wait_for(send(message), self._settings.timeout)  # give up on callers who do not read

        self._busy += 1
        try:
            await self._respond(Request(scope, receive), scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - the server's own log would print its message
            _log_fault(error)
        finally:
            self._busy -= 1
            if self._settings.access_log:
                route = scope["path"] if scope["path"] in _METHODS else "other"
                _LOG.info("%s %d %.0f ms", route, status, 1000 * (time.perf_counter() - started))

    async def _respond(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(request, send)
        except _Refused as refused:
            await Response(refused.body, refused.status, refused.headers, "application/json")(scope, receive, send)
        except WordveilError as error:
            await Response(_Refused(400, str(error)).body, 400, None, "application/json")(scope, receive, send)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server is stopping and has waited long enough
            await Response(_Refused(503, _STOPPED).body, 503, None, "application/json")(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - its message might quote a text
            _log_fault(error)
            body = _Refused(500, "internal error; no original text was sent to the model.").body
            await Response(body, 500, None, "application/json")(scope, receive, send)

    async def _answer(self, request: Request, send: Send) -> None:
        path = self._checked(request)
        if path == "/healthz":
            await _whole(send, 200, [], orjson.dumps({"status": "ok", "version": __version__}))
            return
        body = None if path == _MODELS else await self._body(request)
        await _unless_gone(request.receive, self._ask(path, body, request, send))

    async def _ask(self, path: str, body: dict[str, Any] | None, request: Request, send: Send) -> None:
        """Ask the upstream and pass on its answer."""
        if body is None:
            async with _Upstream(self, request, "GET", "/models") as upstream:
                await _whole(send, 200, upstream.headers, orjson.dumps(await upstream.json()))
            return
        caller = self._caller(request, body)
        made, values = await self._veiled(path, caller, body)
        reply = Reply(caller, self._memory, values)
        async with _Upstream(self, request, "POST", path.removeprefix("/v1"), made) as upstream:
            if upstream.is_stream:
                await self._stream(upstream, reply, path, send)
            else:
                await _whole(send, 200, upstream.headers, orjson.dumps(reply.whole(await upstream.json())))

    def _checked(self, request: Request) -> str:
        """Check a request and return its path."""
        host = request.headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if "*" not in self._settings.hosts and name not in _LOOPBACK | set(self._settings.hosts):
            raise _Refused(421, "the proxy does not answer to this host name.")
        path = request.scope["path"]
        if path not in _METHODS:
            raise _Refused(404, f"the proxy knows only {', '.join(_METHODS)}.")
        if request.method != _METHODS[path]:
            raise _Refused(405, f"the method must be {_METHODS[path]}.", Allow=_METHODS[path])
        if request.scope.get("query_string"):
            raise _Refused(400, "the address must have no query, because a query cannot be veiled.")
        if self._busy > self._settings.requests and path != "/healthz":
            raise _Refused(503, "the proxy is busy; try again in a second.", **{"Retry-After": "1"})
        return str(path)

    async def _body(self, request: Request) -> dict[str, Any]:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # also keeps out the forms of other sites' pages
            raise _Refused(415, "send the body as application/json.")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise _Refused(415, "send the body without a content-encoding.")
        try:
            raw = await asyncio.wait_for(self._read(request), self._settings.timeout)
        except (asyncio.TimeoutError, TimeoutError):
            raise _Refused(408, "the request did not arrive in time.") from None
        try:
            body = _value(raw)
        except ValueError:
            raise _Refused(400, "the body is not valid JSON, or is nested too deeply.") from None
        if not isinstance(body, dict):
            raise _Refused(400, "the body must be a JSON object.")
        return body

    async def _read(self, request: Request) -> bytes:
        most, told = self._settings.body_bytes, request.headers.get("content-length", "0")
        too_long = _Refused(413, f"the body is longer than the {most:,} bytes allowed.", Connection="close")
        if not told.isdigit() or int(told) > most:
            raise too_long
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            if len(raw) > most:
                raise too_long
        return bytes(raw)

    def _caller(self, request: Request, body: dict[str, Any]) -> str:
        """Return an id of the caller. Only requests with the same id share draws."""
        told = [request.headers.get(name, "") for name in (*_SENT[:2], CONVERSATION)]
        named = [str(body.get(name) or "") for name in ("user", "safety_identifier")]
        return self._memory.hash(*told, *named).hex()

    async def _veiled(self, path: str, caller: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the body to send, with every text veiled, and what its placeholders stand for."""
        table, memory, restores = Table(), self._memory, self._settings.restore
        writer = Writer(
            self._settings.policy,
            schema_names([body.get("tools"), body.get("functions")]),
            lambda text, is_json: memory.has(caller, text, is_json=is_json),
        )

        def pseudonym(name: str) -> str:
            return f"wv-{memory.hash('name', name).hex()}"

        if path == _CHAT:
            made = write_chat(body, writer, pseudonym)
        else:
            made = write_response(body, writer, pseudonym, stateless=restores)
        texts = writer.texts

        def fill() -> None:  # all of it in the thread: to find what is numbered takes as long as to veil
            releases = self._veil.together([Document(text, scope=f"{caller} {text}") for text in texts])
            written = (
                table.numbered(text, release) if restores else release.text
                for text, release in zip(texts, releases, strict=True)
            )
            writer.fill(written, lambda text, is_json: memory.sent(caller, text, table, is_json=is_json))

        await asyncio.get_running_loop().run_in_executor(self._executor, fill)
        return made, table.values

    async def _stream(self, upstream: _Upstream, reply: Reply, path: str, send: Send) -> None:
        headers = [*upstream.headers, (b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async for name, data in upstream.events():
                for event in _restored(reply, path, data):
                    await send({"type": "http.response.body", "body": _event(name, event), "more_body": True})
            for event in reply.rest():  # if the stream ended without saying so
                await send({"type": "http.response.body", "body": _event(b"", event), "more_body": True})
        except asyncio.CancelledError:  # the caller has left, or the server is stopping
            told = orjson.loads(_Refused(503, _STOPPED).body)
            await send({"type": "http.response.body", "body": _event(b"error", {"type": "error", **told})})
        except Exception as error:  # noqa: BLE001 - a stream that just broke off would look complete
            _log_fault(error)
            told = orjson.loads(_Refused(502, "the model's answer broke off.").body)
            await send({"type": "http.response.body", "body": _event(b"error", {"type": "error", **told})})
        else:
            await send({"type": "http.response.body", "body": b""})

    def client(self) -> httpx.AsyncClient:
        """Return the client for the upstream. It ignores the environment and follows no redirects."""
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(self._settings.timeout, connect=min(10.0, self._settings.timeout)),
                limits=httpx.Limits(max_connections=self._settings.requests),
                follow_redirects=False,
                trust_env=False,
            )
        return self._client

    @property
    def settings(self) -> Settings:
        """What the proxy does and allows."""
        return self._settings

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await asyncio.to_thread(self._veil, "Some first words, zqxj and 12.", scope="")
                await send({"type": "lifespan.startup.complete"})
            else:
                if self._client is not None:
                    await self._client.aclose()
                self._executor.shutdown(wait=False, cancel_futures=True)
                await send({"type": "lifespan.shutdown.complete"})
                return


class _Upstream:
    """One request to the upstream and its answer."""

    def __init__(self, proxy: Proxy, request: Request, method: str, path: str, body: Any = None) -> None:
        self._settings = proxy.settings
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        headers |= {"accept-encoding": "identity", "user-agent": f"wordveil/{__version__}"}
        if body is not None:
            headers["content-type"] = "application/json"
        content = None if body is None else orjson.dumps(body)
        self._client = proxy.client()
        address = self._settings.upstream.rstrip("/") + path
        self._request = self._client.build_request(method, address, content=content, headers=headers)

    async def __aenter__(self) -> _Upstream:
        try:
            # httpx's time-outs start again with every read. This one covers everything until the answer begins.
            sending = self._client.send(self._request, stream=True)
            self._response = await asyncio.wait_for(sending, self._settings.timeout)
        except (asyncio.TimeoutError, TimeoutError, httpx.TimeoutException):
            raise _Refused(504, "the model did not answer in time.") from None
        except httpx.HTTPError:
            raise _Refused(502, "the model's address could not be reached.") from None
        if self._response.status_code != 200:
            try:
                await self._refuse()
            finally:
                await self._response.aclose()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The headers to pass on."""
        return [
            (name.lower(), value)
            for name, value in self._response.headers.raw
            if name.lower().decode("latin-1") in _RETURNED or name.lower().startswith(_LIMITS.encode())
        ]

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events."""
        return self._response.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def json(self) -> Any:
        """Return the whole answer."""
        try:
            return _value(await asyncio.wait_for(self._read(self._settings.reply_bytes), self._settings.timeout))
        except (asyncio.TimeoutError, TimeoutError, httpx.TimeoutException):
            raise _Refused(504, "the model did not answer in time.") from None
        except (ValueError, httpx.HTTPError):
            raise _Refused(502, "the model's answer was broken, too long, or not JSON.") from None

    async def events(self) -> AsyncIterator[tuple[bytes, Any]]:
        """Yield the name and data of each event. The data is a JSON value, or None for the end."""
        rest = b""
        async for piece in self._response.aiter_raw():
            rest = (rest + piece).replace(b"\r\n", b"\n")
            if len(rest) > _EVENT_BYTES:
                raise ValueError
            *events, rest = rest.split(b"\n\n")
            for event in events:
                for one in _parsed(event):
                    yield one
        for one in _parsed(rest):
            yield one

    async def _refuse(self) -> None:
        """Pass on an upstream error in the upstream's words, without logging its text or following redirects."""
        status = self._response.status_code
        _LOG.warning("the upstream answered %d", status)
        if not 400 <= status < 600:
            raise _Refused(502, "the model's address answered with a redirect or without content.")
        try:
            told = _value(await asyncio.wait_for(self._read(_ERROR_BYTES), self._settings.timeout))
        except (asyncio.TimeoutError, TimeoutError, ValueError, httpx.HTTPError):
            told = None
        raise _Passed(status, told, self.headers)

    async def _read(self, most: int) -> bytes:
        raw = bytearray()
        async for piece in self._response.aiter_raw():
            raw += piece
            if len(raw) > most:
                raise ValueError
        return bytes(raw)


class _Passed(_Refused):
    """An error from the upstream."""

    def __init__(self, status: int, told: Any, headers: list[tuple[bytes, bytes]]) -> None:
        super().__init__(
            status, "the model refused the request.", **{n.decode("latin-1"): v.decode("latin-1") for n, v in headers}
        )
        self._told = told

    @property
    def body(self) -> bytes:
        return super().body if self._told is None else orjson.dumps(self._told)


async def _unless_gone(receive: Receive, work: Awaitable[None]) -> None:
    """Answer a request. If its caller leaves, cancel the work and with it the upstream's answer."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
            return
        await _cancelled(working)
    except asyncio.CancelledError:
        await _cancelled(working)  # a stream that has begun reports that it breaks off
        if not working.cancelled():
            return
        raise
    finally:
        leaving.cancel()
        working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    raise ClientDisconnect


async def _cancelled(task: asyncio.Future[None]) -> None:
    """Cancel a task, and again until it ends.

    Before Python 3.12, `asyncio.wait_for` swallows a cancellation that arrives just as the wait is over.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_CANCEL_AGAIN)


async def _left(receive: Receive) -> None:
    """Return once the caller has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _value(raw: bytes) -> Any:
    """Parse JSON. Refuse a value nested so deeply that orjson could not write it again."""
    value = orjson.loads(raw)
    try:
        orjson.dumps(value)
    except TypeError:
        raise ValueError from None
    return value


async def _whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    told = [*headers, (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*told, (b"cache-control", b"no-store")]})
    await send({"type": "http.response.body", "body": body})


def _parsed(event: bytes) -> Iterator[tuple[bytes, Any]]:
    """Yield an event's name and data, or nothing for a comment."""
    lines = [line.partition(b":")[::2] for line in event.split(b"\n")]
    name = b"".join(value.strip() for field, value in lines if field == b"event")
    data = b"\n".join(value.removeprefix(b" ") for field, value in lines if field == b"data")
    if data:
        yield name, None if data == b"[DONE]" else _value(data)


def _restored(reply: Reply, path: str, data: Any) -> Iterator[Any]:
    if data is not None and not isinstance(data, dict):
        raise ValueError
    if data is None:
        yield from reply.rest()
        yield None
    elif path == _CHAT:
        yield reply.chunk(data)
    else:
        yield from reply.event(data)


def _event(name: bytes, data: Any) -> bytes:
    told = b"[DONE]" if data is None else orjson.dumps(data)
    kind = data.get("type") if name and isinstance(data, dict) else None
    named = b"event: " + kind.encode() + b"\n" if isinstance(kind, str) else b""
    return named + b"data: " + told + b"\n\n"


def _log_fault(error: Exception) -> None:
    """Log where an error happened, without its message, which might quote a text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    _LOG.error("%s in %s, line %d", type(error).__name__, last.name, last.lineno or 0)
