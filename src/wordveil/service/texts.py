"""``POST /v1/privatize``, one text or a batch, and ``POST /v1/privatize/stream``, a line of JSON for each text."""

from __future__ import annotations

import asyncio
import json
import secrets
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
from wordveil.service.guard import CHARGED, STREAM, WORDS
from wordveil.service.problems import PROBLEMS, Problem, fault, problem_body, problem_of
from wordveil.service.schemas import (
    CaseName,
    Epsilon,
    IdentifiersName,
    LanguageName,
    MarkupName,
    MechanismName,
    NumbersName,
    PolicyName,
    PrivatizeRequest,
    PrivatizeResponse,
    SelectionName,
    Span,
    StreamScope,
    Way,
)
from wordveil.service.settings import Key, Settings
from wordveil.service.state import Batcher, State, caller, json_response, state_of
from wordveil.text import Counts, Document, Release, tokenise

__all__ = ["router"]

router = APIRouter(tags=["texts"])

_LINES = "application/x-ndjson"
_TOGETHER = 256


@router.post(
    "/v1/privatize",
    response_model=PrivatizeResponse,
    responses=PROBLEMS(400, 403, 409, 413, 422),
    summary="Veil one text or a batch",
)
async def privatize(asked: PrivatizeRequest, request: Request) -> Response:
    """Replace the selected words of one text or a batch; the guarantee comes with the answer.

    Requests that arrive together are drawn for together. A key with a budget is charged, for every draw, the most that
    it can lose.
    """
    state, key, left = state_of(request), caller(request), None
    texts, spans = asked.texts, asked.spans
    if len(texts) > state.settings.texts:
        raise Problem(413, f"a batch may have at most {state.settings.texts:,} texts; send fewer, or a stream.")
    _check_words(texts, state.settings)
    batcher = await state.batcher(asked, asked.words)
    state.keys.check(key, batcher.veil.guarantee, asked.case)
    scopes, people = _Scopes(asked.once), asked.people or [None] * len(texts)
    documents = [
        _document(text, None if spans is None else spans[number], scopes.of(people[number]))
        for number, text in enumerate(texts)
    ]
    releases = await batcher(documents) if documents else []
    counts = sum((release.counts for release in releases), Counts())
    if key is not None and key.budget is not None:
        request.scope[CHARGED] = True  # from here on there is an answer, however long it takes
        left = await asyncio.to_thread(state.keys.charge, key, batcher.veil.largest_loss, counts.draws)
    _count(counts)
    return json_response(
        {
            "results": [_details(release) for release in releases],
            "counts": counts.to_dict(),
            "guarantee": orjson.Fragment(batcher.guarantee_json),
            "budget_left": left,
        }
    )


_LINE_SCHEMA = {
    "type": "string",
    "format": "binary",
    "description": 'Lines of JSON: {"text": …, "id": …}, with "spans" for the selection spans and "person" for once '
    "person.",
}


