"""Errors as problem+json (RFC 9457): one sentence, which never quotes what was sent."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from wordveil.errors import BudgetError, ExtraError, FileError, UnprovenError, WordveilError
from wordveil.service.schemas import FIELDS, ProblemDetails

__all__ = [
    "PROBLEMS",
    "Problem",
    "add_handlers",
    "busy",
    "fault",
    "log_fault",
    "problem_body",
    "problem_of",
    "problem_response",
    "what_is_wrong",
]

_LOG = logging.getLogger("wordveil.service")

MEDIA_TYPE = "application/problem+json"

_RETRY_AFTER = "1"

#: The status that answers each kind of error; the first that fits counts. A 500 hides the sentence, which may name a
#: file of the service.
_STATUSES: dict[type[WordveilError], int] = {
    BudgetError: 403,
    UnprovenError: 403,
    FileError: 500,
    ExtraError: 500,
    WordveilError: 422,
}


class Problem(Exception):  # noqa: N818 - the name that the standard gives it
    """Something that the caller is told."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def busy() -> Problem:
    """Say that there is too much to do."""
    return Problem(503, "the service is busy; try again in a second.")


def fault() -> Problem:
    """Say that something went wrong, and not what: that might quote a text."""
    return Problem(500, "internal error; no original text was released.")


def problem_of(error: WordveilError, status: int | None = None) -> Problem:
    """Return the problem that tells an error; `status` replaces the 422 of what is wrong with the request."""
    found = next(number for kind, number in _STATUSES.items() if isinstance(error, kind))
    if found == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_fault(error)
        return fault()
    return Problem(status if status and found == HTTPStatus.UNPROCESSABLE_ENTITY else found, str(error))


def log_fault(error: Exception) -> None:
    """Log where something went wrong, but no message: it might quote a text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    _LOG.error("%s in %s, line %d", type(error).__name__, last.name, last.lineno or 0)


def problem_body(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain values."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.sentence,
    }


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
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
        return problem_response(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        return problem_response(Problem(422, _first(error.errors()[0])))

    @app.exception_handler(Exception)
    async def _fault(_: Request, __: Exception) -> Response:
        return problem_response(fault())

    @app.exception_handler(HTTPException)
    async def _other(_: Request, error: HTTPException) -> Response:
        sentence = {
            400: "the body is not valid JSON.",
            404: "there is nothing at this address.",
            405: "this address does not support that method.",
        }.get(error.status_code, "the request was refused.")
        return problem_response(Problem(error.status_code, sentence), error.headers)


_WRONG = {
    "missing": "is required",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be a finite number",
    "too_long": "has more than {max_length} entries",
    "too_short": "has fewer than {min_length} entries",
    "string_too_long": "is longer than {max_length} characters",
    "string_too_short": "is shorter than {min_length} characters",
    "literal_error": "is not one of the allowed values",
}


def what_is_wrong(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value that pydantic refused: only limits of ours stand in it, never the value."""
    return _WRONG.get(error["type"], "has the wrong type").format(**error.get("ctx") or {})


def _first(error: Mapping[str, Any]) -> str:
    """Say where an error is and what is wanted there, in names and sentences of ours alone."""
    if error["type"] == "json_invalid":
        return "the body is not valid JSON."
    cause = (error.get("ctx") or {}).get("error")
    if isinstance(cause, WordveilError):
        return str(cause)
    # A place in the body may hold a name that the caller chose, and pydantic's message may quote the value.
    if error["type"] == "extra_forbidden":
        return "the request has an unknown field; see /openapi.json."
    where = [str(part) for part in error["loc"] if part in FIELDS or isinstance(part, int)]
    return f"{'.'.join(where) or 'a value in the request'} {what_is_wrong(error)}; see /openapi.json."


_MEANINGS = {
    400: "The body is not valid JSON.",
    401: "A key is required, or the key is unknown.",
    403: "The key's budget is exhausted, the request has no price to charge to it, or the mechanism is unproven.",
    404: "Not found.",
    409: "The mechanism does not fit the space or its options.",
    413: "The body, a text or the batch is too long.",
    415: "The body must be JSON.",
    421: "The service does not answer to this host name.",
    422: "A value in the request is not allowed.",
    500: "Internal error; no original text was released.",
    503: "The service is busy, or the request took too long; retry after the seconds in Retry-After.",
}


def PROBLEMS(*statuses: int) -> dict[int | str, dict[str, Any]]:  # noqa: N802 - reads as a table in the routes
    """Describe the problems of a route for its OpenAPI page; those that any request may meet are added."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}}
    return {
        status: {"description": _MEANINGS[status], "content": content}
        for status in sorted({*statuses, 401, 415, 421, 500, 503})
    }
