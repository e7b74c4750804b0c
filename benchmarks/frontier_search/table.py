"""Writes rows as lines of a Markdown table, and the tables of a whole search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.frontier_search.search import Row

__all__ = ["headings", "line", "tables"]

_COLUMNS = ("family", "candidate", "level", "ε", "near loss", "uniform", "kept")


def headings(readers: Sequence[str]) -> str:
    """Return the first lines of a table whose utility was measured with these readers."""
    columns = (*_COLUMNS, *(f"share, {reader}" for reader in readers), "more than the default")
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def line(row: Row) -> str:
    """Return the line of a row. The gain has half of its 95% interval."""
    gain = "" if row.gain is None else f"{row.gain.value:+.3f} ± {0.5 * (row.gain.high - row.gain.low):.3f}"
    shares = " | ".join(f"{share:.3f}" for share in row.read.values())
    return (
        f"| {row.family} | {row.label} | {row.level:.0%} | {row.epsilon:.2f} | {row.near_loss:.1f} | {row.uniform:.3f} "
        f"| {row.kept:.3f} | {shares} | {gain} |"
    )


def tables(found: dict[str, Any]) -> str:
    """Write the tables of a search, from its JSON file, for docs/search.md."""
    parts = [f"{found['words']:,} words, attacker {found['attacker']}, {found['seconds']:,} s on {found['device']}."]
    for title, one in found["compared"].items():
        rows = [Row.from_dict(row) for row in one["rows"]]
        bounds = ", ".join(f"{name} {low:.3f} and {high:.3f}" for name, (low, high) in one["bounds"].items())
        lines = [headings(list(rows[0].read)), *map(line, rows)] if rows else ["Nothing was measured."]
        parts += [f"## {title[0].upper()}{title[1:]}", f"Random words and clean text: {bounds}.", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
