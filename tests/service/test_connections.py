"""Hostile and careless connections, with raw sockets against a real server."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.service.conftest import Service, running
from tests.service.raw import connect, everything, problem_in, served
from tests.serving import PATIENCE, until
from wordveil.service import Settings
from wordveil.service.keys import hash_key, new_key

#: Two requests or one, by which of the lengths somebody believes.
SMUGGLED = (
    b"POST /v1/privatize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
)
QUICK = {"header_seconds": 0.3, "idle_seconds": 0.3}


@pytest.fixture
def strict(toy_file: Path) -> Iterator[Service]:
    with running(Settings(spaces=(str(toy_file),), connections=20, connections_per_address=12, **QUICK)) as one:
        yield one


def test_an_endless_header_is_refused_and_others_are_answered(strict: Service) -> None:
    with ExitStack() as stack:
        open_ones = [stack.enter_context(connect(strict)) for _ in range(3)]
        for one in open_ones:
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: ")
        for _ in range(40):
            for one in open_ones:
                with suppress(OSError):
                    one.sendall(b"a" * 4096)
        assert strict.get("/healthz").status == 200
        told = b""
        with suppress(OSError):
            told = everything(open_ones[0])
    # What was still being sent may have reset the connection, and the answer with it.
    assert told == b"" or problem_in(told)["code"] == "header-too-large"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"GET /" + b"a" * 20_000, "header-too-large"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4000, "header-too-large"),
        (b"nonsense\r\n\r\n", "malformed-request"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n", "malformed-request"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", "malformed-request"),
        (
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "malformed-request",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
            "malformed-request",
        ),
        (SMUGGLED, "malformed-request"),
        (b"GET / HTT", "request-timeout"),
        (b"\r\n", "request-timeout"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "request-timeout"),
    ],
)
def test_what_is_no_request_is_told_and_closed(strict: Service, sent: bytes, code: str) -> None:
    with connect(strict) as one:
        one.sendall(sent)
        assert problem_in(everything(one))["code"] == code


def test_endless_trailers_and_chunk_extensions_are_refused(strict: Service) -> None:
    begun = b"POST /v1/privatize/stream?epsilon=2 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    for endless in (b"0\r\nx-endless: ", b"5;x="):
        with connect(strict) as one:
            one.sendall(begun + b"Transfer-Encoding: chunked\r\n\r\n" + endless)
            with suppress(OSError):
                for _ in range(100):
                    one.sendall(b"a" * 4096)
            with suppress(OSError):
                everything(one)
    assert strict.get("/healthz").status == 200


def test_silent_and_idle_connections_are_dropped(strict: Service) -> None:
    with connect(strict) as silent, connect(strict) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert everything(silent) == b""
        assert everything(idle).endswith(b"ok")
    with connect(strict) as trickling:  # half a header after a whole request
        trickling.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert trickling.recv(1 << 16).endswith(b"ok")
        trickling.sendall(b"GET")
        assert problem_in(everything(trickling))["code"] == "request-timeout"


def test_one_address_cannot_take_all_connections(strict: Service) -> None:
    with ExitStack() as stack:
        kept = http.client.HTTPConnection(strict.address.removeprefix("http://"), timeout=PATIENCE)
        stack.callback(kept.close)
        kept.request("GET", "/healthz")
        assert kept.getresponse().read() == b"ok"
        of_one = [stack.enter_context(connect(strict)) for _ in range(12)]
        refused = problem_in(everything(of_one[-1]))
        assert (refused["status"], refused["code"]) == (503, "too-many-connections")
        kept.request("GET", "/healthz")  # who was there before is served
        assert kept.getresponse().read() == b"ok"
        with connect(strict, "127.0.0.2") as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert everything(other).endswith(b"ok")


def test_an_answer_that_nobody_takes_does_not_keep_its_connection(toy_file: Path) -> None:
    settings = Settings(spaces=(str(toy_file),), timeout=0.5, words=400_000, body_bytes=8 << 20, **QUICK)
    with running(settings) as one, connect(one) as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps({"text": "zqa zqb " * 150_000, "epsilon": 2.0, "once": "record"}).encode()
        ask = b"POST /v1/privatize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        greedy.sendall(ask + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: one.get("/metrics").body.count(b"wordveil_connections 1.0\n") == 1)


# A service of its own: signals, descriptors and its log.


def test_at_the_limit_of_descriptors_users_are_served_and_the_log_says_so(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, files=160) as (one, process, log), ExitStack() as stack:
        kept = http.client.HTTPConnection(one.address.removeprefix("http://"), timeout=PATIENCE)
        stack.callback(kept.close)
        kept.request("GET", "/healthz")
        assert kept.getresponse().read() == b"ok"
        for _ in range(300):
            stack.enter_context(connect(one))
        kept.request("POST", "/v1/privatize", b'{"text": "zqa", "epsilon": 2}', {"Content-Type": "application/json"})
        assert kept.getresponse().status == 200
        until(lambda: "too-many-connections" in log.read_text())
        assert process.poll() is None


def test_a_service_that_is_stopped_is_first_not_ready_then_ends_its_streams(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, "drain = 1.0", "shutdown = 20.0") as (one, process, log):
        with connect(one) as stream:
            stream.sendall(
                b"POST /v1/privatize/stream?epsilon=2 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: application/x-ndjson\r\n\r\n"
            )
            stream.sendall(b'10\r\n{"text": "zqa"}\n\r\n')
            told = b""
            while b'"text"' not in told:
                told += stream.recv(1 << 16)
            os.kill(process.pid, signal.SIGTERM)
            until(lambda: one.get("/readyz").status == 503)
            refused = one.get("/readyz")
            assert (refused.json["code"], refused.headers["retry-after"]) == ("not-ready", "1")
            assert one.post("/v1/privatize", {"text": "zqa", "epsilon": 2.0}).status == 200  # meanwhile it answers
            rest = everything(stream)
        assert b'"code":"stopping"' in rest
        assert rest.endswith(b"0\r\n\r\n")  # and the answer is whole
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in log.read_text()


def test_processes_share_draws_rates_and_figures(tmp_path: Path, toy_file: Path) -> None:
    key = new_key()
    settings = (
        "workers = 2",
        f'metrics_hash = "{hash_key("m")}"',
        "[[keys]]",
        'name = "ann"',
        f'hash = "{hash_key(key)}"',
    )
    with served(tmp_path, toy_file, *settings, "rate = 2.4") as (one, _, _):
        body = {"text": "zqa zqb zqc zqd zqe zqf zqg zqh zqi zqj zqk zql", "epsilon": 0.5, "conversation": "c"}

        def figures() -> set[str]:
            told = one.get("/metrics", authorization="Bearer m").body.decode()
            return set(re.findall(r'process_open_fds{pid="(\d+)"}', told))

        until(lambda: len(figures()) == 2)
        answers = [one.post("/v1/privatize", body, authorization=f"Bearer {key}") for _ in range(30)]
        veiled = {answer.json["results"][0]["text"] for answer in answers if answer.status == 200}
        assert len(veiled) == 1
        assert 24 <= sum(answer.status == 200 for answer in answers) < 30  # ten seconds' worth, and what came since


def test_requests_that_outlast_the_grace_end_without_a_traceback(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, "drain = 0.0", "shutdown = 1.0", "timeout = 60.0") as (one, process, log):
        with connect(one) as slow:
            slow.sendall(
                b"POST /v1/privatize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\n\r\n{"
            )
            until(lambda: b"wordveil_requests_in_progress 2.0" in one.get("/metrics").body)  # with the one that asks
            os.kill(process.pid, signal.SIGTERM)
            assert problem_in(everything(slow))["code"] == "stopping"
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in log.read_text()
