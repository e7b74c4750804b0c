"""``wordveil mechanisms``: the list, with what each promises."""

from __future__ import annotations

import json

import typer

from wordveil.cli.options import Json, stdout

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mechanisms")(mechanisms)


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms and what each of them promises.

    Example:

      wordveil mechanisms --json
    """
    from wordveil.mechanisms import DEFAULT, MECHANISMS, option_names
    from wordveil.spaces import load_space

    space = load_space("glove-50k")
    facts = []
    for name, kind in MECHANISMS.items():
        promise = kind(space, 1.0).guarantee
        facts.append(
            {
                "name": name,
                "default": name == DEFAULT,
                "summary": kind.summary,
                "family": kind.family,
                "metric": promise.metric,
                "promise": f"ε per {promise.unit}" if promise.loss(1.0) < float("inf") else "none",
                "pairs": promise.pairs,
                "options": option_names(kind),
                "claimed": promise.claimed,
                "caveats": list(promise.caveats),
            }
        )
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table(title="Mechanisms (the first is the default)", title_justify="left")
    for heading in ("name", "what it does", "promises", "for", "options"):
        table.add_column(heading, overflow="fold")
    for fact in facts:
        table.add_row(
            f"[bold]{fact['name']}[/]",
            str(fact["summary"]),
            f"{fact['promise']}: {fact['metric']}",
            str(fact["pairs"]),
            ", ".join(fact["options"]) or "-",  # type: ignore[arg-type]
        )
    stdout().print(table)
