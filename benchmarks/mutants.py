"""Deliberately wrong builds of every mechanism, which the audit must find: ``python -m benchmarks.mutants``.

A mutant that survives is a fault that the audit misses. The command then exits with 1.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache

import numpy as np
from tests.audit.doubles import MUTANTS, Mutant
from tests.audit.wrong_builds import MISTAKES, WRONG_BUILDS
from tests.conftest import make_poincare, make_space

from wordveil.audit import Auditor, Verdict
from wordveil.spaces import EuclideanSpace, GraphSpace, RingSpace, Space, Vocabulary

__all__ = ["convict", "main"]


@lru_cache(maxsize=4)
def _space(kind: str) -> Space:
    vectors = make_space(150, 4, seed=12)
    if kind == "disk":
        return make_poincare(80, 2, seed=1)
    if kind == "stretched":
        matrix = vectors.matrix * np.array([4.0, 1.0, 1.0, 0.25], dtype=np.float32)
        return EuclideanSpace("stretched", Vocabulary(vectors.vocabulary.words), matrix)
    return {"vectors": vectors, "graph": GraphSpace.of(vectors, 3), "ring": RingSpace.of(vectors)}[kind]


def convict(mutant: Mutant) -> Verdict:
    """Audit a mutant at the small size that the suite uses, after smaller ones, which convict most mutants."""
    kind, options, made = (
        mutant.kind,
        mutant.options,
        mutant.kind(_space(mutant.space), mutant.epsilon, **mutant.options),
    )
    for words, draws in ((30, 2000), (60, 4000), (60, 20_000)):
        auditor = Auditor(words=words, draws=draws, repeat=True)
        verdict = auditor.examine(made, lambda smaller: kind(smaller, mutant.epsilon, **options))
        if verdict.verdict == "broken":
            break
    return verdict


def main() -> None:
    """Audit every mutant, print who was convicted of what, and then the table of mechanisms and mistakes."""
    started, survivors = time.perf_counter(), 0
    print(f"{'mechanism':<18} {'mutant':<26} {'verdict':<9} {'allowed':>9} {'found':>9}  what gave it away")
    named = [(mutant.kind.name, mutant.kind.__name__, mutant) for mutant in MUTANTS]
    table: dict[str, dict[str, str]] = {}
    for mechanism, name, mutant in [*((*cell, mutant) for cell, mutant in WRONG_BUILDS.items()), *named]:
        verdict = convict(mutant)
        worst = next((one for one in verdict.on_guarantee if one.breaks), verdict.worst)
        assert worst is not None
        survivors += verdict.verdict != "broken"
        if name in MISTAKES:
            table.setdefault(mechanism, {})[name] = "killed" if verdict.verdict == "broken" else "SURVIVED"
        print(
            f"{mechanism:<18} {name:<26} {verdict.verdict:<9} {worst.allowed:>9.3g} {worst.measured:>9.3g}  "
            f"{worst.quantity}: {worst.about}",
            flush=True,
        )
    print(f"\n{'mechanism':<18} " + " ".join(f"{mistake:>22}" for mistake in MISTAKES))
    for mechanism, found in table.items():
        print(f"{mechanism:<18} " + " ".join(f"{found.get(mistake, '-'):>22}" for mistake in MISTAKES))
    count = len(WRONG_BUILDS) + len(MUTANTS)
    print(f"{count} mutants, {survivors} survived, {time.perf_counter() - started:.0f} s")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
