"""``wordveil serve`` as people start and stop it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the service's tests need the extra serve")

from wordveil.cli import main
from wordveil.client import Client
from wordveil.service import Settings
from wordveil.service.keys import hash_key


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["serve", *arguments])
    printed = capsys.readouterr()
    return int(str(caught.value.code)), printed.out, printed.err


def test_a_key_is_shown_once_with_what_to_configure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "--new-key", "analyst")
    assert code == 0
    key = re.findall(r"wv_\S+", out)[0]
    file = tmp_path / "service.toml"
    file.write_text(out.partition("For the settings:")[2], encoding="utf-8")
    (told,) = Settings.load(file, {}).keys
    assert told.name == "analyst"
    assert told.hash == hash_key(key)
    assert run(capsys, "--config", str(file), "--host", "0.0.0.0", "--check")[0] == 0  # noqa: S104
    assert run(capsys, "--new-key", "An Analyst")[0] == 2


def test_a_public_address_without_a_key_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--host", "0.0.0.0")  # noqa: S104 - that is the point
    assert code == 2
    assert "configure a key first" in err
    assert err.count("\n") == 1


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "wordveil", "serve", "--port", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    client = Client(f"http://127.0.0.1:{port}")
    try:
        for _ in range(300):
            try:
                client.mechanisms()
                break
            except ValueError:
                assert server.poll() is None
                time.sleep(0.1)
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.communicate()


def test_two_processes_share_jobs_and_figures_and_stop_when_told() -> None:
    with serving("--workers", "2") as (server, address):
        client = Client(address)
        for _ in range(30):
            client.privatize("The surgeon sails.", epsilon=3.0)
        assert client.calibrate(epsilons=[3.0], words=50, adversary_words=50)["measurements"]
        from urllib.request import urlopen

        with urlopen(f"{address}/metrics") as answer:  # noqa: S310 - our own server
            figures = answer.read().decode()
        assert 'wordveil_requests_total{route="/v1/privatize",status="200"} 30.0' in figures
        server.send_signal(signal.SIGTERM)
        out, _ = server.communicate(timeout=30)
        assert "surgeon" not in out
        assert "Traceback" not in out


def test_a_long_stream_takes_constant_memory_under_settings_of_the_environment() -> None:
    def most_memory(process: int) -> int:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024

    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc, which is not there")
    with serving(WORDVEIL_SERVE_MECHANISMS="graph,laplace", WORDVEIL_SERVE_LARGEST_EPSILON="5") as (server, address):
        client = Client(address)
        told = client.mechanisms()
        assert [(one["name"], one["largest_epsilon"]) for one in told] == [("graph", 5.0), ("laplace", 5.0)]
        line = "the sea" + " ." * 20_000
        for count in (40, 800):  # 32 MB; the first few warm it up
            before = most_memory(server.pid)
            assert sum(1 for _ in client.stream((line for _ in range(count)), epsilon=3.0)) == count
        assert most_memory(server.pid) - before < 16
