"""``wordveil mechanisms`` and ``wordveil spaces``: what you can choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from wordveil.cli.options import Json, print_facts, print_table, stdout, while_at_work


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms: family, promise, who proposed each, and what this version's audit found.

    `wordveil audit --all` repeats the audit.

    Examples:

      wordveil mechanisms --json
    """
    from wordveil.audit import list_mechanisms

    facts = list_mechanisms()
    if as_json:
        print_facts(facts)
        return
    headings = ("name", "family", "promises", "proposed by", "audit", "options")
    colours = {"holds": "green", "broken": "red"}
    rows = []
    for fact in facts:
        found = f"[{colours.get(fact['audit'], 'yellow')}]{fact['audit']}[/]"
        found += f"; the paper's claim: {fact['claim']}" if fact["claim"] else ""
        told = (fact["family"], fact["promises"], fact["source"], found, ", ".join(fact["options"]) or "-")
        rows.append((f"[bold]{fact['name']}[/]", *told))
    print_table("Mechanisms (the first is the default)", headings, rows, left=len(headings))
    for fact in facts:
        for alias, why in fact["aliases"].items():
            stdout().print(f"[bold]{alias}[/] is {fact['name']}: {why}")


def spaces(
    space: Annotated[str | None, Argument(help="A bundled space or an embedding file to describe.")] = None,
    as_json: Json = False,
) -> None:
    """List the bundled spaces, or describe one space or embedding file.

    Examples:

      wordveil spaces

      wordveil spaces vectors.txt.gz
    """
    from wordveil.spaces import BUNDLED, bundled_facts, load_space

    facts: list[dict[str, Any]]
    if space is None:
        facts = [bundled_facts(name) for name in BUNDLED]
    else:
        with while_at_work(f"opening {Path(space).name} (parsed once, then cached)…"):
            opened = load_space(space)
            facts = [{**opened.describe(), "dimension": opened.dimension}]
    if as_json:
        print_facts(facts)
        return
    from rich.table import Table

    table = Table(show_header=False)
    for number, fact in enumerate(facts):
        if number:
            table.add_section()
        for key, value in fact.items():
            table.add_row(key, f"{value:,}" if isinstance(value, int) else str(value))
    stdout().print(table)
