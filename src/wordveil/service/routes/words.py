"""``/v1/words``: what one word may become."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from wordveil._mechanisms import DEFAULT
from wordveil.service.problems import PROBLEMS
from wordveil.service.routes.shared import json_response, state_of
from wordveil.service.schemas import Epsilon, MechanismName, WordFacts, WordRequest
from wordveil.service.words import word_facts

__all__ = ["router"]

router = APIRouter(tags=["words"])


@router.get(
    "/v1/words/{word}",
    response_model=WordFacts,
    responses=PROBLEMS(404, 409, 422),
    summary="What a word may become",
)
async def word_by_address(
    request: Request,
    word: Annotated[str, Path(min_length=1, max_length=200, examples=["harbour"])],
    epsilon: Annotated[Epsilon, Query(examples=[3.0])],
    mechanism: MechanismName = DEFAULT,
    space: Annotated[str | None, Query(max_length=100)] = None,
    top: Annotated[int, Query(ge=1, le=100)] = 15,
) -> Response:
    """Give the distribution of a word's outputs, its neighbours, N_w and S_w.

    A word of a private text belongs into the body instead, where no log of a proxy sees it: POST /v1/words.
    """
    return await _answer(request, WordRequest(word=word, epsilon=epsilon, mechanism=mechanism, space=space, top=top))


@router.post(
    "/v1/words",
    response_model=WordFacts,
    responses=PROBLEMS(400, 404, 409, 413, 422),
    summary="What a word may become, asked in the body",
)
async def word_by_body(asked: WordRequest, request: Request) -> Response:
    """Give the same as GET /v1/words/{word}, for a word that must stand in no address."""
    return await _answer(request, asked)


async def _answer(request: Request, asked: WordRequest) -> Response:
    state = state_of(request)
    made = await state.mechanism(asked)

    def facts() -> Response:
        return json_response(word_facts(made, state.workshop.space(asked.space), asked.word, asked.top))

    return await asyncio.to_thread(facts)
