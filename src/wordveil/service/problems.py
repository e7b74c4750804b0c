"""Errors as problem+json (RFC 9457): one sentence, which never quotes the request."""

from __future__ import annotations

import logging
import math
import re
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from wordveil.errors import BudgetError, ExtraError, FileError, UnprovenError, WordveilError
from wordveil.service.schemas import FIELDS, ProblemDetails

__all__ = [
    "CODE",
    "CODES",
    "PROBLEMS",
    "REQUEST_ID",
    "TYPE",
    "Problem",
    "add_handlers",
    "allowed_methods",
    "busy",
    "fault",
    "header",
    "log_fault",
    "problem_body",
    "problem_of",
    "problem_response",
    "stopping",
    "what_is_wrong",
]

_LOG = logging.getLogger("wordveil.service")

MEDIA_TYPE = "application/problem+json"

#: The type of a problem is this prefix and its code.
TYPE = "urn:wordveil:problem:"
#: The id of the current request. In a problem, `INSTANCE` precedes it.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
INSTANCE = "urn:wordveil:request:"
#: A header that tells the guard a problem's code. The guard removes it.
CODE = "wordveil-code"

#: The status for each kind of error; the first match counts. A 500 hides the sentence, which may name a file of the
#: service.
_STATUSES: dict[type[WordveilError], int] = {
    BudgetError: 403,
    UnprovenError: 403,
    FileError: 500,
    ExtraError: 500,
    WordveilError: 422,
}


#: The codes of problems, with status and meaning. The first code of a status is its default.
CODES: dict[str, tuple[int, str]] = {
    "invalid-json": (400, "The body is not valid JSON."),
    "malformed-request": (400, "What arrived is not HTTP, or can be read in two ways; the connection is closed."),
    "invalid-encoding": (400, "The body is not what its Content-Encoding says."),
    "key-required": (401, "A key is required, or the key is unknown."),
    "over-budget": (403, "A budget does not suffice: `needs`, `has` and, where one is known, `epsilon_that_fits`."),
    "no-price": (403, "The key has a budget, and what was asked for has no price."),
    "examples-only": (403, "The key has a budget, so only the examples can be explored."),
    "unproven": (403, "The mechanism does not protect every word."),
    "other-site": (403, "A browser asks for the page of another site, which the setting origins does not name."),
    "not-found": (404, "There is nothing at this address."),
    "method-not-allowed": (405, "The address does not support the method; see Allow."),
    "request-timeout": (408, "The request did not arrive in time; the connection is closed."),
    "does-not-fit": (409, "The mechanism does not fit the space or its options."),
    "too-long": (413, "The body, a text or the batch is too long."),
    "unsupported-media-type": (415, "The body must be of another type, or coded otherwise; see Accept-Encoding."),
    "host-not-allowed": (421, "The service does not answer to this host name."),
    "invalid-value": (422, "A value in the request is not allowed."),
    "user-required": (422, "The key has a budget for each end user, and none was named."),
    "rate-limited": (429, "The key has made too many requests; see Retry-After."),
    "header-too-large": (431, "The header is too long; the connection is closed."),
    "internal-error": (500, "Internal error; no original text was released."),
    "ledger-unavailable": (503, "The budgets cannot be read or written just now; nothing was released."),
    "draws-unavailable": (503, "The draws of conversations cannot be kept just now; nothing was released."),
    "busy": (503, "The service is busy; see Retry-After."),
    "too-slow": (503, "The request took too long and was cancelled."),
    "not-ready": (503, "The service is starting, or about to stop."),
    "stopping": (503, "The service is being stopped; send the rest again."),
    "too-many-connections": (503, "There are too many connections; this one is closed."),
}
_NO_JSON = "the body is not valid JSON."
_USUAL = {status: code for code, (status, _) in reversed(CODES.items())}


class Problem(Exception):  # noqa: N818 - the name that the standard gives it
    """An error for the caller: a status, one sentence, and a code that programs can rely on."""

    def __init__(self, status: int, sentence: str, code: str = "", *, after: float = 0.0, **told: Any) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.code = code or _USUAL.get(status, "invalid-value")
        #: Seconds after which to try again, if known.
        self.after = after
        #: Further members of the document, as plain values.
        self.told = told


def busy() -> Problem:
    """Return the problem for too much load."""
    return Problem(503, "the service is busy; try again in a second.", "busy")


def stopping() -> Problem:
    """Return the problem for requests that the end of the service cuts off."""
    return Problem(503, "the service is stopping; send again what was not answered.", "stopping")


def fault() -> Problem:
    """Return the problem for an internal error, without its message, which might quote a text."""
    return Problem(500, "internal error; no original text was released.")


