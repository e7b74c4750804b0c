"""How often the audit of callables convicts, right and wrong: ``python -m benchmarks.convictions [SEEDS]``.

Honest callables, some of which lose all that they claim, are audited at a level of 5%, where convictions can be
counted; faulty ones at the level of the command. Exits with 1 if an honest one is convicted more often than stated, or
a faulty one passes.
"""

from __future__ import annotations

import sys

from tests.audit.callables import FAULTY, HONEST, Double

from wordveil.audit import ERROR, audit_callable, cases
from wordveil.stats import Estimate, lower_bound

__all__ = ["main"]

_LEVEL = 0.05


def _convictions(double: Double, seeds: int, error: float, draws: int) -> Estimate:
    verdicts = [
        audit_callable(
            double.make(seed), double.claim, takes=double.takes, draws=draws, error=error, seed=seed, repeat=True,
            seconds=600.0,
        ).verdict
        for seed in range(seeds)
    ]  # fmt: skip
    return Estimate.share(verdicts.count("broken"), seeds)


def main() -> None:
    """Audit every double with many seeds and print how often each was convicted."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cases.PAUSE = 0.0
    is_wrong = False
    print(f"{'callable':<68} {'level':>7} {'convicted':>10}  95% interval")
    for kind, level, many, draws in ((HONEST, _LEVEL, seeds, 500), (FAULTY, ERROR, max(1, seeds // 10), 3000)):
        for name, double in kind.items():
            found = _convictions(double, many, level, draws)
            hits = round(found.value * many)
            is_wrong |= hits < many if kind is FAULTY else float(lower_bound(hits, many, 1e-3)) > level
            print(f"{name:<68} {level:>7g} {hits:>5} of {many:<4} [{found.low:.3f}, {found.high:.3f}]", flush=True)
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
