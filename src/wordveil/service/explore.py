"""What may be asked for, what one word may become, calibrations, and what operators look at."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from wordveil._mechanisms import DEFAULT
from wordveil._mechanisms.attackers import named_curve
from wordveil.audit import list_mechanisms
from wordveil.calibration.measurement import shipped_tradeoff
from wordveil.plan.presets import PROTECTION, usual_presets
from wordveil.service.attacker import EXAMPLES, SECONDS, Attacker, Explored, ExploreFacts, ExploreRequest, explored
from wordveil.service.budgets import check_end_user, named_in_header, reached
from wordveil.service.metrics import exposition
from wordveil.service.problems import PROBLEMS, Problem, header
from wordveil.service.schemas import (
    BudgetDetails,
    CalibrationRequest,
    Epsilon,
    Job,
    MechanismChoice,
    MechanismFacts,
    MechanismName,
    SpaceFacts,
    Tradeoff,
    Way,
    WordFacts,
    WordRequest,
)
from wordveil.service.settings import traits_of
from wordveil.service.state import caller, json_response, state_of
from wordveil.service.veiling import check_texts
from wordveil.service.words import word_facts
from wordveil.text import Document

__all__ = ["operations", "router"]

router = APIRouter()
operations = APIRouter(tags=["operations"], default_response_class=PlainTextResponse)

_PREPARED = 1.5  # seconds that somebody waits for an attacker before they are told to ask again
_SpaceQuery = Annotated[str | None, Query(max_length=100)]


def _route(tag: str, summary: str, model: Any, *problems: int, location: str = "") -> dict[str, Any]:
    answers = PROBLEMS(*problems)
    if location:
        answers[202] = {"headers": {"Location": header(location)}}
    return {"tags": [tag], "summary": summary, "response_model": model, "responses": answers}


@router.get(
    "/v1/mechanisms",
    name="list_mechanisms",
    **_route("catalogue", "The mechanisms allowed here", list[MechanismFacts], 422),
)
async def mechanisms(request: Request) -> Response:
    """List the mechanisms that may be asked for, with what each guarantees and what the audit found."""
    allowed = state_of(request).settings
    span = {"smallest_epsilon": allowed.smallest_epsilon, "largest_epsilon": allowed.largest_epsilon}
    listed = [(facts, traits_of(facts["name"])) for facts in list_mechanisms() if facts["name"] in allowed.allowed]
    return json_response(
        [{**facts, "kinds": traits.kinds, "unproven": traits.is_unproven, **span} for facts, traits in listed]
    )


@router.get("/v1/spaces", name="list_spaces", **_route("catalogue", "The spaces served here", list[SpaceFacts], 422))
async def spaces(request: Request) -> Response:
    """List the spaces that may be asked for; the first is the default."""
    state = state_of(request)
    opened = {name: await state.space(name) for name in state.space_names}
    return json_response(
        [
            {
                "name": name,
                "default": name == state.space_names[0],
                "words": len(space),
                "dimension": space.dimension,
                "metric": space.metric,
                "kind": space.kind,
            }
            for name, space in opened.items()
        ]
    )


@router.get(
    "/v1/words/{word}", name="explain_word", **_route("words", "What a word may become", WordFacts, 403, 404, 409, 422)
)
async def word_by_address(
    request: Request,
    word: Annotated[str, Path(min_length=1, max_length=200, examples=["harbour"])],
    epsilon: Annotated[Epsilon, Query(examples=[4.0])],
    mechanism: MechanismName = DEFAULT,
    space: _SpaceQuery = None,
    top: Annotated[int, Query(ge=1, le=100)] = 15,
) -> Response:
    """Give the distribution of a word's outputs, its neighbours, N_w and S_w.

    Send words of private texts in the body instead, where no proxy logs them: POST /v1/words.
    """
    return await word_by_body(
        WordRequest(word=word, epsilon=epsilon, mechanism=mechanism, space=space, top=top), request
    )


@router.post(
    "/v1/words",
    name="explain_private_word",
    **_route("words", "What a word may become, asked in the body", WordFacts, 400, 403, 404, 409, 413, 422),
)
async def word_by_body(asked: WordRequest, request: Request) -> Response:
    """Give the same as GET /v1/words/{word}, for a word that no address should contain."""
    state = state_of(request)
    made, space = await state.mechanism(asked), await state.space(asked.space)
    return await asyncio.to_thread(lambda: json_response(word_facts(made, space, asked.word, asked.top)))


@router.get("/v1/explore", name="get_exploring", **_route("explore", "What may be explored", ExploreFacts, 422))
async def exploring(request: Request) -> Response:
    """Give the example texts, whether texts of one's own may be explored, and the ε of the presets."""
    key = caller(request)
    return json_response(
        {
            "examples": [{"name": name, "text": text} for name, text in EXAMPLES.items()],
            "own_texts": key is None or not key.is_charged,
            "needs_user": key is not None and key.user_budget is not None,
            "protection": {name: preset._asdict() for name, preset in PROTECTION.items()},
            "seconds": SECONDS,
            "presets": usual_presets(),
        }
    )


