"""The client, where no other test has used it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import Any

import pytest

from tests.service.conftest import Service, running
from tests.service.streaming import numbered
from tests.serving import PATIENCE
from wordveil.client import Client, ServiceError
from wordveil.errors import InputError, OptionError, WordveilError
from wordveil.guarantee import Notion
from wordveil.service import Settings


def test_texts_words_and_what_there_is(service: Service) -> None:
    client = Client(service.address)
    one = client.privatize("The ship sails.", epsilon=3.0)
    assert one.text.startswith("The ")
    assert one.guarantee.notion is Notion.METRIC
    assert one.replacements[0]["start"] == 4
    many = client.privatize_many(["The ship.", "A sea."], epsilon=3.0, select="words", words=["sea"])
    assert many[0].text == "The ship."
    assert 0 < client.call("/v1/words", {"word": "harbour", "epsilon": 3.0})["stays"] < 1
    assert client.call("/v1/mechanisms")[0]["name"] == "graph"


def test_a_stream_comes_back_in_order_and_asks_for_no_more_texts_than_it_needs(service: Service) -> None:
    taken: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(1050):
            taken.append(number)
            yield numbered(number) + " ," * (number % 7 * 1000)  # some fill a batch by themselves

    veiled = Client(service.address).stream(texts(), epsilon=3.0)
    assert next(veiled).text == numbered(0)
    assert len(taken) <= 100
    assert [one.text.rstrip(" ,") for one in veiled] == list(map(numbered, range(1, 1050)))
    assert list(Client(service.address).stream([], epsilon=3.0)) == []


def test_what_is_wrong_is_an_error_of_ours(service: Service) -> None:
    client = Client(service.address)
    wrong: list[tuple[Callable[[], Any], int]] = [
        (lambda: client.privatize("sea", epsilon=1001.0), 422),
        (lambda: list(client.stream(["sea"], epsilon=3, select="spans")), 422),
        (lambda: client.privatize("sea", epsilon=3.0, mechanism="nadp"), 403),
        (lambda: client.call("/v1/nothing"), 404),
        (lambda: Client("http://127.0.0.1:9").call("/v1/mechanisms"), 0),
    ]
    for ask, status in wrong:
        with pytest.raises(ServiceError) as refused:
            ask()
        assert refused.value.status == status
        assert isinstance(refused.value, WordveilError)

    def broken() -> Iterator[str]:
        yield "sea"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError):
        list(client.stream(broken(), epsilon=3))


class _Busy(BaseHTTPRequestHandler):
    """Is too busy twice, and then answers what it was asked."""

    asked: list[str]
    own_words = True

    def do_GET(self) -> None:
        self.asked.append(self.path)
        is_busy = len(self.asked) < 3
        self.send_response(503 if is_busy else 200)
        if is_busy:
            self.send_header("Content-Type", "application/problem+json" if _Busy.own_words else "application/json")
            self.send_header("Retry-After", "0" if len(self.asked) == 1 else "Thu, 01 Jan 1970 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(json.dumps({"detail": "come back later."} if is_busy else {"path": self.path}).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def busy() -> Iterator[str]:
    _Busy.asked = []
    with HTTPServer(("127.0.0.1", 0), _Busy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/behind/a/proxy/"
        server.shutdown()
        thread.join()


def test_a_busy_service_is_asked_again_when_it_says(busy: str) -> None:
    assert Client(busy).call("/v1/x") == {"path": "/behind/a/proxy/v1/x"}
    assert len(_Busy.asked) == 3
    _Busy.asked = []
    with pytest.raises(ServiceError) as refused:
        Client(busy, timeout=0.5).call("/v1/x")  # a wait of one second would be too long
    assert (refused.value.status, str(refused.value)) == (503, "come back later.")  # in the service's own words


def test_what_another_server_says_is_not_repeated(busy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may repeat the text."""
    monkeypatch.setattr(_Busy, "own_words", False)
    with pytest.raises(ServiceError) as refused:
        Client(busy, timeout=0.5).call("/v1/x")
    assert refused.value.status == 503
    assert "come back" not in str(refused.value)
    assert len(_Busy.asked) == 1  # a service that says 0 is not asked without a pause


def test_texts_that_are_too_many_for_one_request_are_streamed(toy_file: object) -> None:
    with running(Settings(spaces=(str(toy_file),), words=20)) as one:
        client, texts = Client(one.address), ["zqa zqb " * 5] * 6
        with pytest.raises(ServiceError) as refused:
            client.privatize_many(texts, epsilon=2.0)
        assert refused.value.status == 413
        assert len(list(client.stream(texts, epsilon=2.0, letters=40))) == 6


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8765",
        "localhost",
        "ftp://localhost",
        "http://",
        "http://:8765",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://127.0.0.1:abc",
        "http://[::1",
        "http://ann:secret@localhost",
        "http://local host",
        "http://localhost/a b",
        "http://localhost/?epsilon=3",
        "",
        None,
    ],
)
def test_an_address_that_is_none_is_refused_at_once(address: Any) -> None:
    with pytest.raises(OptionError):
        Client(address)


def test_a_key_and_a_timeout_that_are_none_are_refused_at_once_and_not_quoted() -> None:
    keys: list[Any] = ["abc\n", "abc€", "abc d", b"abc"]
    for key in keys:
        with pytest.raises(OptionError) as told:
            Client(key=key)
        assert "abc" not in str(told.value)
    timeouts: list[Any] = [None, 0, -1.0, float("nan"), float("inf"), "30", True]
    for timeout in timeouts:
        with pytest.raises(OptionError):
            Client(timeout=timeout)


