"""``wordveil serve`` as people start and stop it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the service's tests need the extra serve")

from tests.service.streaming import streamed
from tests.serving import free_port, until
from wordveil import load_space, mechanism
from wordveil.cli import main
from wordveil.client import Client
from wordveil.errors import WordveilError
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
    assert "key" in err
    assert err.count("\n") == 1


def test_more_workers_than_a_machine_can_hold_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--workers", "100000")
    assert code == 2
    assert "100000" in err


def test_what_cannot_be_served_is_said_in_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = run(capsys, "--port", str(taken.getsockname()[1]))
        assert run(capsys, "--port", str(taken.getsockname()[1]), "--check")[0] == 0  # it may be running already
    assert (code, err.count("\n")) == (2, 1)
    assert "--port" in err
    for name, value, named in (
        ("SPACES", str(tmp_path / "nowhere.txt"), "nowhere.txt"),
        ("PROT", "80", "WORDVEIL_SERVE_PROT"),
        ("MECHANISMS", "nadp", "unproven"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(f"WORDVEIL_SERVE_{name}", value)
            code, _, err = run(capsys)
        assert (code, err.count("\n")) == (2, 1)
        assert named in err


def test_what_is_unproven_is_said_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--unproven", "--check")
    assert code == 0
    lacks = mechanism("nadp", load_space("glove-50k"), epsilon=4.0).shortfall
    assert lacks in err
    unproven = {"nadp", "jaccard", "remapped", "custext", "santext-plus", "tem-quotient", "hyperbolic-icdm19"}
    assert {line.split()[1] for line in err.splitlines()} == unproven
    assert run(capsys, "--check")[2] == ""


@pytest.mark.parametrize(("workers", "server"), [(1, "uvicorn.run"), (2, "wordveil.service.processes.serve")])
def test_its_processes_have_the_options_and_nobody_after_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workers: int, server: str
) -> None:
    file = tmp_path / "service.toml"
    file.write_text("largest_epsilon = 5.0\n", encoding="utf-8")
    monkeypatch.setenv("WORDVEIL_SERVE_PORT", "9")
    before, handler, port = dict(os.environ), signal.getsignal(signal.SIGTERM), free_port()
    seen: list[Settings] = []

    def run_server(*_: object, **__: object) -> None:
        seen.append(Settings.load())
        assert {"WORDVEIL_RUN_FOLDER", "WORDVEIL_RUN_SECRET"} <= set(os.environ)
        if workers > 1:
            metrics = Path(os.environ["WORDVEIL_RUN_FOLDER"], "metrics")
            assert metrics.samefile(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        else:
            signal.raise_signal(signal.SIGTERM)  # as the server does when it has stopped

    monkeypatch.setattr(server, run_server)
    assert run(capsys, "--config", str(file), "--port", str(port), "--workers", str(workers))[0] == 0
    assert [(one.port, one.workers, one.largest_epsilon) for one in seen] == [(port, workers, 5.0)]
    assert (dict(os.environ), signal.getsignal(signal.SIGTERM)) == (before, handler)


def answers(address: str) -> bool:
    try:
        return bool(Client(address).call("/v1/mechanisms"))
    except WordveilError:
        return False


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "wordveil", "serve", "--port", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: server.poll() is not None or answers(address))
        assert server.poll() is None
        yield server, address
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
        server.send_signal(signal.SIGHUP)  # as if its terminal were closed
        out, _ = server.communicate(timeout=60)
        assert server.returncode == 0
        assert "surgeon" not in out
        assert "Traceback" not in out


_SLOW = """
import sys, time
import wordveil.service.state
from wordveil.cli import main

def make(*_, **__):
    print("making", flush=True)
    time.sleep(600)

wordveil.service.state.mechanism = make
main(["serve", "--port", sys.argv[1]])
"""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_one_that_is_stopped_while_it_makes_a_mechanism_does_not_wait_for_it(told: signal.Signals) -> None:
    command = [sys.executable, "-c", _SLOW, str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "making\n"
            server.send_signal(told)
            _, err = server.communicate(timeout=60)
        finally:
            server.kill()
    assert (server.returncode, "Traceback" in err) == (0, False)


def test_a_long_stream_takes_constant_memory_under_settings_of_the_environment() -> None:
    def most_memory(process: int) -> int:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024

    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc, which is not there")
    environment = {"MECHANISMS": "graph,laplace", "LARGEST_EPSILON": "5", "ACCESS_LOG": "true"}
    with serving(**{f"WORDVEIL_SERVE_{name}": value for name, value in environment.items()}) as (server, address):
        told = Client(address).call("/v1/mechanisms")
        assert [(one["name"], one["largest_epsilon"]) for one in told] == [("graph", 5.0), ("laplace", 5.0)]
        line = "the sea" + " ." * 20_000
        for count in (40, 800):  # 32 MB; the first few warm it up
            before = most_memory(server.pid)
            assert sum("text" in one for one in streamed(address, (line for _ in range(count)))) == count
        assert most_memory(server.pid) - before < 16
        server.send_signal(signal.SIGTERM)
        out, _ = server.communicate(timeout=60)
    assert out.count("POST /v1/privatize/stream 200") == 2
    assert "sea" not in out
