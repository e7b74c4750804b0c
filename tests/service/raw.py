"""Raw sockets to a service, and `wordveil serve` itself, whose processes, signals and log a test may look at."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Service
from tests.serving import PATIENCE, free_port, until


def connect(one: Service, address: str = "127.0.0.1") -> socket.socket:
    host, _, port = one.address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), PATIENCE, (address, 0))


def everything(connection: socket.socket) -> bytes:
    """Read until the other side closes."""
    told = b""
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            told += part
    return told


def problem_in(told: bytes) -> dict[str, Any]:
    head, _, body = told.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    problem: dict[str, Any] = json.loads(body)
    assert problem["type"] == f"urn:wordveil:problem:{problem['code']}"
    return problem


@contextmanager
def served(
    folder: Path, toy_file: Path, *settings: str, files: int | None = None
) -> Iterator[tuple[Service, Any, Path]]:
    """Run `wordveil serve`; give it, its process and its log."""
    port = free_port()
    (folder / "service.toml").write_text(f'spaces = ["{toy_file}"]\nport = {port}\n' + "\n".join(settings) + "\n")
    command = [sys.executable, "-m", "wordveil", "serve", "--config", str(folder / "service.toml")]
    log = folder / "log"
    if files is not None:  # by a shell: code of ours between fork and exec may hang in a process that has threads
        command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(files), *command]
    with log.open("wb") as told, subprocess.Popen(command, stderr=told) as process:
        one = Service(f"http://127.0.0.1:{port}")

        def is_ready() -> bool:
            assert process.poll() is None, log.read_text()
            with suppress(OSError):
                return one.get("/readyz").status == 200
            return False

        try:
            try:
                until(is_ready)
            except AssertionError:
                pytest.fail(f"the service was never ready; its log: {log.read_text()}")
            yield one, process, log
        finally:
            process.kill()
