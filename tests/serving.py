"""A real server for any application, on a free port of this machine, in a thread."""

from __future__ import annotations

import asyncio
import pkgutil
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn

PATIENCE = 60.0  # seconds for what takes a fraction of one, unless the machine is very busy
GRACE = 30  # seconds for requests in progress when a server is stopped


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def noting_threads(patch: pytest.MonkeyPatch, *places: str) -> list[bool]:
    """Note of each call of these functions whether it is in a thread of its own, and holds up no other request."""
    noted: list[bool] = []

    def noting(work: Callable[..., Any]) -> Callable[..., Any]:
        def do(*given: Any, **named: Any) -> Any:
            try:
                asyncio.get_running_loop()
                noted.append(False)
            except RuntimeError:
                noted.append(True)
            return work(*given, **named)

        return do

    for place in places:
        patch.setattr(place, noting(pkgutil.resolve_name(place)))
    return noted


def free_port() -> int:
    """Choose a port from below the range out of which the system serves others, who might take it in between.

    Out of that range somebody who knocks before a service listens may be given the same port, and talk to themselves.
    """
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with suppress(OSError):
            socket.create_server(("127.0.0.1", port)).close()
            return port


@contextmanager
def serving(app: Any, **more: Any) -> Iterator[str]:
    """Serve an ASGI application until the end of the block, at the address that is returned; `more` goes to uvicorn."""
    # A socket of ours, not a port that was free a moment ago: nobody else can take it in between.
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=GRACE, **more)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        assert thread.is_alive(), "the server did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
    assert not thread.is_alive()
