"""Rows as lines of a table in Markdown."""

from __future__ import annotations

from benchmarks.frontier_search.search import Row

__all__ = ["HEADINGS", "line"]

_COLUMNS = ("family", "candidate", "level", "ε", "near loss", "uniform", "kept", "share", "more than the default")

HEADINGS = f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|"


def line(row: Row) -> str:
    """Return the line of a row; the gain with half of its 95% interval."""
    gain = "" if row.gain is None else f"{row.gain.value:+.3f} ± {0.5 * (row.gain.high - row.gain.low):.3f}"
    return (
        f"| {row.family} | {row.label} | {row.level:.0%} | {row.epsilon:.2f} | {row.near_loss:.1f} | {row.uniform:.3f} "
        f"| {row.kept:.3f} | {row.share:.3f} | {gain} |"
    )
