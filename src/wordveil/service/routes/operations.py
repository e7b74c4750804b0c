"""``/healthz``, ``/readyz`` and ``/metrics``, for whoever runs the service."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from wordveil.service import metrics
from wordveil.service.problems import PROBLEMS, Problem
from wordveil.service.routes.shared import state_of

__all__ = ["router"]

router = APIRouter(tags=["operations"], default_response_class=PlainTextResponse)

_TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", responses={**PROBLEMS(), 200: {"description": "It runs.", **_TEXT}}, summary="Does it run?")
async def healthz() -> str:
    """Answer as long as the process runs."""
    return "ok"


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={**PROBLEMS(), 200: {"description": "It is.", **_TEXT}}, summary="Is it ready?")
async def readyz(request: Request) -> str:
    """Answer when the first request will be quick, and until the service is being stopped."""
    if not state_of(request).is_ready:
        raise Problem(503, "the service is not ready.")
    return "ready"


@router.get(
    "/metrics",
    responses={**PROBLEMS(), 200: {"description": "The figures.", **_TEXT}},
    summary="Figures for Prometheus",
)
async def figures() -> Response:
    """Give counts and times in the text format of Prometheus."""
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")
