"""A model that a test writes the answers of, and the proxy before it: two real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from tests.serving import PATIENCE, serving
from wordveil import Veil, mechanism
from wordveil.spaces import EuclideanSpace

pytest.importorskip("httpx", reason="the proxy is not tested: the extra proxy is not installed")

import httpx

from wordveil.proxy import Settings, create_app


class Asked(NamedTuple):
    """A request that the model got."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Model:
    """The upstream: keeps what it is asked, and answers with what `reply` returns: status, headers, pieces."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.reply: Callable[[Any], tuple[int, dict[str, str], list[bytes]]] = lambda _: as_json({})
        self.endless = False  # then no answer ends, and who leaves is counted
        self.left = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        raw, more = b"", True
        while more:
            message = await receive()
            raw, more = raw + message["body"], message["more_body"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append(Asked(scope["path"], headers, raw))
        status, told, pieces = self.reply(json.loads(raw) if raw else None)
        named = [(name.encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": named})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self.endless:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left += 1
            return
        await send({"type": "http.response.body", "body": b""})


def as_json(value: Any, status: int = 200, **headers: str) -> tuple[int, dict[str, str], list[bytes]]:
    """Return an answer of one JSON value."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return status, {"content-type": "application/json", **named}, [json.dumps(value).encode()]


def completion(**message: Any) -> dict[str, Any]:
    """Return a whole chat completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


class Proxied(NamedTuple):
    """The proxy and what stands behind it."""

    address: str
    model: Model

    def post(self, body: Any, path: str = "/v1/chat/completions", **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        named.setdefault("content-type", "application/json")
        # Without TLS there is nothing to verify, and reading the authorities takes longer than an answer.
        return httpx.post(
            self.address + path,
            content=content,
            headers=named,
            timeout=PATIENCE,
            trust_env=False,
            verify=False,  # noqa: S501
        )

    def say(self, *messages: Any, **more: Any) -> httpx.Response:
        return self.post({"model": "m", "messages": list(messages), **more})


@pytest.fixture(scope="session")
def far_veil(glove: EuclideanSpace) -> Veil:
    """A veil under which hardly any word stays."""
    return Veil(mechanism("graph", glove, epsilon=0.2), once="person")


@pytest.fixture
def proxied(far_veil: Veil) -> Iterator[Callable[..., Proxied]]:
    """Start a proxy with some settings."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Proxied:
            model = Model()
            upstream = stack.enter_context(serving(model))
            app = create_app(Settings(f"{upstream}/v1", **settings), far_veil)
            return Proxied(stack.enter_context(serving(app)), model)

        yield start
