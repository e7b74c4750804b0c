"""The command ``wordveil`` with all its parts."""

from __future__ import annotations

import typer

from wordveil.cli import attack, budget, plot
from wordveil.cli.audit import audit
from wordveil.cli.calibrate import calibrate
from wordveil.cli.compare import compare
from wordveil.cli.demo import demo
from wordveil.cli.explain import explain
from wordveil.cli.geometry import geometry
from wordveil.cli.help import App
from wordveil.cli.lac import lac
from wordveil.cli.lists import mechanisms, spaces
from wordveil.cli.match import match
from wordveil.cli.options import check_can_print
from wordveil.cli.plan import plan
from wordveil.cli.privatize import privatize
from wordveil.cli.proxy import proxy
from wordveil.cli.read import read
from wordveil.cli.reproduce import reproduce
from wordveil.cli.serve import serve
from wordveil.cli.train import train
from wordveil.cli.vectors import vectors

app = App(
    name="wordveil",
    help="Rewrite text so that every word is plausibly deniable, under proved metric differential privacy.",
    epilog="Start with: wordveil demo. Every command has --help with examples; add --debug to any for a traceback.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    plan, privatize, read, explain, mechanisms, spaces, calibrate, match, compare, geometry, audit, vectors, train,
    reproduce, lac, serve, proxy, demo,
):  # fmt: skip
    app.command()(command)
app.add_typer(attack.app, name="attack")
app.add_typer(budget.app, name="budget")
app.add_typer(plot.app, name="plot")


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from wordveil import __version__

        check_can_print()
        typer.echo(f"wordveil {__version__}")
        raise typer.Exit
