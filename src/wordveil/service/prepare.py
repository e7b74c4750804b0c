"""``POST /v1/prepare``: have a mechanism made before it is needed, and see how far that is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from wordveil.service.problems import PROBLEMS
from wordveil.service.schemas import MechanismChoice
from wordveil.service.state import json_response, state_of

__all__ = ["router"]

router = APIRouter(tags=["catalogue"])


class PrepareRequest(MechanismChoice):
    """What is to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"mechanism": "laplace", "epsilon": 12.0}]})


class PreparingDetails(BaseModel):
    """How far a mechanism is."""

    ready: bool
    progress: float | None = Field(description="How far it is, from 0 to 1; null where that cannot be told.")
    seconds_left: float | None = Field(
        description="About how long it still takes: by what is done, or by how long the last of its kind took; null "
        "where neither is known."
    )


@router.post(
    "/v1/prepare",
    name="prepare_mechanism",
    response_model=PreparingDetails,
    responses={
        **PROBLEMS(400, 403, 409, 413, 422),
        202: {"description": "It is being made.", "model": PreparingDetails},
    },
    summary="Have a mechanism made",
)
async def prepare(
    asked: PrepareRequest,
    request: Request,
    wait: Annotated[float, Query(ge=0, le=20, description="Seconds to wait for it.")] = 1.0,
) -> Response:
    """Make a mechanism at an ε, if it is not there yet, and say how far it is: 200 when it is ready, 202 until then.

    Nothing is drawn. With several processes, this is about the one that answers.
    """
    share, left = await state_of(request).prepare(asked, wait)
    told = {"ready": share == 1.0 and left == 0.0, "progress": share, "seconds_left": left}
    return json_response(told, 200 if told["ready"] else 202)
