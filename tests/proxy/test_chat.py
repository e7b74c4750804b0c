"""Chat completions through the proxy, with the official client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.later import later
from tests.proxy.conftest import Proxied, as_json, completion
from tests.serving import noting_threads

openai = later("openai", reason="the official client is not installed")

MAIL, PHONE = "mary.jones@example.org", "+44 20 7946 0958"
SECRET = f"Write to {MAIL} that the harbour burned, or call {PHONE}."


def client_of(proxied: Proxied, key: str = "sk-mine") -> Any:
    return openai.OpenAI(base_url=f"{proxied.address}/v1", api_key=key, max_retries=0)


@pytest.fixture
def started(proxied: Callable[..., Proxied]) -> Proxied:
    one = proxied(restore=True)
    one.model.reply = lambda _: as_json(completion(content="Done."))
    return one


def test_users_are_veiled_and_the_system_is_not(started: Proxied) -> None:
    with client_of(started) as client:
        client.chat.completions.create(
            model="m",
            messages=[
                {"role": "system", "content": "Answer about the harbour."},
                {"role": "user", "content": [{"type": "text", "text": SECRET}]},
                {"role": "tool", "tool_call_id": "call_1", "content": SECRET},
            ],
            user="Mary Jones",
        )
    (asked,) = started.model.asked
    assert asked.path == "/v1/chat/completions"
    system, user, tool = asked.body["messages"]
    assert system == {"role": "system", "content": "Answer about the harbour."}
    for veiled in (user["content"][0]["text"], tool["content"]):
        assert "<EMAIL_1>" in veiled
        assert "<PHONE_1>" in veiled
        assert "harbour" not in veiled
    assert asked.headers["authorization"] == "Bearer sk-mine"
    assert not [name for name in asked.headers if name.startswith("x-stainless")]
    sent = asked.raw.decode() + str(asked.headers)
    assert not [one for one in (MAIL, "7946", "Mary", "Jones") if one in sent]


def test_history_is_not_drawn_again(started: Proxied) -> None:
    history: list[Any] = []
    with client_of(started) as client, client_of(started, "sk-other") as other:
        for text in (SECRET, f"The bridge too; ask {PHONE}.", "And the mill?"):
            history.append({"role": "user", "content": text})
            answer = client.chat.completions.create(model="m", messages=history)
            history.append(answer.choices[0].message)
        other.chat.completions.create(model="m", messages=history[:1])
    first, second, third, elsewhere = [asked.body["messages"] for asked in started.model.asked]
    assert second[:1] == first
    assert third[:3] == second
    assert third[1] == {"role": "assistant", "content": "Done."}  # it was delivered here, so it goes back as it came
    assert elsewhere != first
    assert "<PHONE_1>" in third[2]["content"]


def test_replies_are_restored_and_go_back_as_they_came(started: Proxied) -> None:
    wrote = "I wrote to <EMAIL_1>, not to <EMAIL_7>; shall I call <PHONE_1>?"
    started.model.reply = lambda _: as_json(completion(content=wrote))
    asks: list[Any] = [{"role": "user", "content": SECRET}]
    with client_of(started) as client:
        message = client.chat.completions.create(model="m", messages=asks).choices[0].message
        assert message.content == f"I wrote to {MAIL}, not to <EMAIL_7>; shall I call {PHONE}?"
        later = [message, {"role": "user", "content": f"Yes, and mail zoe@example.net and {MAIL}."}]
        client.chat.completions.create(model="m", messages=asks + later)
        # Cut at the front, the numbers begin anew, in the reply as well.
        client.chat.completions.create(model="m", messages=later)
    assert started.model.asked[1].body["messages"][1]["content"] == wrote
    assert "<EMAIL_2>" in started.model.asked[1].body["messages"][2]["content"]
    assert started.model.asked[2].body["messages"][0]["content"] == wrote
    assert MAIL.encode() not in b"".join(asked.raw for asked in started.model.asked)


def test_no_text_is_searched_where_all_requests_pass(started: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    in_threads = noting_threads(monkeypatch, "wordveil.proxy.replies.find_identifiers")
    started.say({"role": "user", "content": SECRET})
    assert in_threads
    assert all(in_threads)


def test_a_placeholder_that_a_user_wrote_stands_for_itself(started: Proxied) -> None:
    started.model.reply = lambda _: as_json(completion(content="<EMAIL_1> is not <EMAIL_2>."))
    assert f"<EMAIL_1> is not {MAIL}." in started.say({"role": "user", "content": f"Is <EMAIL_1> {MAIL}?"}).text


def test_nobody_gets_what_stands_in_another_request(started: Proxied) -> None:
    started.model.reply = lambda _: as_json(completion(content="<EMAIL_1>"))
    ask = {"role": "user", "content": "Say EMAIL, an underscore and a one, in angle brackets."}
    assert MAIL in started.say({"role": "user", "content": SECRET}).text
    assert MAIL not in started.say(ask).text


def stream_of(pieces: list[dict[str, Any]], finish: str = "stop") -> list[bytes]:
    """Return a chat's stream, cut into small packets that respect no boundary."""
    chunks: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in pieces]
    chunks.append({"index": 0, "delta": {}, "finish_reason": finish})
    told = [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [c]} for c in chunks]
    raw = b"".join(b"data: %s\r\n\r\n" % json.dumps(one).encode() for one in told) + b": beat\n\ndata: [DONE]\n\n"
    return [raw[start : start + 37] for start in range(0, len(raw), 37)]


