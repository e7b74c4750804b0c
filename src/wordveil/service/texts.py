"""``POST /v1/privatize`` for one text or a batch, ``…/stream`` for JSON lines, ``…/table`` for a column of a CSV."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Message, Receive, Scope, Send

from wordveil._mechanisms import DEFAULT
from wordveil.errors import WordveilError
from wordveil.io.headers import Header as TableHeader
from wordveil.io.headers import header_of
from wordveil.service.budgets import Bill, named_in_header
from wordveil.service.connections import ABORT
from wordveil.service.guard import STREAM, TABLE
from wordveil.service.metrics import count_words
from wordveil.service.problems import PROBLEMS, Problem, fault, header, problem_body, problem_of, stopping
from wordveil.service.schemas import (
    CaseName,
    EndUser,
    Epsilon,
    IdentifiersName,
    LanguageName,
    MarkupName,
    MechanismName,
    NumbersName,
    PolicyName,
    PriceDetails,
    PrivatizeRequest,
    PrivatizeResponse,
    SelectionName,
    Span,
    StreamScope,
    Way,
)
from wordveil.service.settings import Key
from wordveil.service.state import Batcher, State, caller, json_response, state_of
from wordveil.service.veiling import Scopes, check_words, details, document, price_messages, veil_messages
from wordveil.text import Counts, Document, Release

__all__ = ["router"]

router = APIRouter(tags=["texts"])

_LINES = "application/x-ndjson"
_TOGETHER = 256

_LINE_SCHEMA = {
    "type": "string",
    "format": "binary",
    "description": 'Lines of JSON: {"text": …, "id": …}, with "spans" for the selection spans and "person" for once '
    "person.",
}
_LOOKED_AT = 200  # rows below the names of a table
_CSV = "text/csv"


@router.post(
    "/v1/privatize",
    response_model=PrivatizeResponse,
    responses=PROBLEMS(400, 403, 409, 413, 422),
    summary="Veil one text or a batch",
)
async def privatize(asked: PrivatizeRequest, request: Request) -> Response:
    """Replace the selected words of one text or a batch. The answer includes the guarantee.

    Requests that arrive at the same time are drawn together. A key with a budget is charged, for every draw, the most
    that it can lose. In a conversation, a text that was veiled before returns the same draws and costs nothing.
    """
    drawn = await veil_messages(request, asked.texts, asked, **_beside(asked))
    return json_response(
        {
            "results": drawn.results,
            "counts": drawn.counts.to_dict(),
            "guarantee": orjson.Fragment(drawn.guarantee_json),
            "budget_left": drawn.budget_left,
            "reused": drawn.reused,
        }
    )


@router.post(
    "/v1/price",
    name="price_texts",
    response_model=PriceDetails,
    responses=PROBLEMS(403, 409, 413, 422),
    summary="What veiling would cost",
)
async def price(asked: PrivatizeRequest, request: Request) -> Response:
    """Return what the same request to /v1/privatize would be charged. Nothing is drawn, released or charged."""
    return json_response(await price_messages(request, asked.texts, asked, **_beside(asked)))


def _beside(asked: PrivatizeRequest) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in ("conversation", "user", "words", "spans", "people")}


@router.post(
    STREAM,
    name="privatize_stream",
    responses={
        **PROBLEMS(403, 409, 422),
        200: {
            "description": "Lines of JSON in the order of the input: id, text and replacements, or id and problem. "
            "If the service stops, or a budget is used up, the last line is a problem.",
            "headers": {"Wordveil-Guarantee": header("The guarantee, as JSON.")},
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
    """Veil one text per line as the lines come in. Read the answers while you write.

    A line that cannot be veiled is answered with a problem, and the stream goes on. A key with a budget is charged
    before each line is sent. The first line above the budget is answered with a problem and ends the stream.
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
    key = caller(request)

    def bill(user: str | None) -> Bill | None:
        return state.budgets.bill(key, user, batcher.veil, state.pricer(way))

    if key is None or key.user_budget is None:
        bill(None)  # refuses settings without a price before anything is read
    return _Stream(state, batcher, key, bill)


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    id: Annotated[int, Field(ge=-(2**63), lt=2**64)] | str | None = None  # the range that orjson can write
    spans: list[Span] | None = None
    person: Annotated[str, Field(max_length=1000)] | None = None
    user: EndUser | None = None
    conversation: Any = None


class _Text(NamedTuple):
    named: dict[str, Any]
    document: Document
    bill: Bill | None


class _Refused(NamedTuple):
    named: dict[str, Any]
    problem: Problem


