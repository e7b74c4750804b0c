"""Presidio's anonymizer API: ``/anonymize``, ``/deanonymize``, their lists and ``/health``, with the operator ``veil``.

Presidio's own engine resolves overlaps, runs its operators and writes the answer. It runs twice: first to find what to
veil, and again, once the draws are made and paid for, to put them in place.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from wordveil.service.problems import Problem
from wordveil.service.schemas import Way
from wordveil.service.state import caller, json_response, state_of
from wordveil.service.veiling import check_words, veil_messages

__all__ = ["PATHS", "router", "told"]

PATHS = ("/anonymize", "/anonymizers", "/deanonymize", "/deanonymizers")
_VEIL = "veil"
_WAY = ("epsilon", "mechanism", "space")
#: Operators that have a price (`veil`) or release nothing of an entity.
_PRICED = (_VEIL, "replace", "redact")
_MOST_FOUND = 5000
_LONGEST, _WIDEST = 128, 4  # characters of a hash; how many times as long an encrypted text can be
_UNKNOWN = "The browser (or proxy) sent a request that this server could not understand."  # Presidio's own words

router = APIRouter(include_in_schema=False)  # Presidio documents it

Object = dict[str, Any]


def told(status: int, sentence: str) -> tuple[int, Object]:
    """Answer a problem in Presidio's form."""
    return status, {"error": sentence}


@router.get("/health")
async def health() -> Response:
    """Answer as long as the service runs."""
    return PlainTextResponse("Presidio Anonymizer service is up")


@router.get("/anonymizers")
async def anonymizers() -> Response:
    """List the operators."""
    return json_response(await run_in_threadpool(_names))


@router.get("/deanonymizers")
async def deanonymizers() -> Response:
    """List the operators that undo others."""
    return json_response(await run_in_threadpool(_undoing))


@router.post("/anonymize")
async def anonymize(request: Request) -> Response:
    """Replace each entity found in a text, by its operator."""
    names = await run_in_threadpool(_names)
    asked, operators = await _read(request, "anonymizers")
    key = caller(request)
    for one in operators.values():
        _check(one, names, has_budget=key is not None and key.is_charged)
    found_in = asked.get("analyzer_results")
    if found_in is None:
        raise Problem(422, "Invalid input, request must contain analyzer results")
    _check_found(asked, found_in, operators, state_of(request).settings.body_bytes)
    ways = {name: _way(one) for name, one in operators.items() if one["type"] == _VEIL}
    alike = {name: way.model_dump_json() for name, way in ways.items()}  # equal ways are drawn and paid for together
    found: dict[str, set[str]] = {way: set() for way in alike.values()}
    await run_in_threadpool(_run, asked, operators, {name: found[way] for name, way in alike.items()})
    drawn = {alike[name]: way for name, way in ways.items()}
    if len(drawn) > 1 and key is not None and key.is_charged:
        raise Problem(422, "With a budget, all veil operators of a request must have the same settings")
    made = {told: await _draw(request, sorted(found[told]), way, asked) for told, way in drawn.items()}
    placed = {name: made[way] for name, way in alike.items()}
    return Response(await run_in_threadpool(_run, asked, operators, placed), media_type="application/json")


@router.post("/deanonymize")
async def deanonymize(request: Request) -> Response:
    """Undo what the caller's own key can undo. A draw cannot be undone."""
    names = await run_in_threadpool(_undoing)
    asked, operators = await _read(request, "deanonymizers")
    for one in operators.values():
        if one.get("type") in (_VEIL, "redact", "replace", "mask", "hash"):
            raise Problem(422, "What was veiled, replaced, redacted, masked or hashed cannot be undone.")
        _check(one, names, has_budget=False)
    found = asked.get("anonymizer_results") or []
    _check_found(asked, found, operators, state_of(request).settings.body_bytes)
    if not all({one.get("entity_type"), "DEFAULT"} & set(operators) for one in found):
        raise Problem(422, "Invalid input, every entity needs a deanonymizer, its own or DEFAULT")
    return Response(await run_in_threadpool(_undo, asked, operators, found), media_type="application/json")


async def _read(request: Request, kind: str) -> tuple[Object, Object]:
    """Return the request and its operators."""
    try:
        asked = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, _UNKNOWN) from None
    if not asked or not isinstance(asked, dict):
        raise Problem(400, "Invalid request json")
    operators = asked.get(kind) or {}
    if not isinstance(operators, dict) or not all(isinstance(one, dict) for one in operators.values()):
        raise Problem(422, f"Invalid input, {kind} must be an object of objects")
    return asked, operators


def _names() -> list[str]:
    """List the operators. Call this in a thread: loading Presidio takes seconds the first time."""
    if find_spec("presidio_anonymizer") is None:
        raise Problem(501, "the service lacks presidio-anonymizer; install wordveil with the extra presidio.")
    from presidio_anonymizer import AnonymizerEngine  # noqa: PLC0415 - an extra

    # Presidio logs the names of operators, which the caller chose.
    logging.getLogger("presidio-anonymizer").setLevel(logging.CRITICAL + 1)
    return [*(name for name in AnonymizerEngine().get_anonymizers() if name != "custom"), _VEIL]


def _undoing() -> list[str]:
    _names()
    from presidio_anonymizer import DeanonymizeEngine  # noqa: PLC0415 - an extra

    return [str(name) for name in DeanonymizeEngine().get_deanonymizers()]


