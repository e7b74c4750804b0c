"""The ``wordveil`` command and its subcommands, each loaded only when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer

from wordveil.cli.help import App
from wordveil.cli.options import check_can_print

_COMMANDS = (
    "plan", "privatize", "read", "explain", "mechanisms", "spaces", "calibrate", "match", "compare", "geometry",
    "audit", "vectors", "train", "reproduce", "lac", "serve", "proxy", "demo",
)  # fmt: skip
_GROUPS = ("attack", "budget", "plot")
_ELSEWHERE = {"mechanisms": "lists", "spaces": "lists"}  # in a module with another name


def app_with(asked: str | None) -> App:
    """Return the command line with only the named command, or with all of them if the name is not one of theirs."""
    app = App(
        name="wordveil",
        help="Rewrite text so that every word is plausibly deniable, under proved metric differential privacy.",
        epilog="Start with: wordveil demo. Every command has --help with examples; add --debug to any for a traceback.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    is_one = asked in (*_COMMANDS, *_GROUPS)
    for name in _COMMANDS:
        if not is_one or name == asked:
            app.command()(getattr(import_module(f"wordveil.cli.{_ELSEWHERE.get(name, name)}"), name))
    for name in _GROUPS:
        if not is_one or name == asked:
            app.add_typer(import_module(f"wordveil.cli.{name}").app, name=name)
    app.callback(invoke_without_command=True)(_root)
    return app


def __getattr__(name: str) -> Any:
    if name == "app":  # with all commands, for tools that inspect it
        return app_with(None)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from wordveil import __version__

        check_can_print()
        typer.echo(f"wordveil {__version__}")
        raise typer.Exit