class _Done(Exception):  # noqa: N818 - not an error: the client has gone
    pass


class _Stream(Response):
    """A response of any length, written in constant memory while the request is still being read."""

    media_type = _LINES

    def __init__(
        self, state: State, batcher: Batcher, key: Key | None, bill: Callable[[str | None], Bill | None]
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.headers["Wordveil-Guarantee"] = json.dumps(batcher.veil.guarantee.to_dict())  # escaped: a header is ASCII
        self._settings, self._budgets, self._stopping = state.settings, state.budgets, state.stopping
        self._batcher, self._key, self._bill = batcher, key, bill
        once = batcher.veil.once
        self._scopes = Scopes(None if once is None else once.scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(receive, self._in_time(send))
        except _Done:
            if abort := scope.get(ABORT):
                abort()

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
            # An answer that just broke off would look complete.
            await send({"type": "http.response.body", "body": _line({"problem": problem_body(fault())})})
            raise
        else:
            await send({"type": "http.response.body", "body": b""})

    def _in_time(self, send: Send) -> Send:
        """Give up on callers who do not read: their stream would hold its place among the requests for ever."""

        async def sent(message: Message) -> None:
            try:
                await asyncio.wait_for(send(message), self._settings.timeout)
            except (asyncio.TimeoutError, TimeoutError):
                raise _Done from None

        return sent

    async def _batches(self, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Yield lines in batches as they come. Each line must be complete in time, however its bytes trickle in."""
        timeout, most = self._settings.timeout, self._settings.body_bytes
        until = time.monotonic() + timeout
        rest, more = b"", True
        while more:
            message = await self._next(receive, until - time.monotonic())
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
            if lines:  # restart the clock here, because answering the lines took time, too
                until = time.monotonic() + timeout

    async def _next(self, receive: Receive, seconds: float) -> Message:
        """Return the next message, unless time runs out or the service stops first."""
        if seconds <= 0:  # even if empty lines keep coming
            raise _no_line()
        coming = asyncio.ensure_future(receive())
        both: set[asyncio.Future[Any]] = {coming, self._stopping}
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            return coming.result()
        coming.cancel()
        if self._stopping.done():
            raise stopping()
        raise _no_line()

    async def _veil(self, lines: list[bytes]) -> tuple[bytes, bool]:
        """Return the answers to some lines, and whether a budget ran out."""
        records = [self._read(line) for line in lines]
        releases = iter(await self._releases([one.document for one in records if isinstance(one, _Text)]))
        answers: list[tuple[bytes, Counts, Bill | None]] = []
        for one in records:
            bill, outcome = (None, one.problem) if isinstance(one, _Refused) else (one.bill, next(releases))
            if isinstance(outcome, Problem):
                answers.append((_line({**one.named, "problem": problem_body(outcome)}), Counts(), None))
            else:
                answers.append((_line({**one.named, **details(outcome)}), outcome.counts, bill))
        paid, why = await self._charge([(bill, counts.draws) for _, counts, bill in answers])
        count_words(sum((counts for _, counts, _ in answers[:paid]), Counts()), self._key)
        written = [line for line, _, _ in answers[:paid]]
        if why is not None:
            written.append(_line({**records[paid].named, "problem": problem_body(why)}))
        return b"".join(written), why is not None

    async def _charge(self, owed: list[tuple[Bill | None, int]]) -> tuple[int, Problem | None]:
        """Charge for the draws of lines. Return how many lines may be sent, and why not more."""
        billed = [(number, bill, draws) for number, (bill, draws) in enumerate(owed) if bill is not None and draws]
        if not billed:
            return len(owed), None
        paid, why = await asyncio.to_thread(self._budgets.charge_leading, [(bill, draws) for _, bill, draws in billed])
        return (len(owed) if why is None else billed[paid][0]), why

    def _read(self, line: bytes) -> _Text | _Refused:
        """Return the text of a line, or what is wrong with it, in both cases with its id if it has one."""
        try:
            record = _Record.model_validate_json(line)
        except ValidationError:
            return _Refused(
                {},
                Problem(
                    422, "a line must be a JSON object with a text and, optionally, an id, spans, person and user."
                ),
            )
        named = {} if record.id is None else {"id": record.id}
        try:
            if record.conversation is not None:
                raise Problem(422, "a stream keeps no draws for conversations; send their messages to /v1/privatize.")
            check_words([record.text], self._settings)
            bill = self._bill(record.user)
        except Problem as problem:
            return _Refused(named, problem)
        return _Text(named, document(record.text, record.spans, self._scopes.of(record.person)), bill)

    async def _releases(self, documents: list[Document]) -> list[Release | Problem]:
        """Veil documents together, or one by one if one of them is refused."""
        try:
            return list(await self._batcher(documents)) if documents else []
        except WordveilError as error:
            if len(documents) == 1:
                return [problem_of(error)]
        return [outcome for document in documents for outcome in await self._releases([document])]


def _no_line() -> Problem:
    return Problem(503, "no complete line arrived in time; send the rest in another stream.", "too-slow")


def _line(values: dict[str, Any]) -> bytes:
    return orjson.dumps(values) + b"\n"


@router.post(
    TABLE,
    name="privatize_table",
    responses={
        **PROBLEMS(403, 409, 413, 422),
        200: {
            "description": "The table, with the column veiled and the others as they came.",
            "headers": {"Wordveil-Guarantee": header("The guarantee, as JSON.")},
            "content": {_CSV: {"schema": {"type": "string"}}},
        },
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {_CSV: {"schema": {"type": "string", "format": "binary"}, "example": "id,text\n1,A letter.\n"}},
        }
    },
    summary="Veil a column of a table",
    response_class=Response,
)
async def table(
    request: Request,
    column: Annotated[str, Query(max_length=200, description="The column to veil, by its name in the first row.")],
    epsilon: Annotated[Epsilon, Query()],
    mechanism: MechanismName = DEFAULT,
    space: Annotated[str | None, Query(max_length=100)] = None,
    select: SelectionName = "content",
    oov: PolicyName = "replace",
    case: CaseName = "sentence",
    header: Annotated[
        Literal["check", "yes", "no"],
        Query(
            description="What the first row is: column names, refused if they look like a record (check); column names "
            "(yes); or a record (no; the columns are then called 1, 2, …)."
        ),
    ] = "check",
    wordveil_user: Annotated[str | None, Header(max_length=200, description="Whose texts these are.")] = None,
) -> Response:
    """Veil one column of a CSV (UTF-8, commas, names in the first row), as a batch of texts.

    The other columns are not veiled: they come back as you sent them.
    """
    if select in ("words", "spans"):
        raise Problem(422, "a table takes no lists of words and no spans; choose another selection.")
    before, rows, place = await state_of(request).aside(_table, await request.body(), column, header)
    way = Way(mechanism=mechanism, epsilon=epsilon, space=space, select=select, oov=oov, case=case)
    drawn = await veil_messages(request, [row[place] for row in rows], way, user=named_in_header(wordveil_user))
    for row, text in zip(rows, drawn.texts, strict=True):
        row[place] = text
    written = io.StringIO(newline="")
    csv.writer(written).writerows([*before, *rows])
    guarantee = json.dumps(orjson.loads(drawn.guarantee_json))  # escaped: a header is ASCII
    return Response(written.getvalue().encode(), media_type=_CSV, headers={"Wordveil-Guarantee": guarantee})


def _table(body: bytes, column: str, header: str) -> tuple[list[list[str]], list[list[str]], int]:
    """Return the row of names, if there is one, the rows of texts, and the place of the column.

    Call this in a thread: to judge a hundred thousand names takes seconds.
    """
    rows = _rows(body)
    before = [] if header == "no" else rows[:1]
    names = before[0] if before else [str(number + 1) for number in range(len(rows[0]))]
    place, rows = _place(names, column), rows[len(before) :]
    if header == "check":
        _check_names(names, rows, column)
    return before, rows, place


def _rows(body: bytes) -> list[list[str]]:
    """Read a table. Messages name rows only by number."""
    try:
        rows = [row for row in csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True) if row]
    except UnicodeDecodeError:
        raise Problem(422, "the table is not UTF-8.") from None
    except csv.Error:
        raise Problem(422, "the body is not a table of comma-separated values.") from None
    if not rows:
        raise Problem(422, "the table is empty; its first row must name the columns.")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise Problem(422, f"row {number + 1} of the table has a different number of cells than the first.")
    return rows


def _place(names: list[str], column: str) -> int:
    if names.count(column) != 1:
        raise Problem(422, "the column must be named exactly once in the first row of the table.")
    return names.index(column)


def _check_names(names: list[str], rows: list[list[str]], column: str) -> None:
    """Refuse a first row that is a record: it would come back as it was sent."""
    shown = [dict(zip(names, row, strict=True)) for row in rows[:_LOOKED_AT]]
    if header_of(names, shown, (column,)) is TableHeader.RECORD:
        raise Problem(
            422,
            "the first row of the table looks like a record, not like column names: set header to no if it is one (the "
            "columns are then called 1, 2, …), or to yes if it names the columns.",
        )
