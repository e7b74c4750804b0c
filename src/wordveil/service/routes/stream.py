"""``POST /v1/privatize/stream``: a line of JSON for each text, in and out, of any length and in constant memory."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Message, Receive, Scope, Send

from wordveil._mechanisms import DEFAULT
from wordveil.errors import WordveilError
from wordveil.service.batching import Batcher
from wordveil.service.guard import STREAM
from wordveil.service.problems import PROBLEMS, Problem, fault, problem_body
from wordveil.service.routes.shared import caller, check_words, count, release_details, state_of
from wordveil.service.schemas import CaseName, Epsilon, MechanismName, PolicyName, SelectionName, Span, Way
from wordveil.service.settings import Key
from wordveil.service.state import State
from wordveil.text import Counts, Document

__all__ = ["router"]

router = APIRouter()

_LINES = "application/x-ndjson"
_TOGETHER = 256


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    id: Annotated[int, Field(ge=-(2**63), lt=2**64)] | str | None = None  # as large as can be written back
    spans: list[Span] | None = None


class _Done(Exception):  # noqa: N818 - not an error: the other side has gone
    pass


_LINE_SCHEMA = {
    "type": "string",
    "format": "binary",
    "description": 'Lines of JSON: {"text": …, "id": …}, with "spans" for the selection spans.',
}


@router.post(
    STREAM,
    responses={
        **PROBLEMS(403, 409, 422),
        200: {
            "description": "Lines of JSON in the order of the input: id, text and replacements, or id and problem. "
            "The header Wordveil-Guarantee has the promise as JSON.",
            "content": {_LINES: {"schema": {"type": "string"}}},
        },
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                _LINES: {"schema": _LINE_SCHEMA, "example": '{"id": 1, "text": "The committee met in Paris."}\n'}
            },
        }
    },
    tags=["texts"],
    summary="Veil a stream of texts",
    response_class=Response,
)
async def stream(
    request: Request,
    epsilon: Annotated[Epsilon, Query()],
    mechanism: MechanismName = DEFAULT,
    space: Annotated[str | None, Query(max_length=100)] = None,
    select: SelectionName = "content",
    oov: PolicyName = "replace",
    case: CaseName = "sentence",
) -> Response:
    """Veil a text for each line, as the lines come in; read while you write.

    A line that cannot be veiled gives a line with a problem, and the stream goes on. A key with a budget is charged
    before each line is sent; the first line that the budget does not suffice for gives a problem, and ends the stream.
    """
    state = state_of(request)
    if select == "words":
        raise Problem(422, "a stream takes no list of words; choose another selection.")
    way = Way(mechanism=mechanism, epsilon=epsilon, space=space, select=select, oov=oov, case=case)
    state.workshop.check(way)
    batcher = await state.batcher(way)
    state.keys.check(caller(request), batcher.veil.guarantee, way.case)
    return _Stream(state, batcher, caller(request))


class _Stream(Response):
    """An answer that is written while the request is still being read."""

    media_type = _LINES

    def __init__(self, state: State, batcher: Batcher, key: Key | None) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.headers["Wordveil-Guarantee"] = json.dumps(batcher.veil.guarantee.to_dict())  # escaped: a header is ASCII
        self._state, self._batcher, self._key = state, batcher, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        with suppress(_Done):
            await self._answer(receive, self._in_time(send))

    async def _answer(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for lines in self._batches(receive):
                body, is_spent = await self._veil(lines)
                await send({"type": "http.response.body", "body": body, "more_body": not is_spent})
                if is_spent:
                    return
        except Problem as problem:
            await send({"type": "http.response.body", "body": _line({"problem": problem_body(problem)})})
        except _Done:
            raise
        except Exception:
            # An answer that only breaks off would look like one that is whole.
            await send({"type": "http.response.body", "body": _line({"problem": problem_body(fault())})})
            raise
        else:
            await send({"type": "http.response.body", "body": b""})

    def _in_time(self, send: Send) -> Send:
        """Give up whoever does not read the answers: the stream would keep its place among the requests for ever."""

        async def sent(message: Message) -> None:
            try:
                await asyncio.wait_for(send(message), self._state.settings.timeout)
            except (asyncio.TimeoutError, TimeoutError):
                raise _Done from None

        return sent

    async def _batches(self, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Yield lines as they come, some at a time; each must be whole in time, however many bytes of it come."""
        timeout = self._state.settings.timeout
        until = time.monotonic() + timeout
        rest, most = b"", self._state.settings.body_bytes
        more = True
        while more:
            try:
                message = await asyncio.wait_for(receive(), until - time.monotonic())
            except (asyncio.TimeoutError, TimeoutError):
                raise Problem(503, "no whole line came for too long; send the rest in another stream.") from None
            if message["type"] == "http.disconnect":
                raise _Done
            more = message.get("more_body", False)
            *lines, rest = (rest + message.get("body", b"")).split(b"\n")
            if len(rest) > most or any(len(line) > most for line in lines):
                raise Problem(413, f"a line is longer than the {most:,} bytes that are allowed here.")
            if not more and rest:
                lines.append(rest)
            lines = [line for line in lines if line.strip()]
            for start in range(0, len(lines), _TOGETHER):
                yield lines[start : start + _TOGETHER]
            if lines:  # from here on, since answering them took time, too
                until = time.monotonic() + timeout

    async def _veil(self, lines: list[bytes]) -> tuple[bytes, bool]:
        """Return the answers to some lines, and whether the budget ended before they did."""
        records = [self._read(line) for line in lines]
        releases = iter(await self._releases([one for _, one in records if isinstance(one, Document)]))
        answers: list[tuple[bytes, Counts]] = []
        for named, one in records:
            outcome = next(releases) if isinstance(one, Document) else one
            if isinstance(outcome, Problem):
                answers.append((_line({**named, "problem": problem_body(outcome)}), Counts()))
            else:
                answers.append((_line({**named, **release_details(outcome)}), outcome.counts))
        paid = await self._charge([counts.drawn for _, counts in answers])
        count(sum((counts for _, counts in answers[:paid]), Counts()))
        written = [line for line, _ in answers[:paid]]
        if paid < len(answers):
            written.append(_line({**records[paid][0], "problem": problem_body(_spent())}))
        return b"".join(written), paid < len(answers)

    async def _charge(self, drawn: list[int]) -> int:
        """Charge the key for lines by their drawn words, and return how many of them may be sent."""
        if self._key is None or self._key.budget is None:
            return len(drawn)
        promise = self._batcher.veil.guarantee
        return await asyncio.to_thread(self._state.keys.charge_leading, self._key, promise, drawn)

    def _read(self, line: bytes) -> tuple[dict[str, Any], Document | Problem]:
        """Return the id of a line, where it has one, and its text or what is wrong with it."""
        try:
            record = _Record.model_validate_json(line)
        except ValidationError:
            return {}, Problem(422, "a line must be a JSON object with a text, and perhaps an id and spans.")
        named = {} if record.id is None else {"id": record.id}
        try:
            check_words([record.text], self._state.settings)
        except Problem as problem:
            return named, problem
        spans = None if record.spans is None else tuple((start, end) for start, end in record.spans)
        return named, Document(record.text, spans)

    async def _releases(self, documents: list[Document]) -> list[Any]:
        """Veil documents together, or one by one where one of them is refused."""
        try:
            return list(await self._batcher(documents)) if documents else []
        except WordveilError as error:
            if len(documents) == 1:
                return [Problem(422, str(error))]
        return [outcome for document in documents for outcome in await self._releases([document])]


def _spent() -> Problem:
    return Problem(403, "the budget of this key does not suffice for this line: no more was released or counted.")


def _line(values: dict[str, Any]) -> bytes:
    return orjson.dumps(values) + b"\n"
