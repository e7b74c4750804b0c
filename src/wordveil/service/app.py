"""The application: settings in, ASGI out."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from wordveil import __version__, parallel
from wordveil.service import explore, litellm, presidio, texts
from wordveil.service.contracts import Contracts
from wordveil.service.guard import Guard
from wordveil.service.keys import Keys
from wordveil.service.problems import add_handlers
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

_PAGE = Path(__file__).parent / "page"


def create_app(settings: Settings | None = None) -> ASGIApp:
    """Make the application, with the settings of the environment if none are given."""
    settings = settings or Settings.load()
    keys = Keys(settings)
    app = FastAPI(
        title="wordveil",
        version=__version__,
        summary="Rewrites text so that every word is plausibly deniable.",
        description="Every error is a problem+json with one sentence, which never quotes what was sent.",
        docs_url=None,  # its scripts come from another host
        redoc_url=None,
        lifespan=_lifespan(settings, keys),
    )
    for router in (texts.router, explore.router):
        app.include_router(router, dependencies=[Depends(check_query)])
    for contract in (litellm.router, presidio.router):
        app.include_router(contract, dependencies=[Depends(check_query)])
    app.include_router(explore.operations)
    app.mount("/", _Page(directory=_PAGE, html=True), name="page")
    add_handlers(app)
    _describe(app, settings)
    spoken = {litellm.PATH: litellm.blocked, **dict.fromkeys(presidio.PATHS, presidio.told)}
    return Contracts(Guard(app, settings, keys), spoken)


def from_environment() -> ASGIApp:
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
            await state.warm()
            yield
            await state.close()

    return lifespan


def _describe(app: FastAPI, settings: Settings) -> None:
    """Put into the OpenAPI page what the routes do not say themselves."""
    made = app.openapi()
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas[ProblemDetails.__name__] = ProblemDetails.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    if settings.keys or settings.metrics_hash:
        closed = (*(("/v1/",) if settings.keys else ()), "/metrics")
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in made["paths"].items():
            if path.startswith(closed):
                for method in methods.values():
                    method["security"] = [{"key": []}]


class _Page(StaticFiles):
    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find a file; names with a zero byte, which older releases of Starlette pass on to the system, have none."""
        return ("", None) if "\0" in path else super().lookup_path(path)