def problem_of(error: WordveilError, status: int | None = None) -> Problem:
    """Return the problem that reports an error; `status` replaces 422, the status for errors of the request."""
    found = next(number for kind, number in _STATUSES.items() if isinstance(error, kind))
    if found == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_fault(error)
        return fault()
    code = "unproven" if isinstance(error, UnprovenError) else ""
    return Problem(status if status and found == HTTPStatus.UNPROCESSABLE_ENTITY else found, str(error), code)


def log_fault(error: Exception) -> None:
    """Log where an error happened, without its message, which might quote a text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    _LOG.error("%s in %s, line %d", type(error).__name__, last.name, last.lineno or 0)


def problem_body(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain values."""
    return {
        "type": f"{TYPE}{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.sentence,
        "code": problem.code,
        **({"instance": f"{INSTANCE}{request}"} if (request := REQUEST_ID.get()) else {}),
        **problem.told,
    }


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that reports a problem."""
    headers = dict(headers or {})
    if problem.status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        headers["Retry-After"] = str(max(1, math.ceil(problem.after)))
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if problem.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        headers["Accept-Encoding"] = "zstd, gzip"
    # The guard counts refusals by this code and removes it.
    return Response(orjson.dumps(problem_body(problem)), problem.status, {**headers, CODE: problem.code}, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Report every error of the application as a problem."""

    @app.exception_handler(Problem)
    async def _known(_: Request, problem: Problem) -> Response:
        return problem_response(problem)

    @app.exception_handler(WordveilError)
    async def _refused(_: Request, error: WordveilError) -> Response:
        return problem_response(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def _unfit(_: Request, error: RequestValidationError) -> Response:
        return problem_response(_invalid(error.errors()[0]))

    @app.exception_handler(Exception)
    async def _fault(_: Request, __: Exception) -> Response:
        return problem_response(fault())

    @app.exception_handler(HTTPException)
    async def _other(request: Request, error: HTTPException) -> Response:
        sentence = {
            400: _NO_JSON,
            404: "there is nothing at this address.",
            405: "this address does not support that method.",
        }.get(error.status_code, "the request was refused.")
        headers = None
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = allowed_methods(request.app, request.url.path) or ["GET", "HEAD", "OPTIONS"]  # or a file's
            headers = {"Allow": ", ".join(methods)}
        return problem_response(Problem(error.status_code, sentence), headers)


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods that an address of the API supports, by its OpenAPI document; none for an unknown address."""
    found: set[str] = {"GET"} if path in (app.openapi_url, "/docs", "/docs.css") else set()
    for template, operations in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            found |= {method.upper() for method in operations}
    found |= {"HEAD"} if "GET" in found else set()
    return sorted({*found, "OPTIONS"}) if found else []


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
    "string_too_short": "must not be empty",  # none of ours must be longer
    "literal_error": "is not one of the allowed values",
}


def what_is_wrong(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value that pydantic refused. It states our limits, never the value."""
    return _WRONG.get(error["type"], "has the wrong type").format(**error.get("ctx") or {})


def _invalid(error: Mapping[str, Any]) -> Problem:
    """Say where an error is and what we want there, using only our own names and sentences."""
    if error["type"] == "json_invalid":
        return Problem(400, _NO_JSON)
    cause = (error.get("ctx") or {}).get("error")
    if isinstance(cause, WordveilError):
        return Problem(422, str(cause))
    # The location may contain a name that the caller chose, and pydantic's message may quote the value.
    if error["type"] == "extra_forbidden":
        return Problem(422, "the request has an unknown field; see /openapi.json.")
    where = [str(part) for part in error["loc"] if part in FIELDS or isinstance(part, int)]
    return Problem(422, f"{'.'.join(where) or 'a value in the request'} {what_is_wrong(error)}; see /openapi.json.")


def PROBLEMS(*statuses: int) -> dict[int | str, dict[str, Any]]:  # noqa: N802 - reads as a table in the routes
    """Describe a route's problems for OpenAPI, together with those that any request may meet."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}}
    return {
        status: {
            "description": " ".join(f"{code}: {told}" for code, (found, told) in CODES.items() if found == status),
            "content": content,
            "headers": {name: header(told) for name, told in _HEADERS.get(status, {}).items()},
        }
        for status in sorted({*statuses, 400, 401, 403, 405, 408, 415, 421, 429, 431, 500, 503})
    }


_HEADERS = {
    401: {"WWW-Authenticate": "Bearer."},
    405: {"Allow": "The methods that the address supports."},
    415: {"Accept-Encoding": "The encodings that a body may have."},
    429: {"Retry-After": "Seconds to wait."},
    503: {"Retry-After": "Seconds to wait."},
}


def header(told: str) -> dict[str, Any]:
    """Describe a header of an answer for OpenAPI."""
    return {"description": told, "schema": {"type": "string"}}
