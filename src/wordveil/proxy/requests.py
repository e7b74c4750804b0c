"""Rewrites requests to a model. Each field is known to be harmless, veiled, replaced by a pseudonym, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wordveil.errors import InputError
from wordveil.text.conversation import Writer, is_token, listed, token

__all__ = ["write_chat", "write_response"]

# Fields with numbers, switches and short names, or lists and objects of these.
_PLAIN = {
    "model", "stream", "stream_options", "temperature", "top_p", "parallel_tool_calls", "service_tier", "store",
    "top_logprobs", "prompt_cache_retention", "tool_choice",
}  # fmt: skip
_CHAT = _PLAIN | {
    "n", "max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "seed", "reasoning_effort",
    "verbosity", "logprobs", "modalities", "function_call",
}  # fmt: skip
_RESPONSE = _PLAIN | {
    "max_output_tokens", "max_tool_calls", "truncation", "reasoning", "include", "previous_response_id", "conversation",
}  # fmt: skip
_STATEFUL = ("previous_response_id", "conversation")
#: Fields that name a person or a conversation. The model's host gets pseudonyms.
_NAMED = ("user", "safety_identifier", "prompt_cache_key")
_TOOLS = ("function", "custom")

Pseudonym = Callable[[str], str]


def write_chat(body: dict[str, Any], writer: Writer, pseudonym: Pseudonym) -> dict[str, Any]:
    """Rewrite a body of ``/chat/completions``, with gaps for the veiled texts."""
    made: dict[str, Any] = {}
    for key, value in _given(body, "messages"):
        if key == "messages":
            made[key] = [writer.message(one) for one in listed(value, key)]
        elif key in ("functions", "response_format", "stop"):
            made[key] = _described(value, writer)
        else:
            _field(made, key, value, writer, _CHAT, pseudonym)
    return made


def write_response(
    body: dict[str, Any], writer: Writer, pseudonym: Pseudonym, *, stateless: bool = False
) -> dict[str, Any]:
    """Rewrite a body of ``/responses``. `stateless` refuses to continue a conversation kept by the model's host."""
    made: dict[str, Any] = {}
    for key, value in _given(body, "input"):
        if key in _STATEFUL and stateless:
            raise InputError(f"{key} is refused while replies are restored: send the whole conversation as input.")
        if key == "input" and isinstance(value, str):
            writer.text(made, key, value, "veil")
        elif key == "input":
            items = [_item(one, writer) for one in listed(value, key)]
            made[key] = [one for one in items if one is not None]
        elif key == "instructions":
            writer.content(made, key, value, writer.way("system"))
        elif key == "text":
            made[key] = _described(value, writer)
        else:
            _field(made, key, value, writer, _RESPONSE, pseudonym)
    return made


def _given(body: dict[str, Any], needed: str) -> list[tuple[str, Any]]:
    if needed not in body or not is_token(body.get("model")):
        raise InputError(f"a request needs a model and {needed}.")
    return [(key, value) for key, value in body.items() if value not in (None, [], {}) or key == needed]


def _field(made: dict[str, Any], key: str, value: Any, writer: Writer, plain: set[str], pseudonym: Pseudonym) -> None:
    """Write a field that is not a message."""
    if key in plain:
        if not _is_plain(value):
            raise InputError(f"{key} may have numbers, switches and short names only.")
        made[key] = value
    elif key in _NAMED and isinstance(value, str):
        made[key] = pseudonym(value)
    elif key == "tools":
        made[key] = [tool for tool in listed(_described(value, writer), key) if _is_ours(tool, writer)]
    else:
        writer.other("a field of the request")


def _described(value: Any, writer: Writer) -> Any:
    """Return a description of tools or of the answer's form unchanged, if the policy allows it."""
    if writer.policy.tools == "refuse":
        raise InputError("descriptions of tools and of the answer's form, and stop sequences, are not allowed here.")
    return value


def _is_ours(tool: Any, writer: Writer) -> bool:
    """Whether the caller runs a tool. One that the model's host runs may send the text to others."""
    if isinstance(tool, dict) and tool.get("type") in _TOOLS:
        return True
    writer.other("a tool that the caller does not run")
    return False


def _is_plain(value: Any, depth: int = 0) -> bool:
    if isinstance(value, (list, dict)):
        inside = list(value) if isinstance(value, list) else [*value.values(), *value]
        return depth < 5 and all(_is_plain(one, depth + 1) for one in inside)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int)) or is_token(value)


def _item(given: Any, writer: Writer) -> dict[str, Any] | None:
    """Write an item of the input, or return None to leave it out."""
    if not isinstance(given, dict):
        raise InputError("an item of the input must be an object.")
    kind = given.get("type", "message")
    made = {key: token(given[key], key) for key in ("type", "id", "status", "call_id") if given.get(key)}
    rest = {key: value for key, value in given.items() if key not in made and value not in (None, "", [], {})}
    if kind == "message":
        return made | writer.message({**rest, "content": given.get("content")})
    if kind in ("function_call", "custom_tool_call"):
        inside = "arguments" if kind == "function_call" else "input"
        made["name"] = token(rest.pop("name", None), "name")
        write = writer.arguments if kind == "function_call" else writer.text
        write(made, inside, rest.pop(inside, ""), writer.way("assistant"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        writer.content(made, "output", rest.pop("output", ""), writer.way("results"))
    elif kind == "reasoning":
        writer.content(made, "summary", rest.pop("summary", []), writer.way("assistant"))
        sealed = rest.pop("encrypted_content", None)
        if writer.is_known(sealed):
            made["encrypted_content"] = sealed
        elif sealed is not None:
            writer.other("sealed content that this proxy did not deliver")
    else:
        writer.other("an item that is not text")
        return None
    if rest:
        writer.other("a field of an item")
    return made
