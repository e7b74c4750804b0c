"""The service as the fuzzer calls it: the whole application in this process, without a socket.

`Api.call` hands the application one request as a server would and gives back its answer. What must hold for every
answer is checked here, for every target that uses it: no fault inside, and every error a problem of one sentence that
never quotes the request. The byte ``@`` stands for a word that no space and no message of ours has, so that quoting it
is found wherever the fuzzer puts it.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from wordveil.service import Settings
from wordveil.service.app import create_app
from wordveil.service.jobs import Jobs, calibrate_into
from wordveil.service.problems import busy

__all__ = ["CANARY", "Answer", "api", "check_problem"]

#: What ``@`` stands for.
CANARY = b"qjzcanaryxw"

_STATUSES = {200, 202, 307, 400, 404, 405, 409, 413, 415, 421, 422, 503}
_DRAWS = 100  # of a calibration, in all; a longer one is told that there is too much to do, as are
_MOST = 15 / 16  # of the others, because each takes as long as a hundred other requests


class Answer(NamedTuple):
    """What came back."""

    status: int
    kind: str
    body: bytes


class Api:
    """A running application on one space.

    Parameters
    ----------
    space : Path
        The embedding file that it serves.
    """

    def __init__(self, space: Path) -> None:
        settings = Settings(spaces=(str(space),), options=True, words=200, texts=20, body_bytes=1 << 14, jobs=1)
        self._app = create_app(settings)
        self._loop = asyncio.new_event_loop()
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._faults = _Faults()
        logging.getLogger("wordveil.service").addHandler(self._faults)
        self._life = self._loop.create_task(self._live())
        self._told.put_nowait({"type": "lifespan.startup"})
        assert self._loop.run_until_complete(self._heard.get())["type"] == "lifespan.startup.complete"
        shared = self._app._app._app.state.shared
        self._folder = tempfile.TemporaryDirectory(prefix="wordveil-fuzz-")
        shared.jobs = _AtOnce(Path(self._folder.name), settings.jobs, settings.job_timeout)
        atexit.register(self._close)

    async def _live(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        await self._app(scope, self._told.get, self._heard.put)

    def _close(self) -> None:
        self._told.put_nowait({"type": "lifespan.shutdown"})
        self._loop.run_until_complete(self._life)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._folder.cleanup()

    def call(self, method: str, path: str, query: bytes = b"", *, body: list[bytes] | None = None) -> Answer:
        """Send one request, its body in pieces, and check what must hold for every answer."""
        answer = self._loop.run_until_complete(self._call(method, path, query, body))
        assert answer.status in _STATUSES, f"status {answer.status}: {self._faults.last}"
        if answer.status >= 400:
            assert answer.kind == "application/problem+json"
            told = json.loads(answer.body)
            assert told["status"] == answer.status
            check_problem(told)
        return answer

    async def _call(self, method: str, path: str, query: bytes, body: list[bytes] | None) -> Answer:
        kind = b"application/x-ndjson" if path.endswith("/stream") else b"application/json"
        headers = [(b"host", b"localhost")]
        if body is not None:
            headers.append((b"content-type", kind))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": b"", "query_string": query, "root_path": "", "headers": headers,
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        pieces = [{"type": "http.request", "body": one, "more_body": True} for one in body or ()]
        pieces.append({"type": "http.request", "body": b"", "more_body": False})
        waiting, sent = iter(pieces), []

        async def receive() -> Any:
            return next(waiting, None) or {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start, *rest = sent
        kinds = [value.decode() for name, value in start["headers"] if name == b"content-type"]
        return Answer(start["status"], kinds[0] if kinds else "", b"".join(one.get("body", b"") for one in rest))


class _AtOnce(Jobs):
    """Does in this process, and before it answers, what a process of its own does otherwise."""

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        many = max(request["points"], len(request["epsilons"])) * request["draws"] > _DRAWS
        if many or crc32(json.dumps(request).encode()) < _MOST * 2**32:
            raise busy()
        name = "a" * 22
        calibrate_into(request, self._folder / f"{name}.json")
        return self.state(name)


class _Faults(logging.Handler):
    """Remembers where a fault was, of which a caller only sees that there was one."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = self.format(record)


def check_problem(told: dict[str, Any]) -> None:
    """Check that a problem is one sentence of ours."""
    assert set(told) - {"instance", "needs", "has", "epsilon_that_fits"} == {
        "type",
        "title",
        "status",
        "detail",
        "code",
    }
    sentence = told["detail"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 1000
    assert CANARY.decode() not in json.dumps(told).lower(), "a problem quotes the request"


@lru_cache(maxsize=1)
def api(space: Path) -> Api:
    """Return the application, made once."""
    return Api(space)
