"""The application: settings in, ASGI out."""

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
from contextlib import asynccontextmanager, contextmanager
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

#: Names the folder that the processes of one service share; each makes a folder of its own if it is not set.
RUN_FOLDER = "WORDVEIL_RUN_FOLDER"
#: The secret that they share, in hexadecimal digits. It is in no file: kept draws are found by it.
RUN_SECRET = "WORDVEIL_RUN_SECRET"  # noqa: S105 - the name of a variable

# Seconds for which a thread that draws may keep the interpreter to itself: ten times less than usual, because every
# request waits for that at least once before it is even read, and under load they wait for it one after the other.
_HANDED_ON = 0.0005

_PASSED_ON = 2.0  # seconds in which the first process has passed on a signal, also on a busy machine

_PAGE = Path(__file__).parent / "page"


def create_app(settings: Settings | None = None) -> Contracts:
    """Make the application, with the settings of the environment if none are given."""
    settings = settings or Settings.load()
    keys = Keys(settings)
    app = FastAPI(
        title="wordveil",
        version=__version__,
        summary="Rewrites text so that every word is plausibly deniable.",
        description="Every error is a problem+json with one sentence, which never quotes what was sent.",
        docs_url=None,  # its scripts come from another host; see the module reference
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
    # Not mounted: what the API has nothing at would be looked for among the files, and a wrong method not told.
    app.router.default = _Page(directory=_PAGE, html=True)
    add_handlers(app)
    _describe(app, settings)
    spoken = {litellm.PATH: litellm.blocked, **dict.fromkeys(presidio.PATHS, presidio.told)}
    return Contracts(Guard(app, settings, keys), spoken)


def from_environment() -> Contracts:
    """Make the application in a process that the server has started."""
    settings = Settings.load()
    sys.setswitchinterval(_HANDED_ON)
    if settings.workers > 1:
        parallel.use(max(1, parallel.cores() // settings.workers))
    return create_app(settings)


def _lifespan(settings: Settings, keys: Keys) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        shared = os.environ.get(RUN_FOLDER)
        with tempfile.TemporaryDirectory(prefix="wordveil-") as own:
            state = State(settings, keys, Path(shared or own), bytes.fromhex(os.environ.get(RUN_SECRET, "")))
            app.state.shared = state
            with _stopped_gently(state):
                await state.warm()
                yield
            await state.close()

    return lifespan


@contextmanager
def _stopped_gently(state: State) -> Iterator[None]:
    """Between SIGTERM and the server's own stop, be not ready for a while, then end streams.

    Load balancers look at ``/readyz`` before they send more; what they still send is answered. Ctrl-C, and a second
    SIGTERM, do not wait. With several processes a second one that follows at once is the first again: sent to all of
    them, and passed on by the first process.
    """
    servers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    is_main = threading.current_thread() is threading.main_thread()  # whose alone signals are
    if not (is_main and callable(servers[signal.SIGTERM])):  # no server that stops by them
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
    """Put into the OpenAPI page what the routes do not say themselves."""
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
                told["X-Request-ID"] = header("The id of the request; a caller may give it, as hexadecimal digits.")
    if settings.keys or settings.metrics_hash:
        closed = (*(("/v1/",) if settings.keys else ()), "/metrics")
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in made["paths"].items():
            if path.startswith(closed):
                for method in methods.values():
                    method["security"] = [{"key": []}]


class _Page(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for a file; a method that no file has is told apart from an address that has none."""
        if scope["method"] != "GET" and self.lookup_path(self.get_path(scope))[1] is None:
            raise HTTPException(404)
        await super().__call__(scope, receive, send)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find a file; names with a zero byte, which older releases of Starlette pass on to the system, have none."""
        return ("", None) if "\0" in path else super().lookup_path(path)
