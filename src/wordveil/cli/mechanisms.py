"""``wordveil mechanisms``: the mechanisms, with what each promises and what the audit found."""

from __future__ import annotations

from wordveil.cli.options import Json, print_facts, print_table


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
