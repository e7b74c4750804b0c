"""Errors as problem+json (RFC 9457): one sentence, which never quotes what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from wordveil.errors import WordveilError
from wordveil.service.schemas import FIELDS, ProblemDetails

__all__ = ["PROBLEMS", "Problem", "add_handlers", "busy", "fault", "problem_body", "problem_response"]

MEDIA_TYPE = "application/problem+json"

_RETRY_AFTER = "1"


class Problem(Exception):  # noqa: N818 - the name that the standard gives it
    """Something that the caller is told.

    Parameters
    ----------
    status : int
        The HTTP status.
    sentence : str
        What is wrong and what to do.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def busy() -> Problem:
    """Say that there is too much to do."""
    return Problem(503, "the service has as much to do as it can; try again in a second.")


def fault() -> Problem:
    """Say that something went wrong, and not what: that might quote a text."""
    return Problem(500, "something went wrong inside; nothing raw was released.")


def problem_body(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain values."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.sentence,
    }


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """Make the answer that tells a problem."""
    headers = dict(headers or {})
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = _RETRY_AFTER
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(orjson.dumps(problem_body(problem)), problem.status, headers, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Tell every error of the application in the same way."""

    @app.exception_handler(Problem)
    async def _known(_: Request, problem: Problem) -> Response:
        return problem_response(problem)

    @app.exception_handler(WordveilError)
    async def _refused(_: Request, error: WordveilError) -> Response:
        return problem_response(Problem(422, str(error)))

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        return problem_response(Problem(422, _first(error.errors())))

    @app.exception_handler(Exception)
    async def _fault(_: Request, __: Exception) -> Response:
        return problem_response(fault())

    @app.exception_handler(HTTPException)
    async def _other(_: Request, error: HTTPException) -> Response:
        sentence = {
            400: "the body is not JSON.",
            404: "there is nothing at this address.",
            405: "this address does not take that method.",
        }.get(error.status_code, "this was refused.")
        return problem_response(Problem(error.status_code, sentence), dict(error.headers or {}))


def _first(errors: Sequence[Any]) -> str:
    """Say where the first error is and what is wanted there, in names and sentences of ours alone."""
    error = errors[0]
    if error["type"] == "json_invalid":
        return "the body is not JSON."
    cause = (error.get("ctx") or {}).get("error")
    if isinstance(cause, WordveilError):
        return str(cause)
    # A place in the body may hold a name that the caller chose, and pydantic's message may quote the value.
    if error["type"] == "extra_forbidden":
        return "the request has a field that there is none of; see /openapi.json."
    where = [str(part) for part in error["loc"] if part in FIELDS or isinstance(part, int)]
    wanted = {
        "missing": "is needed",
        "greater_than": "is too small",
        "greater_than_equal": "is too small",
        "less_than_equal": "is too large",
        "finite_number": "must be a finite number",
        "too_long": "has too many entries",
        "too_short": "has too few entries",
        "string_too_long": "is too long",
        "string_too_short": "is too short",
        "literal_error": "is not one of the values that are allowed",
    }.get(error["type"], "has a value of the wrong kind")
    return f"{'.'.join(where) or 'something in the request'} {wanted}; see /openapi.json."


_MEANINGS = {
    400: "The body is not JSON.",
    401: "A key is needed, or the key is not known.",
    403: "The key's budget does not suffice, or what is asked for cannot be counted against one.",
    404: "There is no such thing.",
    409: "The mechanism does not go with the space or its options.",
    413: "The body, a text or the batch is too long.",
    415: "The body must be JSON.",
    421: "The service is not called by this name.",
    422: "Something in the request has a value that is not allowed.",
    500: "Something went wrong inside; nothing raw was released.",
    503: "There is too much to do, or it took too long; come back after the seconds in Retry-After.",
}


def PROBLEMS(*statuses: int) -> dict[int | str, dict[str, Any]]:  # noqa: N802 - reads as a table in the routes
    """Describe the problems of a route for its OpenAPI page; those that any request may meet are added."""
    return {status: _described(status) for status in _sorted((*statuses, 401, 415, 421, 500, 503))}


def _sorted(statuses: Iterable[int]) -> list[int]:
    return sorted(set(statuses))


def _described(status: int) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}
    return {"description": _MEANINGS[status], "content": {MEDIA_TYPE: {"schema": schema}}}
