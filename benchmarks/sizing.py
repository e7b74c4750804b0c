"""What a process of the service holds with several mechanisms ready: ``python -m benchmarks.sizing``."""

from __future__ import annotations

import os
import time

from benchmarks.service import memory_of, running, seconds_of

# What is made before the service is ready, by what it stands for.
_READY = {
    "graph at one ε": ["graph:4"],
    "graph at 8 values of ε": [f"graph:{epsilon}" for epsilon in range(1, 9)],
    "graph and laplace": ["graph:4", "laplace:10"],
    "eight mechanisms": [
        "graph:4", "laplace:10", "mahalanobis:10", "vickrey:10", "exponential:10", "truncated:10", "ring:1",
        "hyperbolic:1@wordnet-poincare",
    ],
}  # fmt: skip


def main() -> None:
    """Print memory and the processor time of the start for some settings, as a table."""
    print("| ready | memory of a process | processor time of the start |\n|---|---|---|")
    for what, warm in _READY.items():
        os.environ["WORDVEIL_SERVE_WARM"] = ",".join(warm)
        with running(1) as (_, process):
            time.sleep(1.0)  # what was only needed to make them is given back
            print(f"| {what} | {memory_of(process):.0f} MB | {seconds_of(process):.0f} s |", flush=True)


if __name__ == "__main__":
    main()
