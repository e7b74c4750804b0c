"""The observer of `benchmarks.timing` sees a difference where there is one, and none where there is none."""

from __future__ import annotations

import numpy as np
from benchmarks.timing import leak, times


def test_the_observer() -> None:
    generator = np.random.default_rng(0)
    alike = generator.gamma(5.0, 100.0, size=(4000, 4))
    assert abs(leak(alike)[0] - 0.25) < 0.03
    assert leak(alike + np.arange(4) * 1000.0)[0] > 0.9


def test_every_case_is_timed() -> None:
    seen: list[object] = []
    assert times(seen.append, ["a", "b"], 5).shape == (5, 2)
    assert len(seen) == 12
