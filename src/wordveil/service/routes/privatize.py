"""``POST /v1/privatize``: one text or a batch."""

from __future__ import annotations

import asyncio

import orjson
from fastapi import APIRouter, Request, Response

from wordveil.service.guard import CHARGED
from wordveil.service.problems import PROBLEMS, Problem
from wordveil.service.routes.shared import caller, check_words, count, json_response, release_details, state_of
from wordveil.service.schemas import PrivatizeRequest, PrivatizeResponse
from wordveil.text import Counts, Document

__all__ = ["router"]

router = APIRouter()


@router.post(
    "/v1/privatize",
    response_model=PrivatizeResponse,
    responses=PROBLEMS(400, 403, 409, 413, 422),
    tags=["texts"],
    summary="Veil one text or a batch",
)
async def privatize(asked: PrivatizeRequest, request: Request) -> Response:
    """Replace the selected words of one text or of a batch; what is promised comes with the answer.

    Requests that arrive together are drawn for together. A key with a budget is charged ε for every drawn word.
    """
    state, texts = state_of(request), asked.texts
    if len(texts) > state.settings.texts:
        raise Problem(413, f"a batch may have {state.settings.texts:,} texts here; send fewer, or a stream.")
    check_words(texts, state.settings)
    state.workshop.check(asked)
    batcher = await state.batcher(asked, asked.words)
    key, left = caller(request), None
    state.keys.check(key, batcher.veil.guarantee, asked.case)
    spans = asked.spans
    documents = [
        Document(text, None if spans is None else tuple((start, end) for start, end in spans[number]))
        for number, text in enumerate(texts)
    ]
    releases = await batcher(documents) if documents else []
    counts = sum((release.counts for release in releases), Counts())
    if key is not None and key.budget is not None:
        request.scope[CHARGED] = True  # from here on there is an answer, however long it takes
        left = await asyncio.to_thread(state.keys.charge, key, batcher.veil.guarantee, counts.drawn)
    count(counts)
    return json_response(
        {
            "results": [release_details(release) for release in releases],
            "counts": counts.to_dict(),
            "guarantee": orjson.Fragment(batcher.promise),
            "budget_left": left,
        }
    )
