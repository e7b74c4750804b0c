"""Lines in, lines out, while they come."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.service.conftest import Service
from wordveil.client import Client
from wordveil.errors import WordveilError

STREAM = "/v1/privatize/stream?epsilon=3"
LINES = "application/x-ndjson"


def test_every_line_gets_its_line_and_a_bad_one_a_problem(service: Service) -> None:
    lines = [
        {"id": "a", "text": "The ship sails."},
        {"id": 2, "text": ""},
        {"id": "no text"},
        {"text": "A sea of spots."},
        {"id": 5, "text": "sea " * 20_001},
    ]
    body = "\n".join(map(json.dumps, lines)).replace('{"id": "no text"}', "not JSON at all") + "\n\n"
    answer = service.post(STREAM, body.encode(), content_type=LINES)
    told = [json.loads(line) for line in answer.body.splitlines()]
    assert answer.headers["content-type"] == LINES
    assert json.loads(answer.headers["wordveil-guarantee"])["epsilon"] == 3.0
    assert [one.get("id") for one in told] == ["a", 2, None, None, 5]
    assert told[0]["text"].startswith("The ")
    assert told[0]["replacements"][0]["start"] == 4
    assert told[1]["text"] == ""
    assert told[2]["problem"]["status"] == 422
    assert b"not JSON at all" not in answer.body
    assert told[4]["problem"]["status"] == 413


def test_spans_and_one_bad_text_among_good_ones(service: Service) -> None:
    lines = [{"text": "A ship.", "spans": [[2, 6]]}, {"text": "A ship.", "spans": [[2, 99]]}, {"text": "A ship."}]
    body = "\n".join(map(json.dumps, lines)).encode()
    told = [
        json.loads(one) for one in service.post(f"{STREAM}&select=spans", body, content_type=LINES).body.splitlines()
    ]
    assert len(told[0]["replacements"]) == 1
    assert "a span must" in told[1]["problem"]["detail"]
    assert "needs the spans" in told[2]["problem"]["detail"]


def test_a_stream_is_refused_before_it_begins(service: Service) -> None:
    for query in ("epsilon=0", "epsilon=3&mechanism=none", "epsilon=3&select=words", "epsilon=3&space=mars"):
        assert service.post(f"/v1/privatize/stream?{query}", b"{}", content_type=LINES).status == 422


def test_a_line_that_is_too_long_ends_the_stream(service: Service) -> None:
    body = b'{"text": "sea"}\n{"text": "' + b"a" * (1 << 20) + b'"}\n'
    told = [json.loads(line) for line in service.post(STREAM, body, content_type=LINES).body.splitlines()]
    assert told[-1]["problem"]["status"] == 413


def test_answers_come_while_texts_are_still_being_sent(service: Service) -> None:
    sent = []
    client = Client(service.address)

    def texts() -> Iterator[str]:
        for number in range(100_000):
            sent.append(number)
            yield f"[{number}] the sea" + " ." * 500  # long lines, quick to veil: buffers must not hold them all

    answers = client.stream(texts(), epsilon=3.0)
    assert next(answers).startswith("[")
    assert len(sent) < 90_000  # the service takes no more than it can hand on
    answers.close()  # type: ignore[attr-defined]


def test_the_client_streams_in_order(service: Service) -> None:
    client = Client(service.address)
    texts = [f"the of and ({number})" for number in range(2000)]
    veiled = list(client.stream(texts, epsilon=3.0, oov="drop"))
    assert len(veiled) == len(texts)
    assert all(one.startswith("the of and (") for one in veiled)


def test_the_client_says_what_is_wrong(service: Service) -> None:
    client = Client(service.address)
    with pytest.raises(WordveilError, match="between"):
        list(client.stream(["sea"], epsilon=5000))
    with pytest.raises(WordveilError, match="needs the spans"):
        list(client.stream(["sea"], epsilon=3, select="spans"))

    def broken() -> Iterator[str]:
        yield "sea"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        list(client.stream(broken(), epsilon=3))
