"""The command ``wordveil`` with all its parts."""

from __future__ import annotations

import typer

from wordveil.cli import (
    attack,
    audit,
    calibrate,
    compare,
    demo,
    explain,
    geometry,
    lac,
    match,
    mechanisms,
    plot,
    privatize,
    read,
    reproduce,
    serve,
    spaces,
    train,
    vectors,
)
from wordveil.cli.options import check_can_print

__all__ = ["app"]

app = typer.Typer(
    name="wordveil",
    help="Rewrite text so that every word is plausibly deniable, under proved metric differential privacy.",
    epilog="Start with: wordveil demo. Every command has --help with examples; add --debug to any for a traceback.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    privatize,
    read,
    explain,
    mechanisms,
    spaces,
    calibrate,
    match,
    compare,
    geometry,
    audit,
    attack,
    vectors,
    train,
    plot,
    reproduce,
    lac,
    serve,
    demo,
):
    command.register(app)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from wordveil import __version__

        check_can_print()
        typer.echo(f"wordveil {__version__}")
        raise typer.Exit