@router.post(
    "/v1/explore",
    name="explore_text",
    **_route("explore", "Would someone guess this text?", Explored, 400, 403, 409, 413, 422),
)
async def explore(asked: ExploreRequest, request: Request) -> Response:
    """Draw for a text, to look at, and let the strongest available reader guess its words. This is no release.

    The draw is one of many, so nothing of it may be published: release a text once, with /v1/privatize. It costs
    nothing, so a key with a budget can explore the examples of GET /v1/explore and nothing else.
    """
    state, key = state_of(request), caller(request)
    if key is not None and key.is_charged and asked.text not in EXAMPLES.values():
        raise Problem(
            403,
            "this key has a budget, so only the examples can be explored; release your own text once, with "
            "/v1/privatize.",
            "examples-only",
        )
    check_texts([asked.text], state.settings)
    how = asked.model_dump(include=set(Way.model_fields))
    # The draws of a name follow from a secret: words stay as they are while somebody types.
    sketch, once = [await state.batcher(Way(**how, once=scope)) for scope in ("file", "record")]
    whose = state.sticky.digest("explore", key.name if key else "", asked.draw).hex()
    release = (await sketch([Document(asked.text, scope=whose)]))[0]
    nobody = Attacker(None, asked.select)
    asker = key.name if key is not None else request.client.host if request.client else ""
    attacker = await state.attacker(asked, asked.select, once.veil, asker, _PREPARED) if asked.guess else nobody
    space = await state.space(asked.space)
    told = await state.read(explored, asked.text, release, once.veil, space, attacker)
    loss = once.veil.largest_loss * release.counts.draws if math.isfinite(once.veil.largest_loss) else None
    return json_response({**told, "loss": loss, "guarantee": orjson.Fragment(once.guarantee_json)})


@router.post(
    "/v1/calibrate",
    name="start_calibration",
    **_route("calibration", "Start a calibration", Job, 400, 403, 409, 413, 422, location="Where the job is."),
    status_code=202,
)
async def begin(asked: CalibrationRequest, request: Request) -> Response:
    """Start measuring what ε means for a mechanism, or which ε meets targets; poll the job until it is done."""
    state = state_of(request)
    state.check_mechanism(asked.mechanism, asked.options)
    path = state.path(asked.space)
    for epsilon in asked.epsilons:
        state.check_epsilon(epsilon)
    await state.check_fit(asked.mechanism, asked.space)
    job = state.jobs.start({**asked.model_dump(), "space": path})
    answer = json_response(job, 202)
    answer.headers["Location"] = f"/v1/calibrate/{job['id']}"
    return answer


@router.get(
    "/v1/calibrate/{id}",
    name="get_calibration",
    **_route("calibration", "The progress of a calibration", Job, 404, 422),
)
async def look(request: Request, id: Annotated[str, Path(max_length=40)]) -> Response:  # noqa: A002 - as in the path
    """Give the progress of a calibration, and its result."""
    return json_response(state_of(request).jobs.state(id))


@router.get(
    "/v1/tradeoffs",
    name="get_tradeoff",
    **_route("calibration", "The attacker's success against similarity", Tradeoff, 422),
)
async def tradeoff(request: Request, mechanism: MechanismName = DEFAULT, space: _SpaceQuery = None) -> Response:
    """Give the curve over ε that comes with this version, for a mechanism with default options; else start a job."""
    state = state_of(request)
    state.check_mechanism(mechanism, {})
    path = state.path(space)
    curve = shipped_tradeoff(path, mechanism) or {"how": "", "options": {}, "suspects": 0, "points": []}
    attacked = named_curve(path, mechanism)
    found = [None if attacked is None else attacked.at(point["epsilon"]) for point in curve["points"]]
    points = [
        {**point, "strongest": None if prose is None else prose.strongest.to_dict()}
        for point, prose in zip(curve["points"], found, strict=True)
    ]
    return json_response({"mechanism": mechanism, "space": space or state.space_names[0], **curve, "points": points})


@router.get("/v1/budget", name="get_budget", **_route("texts", "What is left of the budgets", BudgetDetails, 422))
async def budget(
    request: Request,
    wordveil_user: Annotated[
        str | None, Header(max_length=200, description="An end user, to see their budget.")
    ] = None,
) -> Response:
    """Say where the budgets of the key stand, and of an end user if the header Wordveil-User names one."""
    state, key = state_of(request), caller(request)
    user = named_in_header(wordveil_user)
    check_end_user(user)
    with reached():
        accounts = [] if key is None else await asyncio.to_thread(state.budgets.balances, key, user)
    return json_response({"key": None if key is None else key.name, "budgets": accounts})


def _text(description: str) -> dict[int | str, dict[str, Any]]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {**PROBLEMS(), 200: {"description": description, "content": content}}


@operations.get("/healthz", responses=_text("It is."), summary="Is it alive?")
async def healthz() -> str:
    """Answer as long as the process runs."""
    return "ok"


@operations.get("/readyz", responses=_text("It is."), summary="Is it ready?")
async def readyz(request: Request) -> str:
    """Answer once the first request will be quick, and until the service is being stopped."""
    if not state_of(request).is_ready:
        raise Problem(503, "the service is not ready.", "not-ready")
    return "ready"


@operations.get("/metrics", responses=_text("The metrics."), summary="Metrics for Prometheus")
async def metrics(request: Request) -> Response:
    """Give counts and times in the text format of Prometheus."""
    budgets = state_of(request).budgets
    told = await asyncio.to_thread(lambda: exposition(budgets.of_keys()))
    return Response(told, media_type="text/plain; version=0.0.4; charset=utf-8")


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
