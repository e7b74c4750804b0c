"""How often the audit of callables convicts, rightly and wrongly: ``python -m benchmarks.convictions [SEEDS [KIND]]``.

Honest callables, some of which lose all that they claim, are audited at a level of 5%, where convictions can be
counted. Faulty ones are audited with a tenth of the seeds, at the level of the command. The output is the table of
docs/audit.md. Exits with 1 if an honest callable is convicted more often than stated, or a faulty one passes. Callables
known to be too subtle for so few draws are listed as such. KIND is honest, faulty or subtle, or one of these after
`other-`, which are doubles on which no constant of the audit was chosen. The default is all of them.
"""

from __future__ import annotations

import sys

from tests.audit.callables import FAULTY, HONEST, SUBTLE, Double
from tests.audit.strangers import STRANGE_AND_HONEST, STRANGE_AND_UNSEEN, STRANGE_AND_WRONG

from wordveil.audit import ERROR, audit_callable, cases
from wordveil.stats import Estimate, lower_bound

__all__ = ["main"]

_LEVEL = 0.05
_DRAWS = 500  # for an honest callable


def _convictions(double: Double, seeds: int, error: float, draws: int) -> int:
    verdicts = [
        audit_callable(
            double.make(seed), double.claim, takes=double.takes, draws=draws, error=error, seed=seed, repeat=True,
            seconds=1e6,
        ).verdict
        for seed in range(seeds)
    ]  # fmt: skip
    return verdicts.count("broken")


def _row(kind: str, name: str, level: float, draws: str, hits: int, many: int) -> None:
    found = Estimate.share(hits, many)
    print(f"| {kind} | {name} | {level:g} | {draws} | {hits} of {many:,} | {found.low:.4f} to {found.high:.4f} |")
    sys.stdout.flush()


def main() -> None:
    """Audit every double with many seeds, and print how often each was convicted."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    kinds = {
        "honest": HONEST, "faulty": FAULTY, "subtle": SUBTLE,
        "other-honest": STRANGE_AND_HONEST, "other-faulty": STRANGE_AND_WRONG, "other-subtle": STRANGE_AND_UNSEEN,
    }  # fmt: skip
    asked = sys.argv[2:3] or kinds
    cases.PAUSE = 0.0
    is_wrong = False
    print("| | callable | level | draws | found broken | 95% interval |\n|---|---|---|---|---|---|")
    for kind in asked:
        doubles, is_honest = kinds[kind], kind.endswith("honest")
        level, many = (_LEVEL, seeds) if is_honest else (ERROR, max(1, seeds // 10))
        total = 0
        for name, double in doubles.items():
            draws = _DRAWS if is_honest else double.draws
            hits = _convictions(double, many, level, draws)
            total += hits
            if is_honest:
                is_wrong |= float(lower_bound(hits, many, 1e-3)) > level
            elif kind.endswith("faulty"):
                is_wrong |= hits < many
            _row(kind.replace("-", " "), name, level, f"{draws:,}", hits, many)
        _row(kind.replace("-", " "), "**together**", level, "", total, many * len(doubles))
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
