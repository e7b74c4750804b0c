"""The client, where no other test has used it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.service.conftest import Service, running
from tests.service.streaming import numbered
from wordveil.client import Client
from wordveil.errors import WordveilError
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
    with pytest.raises(WordveilError, match=r"between 0\.01"):
        client.privatize("sea", epsilon=1001.0)
    with pytest.raises(WordveilError, match="go together"):
        list(client.stream(["sea"], epsilon=3, select="spans"))
    with pytest.raises(WordveilError, match="nothing at this address"):
        client.call("/v1/nothing")
    with pytest.raises(WordveilError, match=r"127\.0\.0\.1:9 does not answer"):
        Client("http://127.0.0.1:9").call("/v1/mechanisms")

    def broken() -> Iterator[str]:
        yield "sea"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        list(client.stream(broken(), epsilon=3))


class _Busy(BaseHTTPRequestHandler):
    """Is too busy twice, and then answers what it was asked."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        is_busy = len(self.asked) < 3
        self.send_response(503 if is_busy else 200)
        if is_busy:
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
    with pytest.raises(WordveilError, match=r"come back later\."):
        Client(busy, timeout=0.5).call("/v1/x")  # a wait of one second would be too long
    assert len(_Busy.asked) == 2


def test_texts_that_are_too_many_for_one_request_are_streamed(toy_file: object) -> None:
    with running(Settings(spaces=(str(toy_file),), words=20)) as one:
        client, texts = Client(one.address), ["zqa zqb " * 5] * 6
        with pytest.raises(WordveilError, match="20 words"):
            client.privatize_many(texts, epsilon=2.0)
        assert len(list(client.stream(texts, epsilon=2.0, letters=40))) == 6
