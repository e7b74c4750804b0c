"""``wordveil mechanisms``: the mechanisms, with what each promises and what the audit found."""

from __future__ import annotations

import json

import typer

from wordveil.cli.options import Json, stdout

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mechanisms")(mechanisms)


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms: family, promise, who proposed each, and what this version's audit found.

    `wordveil audit --all` repeats the audit.

    Example:

      wordveil mechanisms --json
    """
    from wordveil.audit import list_mechanisms

    facts = list_mechanisms()
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table(title="Mechanisms (the first is the default)", title_justify="left")
    for heading in ("name", "family", "promises", "proposed by", "audit", "options"):
        table.add_column(heading, overflow="fold")
    colours = {"holds": "green", "broken": "red"}
    for fact in facts:
        found = f"[{colours.get(fact['audit'], 'yellow')}]{fact['audit']}[/]"
        table.add_row(
            f"[bold]{fact['name']}[/]",
            fact["family"],
            fact["promises"],
            fact["source"],
            found + (f"; the paper's claim: {fact['claim']}" if fact["claim"] else ""),
            ", ".join(fact["options"]) or "-",
        )
    stdout().print(table)
