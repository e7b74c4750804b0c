"""``POST /v1/privatize/table``: one column of a small CSV; the command veils tables of any size."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Query, Request, Response

from wordveil._mechanisms import DEFAULT
from wordveil.service.budgets import named_in_header
from wordveil.service.guard import TABLE
from wordveil.service.problems import PROBLEMS, Problem, header
from wordveil.service.schemas import CaseName, Epsilon, MechanismName, PolicyName, SelectionName, Way
from wordveil.service.veiling import veil_messages

__all__ = ["router"]

router = APIRouter(tags=["texts"])

_CSV = "text/csv"


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
    wordveil_user: Annotated[str | None, Header(max_length=200, description="Whose texts these are.")] = None,
) -> Response:
    """Veil one column of a CSV (UTF-8, commas, names in the first row), as a batch of texts.

    The other columns come back as they were sent: they are not veiled.
    """
    if select in ("words", "spans"):
        raise Problem(422, "a table takes no lists of words and no spans; choose another selection.")
    rows = await asyncio.to_thread(_rows, await request.body())
    place = _place(rows[0], column)
    way = Way(mechanism=mechanism, epsilon=epsilon, space=space, select=select, oov=oov, case=case)
    drawn = await veil_messages(request, [row[place] for row in rows[1:]], way, user=named_in_header(wordveil_user))
    for row, text in zip(rows[1:], drawn.texts, strict=True):
        row[place] = text
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    guarantee = json.dumps(orjson.loads(drawn.guarantee_json))  # escaped: a header is ASCII
    return Response(written.getvalue().encode(), media_type=_CSV, headers={"Wordveil-Guarantee": guarantee})


def _rows(body: bytes) -> list[list[str]]:
    """Read a table; messages name rows by their numbers alone."""
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
            raise Problem(422, f"row {number + 1} of the table has another number of cells than the first.")
    return rows


def _place(names: list[str], column: str) -> int:
    if names.count(column) != 1:
        raise Problem(422, "the column must be named exactly once in the first row of the table.")
    return names.index(column)
