"""``/v1/calibrate``: calibrations, as jobs with progress; ``/v1/tradeoffs``: curves measured in advance."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from wordveil._mechanisms import DEFAULT
from wordveil.calibration.measurement import shipped_tradeoff
from wordveil.service.problems import PROBLEMS
from wordveil.service.routes.shared import json_response, state_of
from wordveil.service.schemas import CalibrationRequest, Job, MechanismName, Tradeoff

__all__ = ["router"]

router = APIRouter(tags=["calibration"])


@router.post(
    "/v1/calibrate",
    status_code=202,
    response_model=Job,
    responses=PROBLEMS(400, 409, 413, 422),
    summary="Begin a calibration",
)
async def begin(asked: CalibrationRequest, request: Request) -> Response:
    """Begin to find out what ε means for a mechanism, or which ε meets targets; ask for the job until it is done."""
    state = state_of(request)
    state.workshop.check_mechanism(asked.mechanism, asked.options)
    path = state.workshop.path(asked.space)
    for epsilon in asked.epsilons:
        state.workshop.check_epsilon(epsilon)
    await asyncio.to_thread(state.workshop.check_fit, asked.mechanism, asked.space)
    job = state.jobs.start({**asked.model_dump(), "space": path})
    answer = json_response(job, 202)
    answer.headers["Location"] = f"/v1/calibrate/{job['id']}"
    return answer


@router.get("/v1/calibrate/{id}", response_model=Job, responses=PROBLEMS(404, 422), summary="How far a calibration is")
async def look(request: Request, id: Annotated[str, Path(max_length=40)]) -> Response:  # noqa: A002 - as in the path
    """Say how far a calibration is, and what it found."""
    return json_response(state_of(request).jobs.state(id))


@router.get(
    "/v1/tradeoffs", response_model=Tradeoff, responses=PROBLEMS(422), summary="Success of a guess against similarity"
)
async def tradeoff(
    request: Request,
    mechanism: MechanismName = DEFAULT,
    space: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Give the curve over ε that came with this version, for a mechanism with its usual options; else begin a job."""
    workshop = state_of(request).workshop
    workshop.check_mechanism(mechanism, {})
    path = workshop.path(space)
    curve = shipped_tradeoff(path, mechanism) or {"how": "", "options": {}, "suspects": 0, "points": []}
    return json_response({"mechanism": mechanism, "space": space or workshop.space_names[0], **curve})
