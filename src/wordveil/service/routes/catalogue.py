"""``GET /v1/mechanisms`` and ``GET /v1/spaces``: what may be asked for."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from wordveil.audit import list_mechanisms
from wordveil.service.fitting import kind_of, kinds_for
from wordveil.service.problems import PROBLEMS
from wordveil.service.routes.shared import json_response, state_of
from wordveil.service.schemas import MechanismFacts, SpaceFacts

__all__ = ["router"]

router = APIRouter(tags=["what there is"])


@router.get(
    "/v1/mechanisms",
    response_model=list[MechanismFacts],
    responses=PROBLEMS(422),
    summary="The mechanisms allowed here",
)
async def mechanisms(request: Request) -> Response:
    """List the mechanisms that may be asked for, with what each promises and what the audit found."""
    allowed = state_of(request).settings
    span = {"smallest_epsilon": allowed.smallest_epsilon, "largest_epsilon": allowed.largest_epsilon}
    listed = [facts for facts in list_mechanisms() if facts["name"] in allowed.mechanisms]
    return json_response([{**facts, "kinds": kinds_for(facts["name"]), **span} for facts in listed])


@router.get("/v1/spaces", response_model=list[SpaceFacts], responses=PROBLEMS(422), summary="The spaces served here")
async def spaces(request: Request) -> Response:
    """List the spaces that may be asked for; the first is the default."""
    workshop = state_of(request).workshop
    facts = []
    for number, name in enumerate(workshop.space_names):
        space = await asyncio.to_thread(workshop.space, name)
        facts.append(
            {
                "name": name,
                "default": number == 0,
                "words": len(space),
                "dimension": space.dimension,
                "metric": space.metric,
                "kind": kind_of(space),
            }
        )
    return json_response(facts)
