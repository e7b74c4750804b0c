"""Whatever a request holds, what is to be veiled is not in what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import InputError
from wordveil.proxy.requests import write_chat, write_response
from wordveil.text.conversation import Policy, Writer, schema_names

CANARY = "zyqx canary"  # with a space: a short name without one passes where names are due
KEYS = [
    "role", "content", "type", "text", "name", "tool_calls", "function_call", "function", "arguments", "id", "input",
    "output", "summary", "call_id", "refusal", "custom", "encrypted_content", "status", "image_url", "stop", "user",
    "tool_choice", "instructions", "metadata", "tools", "reasoning", CANARY,
]  # fmt: skip
WORDS = [
    CANARY, "user", "system", "assistant", "tool", "text", "input_text", "refusal", "message", "function_call",
    "function_call_output", "reasoning", "function", "custom", f'{{"{CANARY}": "{CANARY}"}}', f'["{CANARY}", 1]', "",
]  # fmt: skip
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(WORDS)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)
# Of the form that they should have, so that they are not refused for that alone.
texts = st.sampled_from(["", CANARY])
parts = st.fixed_dictionaries({"type": st.just("text"), "text": texts}, optional={"name": texts})
arguments = st.dictionaries(st.sampled_from(["a", CANARY]), texts | st.lists(texts)).map(json.dumps)
calls = st.fixed_dictionaries({
    "id": st.just("c"), "type": st.just("function"),
    "function": st.fixed_dictionaries({"name": st.just("f"), "arguments": arguments}),
})  # fmt: skip
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "system", "developer", "assistant", "tool", "function"]),
        "content": texts | st.lists(parts, max_size=2),
    },
    optional={"tool_calls": st.lists(calls, max_size=2), "name": texts, CANARY: texts, "refusal": texts},
)
items = messages | st.fixed_dictionaries(
    {"type": st.sampled_from(["function_call", "function_call_output", "reasoning", "message"])},
    optional={key: values for key in KEYS if key != "type"},
)


@pytest.mark.parametrize("other", ["refuse", "drop"])
@given(said=st.lists(items, max_size=2), more=st.dictionaries(st.sampled_from(KEYS), leaves, max_size=1))
def test_nothing_raw_is_written(other: str, said: list[Any], more: dict[str, Any]) -> None:
    policy = Policy(system="veil", tools="refuse", other=other)
    for write, key in ((write_chat, "messages"), (write_response, "input")):
        writer = Writer(policy, ["a"])
        try:
            made = write({"model": "m", key: said, **more}, writer, lambda name: f"wv-{len(name)}")
        except InputError as refused:
            made = {"refused": str(refused)}
        assert CANARY not in json.dumps(made)  # before the gaps are filled
        writer.fill("veiled" for _ in writer.texts)
        assert CANARY not in json.dumps(made)


def test_names_of_arguments_come_from_schemas() -> None:
    tools = [{"function": {"parameters": {"properties": {"a": {"properties": {"b": {}}}, "c": {"items": [{}]}}}}}]
    assert schema_names(tools) == {"a", "b", "c"}
