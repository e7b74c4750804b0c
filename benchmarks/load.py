"""A lean load generator: HTTP/1.1 with keep-alive on raw sockets, to use little of the machine it measures."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Outcome", "at_rate", "flat_out"]


@dataclass
class Outcome:
    """What came back."""

    seconds: float = 0.0  # how long it took in all
    times: list[float] = field(default_factory=list)  # how long each good answer took, from when it was due
    refused: int = 0  # 503 answers with Retry-After
    errors: int = 0  # anything else: another status, a 503 without Retry-After, a broken connection

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return len(self.times) / self.seconds

    def percentile(self, percent: float) -> float:
        """Return a percentile of the times, in milliseconds."""
        return 1000.0 * float(np.percentile(self.times, percent)) if self.times else float("nan")


def _request(text: str, port: int) -> bytes:
    body = json.dumps({"text": text, "epsilon": 6.0}).encode()
    head = f"POST /v1/privatize HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Connection(asyncio.Protocol):
    """One connection, with at most one request in progress."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._received = b""
        self._due = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, request: bytes, due: float) -> None:
        assert self._transport is not None
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        lowered = head.lower()
        length = int(lowered.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        self._received = b""
        status = head[9:12]
        if status == b"200":
            self._load.outcome.times.append(time.perf_counter() - self._due)
        elif status == b"503" and b"retry-after:" in lowered:
            self._load.outcome.refused += 1
        else:
            self._load.outcome.errors += 1
        self._load.free(self)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the form that asyncio wants
        if not self._load.over:
            self._load.replace(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _Load:
    """Connections, and requests that wait for one."""

    def __init__(self, port: int, texts: Sequence[str]) -> None:
        self._port = port
        self._requests = [_request(text, port) for text in texts]
        self._number = 0
        self._idle: deque[_Connection] = deque()
        self._due: deque[float] = deque()
        self._all: list[_Connection] = []
        self.outcome = Outcome()
        self.over = False
        self.again = False

    async def connect(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self._port)
            self._all.append(connection)
            self._idle.append(connection)

    def send(self, due: float) -> None:
        """Send the next request now, or as soon as a connection is free."""
        if self._idle:
            self._number = (self._number + 1) % len(self._requests)
            self._idle.popleft().send(self._requests[self._number], due)
        else:
            self._due.append(due)

    def free(self, connection: _Connection) -> None:
        self._idle.append(connection)
        if self.over:
            return
        if self.again:
            self.send(time.perf_counter())
        elif self._due:
            self.send(self._due.popleft())

    def replace(self, lost: _Connection) -> None:
        """Count a broken connection, and open another."""
        self.outcome.errors += 1
        self._all.remove(lost)
        if lost in self._idle:
            self._idle.remove(lost)
        self._opening = asyncio.get_running_loop().create_task(self.connect(1))

    @property
    def unanswered(self) -> int:
        return len(self._all) - len(self._idle)

    async def finish(self, started: float) -> Outcome:
        self.outcome.seconds = time.perf_counter() - started
        self.over = True
        for _ in range(200):  # answers may still arrive
            if not self.unanswered:
                break
            await asyncio.sleep(0.05)
        self.outcome.errors += self.unanswered
        for connection in self._all:
            connection.close()
        return self.outcome


async def flat_out(port: int, texts: Sequence[str], connections: int, seconds: float) -> Outcome:
    """Send a request on every connection as soon as the last one was answered."""
    load = _Load(port, texts)
    await load.connect(connections)
    load.again = True
    started = time.perf_counter()
    for _ in range(connections):
        load.send(time.perf_counter())
    await asyncio.sleep(seconds)
    return await load.finish(started)


async def at_rate(port: int, texts: Sequence[str], rate: float, seconds: float, connections: int = 1024) -> Outcome:
    """Send this many requests per second, answered or not. The time of a late one counts from when it was due."""
    load = _Load(port, texts)
    await load.connect(connections)
    started = time.perf_counter()
    sent = 0
    while (now := time.perf_counter() - started) < seconds:
        while sent < now * rate:
            load.send(started + sent / rate)
            sent += 1
        await asyncio.sleep(0.001)
    return await load.finish(started)
