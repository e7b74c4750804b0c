"""Run by LiteLLM's own interpreter: its guardrail client before a call to a model, for each case on standard input."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import litellm
from litellm.exceptions import GuardrailRaisedException
from litellm.llms.openai.chat.guardrail_translation.handler import OpenAIChatCompletionsHandler
from litellm.proxy.guardrails.guardrail_hooks.generic_guardrail_api.generic_guardrail_api import GenericGuardrailAPI


async def answer(case: dict[str, Any], service: str, model: str) -> dict[str, Any]:
    """Guard a request as LiteLLM's proxy does, failing open, and send on what is left of it."""
    guard = GenericGuardrailAPI(
        api_base=service, api_key=case.get("key"), guardrail_name="wordveil", event_hook="pre_call",
        additional_provider_specific_params=case.get("params"), unreachable_fallback="fail_open", fail_on_error=False,
    )  # fmt: skip
    handler = OpenAIChatCompletionsHandler()
    data = {"model": "openai/m", "messages": case["messages"], "tools": case.get("tools")}
    data["metadata"] = {"user_api_key_end_user_id": case.get("user")}
    try:
        data = await handler.process_input_messages(data=data, guardrail_to_apply=guard)
    except GuardrailRaisedException as blocked:
        return {"blocked": blocked.message}
    reply = await litellm.acompletion(
        model=data["model"], messages=data["messages"], tools=data["tools"], api_base=f"{model}/v1", api_key="k"
    )
    reply = await handler.process_output_response(response=reply, guardrail_to_apply=guard)
    return {"reply": reply.choices[0].message.content}


async def main() -> None:
    """Answer all cases, one after the other."""
    told = json.load(sys.stdin)
    answers = [await answer(case, told["service"], told["model"]) for case in told["cases"]]
    json.dump(answers, sys.stdout)


asyncio.run(main())
