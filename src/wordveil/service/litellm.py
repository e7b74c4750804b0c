"""LiteLLM's Generic Guardrail API: veils or blocks the texts of a call to a model.

A client that fails open passes a request on raw after any error or missing answer, so every refusal is a 200 that says
BLOCKED. Kept draws belong to the end user, not to LiteLLM's trace: it makes up a new trace for each call whose client
names none, and nothing kept under one would ever be found again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from wordveil.errors import InputError
from wordveil.service.schemas import Way
from wordveil.service.settings import Settings
from wordveil.service.state import json_response, state_of
from wordveil.service.veiling import veil_messages
from wordveil.text.conversation import Writer, schema_names

__all__ = ["PATH", "blocked", "router"]

PATH = "/beta/litellm_basic_guardrail_api"
_CONVERSATION = "litellm"  # one for all of an end user's calls
#: Where the end user's name may be. The first that is set counts.
_USERS = ("user_api_key_end_user_id", "user_api_key_user_id", "user_api_key_hash")

router = APIRouter(include_in_schema=False)  # LiteLLM documents it

Object = dict[str, Any]


def blocked(_: int, sentence: str) -> tuple[int, Object]:
    """Answer a problem so that no client mistakes it for a guardrail that cannot be reached."""
    return 200, {"action": "BLOCKED", "blocked_reason": sentence}


class GuardrailRequest(BaseModel):
    """The fields of LiteLLM's request that matter here."""

    model_config = ConfigDict(extra="ignore")

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[Object] | None = None
    images: list[Any] | None = None
    tools: list[Any] | None = None
    tool_calls: list[Any] | None = None
    request_data: Object | None = None
    params: Object | None = Field(default=None, alias="additional_provider_specific_params")


@router.post(PATH)
async def guard(asked: GuardrailRequest, request: Request) -> Response:
    """Veil what goes to a model. Leave what comes from it alone."""
    texts = asked.texts or []
    if asked.input_type == "response" or not (texts or asked.images or asked.tool_calls or asked.structured_messages):
        return json_response({"action": "NONE"})
    if asked.images:
        raise InputError("pictures cannot be veiled, so the request was refused.")
    settings = state_of(request).settings
    writer = Writer(settings.chat_policy, schema_names(asked.tools))
    rows = asked.structured_messages or []
    # Only messages tell which text is a system prompt. Without matching messages, veil all texts.
    is_clear = bool(rows) and list(_texts_of(rows)) == texts
    if not is_clear and asked.tool_calls and settings.chat_policy.assistant != "leave":
        raise InputError("calls of tools came without their messages, so they cannot be veiled.")
    made: Any = [writer.message(row) for row in rows] if is_clear else [None] * len(texts)
    if not is_clear:
        for place, text in enumerate(texts):
            writer.text(made, place, text, "veil")
    data = asked.request_data or {}
    user = next((str(data[name]) for name in _USERS if data.get(name)), None)
    way = Way(mechanism=settings.chat_mechanism, epsilon=_epsilon(asked.params, settings))
    drawn = await veil_messages(request, writer.texts, way, conversation=_CONVERSATION, user=user)
    writer.fill(drawn.texts)
    told = {"texts": list(_texts_of(made)), "structured_messages": made} if is_clear else {"texts": made}
    return json_response({"action": "GUARDRAIL_INTERVENED", **told})


def _texts_of(rows: Sequence[Object]) -> Iterator[str]:
    """Yield the texts of messages in the order in which LiteLLM lists them: contents, and the ``text`` of parts."""
    for row in rows:
        content = row.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (part["text"] for part in content if isinstance(part, dict) and part.get("text") is not None)


def _epsilon(params: Object | None, settings: Settings) -> float:
    """Return the service's ε, or a smaller one that the client asks for."""
    asked = (params or {}).get("epsilon", settings.chat_epsilon)
    if isinstance(asked, bool) or not isinstance(asked, (int, float)) or not math.isfinite(asked) or asked <= 0:
        raise InputError("epsilon must be a finite number above 0.")
    return max(settings.smallest_epsilon, min(asked, settings.chat_epsilon, settings.largest_epsilon))
