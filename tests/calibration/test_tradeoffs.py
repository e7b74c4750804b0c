"""The curves that come with the package."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from wordveil import load_space, mechanism
from wordveil.calibration.measurement import SHIPPED, shipped_tradeoff

opened = cache(load_space)
CURVES = [
    (space, name, curve)
    for space, curves in json.loads(SHIPPED.read_text(encoding="utf-8")).items()
    for name, curve in curves.items()
]


@pytest.mark.parametrize(("space", "name", "curve"), CURVES, ids=[f"{space}-{name}" for space, name, _ in CURVES])
def test_a_curve_is_of_the_mechanism_as_it_is_now(space: str, name: str, curve: dict[str, Any]) -> None:
    made = mechanism(name, opened(space), epsilon=10.0)
    assert curve["options"] == made.options(), "measure it again: python tools/build_tradeoffs.py MECHANISM"
    epsilons = [point["epsilon"] for point in curve["points"]]
    assert len(epsilons) >= 5
    assert epsilons == sorted(epsilons)
    for point in curve["points"]:
        shares = [point[what] for what in ("adversary", "adversary_frequency", "kept", "near")]
        assert all(0.0 <= share <= 1.0 for share in shares)
        assert point["kept"] + point["near"] <= 1.0 + 1e-9
    assert shipped_tradeoff(space, name) == curve


def test_what_was_not_measured_has_no_curve() -> None:
    assert shipped_tradeoff("glove-50k", "jaccard") is None
    assert shipped_tradeoff("some/file.txt", "graph") is None
