"""Limits on connections before there is a request: header bytes, time, idleness, and how many there may be.

uvicorn's httptools protocol is fast but has no such limits: it gathers an endless header with quadratic work, and keeps
a connection for ever that never finishes its header. uvicorn still parses; this module only watches.
"""

from __future__ import annotations

import ipaddress
import logging
import sys
from asyncio import Transport
from asyncio.events import TimerHandle
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from wordveil.service.metrics import CONNECTIONS, note_refusal
from wordveil.service.problems import CODE, Problem, problem_response
from wordveil.service.settings import Settings

if sys.platform != "win32":
    import resource

__all__ = ["ABORT", "Connection", "Limits"]

#: Key in a request's scope: a function that drops the connection at once, with whatever was not sent yet.
ABORT = "wordveil.abort"
_RESERVED = 64  # file descriptors for everything but connections: files, ledgers, the other processes

# uvicorn logs every malformed request. We log them as refusals, at most one line a second.
_LOG = logging.getLogger("wordveil.server")
_LOG.addFilter(lambda record: "Invalid HTTP request" not in record.getMessage())


class Limits:
    """Limits on the connections of a process: how many in all, how many per address, and what each may do."""

    def __init__(self, settings: Settings) -> None:
        self.header_bytes, self.header_seconds = settings.header_bytes, settings.header_seconds
        self.idle_seconds = settings.idle_seconds
        self._most = max(1, min(settings.connections, _descriptors(settings.connections) - _RESERVED))
        self._most_of_one = settings.connections_per_address
        self._of, self._all = Counter[str](), 0

    def admit(self, address: str) -> bool:
        """Count a new connection. Return whether it is within the limits, in all and for this address."""
        self._of[address] += 1
        self._all += 1
        CONNECTIONS.inc()
        return self._all <= self._most and self._of[address] <= self._most_of_one

    def leave(self, address: str) -> None:
        """Count a connection that has closed."""
        CONNECTIONS.dec()
        self._all -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]


def _household(address: str) -> str:
    """Return what counts as one address. For IPv6 that is the /64 network, all of which one owner can use."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a Unix socket
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return address


def _descriptors(wanted: int) -> int:
    """Return how many file descriptors this process may have, after raising the limit as far as needed and allowed."""
    if sys.platform == "win32":
        return wanted + _RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + 2 * _RESERVED
    if soft == resource.RLIM_INFINITY or soft >= enough:
        return enough
    most = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


class Connection(HttpToolsProtocol):
    """uvicorn's connection, within our limits."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.logger = _LOG
        self._limits: Limits = self.app.limits  # our application has them
        self.timeout_keep_alive = self._limits.idle_seconds
        self._late: TimerHandle | None = None
        self._address = ""
        self._is_over = False
        self._unparsed = 0  # bytes since the parser last finished a header or a part of a body
        self._progressed = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Refuse a connection above the limits. Drop one that sends no request in time."""
        super().connection_made(transport)
        self._address = _household(self.client[0] if self.client else "")
        if self._limits.admit(self._address):
            self._arm()
        else:
            self._end(Problem(503, "there are too many connections; try again later.", "too-many-connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection out."""
        self._disarm()
        self._limits.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, but no more than `header_bytes` of a header or of framing between parts of a body."""
        if self._is_over:
            return
        most = self._limits.header_bytes
        first, rest = data[: most - self._unparsed], data[most - self._unparsed :]
        self._feed(first)
        if rest and not self._is_over:
            if self._unparsed >= most:
                self._end(Problem(431, f"the header is longer than the {most:,} bytes allowed."))
                return
            self._feed(rest)
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()  # the next request has begun, or the rest of the last one trickles in

    def _feed(self, data: bytes) -> None:
        self._progressed = False
        super().data_received(data)
        self._unparsed = 0 if self._progressed else self._unparsed + len(data)

    def on_message_begin(self) -> None:
        """Give the application a way to drop the connection."""
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]  # with a key of ours
        scope[ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """Stop the clock: from here on, the application limits the time."""
        self._progressed = True
        self._disarm()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note the progress."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the progress."""
        self._progressed = True
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, at once if the client does not read its answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - our answer never quotes
        """Answer a parser's error like any other problem."""
        self._end(Problem(400, "this is not a valid HTTP request.", "malformed-request"))

    def _unsupported_upgrade_warning(self) -> None:
        pass  # answer the request as if it had not asked for an upgrade

    def _arm(self) -> None:
        self._late = self.loop.call_later(self._limits.header_seconds, self._too_late)

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self._unparsed:
            self._end(Problem(408, "the request did not arrive in time."))
        else:  # it sent nothing, so it gets no answer
            note_refusal("request-timeout", "connection")
            self.transport.close()

    def _end(self, problem: Problem) -> None:
        """Answer with a problem, unless an answer is already being written, and close."""
        self._is_over = True
        self._disarm()
        note_refusal(problem.code, "connection")
        running = self.cycle is not None and not self.cycle.response_complete
        if not (running and self.cycle.response_started):
            self.transport.write(_answer(problem))
        if running:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(self._limits.header_seconds, self.transport.abort)
        self.transport.close()


def _answer(problem: Problem) -> bytes:
    """Return the bytes of a whole answer, for when there is no request to answer."""
    made = problem_response(problem)
    headers = [(name, value) for name, value in made.raw_headers if name != CODE.encode()]
    lines = [b"%s: %s" % pair for pair in [*headers, (b"connection", b"close")]]
    start = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}".encode()
    return b"\r\n".join([start, *lines, b"", made.body])