@pytest.mark.parametrize("size", [1, 3, 200])
def test_streams_are_restored_across_chunks(started: Proxied, size: int) -> None:
    wrote = "To <EMAIL_1>: 1 < 2, <b>, <EMAIL_9>, <PHONE_1"
    deltas = [{"content": wrote[start : start + size]} for start in range(0, len(wrote), size)]
    started.model.reply = lambda _: (200, {"content-type": "text/event-stream"}, stream_of(deltas))
    asks: list[Any] = [{"role": "user", "content": SECRET}]
    with client_of(started) as client:
        stream = client.chat.completions.create(model="m", messages=asks, stream=True)
        got = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert got == wrote.replace("<EMAIL_1>", MAIL)
        again = [*asks, {"role": "assistant", "content": got}]
        client.chat.completions.create(model="m", messages=again, stream=True).close()
    assert started.model.asked[1].body["messages"][1]["content"] == wrote


TOOLS = [
    {"type": "function", "function": {"name": "send", "parameters": {"properties": {"to": {}, "why": {}}}}},
]


def test_arguments_of_calls(started: Proxied) -> None:
    odd = r'say "hi" \ to@example.org'  # of this, JSON must escape some
    wrote = '{"to": "<EMAIL_1>", "why": "<URL_1>"}'
    asks: list[Any] = [{"role": "user", "content": f"{odd} see https://example.org/a\\b"}]

    def reply(body: Any) -> Any:
        call = {"id": "call_1", "type": "function", "function": {"name": "send", "arguments": wrote}}
        return as_json(completion(tool_calls=[call]))

    started.model.reply = reply
    with client_of(started) as client:
        message = client.chat.completions.create(model="m", messages=asks, tools=TOOLS).choices[0].message
        called = json.loads(message.tool_calls[0].function.arguments)
        assert called == {"to": "to@example.org", "why": "https://example.org/a\\b"}
        made = json.dumps({"to": MAIL, "why": ["the harbour", 91_000, True]})
        mine = {"id": "call_2", "type": "function", "function": {"name": "send", "arguments": made}}
        later = [*asks, message, {"role": "assistant", "tool_calls": [mine]}]
        client.chat.completions.create(model="m", messages=later, tools=TOOLS)
    _, first, second = started.model.asked[1].body["messages"]
    assert first["tool_calls"][0]["function"]["arguments"] == wrote
    invented = json.loads(second["tool_calls"][0]["function"]["arguments"])
    assert invented["to"] == "<EMAIL_2>"
    assert invented["why"][1:] == ["<NUMBER_1>", True]
    assert "harbour" not in invented["why"][0]
    assert started.model.asked[1].body["tools"] == TOOLS


def test_streamed_arguments(started: Proxied) -> None:
    calls = [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "send"}}]}]
    pieces = ('{"to": "<EM', "AIL_1", '>"}')
    calls += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    started.model.reply = lambda _: (200, {"content-type": "text/event-stream"}, stream_of(calls, "tool_calls"))
    with client_of(started) as client:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": SECRET}], tools=TOOLS, stream=True
        )
        called = [call for chunk in stream for call in chunk.choices[0].delta.tool_calls or ()]
    assert json.loads("".join(call.function.arguments or "" for call in called)) == {"to": MAIL}


def test_an_answer_that_breaks_off_is_an_error(started: Proxied) -> None:
    broken = [b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\ndata: {"cho\n\n']
    started.model.reply = lambda _: (200, {"content-type": "text/event-stream"}, broken)
    with client_of(started) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": SECRET}], stream=True)
        with pytest.raises(openai.APIError):
            list(stream)
