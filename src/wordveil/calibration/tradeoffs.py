"""How often a guess is right against how similar the output stays, over ε: measured in advance for the bundled spaces.

``tools/build_tradeoffs.py`` measures them again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from wordveil.calibration.statistics import Measurement

__all__ = ["SHIPPED", "point_of", "shipped_tradeoff"]

SHIPPED = Path(__file__).parent.parent / "data" / "tradeoffs.json"


def point_of(measured: Measurement) -> dict[str, float]:
    """Return one point of the curve: ε, the two guessers' success, and what becomes of words."""
    return {
        "epsilon": measured.epsilon,
        "adversary": measured.uniform.value,
        "adversary_frequency": measured.frequency.value,
        "kept": measured.kept.value,
        "near": measured.near.value,
    }


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return told


def shipped_tradeoff(space: str, mechanism: str) -> dict[str, Any] | None:
    """Return the curve of a mechanism with its usual options on a bundled space; None if it was not measured."""
    found: dict[str, Any] | None = _shipped().get(space, {}).get(mechanism)
    return found
