"""LiteLLM's guardrail API: with LiteLLM's own client, where it is installed, and by itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.conftest import Model, as_json, completion
from tests.service.conftest import Answer, Service, running
from tests.serving import serving, until
from wordveil.service import Key, Settings
from wordveil.service.keys import hash_key

PATH = "/beta/litellm_basic_guardrail_api"
SAID = "The harbour burned; write to mary@example.org."
SYSTEM = {"role": "system", "content": "You know the harbour."}
USER = {"role": "user", "content": SAID}
LITELLM = Path(sys.prefix) / "litellm" / "bin" / "python"  # `make unit` makes it: its pins clash with ours


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    keys = (
        Key("open", hash_key("k-open")),
        Key("poor", hash_key("k-poor"), budget=0.1),
        Key("people", hash_key("k-people"), user_budget=1e9),
    )
    folder = tmp_path_factory.mktemp("ledgers")
    settings = Settings(
        keys=keys, ledgers=str(folder), words=50, chat_epsilon=0.2, body_bytes=4000, metrics_hash=hash_key("operator")
    )
    with running(settings) as one:
        yield one


def ask(service: Service, key: str = "k-open", **fields: Any) -> Answer:
    body = {"input_type": "request", "request_data": {}, **fields}
    return service.post(PATH, body, **{"x-api-key": key})


CASES: list[dict[str, Any]] = [
    {"key": "k-open", "messages": [SYSTEM, USER], "user": "u1", "params": {"epsilon": 1e6, "mechanism": "laplace"}},
    {"key": "k-open", "messages": [SYSTEM, USER, {"role": "user", "content": "And?"}], "user": "u1"},
    {"key": "k-open", "messages": [SYSTEM, USER], "user": "u2"},
    {"key": "k-wrong", "messages": [USER]},
    {"key": "k-poor", "messages": [USER]},
    {"key": "k-people", "messages": [USER]},
    {"key": "k-open", "messages": [{"role": "user", "content": "harbour " * 60}]},
    {"key": "k-open", "messages": [{"role": "user", "content": "harbour " * 600}]},
    {"key": "k-open", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "u"}}]}
    ]},
]  # fmt: skip


@pytest.mark.skipif(not LITELLM.exists(), reason="LiteLLM is not installed beside the environment: run `make unit`")
def test_with_litellm_itself(guarded: Service) -> None:
    model = Model()
    model.reply = lambda _: as_json(completion(content="Done."))
    with serving(model) as address:
        told = json.dumps({"service": guarded.address, "model": address, "cases": CASES})
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": ""}  # it asks no other host
        script = Path(__file__).with_name("litellm_client.py")
        run = subprocess.run(
            [str(LITELLM), str(script)], input=told, capture_output=True, text=True, env=environment, check=True
        )
    answers = json.loads(run.stdout)
    assert answers[:3] == [{"reply": "Done."}] * 3
    assert all("blocked" in answer for answer in answers[3:])
    first, second, third = (asked.body["messages"] for asked in model.asked)
    assert second[:2] == first  # the draws of the history are those of before
    assert third != first
    for system, user in (first, second[:2], third):
        assert system == SYSTEM
        assert "harbour" not in user["content"]
        assert "<EMAIL>" in user["content"]
    assert b"harbour" not in b"".join(asked.raw.replace(b"You know the harbour.", b"") for asked in model.asked)


def test_texts_and_messages_stay_in_order(guarded: Service) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"at": "harbour"}'}}
    rows: list[dict[str, Any]] = [
        SYSTEM,
        {"role": "user", "content": [{"type": "text", "text": SAID}, {"type": "text", "text": ""}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "harbour"},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"at": {}}}}}]
    texts = [SYSTEM["content"], SAID, "", "harbour"]
    got = ask(guarded, texts=texts, structured_messages=rows, tools=tools, tool_calls=[call], new_field=1).json
    assert got["action"] == "GUARDRAIL_INTERVENED"
    made = got["structured_messages"]
    assert [row["role"] for row in made] == [row["role"] for row in rows]
    assert got["texts"] == [SYSTEM["content"], made[1]["content"][0]["text"], "", made[3]["content"]]
    assert json.dumps(made).count("harbour") == 1
    assert made[0] == SYSTEM


def test_a_refusal_is_counted_as_it_was_answered(guarded: Service) -> None:
    def figures() -> str:
        return guarded.get("/metrics", authorization="Bearer operator").body.decode()

    def count(name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", figures(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    names = f'wordveil_requests_total{{route="{PATH}",status="200"}}', 'wordveil_refused_total{code="too-long"}'
    before = [count(name) for name in names]
    assert ask(guarded, texts=["harbour " * 60]).status == 200
    until(lambda: [count(name) for name in names] == [number + 1 for number in before])
    assert f'route="{PATH}",status="413"' not in figures()


def test_a_text_that_may_be_no_system_prompt_is_veiled(guarded: Service) -> None:
    for rows in (None, [{"role": "system", "content": "Another."}]):
        got = ask(guarded, texts=[SYSTEM["content"]], structured_messages=rows).json
        assert "structured_messages" not in got
        assert "harbour" not in got["texts"][0]
    assert ask(guarded, texts=["a"], tool_calls=[{}]).json["action"] == "BLOCKED"


def test_replies_and_empty_requests_are_left_alone(guarded: Service) -> None:
    assert ask(guarded, input_type="response", texts=["harbour"]).json == {"action": "NONE"}
    assert ask(guarded, texts=[]).json == {"action": "NONE"}


def test_what_a_client_asks_for_is_clamped(guarded: Service) -> None:
    text = "harbour " * 40
    draws = {ask(guarded, texts=[text], additional_provider_specific_params=p).json["texts"][0] for p in (
        {"epsilon": 900}, {"epsilon": 900.0, "mechanism": "laplace"}, {}, None,
    )}  # fmt: skip
    assert len(draws) == 1  # the same kept draw: all were ε = 0.2 of the default mechanism
    assert (
        ask(guarded, texts=[text], additional_provider_specific_params={"epsilon": 0.1}).json["texts"][0] not in draws
    )
    for wrong in ("4", 0, -1, True, None, 1e400):
        assert (
            ask(guarded, texts=["a"], additional_provider_specific_params={"epsilon": wrong}).json["action"]
            == "BLOCKED"
        )


BAD: dict[str, tuple[Any, dict[str, str]]] = {
    "no key": ({"input_type": "request", "texts": ["zyqx"]}, {}),
    "wrong key": ({"input_type": "request", "texts": ["zyqx"]}, {"x-api-key": "k-zyqx"}),
    "over budget": ({"input_type": "request", "texts": ["zyqx harbour"]}, {"x-api-key": "k-poor"}),
    "no end user": ({"input_type": "request", "texts": ["zyqx"]}, {"x-api-key": "k-people"}),
    "no JSON": (b'{"texts": ["zyqx', {"x-api-key": "k-open"}),
    "another type": (b"zyqx", {"x-api-key": "k-open", "content-type": "text/plain"}),
    "another kind": ({"input_type": "zyqx", "texts": ["zyqx"]}, {"x-api-key": "k-open"}),
    "no texts": ({"input_type": "request", "texts": "zyqx"}, {"authorization": "Bearer k-open"}),
    "a role": (
        {"input_type": "request", "texts": ["zyqx"], "structured_messages": [{"role": "zyqx", "content": "zyqx"}]},
        {"x-api-key": "k-open"},
    ),
    "a picture": ({"input_type": "request", "texts": [], "images": ["zyqx"]}, {"x-api-key": "k-open"}),
    "half a character": (b'{"input_type": "request", "texts": ["\\ud800"]}', {"x-api-key": "k-open"}),
    "too long": ({"input_type": "request", "texts": ["zyqx " * 5000]}, {"x-api-key": "k-open"}),
    "host": ({"input_type": "request", "texts": ["zyqx"]}, {"x-api-key": "k-open", "host": "zyqx.example"}),
}


@pytest.mark.parametrize("name", BAD)
def test_every_refusal_is_a_block(guarded: Service, name: str) -> None:
    body, headers = BAD[name]
    got = guarded.post(PATH, body, **headers)
    assert (got.status, got.json["action"]) == (200, "BLOCKED")
    assert got.json["blocked_reason"].endswith(".")
    assert b"zyqx" not in got.body


def test_faults_and_slow_answers_are_blocks(monkeypatch: pytest.MonkeyPatch, toy_file: Path) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError(SAID)

    async def waits(*_: Any, **__: Any) -> None:
        await asyncio.sleep(60)

    with running(Settings(spaces=(str(toy_file),), timeout=0.5, requests=1)) as one, ThreadPoolExecutor(3) as callers:
        for happens in (fails, waits):
            monkeypatch.setattr("wordveil.service.litellm.veil_messages", happens)
            for got in callers.map(lambda _: ask(one, texts=["a"]), range(3)):  # there is room for one
                assert (got.status, got.json["action"]) == (200, "BLOCKED")


def test_a_query_is_a_block(guarded: Service) -> None:
    assert guarded.post(f"{PATH}?a=b", {"input_type": "request"}, **{"x-api-key": "k-open"}).json["action"] == "BLOCKED"
