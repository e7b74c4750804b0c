"""``wordveil serve``: the HTTP service and its page."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from wordveil.cli.options import check_can_print
from wordveil.errors import OptionError
from wordveil.extras import needs

if TYPE_CHECKING:
    from wordveil.service import Settings


def serve(
    config: Annotated[
        Path | None, Option("--config", "-c", help="A TOML file with the settings: see docs/service.md.")
    ] = None,
    host: Annotated[str | None, Option(help="The address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[int | None, Option("--port", "-p", help="The port to listen on (default 8765).")] = None,
    workers: Annotated[int | None, Option("--workers", "-j", help="The number of server processes.")] = None,
    unproven: Annotated[bool, Option("--unproven", help="Allow mechanisms that do not protect every word.")] = False,
    new_key: Annotated[
        str | None, Option(metavar="NAME", help="Make a key, print it once with its settings, and exit.")
    ] = None,
    check: Annotated[bool, Option("--check", help="Check the settings, open what they name, and exit.")] = False,
) -> None:
    """Serve the HTTP API and the page, by default to this machine only.

    Options take precedence over WORDVEIL_SERVE_… variables, and these over the file. Stop it with Ctrl-C: it finishes
    requests in progress first.

    Examples:

      wordveil serve

      wordveil serve --new-key analyst

      wordveil serve --config service.toml --host 0.0.0.0 --workers 2
    """
    for module in ("fastapi", "uvicorn"):
        needs(module, "serve", "the service")
    if new_key is not None:
        _print_key(new_key)
        return
    from wordveil.service import Settings
    from wordveil.service.settings import PREFIX

    chosen: dict[str, Any] = {"host": host, "port": port, "workers": workers, "unproven": unproven or None}
    settings = Settings.load(config, **chosen)
    _check(settings)
    if check:
        typer.echo("The settings are valid.")
        return
    told = {f"{PREFIX}{name.upper()}": str(value) for name, value in chosen.items() if value is not None}
    named = config or os.environ.get(f"{PREFIX}CONFIG")
    with _waiting_for_no_maker(), tempfile.TemporaryDirectory(prefix="wordveil-serve-") as folder:
        if named:  # the processes read a copy, so that those started later use the same settings
            told[f"{PREFIX}CONFIG"] = str(shutil.copyfile(named, Path(folder) / "settings.toml"))
        _run(settings, folder, told)


def _print_key(name: str) -> None:
    check_can_print()  # a key that nobody has seen is lost
    from wordveil.service import Key
    from wordveil.service.keys import hash_key, new_key

    made = new_key()
    key = Key(name, hash_key(made))
    typer.echo(f"The key, shown only once: {made}")
    typer.echo(f'For the settings:\n\n[[keys]]\nname = "{key.name}"\nhash = "{key.hash}"')


def _check(settings: Settings) -> None:
    """Open what the settings name, to report errors in one sentence, and warn of unproven mechanisms."""
    from wordveil import parallel
    from wordveil.service.budgets import Budgets
    from wordveil.service.settings import shortfall_on, traits_of
    from wordveil.spaces import load_space

    parallel.check_workers(settings.workers)
    for path in settings.spaces:
        space = load_space(path)
        for name in settings.allowed:
            traits = traits_of(name)
            if traits.is_unproven and space.kind in traits.kinds:
                lacks = shortfall_on(name, space)
                typer.echo(f"wordveil: {name} is unproven on {Path(path).name}: {lacks}", err=True)
    Budgets(settings).close()


def check_address(host: str, port: int) -> None:
    """Refuse an address on which the server cannot listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError:
        raise OptionError(
            f"cannot listen on {host}, port {port}: it may be in use already; choose another with --port or --host."
        ) from None


def log_config() -> dict[str, Any]:
    """Return a logging configuration that prints our own lines beside the server's, with the time."""
    from uvicorn.config import LOGGING_CONFIG

    ours = {"format": "%(asctime)s %(levelname)s %(message)s"}
    return {
        **LOGGING_CONFIG,
        "formatters": {**LOGGING_CONFIG["formatters"], "wordveil": ours},
        "handlers": {
            **LOGGING_CONFIG["handlers"],
            "wordveil": {"class": "logging.StreamHandler", "formatter": "wordveil", "stream": "ext://sys.stderr"},
        },
        "loggers": {
            **LOGGING_CONFIG["loggers"],
            "wordveil": {"handlers": ["wordveil"], "level": "INFO", "propagate": False},
        },
    }


@contextmanager
def _environment(told: dict[str, str]) -> Iterator[None]:
    """Set variables for processes started inside the block, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _waiting_for_no_maker() -> Iterator[None]:
    """Leave the process at the end of the block, even if a thread is still making a mechanism.

    That may take minutes, and nobody asks for the mechanism any more, but Python would wait for the thread.
    """
    before, code = threading.enumerate(), 0

    def is_making() -> bool:
        return any(one.name.startswith("wordveil-") for one in threading.enumerate() if one not in before)

    try:
        yield
    except SystemExit as left:
        if not is_making():
            raise
        code = left.code if isinstance(left.code, int) else 0
    if is_making():
        sys.stderr.flush()
        os._exit(code)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Unwind on SIGTERM. The server, once stopped, sends itself the signal again."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(settings: Settings, folder: str, told: dict[str, str]) -> None:
    import uvicorn

    from wordveil.service import processes
    from wordveil.service.app import RUN_FOLDER, RUN_SECRET
    from wordveil.service.connections import Connection

    check_address(settings.host, settings.port)
    with ExitStack() as stack:
        told = {**told, RUN_FOLDER: folder, RUN_SECRET: secrets.token_hex(32)}
        if settings.workers > 1:
            (Path(folder) / "metrics").mkdir()
            told["PROMETHEUS_MULTIPROC_DIR"] = str(Path(folder) / "metrics")
        stack.enter_context(_environment(told))
        options: dict[str, Any] = {
            "app": "wordveil.service.app:from_environment",
            "factory": True,
            "host": settings.host,
            "port": settings.port,
            "http": Connection,
            "ws": "none",
            "proxy_headers": False,  # nothing needs to know who is behind a proxy
            "access_log": False,  # it would log addresses, and an address may contain a word
            "log_level": "info" if settings.access_log else "warning",
            "log_config": log_config(),
            "server_header": False,
            "date_header": False,
            "backlog": 4096,
            "timeout_graceful_shutdown": max(1, round(settings.shutdown)),  # counted from the end of the drain
        }
        typer.echo(f"wordveil: http://{settings.host}:{settings.port}/ (stop with Ctrl-C)", err=True)
        stack.enter_context(processes.hangup_as_sigterm())
        if settings.workers > 1:
            processes.serve(options, settings.workers)
        else:
            stack.enter_context(_ended_by_sigterm())
            uvicorn.run(**options)
