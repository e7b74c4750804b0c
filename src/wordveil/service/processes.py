"""Several processes behind one socket. One that ends is replaced at once, while callers wait in the socket's queue.

uvicorn's own supervisor checks one process after another, waits a minute for each that does not answer, and replaces no
dead ones meanwhile. Here the operating system reports at once which process has ended.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from wordveil.errors import WordveilError

__all__ = ["end_with_parent", "hangup_as_sigterm", "is_running", "serve"]

_BEAT, _SILENT = 5.0, 60.0  # seconds between heartbeats, and without one until a process counts as hung
_BETWEEN = 1.0  # seconds at least between two starts of a process
_AGAIN = 10.0  # seconds until the next try after a failed start, while others answer
_TICK = 0.5  # seconds between checks whether to stop
_STARTED = b"+"

_LOG = logging.getLogger("wordveil.service")
_SPAWN = multiprocessing.get_context("spawn")


def is_running(process: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


def end_with_parent(number: int) -> None:
    """Send this process a signal when its parent has ended, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os.kill(os.getpid(), number)

        threading.Thread(target=follow, daemon=True).start()


@contextmanager
def hangup_as_sigterm() -> Iterator[None]:
    """Let the end of the terminal (SIGHUP) stop a service like SIGTERM, unless SIGHUP is ignored (``nohup``)."""
    hangup = getattr(signal, "SIGHUP", None)  # there is none on Windows
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(hangup, before)


def serve(options: dict[str, Any], workers: int) -> None:
    """Run several servers on one address, until SIGTERM or Ctrl-C.

    Parameters
    ----------
    options
        Arguments of `uvicorn.Config`, as plain values.
    workers
        How many processes to run.

    Raises
    ------
    WordveilError
        If a process cannot start, or another service listens on the address.
    """
    config = uvicorn.Config(**options)
    listening = config.bind_socket()
    try:
        listening.listen(config.backlog)  # now: two starting services could both bind, and one would never be reached
    except OSError:
        listening.close()
        raise WordveilError("another service listens on this address; choose another `port` or `host`.") from None
    try:
        family = _Family(options, listening, workers)
        family.run()
    finally:
        listening.close()
    if family.has_failed:
        raise WordveilError("a process of the service could not be started; the lines above say why.")


class _Member:
    """One process."""

    def __init__(self, options: dict[str, Any], listening: socket.socket) -> None:
        self.begun = self._heard = time.monotonic()
        self.ends, self.has_started = 0, False
        self._life, theirs = _SPAWN.Pipe(duplex=False)
        self.process: SpawnProcess = _SPAWN.Process(target=_answer, args=(options, listening, theirs))
        self.process.start()
        theirs.close()

    @property
    def has_failed(self) -> bool:
        """Whether it ended by itself before it could answer anything. Another would fail in the same way."""
        return not self.has_started and (self.process.exitcode or 0) > 0

    def listen(self) -> None:
        """Read heartbeats. Kill the process if there was none for long."""
        with suppress(EOFError, OSError):
            while self._life.poll():
                self.has_started |= self._life.recv_bytes() == _STARTED
                self._heard = time.monotonic()
        if time.monotonic() - self._heard > _SILENT:
            self.process.kill()

    def spare(self) -> None:
        """Restart the wait for its next heartbeat."""
        self._heard = time.monotonic()

    def close(self) -> None:
        """Clean up after a process that has ended."""
        self.process.join()
        self.listen()
        self._life.close()
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            mark_process_dead(self.process.pid)  # type: ignore[no-untyped-call]


class _Family:
    """All processes."""

    def __init__(self, options: dict[str, Any], listening: socket.socket, workers: int) -> None:
        self._options, self._listening, self._workers = options, listening, workers
        self._members: list[_Member] = []
        self._ends = 0  # how often we were asked to stop
        self._next_start = 0.0
        self._looked = time.monotonic()
        self.has_failed = False

    def run(self) -> None:
        """Keep them running until we are asked to stop, then wait for them to end."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not self._ends:
                while len(self._members) < self._workers and time.monotonic() >= self._next_start:
                    self._members.append(_Member(self._options, self._listening))
                self._wait()
            while self._members:
                self._wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wait(self) -> None:
        """Pass on requests to stop, wait a moment for processes to end, and clean up after those that did."""
        for one in self._members:
            while one.ends < self._ends:
                one.process.terminate()
                one.ends += 1
        ended = wait([one.process.sentinel for one in self._members], _TICK)
        gone = [one for one in self._members if one.process.sentinel in ended]
        self._members = [one for one in self._members if one not in gone]
        now = time.monotonic()
        was_paused, self._looked = now - self._looked > _BEAT, now  # and the others most likely were paused, too
        for one in self._members:
            if was_paused:
                one.spare()
            one.listen()
        for one in gone:
            one.close()
        if not gone or self._ends:
            return
        has_failed = any(one.has_failed for one in gone)
        if has_failed and not any(one.has_started for one in self._members):
            self._ends, self.has_failed = 1, True
            return
        for one in gone:
            _LOG.error("process %d ended (%d); another takes its place", one.process.pid, one.process.exitcode)
        # Do not keep restarting one that cannot live: that would slow down those that answer.
        self._next_start = max(max(one.begun for one in gone) + _BETWEEN, time.monotonic() + _AGAIN * has_failed)

    def _end(self, *_: Any) -> None:
        # Passed on a moment later: Ctrl-C reaches all processes at once and must not arrive after our signal.
        self._ends += 1


def _answer(options: dict[str, Any], listening: socket.socket, life: Connection) -> None:
    """Run one server: the main function of each process."""
    end_with_parent(signal.SIGTERM)
    server = uvicorn.Server(uvicorn.Config(**options))
    threading.Thread(target=_beat, args=(server, life), daemon=True).start()
    with suppress(KeyboardInterrupt), hangup_as_sigterm():
        server.run(sockets=[listening])
    if not server.started:
        sys.exit(1)


def _beat(server: uvicorn.Server, life: Connection) -> None:
    """Send heartbeats, more often until the server has started."""
    with suppress(OSError):
        while True:
            life.send_bytes(_STARTED if server.started else b"-")
            time.sleep(_BEAT if server.started else 0.1)
