"""Measures the trade-off curves that come with the package: ``python tools/build_tradeoffs.py [--missing] [CURVE …]``.

Name a curve by its mechanism (``graph``: on every space) or with its space (``glove-50k:graph``). Without a name, all
of `CURVES` are measured. Measurements are kept in the cache, so a stopped run continues where it was. `graph` alone
takes minutes. All curves take more than an hour on two cores, but those of mechanisms with noise only minutes with
``--engine gpu``.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from wordveil.calibration import Effort, meter_for, span_of
from wordveil.calibration.measurement import SHIPPED
from wordveil.engines import ENGINES, check_engine
from wordveil.lab.experiments.comparison import entrant
from wordveil.spaces import load_space

CURVES = {
    "glove-50k": ("graph", "ring", "exponential", "truncated", "knn-truncated", "laplace", "mahalanobis"),
    "wordnet-poincare": ("graph", "exponential", "truncated", "knn-truncated", "hyperbolic"),
}
EFFORT = Effort(words=1000, near_words=1000, outputs=50, draws=300, adversary_words=50_000, adversary_draws=20)
POINTS = 7


def main() -> None:
    """Measure the named curves, or all, and write each to the file when it is done."""
    every = [(space, name) for space, names in CURVES.items() for name in names]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curve", nargs="*", help="MECHANISM or SPACE:MECHANISM; all if none is named")
    parser.add_argument("--missing", action="store_true", help="only curves that are not in the file yet")
    parser.add_argument("--engine", choices=ENGINES, default="local", help="where mechanisms with noise draw")
    asked = parser.parse_args()
    check_engine(asked.engine)
    unknown = [one for one in asked.curve if not any(one in (name, f"{space}:{name}") for space, name in every)]
    if unknown:
        parser.error(f"there is no curve {unknown[0]}; choose among {', '.join(':'.join(one) for one in every)}")
    for space, name in every:
        if asked.curve and name not in asked.curve and f"{space}:{name}" not in asked.curve:
            continue
        if asked.missing and name in _shipped().get(space, {}):
            continue
        started = time.monotonic()
        curve = measured(space, name, asked.engine)
        known = _shipped()
        known.setdefault(space, {})[name] = curve
        ordered = {one: {name: known[one][name] for name in CURVES[one] if name in known[one]} for one in CURVES}
        SHIPPED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        print(f"{space}:{name}: {time.monotonic() - started:.0f} s", flush=True)


def measured(space_name: str, name: str, engine: str) -> dict[str, Any]:
    """Measure one curve: a mechanism with its default options."""
    who = entrant(name, name, {}, load_space(space_name), engine)
    meter = meter_for(who.make, who.space, EFFORT)
    found = meter.measure(span_of(meter).grid(POINTS))
    return {
        "how": meter.law.how,
        "options": meter.probe.options(),
        "suspects": found[0].uniform.n,
        "points": [one.point() for one in found],
    }


def _shipped() -> dict[str, Any]:
    return json.loads(SHIPPED.read_text(encoding="utf-8")) if SHIPPED.exists() else {}


if __name__ == "__main__":
    main()
