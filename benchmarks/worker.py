"""``python -m benchmarks.worker JOB``: runs one job in its own process, so that its peak memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.measure import Row

__all__ = ["run_apart"]


def run_apart(job: str) -> tuple[list[Row], list[dict[str, Any]]]:
    """Run a job in a new process. Return its rows, or its curves."""
    command = [sys.executable, "-m", "benchmarks.worker", job]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [Row(**row) for row in found["rows"]], found["curves"]


def main() -> None:
    """Run the named job, and print its result."""
    from benchmarks.growth import growth  # noqa: PLC0415 - the parent needs none of this
    from benchmarks.jobs import JOBS  # noqa: PLC0415

    name = sys.argv[1]
    rows = [asdict(row) for row in JOBS[name]()] if name != "growth" else []
    curves = [curve.to_dict() for curve in growth()] if name == "growth" else []
    print(json.dumps({"rows": rows, "curves": curves}))


if __name__ == "__main__":
    main()
