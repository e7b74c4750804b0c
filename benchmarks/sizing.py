"""How much memory a process of the service takes with several mechanisms ready: ``python -m benchmarks.sizing``."""

from __future__ import annotations

import os

from benchmarks.service import memory_of, running, seconds_of, sentences
from wordveil.client import Client

# What to make before the service is ready, by its label.
_READY = {
    "graph at one ε": ["graph:4"],
    "graph at 8 values of ε": [f"graph:{epsilon}" for epsilon in range(1, 9)],
    "graph and laplace": ["graph:4", "laplace:10"],
    "eight mechanisms": [
        "graph:4", "laplace:10", "mahalanobis:10", "vickrey:10", "exponential:3", "truncated:3", "ring:1",
        "hyperbolic:3@wordnet-poincare",
    ],
}  # fmt: skip


def main() -> None:
    """Print memory and the processor time of the start for some settings, as a table."""
    texts = sentences()
    print("| made before it is ready | memory | after 791 sentences with each | processor time of the start |")
    print("|---|---|---|---|")
    for what, warm in _READY.items():
        os.environ["WORDVEIL_SERVE_WARM"] = ",".join(warm)
        with running(1) as (port, process):
            ready, spent = memory_of(process), seconds_of(process)
            client = Client(f"http://127.0.0.1:{port}")
            for told in warm:
                named, _, rest = told.partition(":")
                epsilon, _, space = rest.partition("@")
                for _ in client.stream(texts, epsilon=float(epsilon), mechanism=named, space=space or None):
                    pass
            print(f"| {what} | {ready:.0f} MB | {memory_of(process):.0f} MB | {spent:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
