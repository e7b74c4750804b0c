"""Measures the trade-off curves that come with the package: ``python tools/build_tradeoffs.py [SPACE:MECHANISM …]``.

What was measured is kept in the cache, so that it goes on where it was stopped. All of it takes about an hour on two
cores.
"""

from __future__ import annotations

import json
import sys
import time

from wordveil.calibration import Settings, maker, meter_for, span_of
from wordveil.calibration.tradeoffs import SHIPPED, point_of
from wordveil.spaces import load_space

CURVES = {
    "glove-50k": ("graph", "ring", "exponential", "truncated", "knn-truncated", "laplace", "mahalanobis"),
    "wordnet-poincare": ("graph", "exponential", "hyperbolic"),
}
SETTINGS = Settings(words=1000, near_words=1000, outputs=50, draws=300, adversary_words=50_000, adversary_draws=20)
POINTS = 7


def main() -> None:
    """Measure the curves that are named, or all, and write each into the file when it is done."""
    asked = sys.argv[1:] or [f"{space}:{name}" for space, names in CURVES.items() for name in names]
    for one in asked:
        space_name, _, name = one.partition(":")
        space = load_space(space_name)
        started = time.monotonic()
        meter = meter_for(maker(name, space), space, SETTINGS)
        measured = meter.measure(span_of(meter).grid(POINTS))
        curve = {
            "how": meter.how,
            "suspects": measured[0].uniform.words,
            "points": [point_of(found) for found in measured],
        }
        known = json.loads(SHIPPED.read_text(encoding="utf-8")) if SHIPPED.exists() else {}
        known.setdefault(space_name, {})[name] = curve
        SHIPPED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        print(f"{one}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
