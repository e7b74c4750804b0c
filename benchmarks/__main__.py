"""``python -m benchmarks``: prints one table, and can write a page with its picture and a JSON file.

python -m benchmarks                           # everything
python -m benchmarks nearest draws             # some jobs
python -m benchmarks --json figures.json       # also as JSON, with the machine's description
python -m benchmarks --markdown docs/speed.md  # also as a page, with a picture beside it
python -m benchmarks --kept docs/speed.json --markdown docs/speed.md  # only the page, from figures that were kept
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.jobs import JOBS
from benchmarks.measure import Row
from benchmarks.page import HEADINGS, cells, page, picture
from benchmarks.worker import run_apart
from wordveil import __version__
from wordveil.parallel import cores

_ALL = (*JOBS, "growth")


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


def main() -> None:
    """Run the jobs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", help=f"which of {', '.join(_ALL)}; all if none is named")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--markdown", type=Path, help="write a page of the documentation here, and its picture beside")
    parser.add_argument("--kept", type=Path, metavar="JSON", help="run nothing: write the page from these figures")
    arguments = parser.parse_args()
    if arguments.kept:
        if arguments.jobs or arguments.json or not arguments.markdown:
            parser.error("--kept takes --markdown and nothing else")
        facts = json.loads(arguments.kept.read_text(encoding="utf-8"))
        _write_page(arguments.markdown, facts["machine"], [Row(**row) for row in facts["rows"]], facts["curves"])
        return
    unknown = [name for name in arguments.jobs if name not in _ALL]
    if unknown:
        parser.error(f"there is no job {unknown[0]}; choose among {', '.join(_ALL)}")
    about = machine()
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(", ".join(f"{key} {value}" for key, value in about.items()))
    rows: list[Row] = []
    curves: list[dict[str, Any]] = []
    for name in arguments.jobs or _ALL:
        with console.status(f"{name}…"):
            found, drawn = run_apart(name)
        rows += found
        curves += drawn
    _show(console, rows, curves)
    if arguments.markdown:
        _write_page(arguments.markdown, about, rows, curves)
    if arguments.json:
        facts = {"machine": about, "rows": [asdict(row) for row in rows], "curves": curves}
        arguments.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _write_page(path: Path, about: dict[str, object], rows: list[Row], curves: list[dict[str, Any]]) -> None:
    folder = path.resolve().parent
    path.write_text(page(about, rows, curves, folder), encoding="utf-8")
    if curves:
        picture(curves, folder)


def _show(console: Console, rows: list[Row], curves: list[dict[str, Any]]) -> None:
    table = Table()
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
    for curve in curves:
        points = ", ".join(
            f"{size:,}: {spent:.3g} s" for size, spent in zip(curve["sizes"], curve["seconds"], strict=True)
        )
        slope = "" if curve["exponent"] is None else f"   exponent {curve['exponent']:.2f}"
        console.print(f"{curve['mechanism']} over {curve['axis']} ({curve['what']}): {points}{slope}")


if __name__ == "__main__":
    main()