def _check(operator: Object, names: list[str], *, has_budget: bool) -> None:
    """Refuse an unknown operator here, because Presidio would quote its name."""
    name = operator.get("type")
    if name == "custom":
        raise Problem(400, "Custom type anonymizer is not supported")
    if not name:
        raise Problem(422, "Invalid input, operator config must contain operator_name")
    if name not in names:
        raise Problem(422, "Invalid operator class.")
    if name == "hash" and operator.get("hash_type", "sha256") not in ("sha256", "sha512"):
        raise Problem(422, "Parameter hash_type value is not in range of values ['sha256', 'sha512']")
    if has_budget and name not in _PRICED:
        raise Problem(403, f"this key has a budget, and what {name} releases has no price.")


def _check_found(asked: Object, results: Any, operators: Object, most: int) -> None:
    """Refuse values whose types Presidio cannot handle, and input that would keep it busy for long."""
    if not isinstance(asked.get("text", ""), str):
        raise Problem(422, "Invalid input, text must be a string")
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise Problem(422, "Invalid input, analyzer results must be a list of objects")
    for one in results:
        for name, kinds in (("start", int), ("end", int), ("score", (int, float)), ("entity_type", str)):
            if one.get(name) is not None and (not isinstance(one[name], kinds) or isinstance(one[name], bool)):
                raise Problem(422, f"Invalid parameter value for {name}.")
    if len(results) > _MOST_FOUND:
        raise Problem(413, f"Invalid input, more than the {_MOST_FOUND:,} results allowed at once")
    # Presidio copies the whole text for each result, and writes overlapping results in full.
    added = max(
        [_LONGEST, *(len(text) for one in operators.values() for text in one.values() if isinstance(text, str))]
    )
    spans = sum(max(0, (one.get("end") or 0) - (one.get("start") or 0)) for one in results)
    if len(asked.get("text", "")) + _WIDEST * spans + added * len(results) > _WIDEST * most:
        raise Problem(413, "Invalid input, the output would be too long; send less at once")


def _way(operator: Object) -> Way:
    if not set(operator) <= {"type", *_WAY}:
        raise Problem(422, f"the operator veil takes only {', '.join(_WAY)}.")
    try:
        return Way(**{name: operator[name] for name in _WAY if name in operator}, select="all")
    except ValueError:
        raise Problem(422, "the operator veil needs an epsilon above 0; see /v1/mechanisms and /v1/spaces.") from None


async def _draw(request: Request, entities: list[str], way: Way, asked: Object) -> dict[str, str]:
    """Return the replacement of each entity: one draw, however many words the entity has."""
    state = state_of(request)
    check_words(entities, state.settings)
    veil = (await state.batcher(way)).veil
    heads = await state.aside(lambda: [veil.lookup.head(entity, veil.nonwords.apart) for entity in entities])
    named = {name: asked[name] for name in ("conversation", "user") if isinstance(asked.get(name), str)}
    drawn = await veil_messages(request, heads, way, **named)
    return dict(zip(entities, drawn.texts, strict=True))


def _run(asked: Object, operators: Object, draws: Mapping[str, Any]) -> str:
    """Run Presidio's engine. A set in `draws` collects what to veil; a mapping says what replaces it."""
    from presidio_anonymizer import AnonymizerEngine  # noqa: PLC0415 - an extra
    from presidio_anonymizer.entities import InvalidParamError, OperatorConfig, RecognizerResult  # noqa: PLC0415
    from presidio_anonymizer.operators import Operator, OperatorType  # noqa: PLC0415

    class Veiled(Operator):  # type: ignore[misc] # Presidio has no types
        def operate(self, text: str, params: Object) -> str:
            mine = draws[params["operator"]]
            if isinstance(mine, set):
                mine.add(text)
                return ""
            return str(mine[text])

        def validate(self, params: Object) -> None:
            """Accept any parameters: `_way` has checked them."""

        def operator_name(self) -> str:
            return _VEIL

        def operator_type(self) -> OperatorType:
            return OperatorType.Anonymize

    engine = AnonymizerEngine()
    engine.add_anonymizer(Veiled)
    try:
        results = [RecognizerResult.from_json(one) for one in asked["analyzer_results"]]
        configs = {
            entity: OperatorConfig(one["type"], {**_without_type(one), "operator": entity})
            for entity, one in operators.items()
        }
        return str(engine.anonymize(asked.get("text", ""), results, configs).to_json())
    except InvalidParamError as error:
        raise Problem(422, error.err_msg) from None
    except (TypeError, ValueError):
        raise Problem(422, "an operator has a parameter of the wrong type.") from None


def _undo(asked: Object, operators: Object, found: list[Object]) -> str:
    """Run Presidio's engine in reverse."""
    from presidio_anonymizer import DeanonymizeEngine  # noqa: PLC0415 - an extra
    from presidio_anonymizer.entities import InvalidParamError, OperatorConfig, OperatorResult  # noqa: PLC0415

    try:
        entities = [OperatorResult.from_json(one) for one in found]
        configs = {name: OperatorConfig(one["type"], _without_type(one)) for name, one in operators.items()}
        return str(DeanonymizeEngine().deanonymize(asked.get("text", ""), entities, configs).to_json())
    except InvalidParamError as error:
        raise Problem(422, error.err_msg) from None
    except (TypeError, ValueError):
        raise Problem(422, "an entity was not encrypted with this key, or a parameter has the wrong type.") from None


def _without_type(operator: Object) -> Object:
    return {name: value for name, value in operator.items() if name != "type"}
