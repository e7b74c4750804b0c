"""``wordveil mechanisms``: the list, with what each promises and what the audit found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from wordveil.cli.options import Json, stdout

__all__ = ["register"]

_AUDITED = Path(__file__).parent.parent / "data" / "audit.json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mechanisms")(mechanisms)


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms: family, promise, who proposed it, and what the audit that came with this version found.

    The audit is repeated by `wordveil audit --all`.

    Example:

      wordveil mechanisms --json
    """
    from wordveil.mechanisms import DEFAULT, MECHANISMS, option_names

    audited = {verdict["mechanism"]: verdict for verdict in json.loads(_AUDITED.read_text(encoding="utf-8"))}
    facts: list[dict[str, Any]] = [
        {
            "name": name,
            "default": name == DEFAULT,
            "summary": kind.summary,
            "family": kind.family,
            "promises": kind.promises,
            "source": kind.source,
            "audit": audited[name]["verdict"] if name in audited else "by the tests only: it needs a space of your own",
            "claim": audited[name]["claim_verdict"] if name in audited else "",
            "options": option_names(kind),
        }
        for name, kind in MECHANISMS.items()
    ]
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
