"""Routes for the catalogue, single words, exploring, calibrations and operations."""

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
from wordveil.service.words import find_word, word_facts
from wordveil.text import Document

__all__ = ["operations", "router"]

router = APIRouter()
operations = APIRouter(tags=["operations"], default_response_class=PlainTextResponse)

_PREPARED = 1.5  # seconds to wait for an attacker before telling the client to ask again
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
    """List the mechanisms that you may ask for, with what each guarantees and what the audit found."""
    allowed = state_of(request).settings
    span = {"smallest_epsilon": allowed.smallest_epsilon, "largest_epsilon": allowed.largest_epsilon}
    listed = [(facts, traits_of(facts["name"])) for facts in list_mechanisms() if facts["name"] in allowed.allowed]
    return json_response(
        [{**facts, "kinds": traits.kinds, "unproven": traits.is_unproven, **span} for facts, traits in listed]
    )


@router.get("/v1/spaces", name="list_spaces", **_route("catalogue", "The spaces served here", list[SpaceFacts], 422))
async def spaces(request: Request) -> Response:
    """List the spaces that you may ask for. The first is the default."""
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
    """Return the distribution of a word's outputs, its neighbours, N_w and S_w.

    For words of private texts, use POST /v1/words: proxies do not log its body.
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
    """Return the same as GET /v1/words/{word}, for a word that should not be in an address."""
    state = state_of(request)
    state.check_choice(asked)
    space = await state.space(asked.space)
    find_word(space, asked.word)  # first: to make a mechanism may take a minute
    made = await state.mechanism(asked)
    return await state.aside(lambda: json_response(word_facts(made, space, asked.word, asked.top)))


@router.get("/v1/explore", name="get_exploring", **_route("explore", "What may be explored", ExploreFacts, 422))
async def exploring(request: Request) -> Response:
    """Return the example texts, whether you may explore texts of your own, and the ε of the presets."""
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
    """Draw words for a text, to look at, and let the strongest available reader guess the originals.

    This is not a release: the draw is one of many, so do not publish any of it. To release a text, send it once to
    /v1/privatize. Exploring is free, so a key with a budget can explore only the examples of GET /v1/explore.
    """
    state, key = state_of(request), caller(request)
    if key is not None and key.is_charged and asked.text not in EXAMPLES.values():
        raise Problem(
            403,
            "this key has a budget, so it can explore only the examples; release your own text once, with "
            "/v1/privatize.",
            "examples-only",
        )
    check_texts([asked.text], state.settings)
    how = asked.model_dump(include=set(Way.model_fields))
    # Draws follow from a secret and the draw's name, so words do not change while somebody types.
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
    """Start measuring what ε means for a mechanism, or which ε meets your targets. Poll the job until it is done."""
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
    """Return the progress of a calibration, and its result once it is done."""
    return json_response(state_of(request).jobs.state(id))


@router.get(
    "/v1/tradeoffs",
    name="get_tradeoff",
    **_route("calibration", "The attacker's success against similarity", Tradeoff, 422),
)
async def tradeoff(request: Request, mechanism: MechanismName = DEFAULT, space: _SpaceQuery = None) -> Response:
    """Return the curve over ε that ships with this version, for a mechanism with default options.

    For anything else, start a calibration.
    """
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
    """Return what is left of the key's budgets, and of an end user's if the header Wordveil-User names one."""
    state, key = state_of(request), caller(request)
    user = named_in_header(wordveil_user)
    check_end_user(user)
    with reached():
        accounts = [] if key is None else await asyncio.to_thread(state.budgets.balances, key, user)
    return json_response({"key": None if key is None else key.name, "budgets": accounts})


def _text(description: str) -> dict[int | str, dict[str, Any]]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {**PROBLEMS(), 200: {"description": description, "content": content}}


@operations.get("/healthz", responses=_text("The service is alive."), summary="Is it alive?")
async def healthz() -> str:
    """Answer as long as the process runs."""
    return "ok"


@operations.get("/readyz", responses=_text("The service is ready."), summary="Is it ready?")
async def readyz(request: Request) -> str:
    """Answer 200 from when the first request would be quick until the service begins to stop."""
    if not state_of(request).is_ready:
        raise Problem(503, "the service is not ready.", "not-ready")
    return "ready"


@operations.get("/metrics", responses=_text("The metrics."), summary="Metrics for Prometheus")
async def metrics(request: Request) -> Response:
    """Return counts and times in Prometheus' text format."""
    budgets = state_of(request).budgets
    told = await asyncio.to_thread(lambda: exposition(budgets.of_keys()))
    return Response(told, media_type="text/plain; version=0.0.4; charset=utf-8")


class PrepareRequest(MechanismChoice):
    """The mechanism to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"mechanism": "laplace", "epsilon": 12.0}]})


class PreparingDetails(BaseModel):
    """How far a mechanism is."""

    ready: bool
    progress: float | None = Field(description="How far it is, from 0 to 1; null where that is unknown.")
    seconds_left: float | None = Field(
        description="About how many seconds are left, judged by its progress or by the last of its kind; null where "
        "neither is known."
    )


@router.post(
    "/v1/prepare",
    name="prepare_mechanism",
    response_model=PreparingDetails,
    responses={
        **PROBLEMS(400, 403, 409, 413, 422),
        202: {"description": "The mechanism is being made.", "model": PreparingDetails},
    },
    summary="Prepare a mechanism",
)
async def prepare(
    asked: PrepareRequest,
    request: Request,
    wait: Annotated[float, Query(ge=0, le=20, description="How many seconds to wait for it.")] = 1.0,
) -> Response:
    """Make a mechanism at an ε, unless it is there already: 200 when it is ready, 202 with the progress until then.

    Nothing is drawn. With several processes, the answer is about the one that you reached.
    """
    share, left = await state_of(request).prepare(asked, wait)
    told = {"ready": share == 1.0 and left == 0.0, "progress": share, "seconds_left": left}
    return json_response(told, 200 if told["ready"] else 202)
