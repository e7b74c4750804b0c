"""Responses through the proxy, with the official client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.later import later
from tests.proxy.conftest import Proxied, as_json
from tests.proxy.test_chat import MAIL, PHONE, SECRET, client_of

openai = later("openai", reason="the official client is not installed")

TOOL = {"type": "function", "name": "send", "parameters": {"type": "object", "properties": {"to": {}}}, "strict": False}


def response(*output: Any) -> dict[str, Any]:
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": [],
        "output": list(output), "parallel_tool_calls": True, "tool_choice": "auto", "instructions": "As told.",
    }  # fmt: skip


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
SEALED = {**THOUGHT, "encrypted_content": "gAAAA+sealed=="}
CALL = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "send", "status": "completed",
    "arguments": '{"to": "<EMAIL_1>"}',
}  # fmt: skip


def test_a_conversation_with_a_tool(proxied: Callable[..., Proxied]) -> None:
    one = proxied(restore=True)
    one.model.reply = lambda _: as_json(response(SEALED, said("To <EMAIL_1>, <EMAIL_3>."), CALL))
    with client_of(one) as client:
        history: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": SECRET}]}]
        answer = client.responses.create(model="m", instructions="Mind the harbour.", input=history, tools=[TOOL])
        assert answer.output_text == f"To {MAIL}, <EMAIL_3>."
        assert json.loads(answer.output[2].arguments) == {"to": MAIL}
        history += answer.output
        history += [{"type": "function_call_output", "call_id": "call_1", "output": f"Sent to {MAIL} in harbour."}]
        client.responses.create(model="m", input=history, tools=[TOOL])
        client.responses.create(model="m", input=SECRET)
    first, second, third = (asked.body for asked in one.model.asked)
    assert first["instructions"] == "Mind the harbour."
    assert second["input"][0] == first["input"][0]
    thought, message, call, result = second["input"][1:]
    assert thought["encrypted_content"] == SEALED["encrypted_content"]
    assert message["content"][0]["text"] == "To <EMAIL_1>, <EMAIL_3>."
    assert call["arguments"] == CALL["arguments"]
    assert "<EMAIL_1>" in result["output"]
    assert third["input"] == first["input"][0]["content"][0]["text"]
    raw = b"".join(asked.raw for asked in one.model.asked)
    assert MAIL.encode() not in raw
    assert raw.count(b"harbour") == 1  # the instructions


def events_of(text: str, size: int) -> list[dict[str, Any]]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    part = {"type": "output_text", "text": text, "annotations": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response()},
        *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": said(text)},
        {"type": "response.completed", "response": response(said(text))},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@pytest.mark.parametrize("size", [2, 500])
def test_streams_are_restored_across_events(proxied: Callable[..., Proxied], size: int) -> None:
    one = proxied(restore=True)
    wrote = "Call <PHONE_1>, mail <EMAIL_1>, <EMAIL_"
    raw = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events_of(wrote, size)]
    one.model.reply = lambda _: (200, {"content-type": "text/event-stream"}, raw)
    with client_of(one) as client:
        got = list(client.responses.create(model="m", input=SECRET, stream=True))
        text = "".join(event.delta for event in got if event.type == "response.output_text.delta")
        assert text == f"Call {PHONE}, mail {MAIL}, <EMAIL_"
        assert [event.sequence_number for event in got] == list(range(len(got)))
        assert got[-1].response.output_text == text
        history: Any = [{"role": "user", "content": SECRET}, *got[-1].response.output]
        client.responses.create(model="m", input=history, stream=True).close()
    assert one.model.asked[1].body["input"][1]["content"][0]["text"] == wrote


CANARY = "zyqxcanary"
REFUSED: dict[str, Any] = {
    "a picture": {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": CANARY}]}]},
    "a file": {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": CANARY}]}]},
    "an item": {"input": [{"type": "computer_call", "action": CANARY}]},
    "sealed content of others": {"input": [{**THOUGHT, "encrypted_content": CANARY}]},
    "variables": {"input": "a", "prompt": {"id": "p", "variables": {"name": CANARY}}},
    "a tool of the host's": {"input": "a", "tools": [{"type": "web_search", "user_location": {"city": CANARY}}]},
    "metadata": {"input": "a", "metadata": {"name": CANARY}},
    "in the background": {"input": "a", "background": True},
    "kept elsewhere": {"input": "a", "previous_response_id": "resp_1"},
    "kept elsewhere too": {"input": "a", "conversation": {"id": "conv_1"}},
}


def test_what_is_not_known_is_refused(proxied: Callable[..., Proxied]) -> None:
    one = proxied(restore=True)
    for name, body in REFUSED.items():
        answer = one.post({"model": "m", **body}, "/v1/responses")
        assert (answer.status_code, CANARY in answer.text) == (400, False), name
    assert one.model.asked == []
    plain = proxied()
    assert plain.post({"model": "m", **REFUSED["kept elsewhere"]}, "/v1/responses").status_code == 200