@router.post(
    STREAM,
    responses={
        **PROBLEMS(403, 409, 422),
        200: {
            "description": "Lines of JSON in the order of the input: id, text and replacements, or id and problem. "
            "The header Wordveil-Guarantee has the guarantee as JSON.",
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
    once: StreamScope = "record",
    identifiers: IdentifiersName = "placeholder",
    numbered: bool = False,
    numbers: NumbersName = "placeholder",
    markup: MarkupName = "keep",
    language: LanguageName = "en",
) -> Response:
    """Veil one text per line, as the lines come in; read the answers while you write.

    A line that cannot be veiled is answered by a problem, and the stream goes on. A key with a budget is charged
    before each line is sent; the first line that exceeds the budget is answered by a problem, and ends the stream.
    """
    state = state_of(request)
    if select == "words":
        raise Problem(422, "a stream takes no list of words; choose another selection.")
    way = Way(
        mechanism=mechanism,
        epsilon=epsilon,
        space=space,
        select=select,
        oov=oov,
        case=case,
        once=None if once == "none" else once,
        identifiers=identifiers,
        numbered=numbered,
        numbers=numbers,
        markup=markup,
        language=language,
    )
    batcher = await state.batcher(way)
    state.keys.check(caller(request), batcher.veil.guarantee, case)
    return _Stream(state, batcher, caller(request))


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    id: Annotated[int, Field(ge=-(2**63), lt=2**64)] | str | None = None  # as large as can be written back
    spans: list[Span] | None = None
    person: Annotated[str, Field(max_length=1000)] | None = None


class _Scopes:
    """Names the scopes of one request or stream, in which equal words are drawn once, unlike those of any other."""

    def __init__(self, once: str | None) -> None:
        self._once, self._mine, self._number = once, secrets.token_hex(16), 0

    def of(self, person: str | None) -> str | None:
        """Return the scope of the next text, which is this person's or, if none is named, somebody's own."""
        self._number += 1
        if self._once is None or self._once == "record":  # a text is a record
            return None
        if self._once == "file":
            return self._mine
        return f"{self._mine} {self._number}" if person is None else f"{self._mine} person {person}"


class _Done(Exception):  # noqa: N818 - not an error: the other side has gone
    pass


class _Stream(Response):
    """An answer of any length, written in constant memory while the request is still being read."""

    media_type = _LINES

    def __init__(self, state: State, batcher: Batcher, key: Key | None) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.headers["Wordveil-Guarantee"] = json.dumps(batcher.veil.guarantee.to_dict())  # escaped: a header is ASCII
        self._settings, self._keys = state.settings, state.keys
        self._batcher, self._key = batcher, key
        once = batcher.veil.once
        self._scopes = _Scopes(None if once is None else once.scope)

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
            # An answer that only breaks off would look complete.
            await send({"type": "http.response.body", "body": _line({"problem": problem_body(fault())})})
            raise
        else:
            await send({"type": "http.response.body", "body": b""})

    def _in_time(self, send: Send) -> Send:
        """Give up callers who do not read the answers: their stream would keep its place among the requests forever."""

        async def sent(message: Message) -> None:
            try:
                await asyncio.wait_for(send(message), self._settings.timeout)
            except (asyncio.TimeoutError, TimeoutError):
                raise _Done from None

        return sent

    async def _batches(self, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Yield lines as they come, some at a time; each must be whole in time, however many bytes of it come."""
        timeout, most = self._settings.timeout, self._settings.body_bytes
        until = time.monotonic() + timeout
        rest, more = b"", True
        while more:
            try:
                message = await asyncio.wait_for(receive(), until - time.monotonic())
            except (asyncio.TimeoutError, TimeoutError):
                raise Problem(503, "no whole line arrived in time; send the rest in another stream.") from None
            if message["type"] == "http.disconnect":
                raise _Done
            more = message.get("more_body", False)
            *lines, rest = (rest + message.get("body", b"")).split(b"\n")
            if len(rest) > most or any(len(line) > most for line in lines):
                raise Problem(413, f"a line is longer than the {most:,} bytes allowed.")
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
                answers.append((_line({**named, **_details(outcome)}), outcome.counts))
        paid = await self._charge([counts.draws for _, counts in answers])
        _count(sum((counts for _, counts in answers[:paid]), Counts()))
        written = [line for line, _ in answers[:paid]]
        if paid < len(answers):
            spent = Problem(403, "the key's budget is too small for this line: no more was released or charged.")
            written.append(_line({**records[paid][0], "problem": problem_body(spent)}))
        return b"".join(written), paid < len(answers)

    async def _charge(self, drawn: list[int]) -> int:
        """Charge the key for lines by their drawn words, and return how many of them may be sent."""
        if self._key is None or self._key.budget is None:
            return len(drawn)
        return await asyncio.to_thread(self._keys.charge_leading, self._key, self._batcher.veil.largest_loss, drawn)

    def _read(self, line: bytes) -> tuple[dict[str, Any], Document | Problem]:
        """Return the id of a line, where it has one, and its text or what is wrong with it."""
        try:
            record = _Record.model_validate_json(line)
        except ValidationError:
            return {}, Problem(422, "a line must be a JSON object with a text, and perhaps an id, spans and a person.")
        named = {} if record.id is None else {"id": record.id}
        try:
            _check_words([record.text], self._settings)
        except Problem as problem:
            return named, problem
        return named, _document(record.text, record.spans, self._scopes.of(record.person))

    async def _releases(self, documents: list[Document]) -> list[Release | Problem]:
        """Veil documents together, or one by one where one of them is refused."""
        try:
            return list(await self._batcher(documents)) if documents else []
        except WordveilError as error:
            if len(documents) == 1:
                return [problem_of(error)]
        return [outcome for document in documents for outcome in await self._releases([document])]


def _line(values: dict[str, Any]) -> bytes:
    return orjson.dumps(values) + b"\n"


def _document(text: str, spans: list[list[int]] | None, scope: str | None) -> Document:
    return Document(text, None if spans is None else tuple((start, end) for start, end in spans), scope)


def _details(release: Release) -> dict[str, Any]:
    """Return a veiled text as plain values."""
    return {"text": release.text, "replacements": [place._asdict() for place in release.replacements]}


def _check_words(texts: list[str], settings: Settings) -> None:
    """Refuse texts that have too many words in total."""
    if sum(map(len, texts)) <= settings.words:  # so few characters cannot be more words
        return
    if sum(len(tokenise(text).keys) for text in texts) > settings.words:
        raise Problem(413, f"more than the {settings.words:,} words allowed at once; send less, or a stream.")


def _count(counts: Counts) -> None:
    """Tell the metrics what became of words."""
    for way, words in counts.to_dict().items():
        if words and way not in ("words", "repeated"):
            WORDS.labels(way).inc(words)
