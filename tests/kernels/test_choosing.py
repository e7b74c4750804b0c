"""Searches in cumulated rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordveil.kernels import choose


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 20), max_size=12),
    width=st.integers(1, 70),
    wide=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_first_place_past_the_aim(code: str, counts: list[int], width: int, wide: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.uniform(size=(len(counts), width)) * (generator.uniform(size=(len(counts), width)) < 0.5)
    rows[:, -1] = 1.0
    rows = rows.astype(np.float64 if wide else np.float32)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    aims = generator.uniform(size=int(starts[-1]))
    found = choose(rows, starts, aims)
    for row, start, stop in zip(rows, starts[:-1], starts[1:], strict=True):
        sums = np.cumsum(row.astype(np.float64))
        for place, aim in zip(found[start:stop], aims[start:stop] * sums[-1], strict=True):
            assert row[place] > 0  # what has no weight is never chosen
            assert sums[place] > aim
            assert place == 0 or sums[place - 1] <= aim


def test_aims_at_both_ends(code: str) -> None:
    rows = np.array([[0.0, 1.0, 0.0, 3.0]])
    ends = np.array([5e-324, 2.0**-128, 1 - 2.0**-53])
    assert choose(rows, np.array([0, 3]), ends).tolist() == [1, 1, 3]
    assert choose(np.empty((0, 3)), np.array([0]), np.empty(0)).shape == (0,)


def test_draws_must_belong_to_rows(code: str) -> None:
    for starts in ([0, 1], [0, 2, 1], [1, 1, 3], [0, 1, 2]):
        with pytest.raises(ValueError, match="starts"):
            choose(np.ones((2, 2)), np.array(starts), np.full(3, 0.5))
