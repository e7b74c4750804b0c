"""``python -m benchmarks``: one table, one JSON file.

python -m benchmarks                       # everything
python -m benchmarks nearest draws         # some jobs
python -m benchmarks --json figures.json   # also as JSON, with the machine's description
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.jobs import JOBS
from benchmarks.measure import Row
from wordveil import __version__
from wordveil.parallel import cores


def machine() -> dict[str, object]:
    """Describe the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    return {
        "processor": cpu,
        "cores": cores(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "wordveil": __version__,
        "load": round(os.getloadavg()[0], 2),
    }


def figure(value: float | None) -> str:
    """Write a figure as people read it."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


HEADINGS = ("job", "unit", "ours", "peer", "limit", "ours/peer", "of limit", "target", "met", "peak MB", "note")


def cells(row: Row) -> list[str]:
    """Write a row as people read it; a rate is better when it is higher, a time when it is lower."""
    faster = row.unit.endswith("/s")
    to_peer = None if row.peer is None else row.ours / row.peer if faster else row.peer / row.ours
    of_limit = None if row.limit is None else row.ours / row.limit if faster else row.limit / row.ours
    return [
        row.job,
        row.unit,
        figure(row.ours),
        figure(row.peer),
        figure(row.limit),
        "-" if to_peer is None else f"{to_peer:,.1f}×",
        "-" if of_limit is None else f"{100 * of_limit:.0f}%",
        row.target or "-",
        {True: "yes", False: "NO", None: "-"}[row.met],
        f"{row.memory_mb:,.0f}",
        row.note,
    ]


def page(about: dict[str, object], rows: list[Row]) -> str:
    """Write the table as a page."""
    lines = [
        "# Speed",
        "",
        "Printed by `make bench`, all in one run on one machine: our figure, the peer's on the same work, and what",
        "the hardware allows as measured in that run. Absolute figures move from machine to machine; look at the",
        "ratios.",
        "",
        ", ".join(f"{key} {value}" for key, value in about.items()),
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
        "",
        "The peer of `privatize` is mldp-text 0.1.2 in an environment of its own, one word a call, which is the",
        "interface its users have. The limit of `laplace` is the rate at which numpy's own float32 matrix product",
        "could compare every word with every vector.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the jobs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], help="which jobs; all if none is named")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--markdown", type=Path, help="write the table here as a page of the documentation")
    arguments = parser.parse_args()
    about = machine()
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(", ".join(f"{key} {value}" for key, value in about.items()))
    table = Table()
    for heading in (
        "job",
        "unit",
        "ours",
        "peer",
        "limit",
        "ours/peer",
        "of limit",
        "target",
        "met",
        "peak MB",
        "note",
    ):
        table.add_column(heading, overflow="fold")
    rows: list[Row] = []
    for name in arguments.jobs or JOBS:
        with console.status(f"{name}…"):
            found = JOBS[name]()
        rows += found
        for row in found:
            table.add_row(*cells(row))
    console.print(table)
    if arguments.markdown:
        arguments.markdown.write_text(page(about, rows), encoding="utf-8")
    if arguments.json:
        facts = {"machine": about, "rows": [asdict(row) for row in rows]}
        arguments.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
