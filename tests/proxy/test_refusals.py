"""What the proxy does not send: everything that it does not know to be harmless."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect

from tests.proxy.conftest import Model, Proxied, as_json, completion
from tests.serving import PATIENCE, serving, until
from wordveil import OptionError, Veil
from wordveil.proxy import Settings, create_app
from wordveil.proxy.app import _unless_gone
from wordveil.text.conversation import Policy

CANARY = "zyqxcanary"
USER = {"role": "user", "content": CANARY}

MESSAGES: dict[str, Any] = {
    "a role": {"role": "System", "content": CANARY},
    "no role": {"content": CANARY},
    "a list": [CANARY],
    "a picture": {"role": "user", "content": [{"type": "image_url", "image_url": {"url": CANARY}}]},
    "sound": {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": CANARY}}]},
    "a file": {"role": "user", "content": [{"type": "file", "file": {"file_data": CANARY}}]},
    "a part": {"role": "user", "content": [{"type": "text", "text": "a", "note": CANARY}]},
    "a bare part": {"role": "user", "content": [CANARY]},
    "an object": {"role": "user", "content": {"text": CANARY}},
    "a field": {"role": "user", "content": "a", CANARY: CANARY},
    "a name": {"role": "user", "content": "a", "name": CANARY},
    "a call's name": {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": f"{CANARY} x", "arguments": "{}"}}],
    },
    "an undeclared argument": {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"{CANARY}": 1}}'}}],
    },
    "thoughts": {"role": "assistant", "content": "a", "reasoning_content": CANARY},
    "an id": {"role": "tool", "content": "a", "tool_call_id": f"{CANARY} {CANARY}"},
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "metadata": {"name": CANARY},
    "prediction": {"type": "content", "content": CANARY},
    "logit_bias": {"1234": 5},
    "echo": CANARY,
    "web_search_options": {"user_location": {"city": CANARY}},
    CANARY: CANARY,
    "service_tier": f"{CANARY} {CANARY}",
    "tools": [{"type": "mcp", "server_url": CANARY}],
    "stream_options": {"note": f"{CANARY} {CANARY}"},
}
#: What is refused whatever the policy: it has no place to be left out from.
ALWAYS = {"a role", "no role", "a list", "an object", "a call's name", "an id", "service_tier", "stream_options"}


@pytest.mark.parametrize("other", ["refuse", "drop"])
def test_what_is_not_known_is_never_sent(proxied: Callable[..., Proxied], other: str) -> None:
    one = proxied(policy=Policy(other=other))
    one.model.reply = lambda _: as_json(completion(content="ok"))
    answers = {name: one.say(message, USER) for name, message in MESSAGES.items()}
    answers |= {name: one.say(USER, **{name: value}) for name, value in FIELDS.items()}
    for name, answer in answers.items():
        is_refused = other == "refuse" or name in ALWAYS
        assert answer.status_code == (400 if is_refused else 200), name
        assert CANARY not in answer.text
        if is_refused:
            assert answer.json()["error"]["code"] == "wordveil"
    sent = b"".join(asked.raw for asked in one.model.asked)
    assert CANARY.encode() not in sent
    assert (sent == b"") == (other == "refuse")


def test_what_names_a_person_becomes_a_pseudonym(proxied: Callable[..., Proxied]) -> None:
    one = proxied()
    named = {"user": "Mary Jones", "safety_identifier": "Mary Jones", "prompt_cache_key": "jones-1"}
    for _ in range(2):
        one.say(USER, **named)
    first, second = (asked.body for asked in one.model.asked)
    assert first == second  # so that abuse can be told and prompts be cached
    assert first["user"] == first["safety_identifier"] != first["prompt_cache_key"]
    assert b"ones" not in one.model.asked[0].raw


def test_policies_of_the_operator(proxied: Callable[..., Proxied]) -> None:
    strict = proxied(policy=Policy(system="refuse", results="refuse", tools="refuse"))
    tool = {"role": "tool", "tool_call_id": "c", "content": "a"}
    for refused in ({"role": "developer", "content": "a"}, tool):
        assert strict.say(refused).status_code == 400
    assert strict.say(USER, tools=[{"type": "function", "function": {"name": "f"}}]).status_code == 400
    assert strict.say(USER, stop=[CANARY]).status_code == 400
    assert strict.model.asked == []
    other = proxied(policy=Policy(system="veil", results="leave", assistant="leave"))
    other.say(
        {"role": "developer", "content": CANARY}, {**tool, "content": "a b"}, {"role": "assistant", "content": "c"}
    )
    developer, result, assistant = other.model.asked[0].body["messages"]
    assert developer["content"] != CANARY
    assert (result["content"], assistant["content"]) == ("a b", "c")


def test_requests_that_are_not_read(proxied: Callable[..., Proxied]) -> None:
    one = proxied(body_bytes=8000)
    body = json.dumps({"model": "m", "messages": [USER]}).encode()

    def stream() -> Any:
        yield from [b"{" + b" " * 1500] * 8

    got = {
        "gzip": one.post(gzip.compress(body), content_encoding="gzip"),
        "no JSON": one.post(body, content_type="text/plain"),
        "long": one.post(body + b" " * 8000),
        "long, untold": httpx.post(
            f"{one.address}/v1/chat/completions", content=stream(), headers={"content-type": "application/json"},
            timeout=PATIENCE, trust_env=False,
        ),
        "broken": one.post(body[:-5]),
        "a list": one.post(b"[]"),
        "no messages": one.post({"model": "m"}),
        "no model": one.post({"messages": [USER]}),
        "deep": one.post(body[:-1] + b', "tools": ' + b"[" * 900 + b"]" * 900 + b"}"),
        "deeper": one.post(b"[" * 1900),
        "another path": one.post(body, "/v1/embeddings"),
        "a longer path": one.post(body, f"/v1/chat/completions/{CANARY}"),
        "a query": one.post(body, f"/v1/chat/completions?note={CANARY}"),
        "another host": one.post(body, host="evil.example"),
        "another method": httpx.get(f"{one.address}/v1/responses", trust_env=False),
    }  # fmt: skip
    statuses = [415, 415, 413, 413, 400, 400, 400, 400, 400, 400, 404, 404, 400, 421, 405]
    assert [answer.status_code for answer in got.values()] == statuses
    assert all(CANARY not in answer.text and answer.json()["error"]["message"] for answer in got.values())
    assert one.model.asked == []


def test_a_fault_sends_nothing(
    proxied: Callable[..., Proxied], far_veil: Veil, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one = proxied(access_log=True)

    def fails(documents: Any) -> Any:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(far_veil, "together", fails)
    with caplog.at_level(logging.INFO):
        answer = one.say(USER)
    assert answer.status_code == 500
    assert CANARY not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert one.model.asked == []


def test_errors_of_the_model(proxied: Callable[..., Proxied], caplog: pytest.LogCaptureFixture) -> None:
    one = proxied()
    told = {"error": {"message": CANARY}}
    one.model.reply = lambda _: as_json(told, 429, retry_after="7", set_cookie="a=b", x_ratelimit_remaining="3")
    answer = one.say(USER)
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (429, told, "7")
    assert answer.headers["x-ratelimit-remaining"] == "3"
    assert "set-cookie" not in answer.headers
    one.model.reply = lambda _: (500, {"content-type": "text/html"}, [CANARY.encode()])
    assert one.say(USER).status_code == 500
    with serving(one.model) as elsewhere:
        one.model.reply = lambda _: (307, {"location": f"{elsewhere}/v1/chat/completions"}, [])
        before = len(one.model.asked)
        assert one.say(USER).status_code == 502
        assert len(one.model.asked) == before + 1  # it was not followed
    deep = b'{"content":' * 900 + b"1" + b"}" * 900
    odd: list[Any] = [(204, {}, []), (200, {"content-type": "text/plain"}, [b"<html>"]), (200, {}, [deep])]
    one.model.reply = lambda _: odd.pop()
    assert [one.say(USER).status_code for _ in range(3)] == [502, 502, 502]
    assert CANARY not in caplog.text


def test_a_model_that_is_not_there_or_does_not_answer(proxied: Callable[..., Proxied], far_veil: Veil) -> None:
    nobody = proxied().model
    with serving(create_app(Settings("http://127.0.0.1:9/v1"), far_veil)) as address:
        assert Proxied(address, nobody).say(USER).status_code == 502
    with socket.create_server(("127.0.0.1", 0)) as silent:
        upstream = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with serving(create_app(Settings(upstream, timeout=1.0), far_veil)) as address:
            assert Proxied(address, nobody).say(USER).status_code == 504


def test_replies_that_are_too_long_or_stop_midway(proxied: Callable[..., Proxied]) -> None:
    one = proxied(reply_bytes=5000, timeout=1.0)
    one.model.reply = lambda _: as_json(completion(content="a" * 6000))
    assert one.say(USER).status_code == 502
    one.model.reply = lambda _: (200, {"content-type": "text/event-stream"}, [b"data: " + b"a" * (5 << 20)])
    ended = one.say(USER, stream=True)
    assert (ended.status_code, b"error" in ended.content) == (200, True)
    assert len(ended.content) < 1000


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_who_leaves_is_not_answered_any_further(proxied: Callable[..., Proxied], kind: str) -> None:
    one = proxied()
    one.model.reply = lambda _: (200, {"content-type": kind}, [b": begun\n\n"])
    one.model.endless = True
    body = json.dumps({"model": "m", "messages": [USER]}).encode()
    host, _, port = one.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as caller:
        caller.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        until(lambda: len(one.model.asked) == 1)
    until(lambda: one.model.left == 1)


def test_work_ends_with_its_caller_even_if_a_cancellation_is_lost() -> None:
    async def work() -> None:
        with suppress(asyncio.CancelledError):  # as `wait_for` does before Python 3.12, if the wait is just over
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientDisconnect):
        asyncio.run(asyncio.wait_for(_unless_gone(receive, work()), PATIENCE))


def test_other_addresses(proxied: Callable[..., Proxied]) -> None:
    one = proxied()
    one.model.reply = lambda _: as_json({"object": "list", "data": [{"id": "m"}]})
    listed = httpx.get(f"{one.address}/v1/models", headers={"authorization": "Bearer k"}, trust_env=False)
    assert listed.json()["data"] == [{"id": "m"}]
    assert one.model.asked[0].path == "/v1/models"
    assert httpx.get(f"{one.address}/healthz", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "upstream", ["api.example.com", "ftp://example.com", "http://example.com/v1", "https://me:secret@example.com/v1",
                 "https://example.com/v1?key=1", "https://"],
)  # fmt: skip
def test_upstreams_that_are_refused(upstream: str) -> None:
    with pytest.raises(OptionError):
        Settings(upstream)


def test_settings_that_make_no_sense(far_veil: Veil) -> None:
    wrongs: list[dict[str, Any]] = [{"timeout": 0.0}, {"policy": Policy(system="ignore")}, {"requests": 0}]
    for wrong in wrongs:
        with pytest.raises(OptionError):
            Settings("https://example.com/v1", **wrong)
    for veil in (Veil(far_veil.mechanism), Veil(far_veil.mechanism, once="person", identifiers="veil")):
        with pytest.raises(OptionError):
            create_app(Settings("https://example.com/v1"), veil)


@pytest.mark.parametrize("is_stream", [True, False])
def test_what_is_answered_while_the_server_stops_is_told_so(far_veil: Veil, *, is_stream: bool) -> None:
    model, sent = Model(), list[MutableMapping[str, Any]]()
    model.endless = True
    first = b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n'
    model.reply = lambda _: (200, {"content-type": "text/event-stream"}, [first]) if is_stream else as_json({})
    asked = json.dumps({"model": "m", "stream": is_stream, "messages": [{"role": "user", "content": "ship"}]}).encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip

    async def stopped(address: str) -> None:
        app = create_app(Settings(f"{address}/v1"), far_veil)
        arrived: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        arrived.put_nowait({"type": "http.request", "body": asked, "more_body": False})

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        task = asyncio.ensure_future(app(scope, arrived.get, send))
        while not (sent if is_stream else model.asked):
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with serving(model) as address:
        asyncio.run(asyncio.wait_for(stopped(address), PATIENCE))
    assert sent[0]["status"] == (200 if is_stream else 503)
    assert b"stopping" in sent[-1]["body"]
    assert not sent[-1].get("more_body")
