"""Lines in, lines out, while they come."""

from __future__ import annotations

import json
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.service.conftest import Service, running
from tests.service.streaming import LINES, STREAM, numbered, streamed
from tests.serving import PATIENCE, until
from wordveil.service import Settings


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


def test_an_id_that_cannot_be_written_back_is_a_problem_of_its_line(service: Service) -> None:
    ids = [2**64 - 1, 2**64, -(2**63), -(2**63) - 1, "x"]
    body = "\n".join(json.dumps({"id": one, "text": "A ship."}) for one in ids).encode()
    told = [json.loads(line) for line in service.post(STREAM, body, content_type=LINES).body.splitlines()]
    assert [one.get("id") for one in told] == [2**64 - 1, None, -(2**63), None, "x"]
    assert [one["problem"]["status"] if "problem" in one else 200 for one in told] == [200, 422, 200, 422, 200]


def test_a_fault_in_mid_stream_is_told_and_does_not_look_like_the_end(
    toy_file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("about the ship")

    with caplog.at_level("ERROR", "wordveil.service"), running(Settings(spaces=(str(toy_file),))) as service:
        monkeypatch.setattr("wordveil.service.texts.details", fail)
        answer = service.post(STREAM, b'{"text": "A ship."}', content_type=LINES)
    (line,) = map(json.loads, answer.body.splitlines())
    assert line["problem"]["status"] == 500
    assert "RuntimeError in fail" in caplog.text
    assert "ship" not in caplog.text


def test_spans_and_one_bad_text_among_good_ones(service: Service) -> None:
    lines = [{"text": "A ship.", "spans": [[2, 6]]}, {"text": "A ship.", "spans": [[2, 99]]}, {"text": "A ship."}]
    body = "\n".join(map(json.dumps, lines)).encode()
    told = [
        json.loads(one) for one in service.post(f"{STREAM}&select=spans", body, content_type=LINES).body.splitlines()
    ]
    assert len(told[0]["replacements"]) == 1
    assert [one["problem"]["status"] for one in told[1:]] == [422, 422]


def test_a_stream_is_refused_before_it_begins(service: Service) -> None:
    for query in ("epsilon=0", "epsilon=3&mechanism=none", "epsilon=3&select=words", "epsilon=3&space=mars"):
        assert service.post(f"/v1/privatize/stream?{query}", b"{}", content_type=LINES).status == 422


def test_a_line_that_is_too_long_ends_the_stream(service: Service) -> None:
    body = b'{"text": "sea"}\n{"text": "' + b"a" * (1 << 20) + b'"}\n'
    told = [json.loads(line) for line in service.post(STREAM, body, content_type=LINES).body.splitlines()]
    assert told[-1]["problem"]["status"] == 413


def test_answers_come_while_texts_are_still_being_sent(service: Service) -> None:
    sent = []

    def texts() -> Iterator[str]:
        for number in range(100_000):
            sent.append(number)
            yield f"[{number}] the sea" + " ." * 500  # long lines, quick to veil: buffers must not hold them all

    answers = streamed(service.address, texts())
    assert next(answers)["text"].startswith("[")
    assert len(sent) < 90_000  # the service takes no more than it can hand on
    answers.close()  # type: ignore[attr-defined]


def opened(service: Service) -> socket.socket:
    """Begin a stream by hand."""
    sock = socket.create_connection(("127.0.0.1", int(service.address.rpartition(":")[2])), timeout=PATIENCE)
    head = [f"POST {STREAM} HTTP/1.1", "Host: localhost", f"Content-Type: {LINES}", "Transfer-Encoding: chunked"]
    sock.sendall("\r\n".join([*head, "", ""]).encode())
    return sock


@pytest.mark.parametrize("drop", [b"a", b" ", b"\n"])
def test_a_stream_that_dribbles_makes_no_progress_and_is_ended(toy_file: Path, drop: bytes) -> None:
    with running(Settings(spaces=(str(toy_file),), timeout=0.6)) as service, opened(service) as sock:
        sock.settimeout(0.1)
        told, end = b"", time.monotonic() + PATIENCE
        while b'"status":503' not in told and time.monotonic() < end:
            with suppress(TimeoutError):
                told += sock.recv(4096)
            with suppress(OSError):
                sock.sendall(b"1\r\n%s\r\n" % drop)
        assert b'"status":503' in told


def test_endless_blank_lines_are_no_progress_however_fast_they_come(toy_file: Path) -> None:
    packer = zlib.compressobj(1, wbits=31)
    body = b"".join([*(packer.compress(b"\n" * (1 << 20)) for _ in range(200)), packer.flush()])  # minutes of work
    with running(Settings(spaces=(str(toy_file),), timeout=0.3)) as service:
        answer = service.post(STREAM, body, content_type=LINES, content_encoding="gzip")
        assert json.loads(answer.body)["problem"]["code"] == "too-slow"


def test_whoever_sends_whole_lines_slowly_goes_on(toy_file: Path) -> None:
    def slowly() -> Iterator[str]:
        for number in range(6):
            time.sleep(0.5)
            yield numbered(number)

    with running(Settings(spaces=(str(toy_file),), timeout=2.5)) as service:
        assert [one["text"] for one in streamed(service.address, slowly())] == list(map(numbered, range(6)))


def test_whoever_takes_no_answers_loses_the_place(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), timeout=0.5, requests=1)) as service, opened(service) as sock:
        sock.settimeout(0.1)
        line = json.dumps({"text": ", " * 50_000}).encode() + b"\n"
        with suppress(OSError):  # until the buffers are full, or the service has given it up
            for _ in range(500):
                sock.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        until(lambda: service.post(STREAM, b'{"text": ""}', content_type=LINES).status == 200)


def test_streams_leave_room_for_other_requests(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), requests=4)) as service, ExitStack() as held:
        for _ in range(4):
            held.enter_context(opened(service))
        until(lambda: service.post(STREAM, b'{"text": ""}', content_type=LINES).status == 503)
        assert service.get("/v1/mechanisms").status == 200


def test_a_long_stream_keeps_its_order(service: Service) -> None:
    told = list(streamed(service.address, map(numbered, range(2000))))
    assert [one["text"] for one in told] == list(map(numbered, range(2000)))
