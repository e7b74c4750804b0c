"""The largest ε that meets a target: it meets it, and a larger one does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import make_space
from wordveil.calibration import Effort, Span, Target, maker, match, meter_for, side, solve, span_of
from wordveil.calibration.search import crossing, largest_epsilon
from wordveil.errors import OptionError, WordveilError

SPACE = make_space(80, 4, seed=21)
SETTINGS = Effort(draws=60, near=5, similar=3)
TARGETS = [
    Target("stays", 0.5),
    Target("stays", 0.4, share=0.8),
    Target("stays-mean", 0.3),
    Target("alternatives", 10),
    Target("alternatives", 15, share=0.5),
    Target("adversary", 0.4),
    Target("adversary-frequency", 0.4),
    Target("near-loss", 4.0, share=0.9),
]


@given(edge=st.floats(1e-5, 1e5), low=st.floats(1e-4, 1e3), ratio=st.floats(1.5, 50), batch=st.integers(1, 9))
def test_a_search_finds_the_edge_from_anywhere(edge: float, low: float, ratio: float, batch: int) -> None:
    asked: list[float] = []

    def holds(epsilons: Sequence[float]) -> list[bool]:
        asked.extend(epsilons)
        return [epsilon <= edge for epsilon in epsilons]

    found = largest_epsilon(holds, low, low * ratio, batch=batch, tolerance=0.01)
    assert found in asked
    assert edge / 1.011 < found <= edge


def test_a_search_says_when_nothing_or_everything_holds() -> None:
    assert largest_epsilon(lambda tried: [False] * len(tried), 1, 2, batch=3) == 0
    assert largest_epsilon(lambda tried: [True] * len(tried), 1, 2, batch=3) == np.inf


@pytest.mark.parametrize("batch", [1, 5])
def test_a_search_steps_over_epsilons_that_are_too_small_for_the_mechanism(batch: int) -> None:
    def holds(epsilons: Sequence[float]) -> list[bool]:
        if min(epsilons) < 9:
            raise WordveilError("too small.")
        return [epsilon <= 12 for epsilon in epsilons]

    assert 11.9 < largest_epsilon(holds, 1, 2, batch=batch) <= 12

    def never(epsilons: Sequence[float]) -> list[bool]:
        if min(epsilons) < 9:
            raise WordveilError("too small.")
        return [False for _ in epsilons]

    assert largest_epsilon(never, 1, 2, batch=batch) == 0


@pytest.mark.parametrize("name", ["graph", "ring", "exponential"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.kind}-{target.share}")
def test_the_answer_meets_the_target_and_a_larger_one_does_not(name: str, target: Target) -> None:
    meter = meter_for(maker(name, SPACE), SPACE, SETTINGS)
    found = solve(meter, target, Span(0.1, 1.0))
    assert 0 < found < np.inf
    at, beyond = map(target.value, meter.measure([found, found * 1.02]))
    if target.kind == "alternatives":
        at, beyond, bound = -at, -beyond, -target.bound
    else:
        bound = target.bound
    assert at <= bound < beyond


@pytest.mark.parametrize("target", TARGETS[:6], ids=lambda target: f"{target.kind}-{target.share}")
def test_the_answer_for_noise_meets_the_target(target: Target) -> None:
    meter = meter_for(maker("laplace", SPACE), SPACE, Effort(draws=200, near=5, similar=3))
    found = solve(meter, target, span_of(meter))
    bound, slack = target.bound, 0.03 * target.bound  # measured again, the worst word may come out a little worse
    value, beyond = (target.value(measured) for measured in meter.measure([found, found * 1.3]))
    if target.kind == "alternatives":
        assert value > bound - slack
        assert beyond < bound + slack
    else:
        assert value < bound + slack
        assert beyond > bound - slack


def test_impossible_and_idle_targets() -> None:
    meter = meter_for(maker("graph", SPACE), SPACE, SETTINGS)
    assert solve(meter, Target("adversary", 1 / 81), Span(0.1, 1.0)) == 0  # guessing blindly is right more often
    assert solve(meter, Target("alternatives", 0.5), Span(0.1, 1.0)) == np.inf


@pytest.mark.parametrize(
    ("kind", "bound", "share"),
    [("stays", 1.0, 1.0), ("stays", -1, 1.0), ("stays", np.nan, 1.0), ("nothing", 1, 1.0), ("stays", 0.5, 0.0)],
)
def test_targets_that_make_no_sense_are_refused(kind: str, bound: float, share: float) -> None:
    with pytest.raises(WordveilError):
        Target(kind, bound, share)


@pytest.mark.parametrize("bad", [{"eta": 0.0}, {"gamma": 0.5}, {"draws": 0}, {"words": -1}, {"seed": -1}])
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(WordveilError):
        Effort(**bad)


def test_the_span_goes_from_few_words_kept_to_most() -> None:
    for name in ("graph", "ring", "exponential", "laplace", "vickrey"):
        meter = meter_for(maker(name, SPACE), SPACE, Effort(draws=100))
        span = span_of(meter)
        low, high = (found.mean for found in meter.stays([span.low, span.high]))
        assert high > 0.9 or name == "vickrey"  # which never keeps more than about half
        assert low < 0.1
        grid = span.grid(7)
        assert grid == sorted(set(grid))
        assert min(grid) >= span.low


@pytest.mark.parametrize("by", ["worst", "mean", "adversary", "adversary-frequency"])
@pytest.mark.parametrize("other", ["ring", "exponential", "laplace"])
def test_matched_mechanisms_have_the_same_figure(by: str, other: str) -> None:
    settings = Effort(words=80, draws=300, near=5, similar=3)
    known = side(meter_for(maker("graph", SPACE), SPACE, settings), 2.0, by)
    found = match(known, meter_for(maker(other, SPACE), SPACE, settings), by)
    assert found.value(by) == pytest.approx(known.value(by), rel=0.05)
    assert found.to_dict()["epsilon"] == found.epsilon
    assert found.to_dict()["words"] == 80


def test_what_cannot_be_matched_is_refused() -> None:
    meter = meter_for(maker("graph", SPACE), SPACE, SETTINGS)
    with pytest.raises(OptionError):
        side(meter, 1.0, "colour")
    everything = side(meter, 1e4, "mean")
    with pytest.raises(OptionError):
        match(everything, meter, "mean")


@given(
    edge=st.floats(1e-4, 1e4),
    steep=st.floats(0.3, 6.0),
    bound=st.floats(0.02, 0.98),
    first=st.lists(st.integers(1, 1000).map(lambda tenth: tenth / 10.0), min_size=1, max_size=10, unique=True),
    batch=st.integers(1, 3),
)
def test_a_smooth_share_reaches_its_bound_where_the_search_says(
    edge: float, steep: float, bound: float, first: list[float], batch: int
) -> None:
    asked: list[float] = []

    def shares(epsilons: Sequence[float]) -> list[float]:
        asked.extend(epsilons)
        return [float(1.0 / (1.0 + (edge / epsilon) ** steep)) for epsilon in epsilons]

    where = edge * (bound / (1.0 - bound)) ** (1.0 / steep)
    found = crossing(shares, bound, first, tolerance=0.01, batch=batch)
    if found in (0.0, np.inf):
        assert not 1e-5 < where < 1e5
        return
    assert where / 1.03 < found <= where * (1 + 1e-9)
    assert len(asked) < len(first) + 40 * batch


@pytest.mark.parametrize(("batch", "times"), [(1, 3), (3, 2)])
def test_a_smooth_share_is_asked_for_little_where_the_grid_is_fine(batch: int, times: int) -> None:
    asked: list[list[float]] = []

    def shares(epsilons: Sequence[float]) -> list[float]:
        asked.append(list(epsilons))
        return [float(1.0 / (1.0 + (7.0 / epsilon) ** 4)) for epsilon in epsilons]

    found = crossing(shares, 0.1, np.geomspace(2, 20, 10).tolist(), tolerance=0.01, batch=batch)
    assert found == pytest.approx(7.0 * (1 / 9) ** 0.25, rel=0.01)
    assert len(asked) <= times
    assert all(len(some) <= batch for some in asked[1:])


def test_a_smooth_search_says_when_nothing_or_everything_holds_or_epsilons_are_too_small() -> None:
    assert crossing(lambda tried: [0.5] * len(tried), 0.4, [1, 2], tolerance=0.01) == 0
    assert crossing(lambda tried: [0.5] * len(tried), 0.6, [1, 2], tolerance=0.01) == np.inf

    def shares(epsilons: Sequence[float]) -> list[float]:
        if min(epsilons) < 9:
            raise WordveilError("too small.")
        return [epsilon / (12.0 + epsilon) for epsilon in epsilons]

    assert 11.7 < crossing(shares, 0.5, [1.0, 20.0], tolerance=0.01) <= 12
    assert crossing(shares, 0.4, [1.0, 20.0], tolerance=0.01) == 0
