"""Bounds on what a connection may do before there is a request: header bytes, time, idleness, and how many there are.

uvicorn's protocol on httptools is fast, but has no such bounds: an endless header is gathered with quadratic work, and
a connection that never finishes its header is kept for ever. The parsing stays uvicorn's; here it is only watched.
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

#: In a request's scope: drops its connection at once, with what was not sent yet.
ABORT = "wordveil.abort"
_RESERVED = 64  # descriptors for everything but connections: files, ledgers, the other processes

# uvicorn tells of every malformed request; ours are told as refusals, a line a second.
_LOG = logging.getLogger("wordveil.server")
_LOG.addFilter(lambda record: "Invalid HTTP request" not in record.getMessage())


class Limits:
    """Limits on the connections of a process: how many, from which addresses, and what each may do."""

    def __init__(self, settings: Settings) -> None:
        self.header_bytes, self.header_seconds = settings.header_bytes, settings.header_seconds
        self.idle_seconds = settings.idle_seconds
        self._most = max(1, min(settings.connections, _descriptors(settings.connections) - _RESERVED))
        self._most_of_one = settings.connections_per_address
        self._of, self._all = Counter[str](), 0

    def admit(self, address: str) -> bool:
        """Count a connection in; say whether there may be one more, and one more of this address."""
        self._of[address] += 1
        self._all += 1
        CONNECTIONS.inc()
        return self._all <= self._most and self._of[address] <= self._most_of_one

    def leave(self, address: str) -> None:
        """Count a connection out."""
        CONNECTIONS.dec()
        self._all -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]


def _household(address: str) -> str:
    """Return what counts as one address: for IPv6 the 64-bit network, because its owner has every address in it."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a socket of this machine
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return address


def _descriptors(wanted: int) -> int:
    """Return how many descriptors this process may have; as many as are wanted, if the system allows it."""
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
    """uvicorn's connection, within the limits of the application."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.logger = _LOG
        self._limits: Limits = self.app.limits  # our own application has them
        self.timeout_keep_alive = self._limits.idle_seconds
        self._late: TimerHandle | None = None
        self._address = ""
        self._is_over = False
        self._silent = 0  # bytes since the parser last got anywhere
        self._got_on = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Refuse a connection that is one too many; drop one that asks for nothing in time."""
        super().connection_made(transport)
        self._address = _household(self.client[0] if self.client else "")
        if self._limits.admit(self._address):
            self._arm()
        else:
            self._end(Problem(503, "there are too many connections; try again later.", "too-many-connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it out."""
        self._disarm()
        self._limits.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Give the parser what it may have: a header, or what is between the parts of a body, of bounded length."""
        if self._is_over:
            return
        most = self._limits.header_bytes
        first, rest = data[: most - self._silent], data[most - self._silent :]
        self._feed(first)
        if rest and not self._is_over:
            if self._silent >= most:
                self._end(Problem(431, f"the header is longer than the {most:,} bytes allowed."))
                return
            self._feed(rest)
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()  # the next request has begun, or what is left of the last one trickles in

    def _feed(self, data: bytes) -> None:
        self._got_on = False
        super().data_received(data)
        self._silent = 0 if self._got_on else self._silent + len(data)

    def on_message_begin(self) -> None:
        """Let the application drop the connection."""
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]  # with a key of ours
        scope[ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """Stop the clock: from here on the application keeps the time."""
        self._got_on = True
        self._disarm()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See that it gets on."""
        self._got_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See that it gets on."""
        self._got_on = True
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; one that does not take its answer at once."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours never quotes
        """Tell a parser's error like any other problem."""
        self._end(Problem(400, "this is not a valid HTTP request.", "malformed-request"))

    def _unsupported_upgrade_warning(self) -> None:
        pass  # the request is answered as if it had not asked

    def _arm(self) -> None:
        self._late = self.loop.call_later(self._limits.header_seconds, self._too_late)

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self._silent:
            self._end(Problem(408, "the request did not arrive in time."))
        else:  # it asked for nothing, so it is told nothing
            note_refusal("request-timeout", "connection")
            self.transport.close()

    def _end(self, problem: Problem) -> None:
        """Tell what is wrong, unless an answer is being written, and close."""
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
    """Return a whole answer, for where there is no request."""
    made = problem_response(problem)
    headers = [(name, value) for name, value in made.raw_headers if name != CODE.encode()]
    lines = [b"%s: %s" % pair for pair in [*headers, (b"connection", b"close")]]
    start = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}".encode()
    return b"\r\n".join([start, *lines, b"", made.body])