@contextmanager
def replying(reply: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[float]]]:
    """Run what answers every request in the same way; yield its address and the times when it was asked."""
    times: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                times.append(time.monotonic())
                with taken, suppress(OSError):
                    taken.recv(65_536)
                    reply(taken)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", times
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def plain(status: int, body: str, *headers: str) -> Callable[[socket.socket], None]:
    head = "\r\n".join([f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers, "", ""])
    return lambda sock: sock.sendall((head + body).encode("latin-1"))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, "<html>bad gateway"),
        (413, "<html>too large"),
        (404, '{"moved": 1}'),
        (500, '{"detail": [1]}'),
        (599, ""),
        (302, ""),
        (302, '{"moved": 1}'),
        (200, "ok"),
        (200, '{"ok": 1}'),
        (200, "[]"),
        (200, '{"guarantee": {}, "results": 1}'),
        (200, "[" * 100_000),
    ],
)
def test_an_answer_that_is_not_the_services_is_named(status: int, body: str) -> None:
    with replying(plain(status, body, "Location: http://elsewhere.example/")) as (address, _):
        client = Client(address, timeout=20)
        asks: list[Callable[[], Any]] = [lambda: client.privatize("sea", epsilon=3.0), client.calibrate]
        for ask in asks:
            with pytest.raises(ServiceError) as told:
                ask()
            assert told.value.status == status
            assert f"HTTP {status}" in str(told.value)


def test_results_for_other_texts_than_were_sent_are_no_answer(service: Service) -> None:
    told = Client(service.address).call("/v1/privatize", {"text": "sea", "epsilon": 3.0})
    with replying(plain(200, json.dumps(told))) as (address, _):
        assert Client(address).privatize("sea", epsilon=3.0).guarantee.epsilon == 3.0
        with pytest.raises(ServiceError):
            Client(address).privatize_many(["sea", "sea"], epsilon=3.0)


@pytest.mark.parametrize("after", ["0", "1", "-5", "\xb2", "soon", "9" * 5000])
def test_a_busy_proxy_is_asked_again_but_not_at_once(after: str) -> None:
    reply = plain(503, "<html>maintenance", f"Retry-After: {after}")
    with replying(reply) as (address, times), pytest.raises(ServiceError) as refused:
        Client(address, timeout=2.0).call("/v1/spaces")
    assert refused.value.status == 503
    assert len(times) == (1 if len(after) > 9 else 2)
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(times))


def test_what_may_have_been_drawn_is_not_sent_again_for_a_proxy() -> None:
    with replying(plain(503, "<html>upstream reset", "Retry-After: 0")) as (address, times):
        with pytest.raises(ServiceError) as refused:
            Client(address, timeout=2.5).privatize("zqa", epsilon=2.0)
        assert (refused.value.status, len(times)) == (503, 1)


@pytest.mark.parametrize("length", ["Content-Length: 100", "Connection: close"])
@pytest.mark.parametrize("head", ["", "HTTP/1.1 200 OK\r\n{length}\r\n", "HTTP/1.1 200 OK\r\n{length}\r\n\r\n"])
def test_the_timeout_is_for_the_whole_call_however_the_answer_dribbles(head: str, length: str) -> None:
    def drip(sock: socket.socket) -> None:
        sock.sendall(head.format(length=length).encode())
        for _ in range(round(PATIENCE / 0.1)):  # until the client has gone
            sock.sendall(b"1" if head.endswith("\r\n\r\n") else b"X")
            time.sleep(0.1)

    with replying(drip) as (address, _):
        started = time.monotonic()
        with pytest.raises(ServiceError) as late:
            Client(address, timeout=0.5).call("/v1/spaces")
        assert late.value.status == 0
        assert time.monotonic() - started < PATIENCE / 2


def test_https_where_there_is_none_is_told(service: Service) -> None:
    with pytest.raises(ServiceError):
        Client(service.address.replace("http:", "https:")).call("/v1/spaces")


def test_a_stream_takes_the_spans_of_each_text_along(service: Service) -> None:
    client = Client(service.address)
    texts = ["A ship sails." if number % 2 else "The sea, a ship." for number in range(250)]
    places = [[(2, 6)] if number % 2 else [[4, 7], [11, 15]] for number in range(250)]
    veiled = list(client.stream(texts, epsilon=3.0, select="spans", spans=iter(places)))
    assert [len(one.replacements) for one in veiled] == [2, 1] * 125
    for few in (places[:249], [*places, [(0, 1)]]):
        with pytest.raises(OptionError):
            list(client.stream(texts, epsilon=3.0, select="spans", spans=few))


def test_what_cannot_be_sent_is_refused_in_a_sentence(service: Service) -> None:
    client = Client(service.address)
    wrong: list[Callable[[], Any]] = [
        lambda: client.privatize("sea", epsilon=object()),  # type: ignore[arg-type]
        lambda: client.privatize(1, epsilon=3.0),  # type: ignore[arg-type]
        lambda: client.privatize_many("sea", epsilon=3.0),
        lambda: next(client.stream("sea", epsilon=3.0)),
        lambda: next(client.stream([1], epsilon=3.0)),  # type: ignore[list-item]
        lambda: client.call("/v1/words/\ud800"),
    ]
    for ask in wrong:
        with pytest.raises(InputError):
            ask()
    assert client.call("v1/spaces") == client.call("/v1/spaces")
    with pytest.raises(ServiceError) as unknown:
        client.call("/v1/words/a bé?epsilon=3")
    assert unknown.value.status == 404
    assert len(client.privatize_many((text for text in ("sea", "ship")), epsilon=3.0)) == 2
