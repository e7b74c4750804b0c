"""Builds the ASGI application from the settings."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import Depends, FastAPI
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from wordveil import __version__, parallel
from wordveil.service import explore, litellm, presidio, reference, texts
from wordveil.service.contracts import Contracts
from wordveil.service.guard import Guard
from wordveil.service.keys import Keys
from wordveil.service.problems import add_handlers, header
from wordveil.service.schemas import ProblemDetails
from wordveil.service.settings import Settings
from wordveil.service.state import State, check_query

__all__ = ["RUN_FOLDER", "RUN_SECRET", "create_app", "from_environment"]

#: Environment variable: the folder that the processes of one service share. Without it, each makes its own.
RUN_FOLDER = "WORDVEIL_RUN_FOLDER"
#: Environment variable: the secret they share, as hexadecimal. Kept draws are looked up with it. Never in a file.
RUN_SECRET = "WORDVEIL_RUN_SECRET"  # noqa: S105 - the name of a variable

# Seconds for which a drawing thread may hold the interpreter, a tenth of Python's default. Every request waits for that
# at least once before it is even read, and under load these waits add up.
_SWITCH_INTERVAL = 0.0005

_PASSED_ON = 2.0  # seconds within which the first process passes a signal on, even on a busy machine

_PAGE = Path(__file__).parent / "page"


def create_app(settings: Settings | None = None) -> Contracts:
    """Make the application. Without settings, it reads them from the environment."""
    settings = settings or Settings.load()
    keys = Keys(settings)
    app = FastAPI(
        title="wordveil",
        version=__version__,
        summary="Rewrites text so that every word is plausibly deniable.",
        description="Every error is a problem+json with one sentence, which never quotes your request.",
        docs_url=None,  # FastAPI's page loads scripts from another host; `reference` is ours
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_lifespan(settings, keys),
    )
    for router in (texts.router, explore.router):
        app.include_router(router, dependencies=[Depends(check_query)])
    for contract in (litellm.router, presidio.router):
        app.include_router(contract, dependencies=[Depends(check_query)])
    app.include_router(explore.operations)
    app.include_router(reference.router)
    # Not a mount: that would look for unknown API addresses among the files, and answer 404 to a wrong method.
    app.router.default = _Page(directory=_PAGE, html=True)
    add_handlers(app)
    _describe(app, settings)
    problem_forms = {litellm.PATH: litellm.blocked, **dict.fromkeys(presidio.PATHS, presidio.told)}
    return Contracts(Guard(app, settings, keys), problem_forms)


def from_environment() -> Contracts:
    """Make the application in a process that the server started."""
    settings = Settings.load()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if settings.workers > 1:
        parallel.use(max(1, parallel.cores() // settings.workers))
    return create_app(settings)


def _lifespan(settings: Settings, keys: Keys) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        shared = os.environ.get(RUN_FOLDER)
        # None of its own where there is a shared one: a process that is killed leaves it behind.
        with nullcontext(shared) if shared else tempfile.TemporaryDirectory(prefix="wordveil-") as folder:
            state = State(settings, keys, Path(folder), bytes.fromhex(os.environ.get(RUN_SECRET, "")))
            app.state.shared = state
            with _graceful_stop(state):
                await state.warm()
                yield
            await state.close()

    return lifespan


@contextmanager
def _graceful_stop(state: State) -> Iterator[None]:
    """On SIGTERM, report "not ready" for the drain time, then end open streams and let the server stop.

    Load balancers check ``/readyz`` before they send more; whatever they still send is answered. Ctrl-C and a second
    SIGTERM stop at once. With several processes, SIGTERM arrives twice (once from outside and once passed on by the
    first process), so a second one within `_PASSED_ON` seconds counts as the first.
    """
    servers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    is_main = threading.current_thread() is threading.main_thread()  # only this thread may set handlers
    if not (is_main and callable(servers[signal.SIGTERM])):  # no server that signals would stop
        yield
        return
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        state.stop()
        handler = servers[signal.Signals(number)]
        if callable(handler):
            handler(number, None)

    again = _PASSED_ON if multiprocessing.parent_process() is not None else 0.0
    since = -again

    def told(number: int, _: FrameType | None) -> None:
        nonlocal since
        now = time.monotonic()
        if number == signal.SIGTERM and now - since < again:
            return
        since = now
        is_first, state.is_ready = state.is_ready, False
        wait = state.settings.drain if is_first and number == signal.SIGTERM else 0.0
        loop.call_soon_threadsafe(loop.call_later, wait, stop, number)

    for number in servers:
        signal.signal(number, told)
    try:
        yield
    finally:
        for number, handler in servers.items():
            signal.signal(number, handler)


def _describe(app: FastAPI, settings: Settings) -> None:
    """Add to the OpenAPI document what the routes do not say themselves."""
    made = app.openapi()
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas[ProblemDetails.__name__] = ProblemDetails.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for operations in made["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                told = answer.setdefault("headers", {})
                told["X-Request-ID"] = header("The id of the request. You may send your own, in hexadecimal digits.")
    if settings.keys or settings.metrics_hash:
        closed = (*(("/v1/",) if settings.keys else ()), "/metrics")
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in made["paths"].items():
            if path.startswith(closed):
                for method in methods.values():
                    method["security"] = [{"key": []}]


class _Page(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a file: 405 for a wrong method on an existing file, 404 where there is none."""
        if scope["method"] != "GET" and self.lookup_path(self.get_path(scope))[1] is None:
            raise HTTPException(404)
        await super().__call__(scope, receive, send)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find a file. Older releases of Starlette pass a zero byte on to the system, so such names find nothing."""
        return ("", None) if "\0" in path else super().lookup_path(path)
