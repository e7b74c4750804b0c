"""Figures in few digits."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from wordveil.rounding import round_down, round_up


@given(st.floats(1e-9, 1e9), st.integers(1, 6))
def test_a_rounded_figure_is_near_and_on_the_right_side(value: float, digits: int) -> None:
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    assert value - 1.001 * unit <= round_down(value, digits) <= value * (1 + 1e-9)
    assert value * (1 - 1e-9) <= round_up(value, digits) <= value + 1.001 * unit


def test_what_is_no_figure_stays() -> None:
    assert round_up(0.0) == 0.0
    assert round_down(math.inf) == math.inf
