"""The figures of mechanisms that state their probabilities, against the same figures from the whole table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space, names
from wordveil._mechanisms import ExponentialMechanism
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.priors import log_prior
from wordveil.calibration import Effort, Measurement, maker, meter_for, span_of
from wordveil.spaces import EuclideanSpace, GraphSpace, PoincareSpace, Space, Vocabulary

EFFORT = Effort(draws=50, eta=0.1, gamma=3.0, near=7, similar=4)
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "graph": ("graph", {}),
    "tree": ("graph", {"k": 0}),
    "graph, few neighbours": ("graph", {"k": 2, "first": 0.25}),
    "graph, a flat top": ("graph", {"k": 4, "first": 0.0}),
    "graph, plain hops": ("graph", {"k": 3, "first": 1.0}),
    "ring": ("ring", {}),
    "exponential": ("exponential", {}),
    "frequency": ("exponential", {"prior": "frequency"}),
    "clip": ("exponential", {"clip": 2.0}),
    "knn-truncated": ("knn-truncated", {"k": 5}),
}


def whole_table(made: ExponentialMechanism[Any]) -> np.ndarray:
    return np.array([made.probabilities(word) for word in range(len(made.space))])


def effective(row: np.ndarray, eta: float) -> int:
    held, count = 0.0, 0
    for chance in sorted(row, reverse=True):
        if held >= (1 - eta) * (1 - 1e-12):
            break
        held, count = held + chance, count + 1
    return count


def check(found: Measurement, table: np.ndarray, space: EuclideanSpace, effort: Effort, *, in_hops: bool) -> None:
    # Euclidean distances are computed in single precision, and come out a little different in blocks of another size.
    close = partial(pytest.approx, rel=1e-9 if in_hops else 1e-4)
    near = space.similar(np.arange(len(space)), effort.near)[0]
    draws = effort.draws
    own = np.diag(table)
    assert found.exact
    assert found.stays.values == close(own[found.stays.ids])
    expected = (1 - (1 - table) ** draws).sum(axis=1)
    assert found.distinct.values == close(expected[found.distinct.ids])
    sizes = np.array([effective(row, effort.eta) for row in table])
    assert np.abs(found.effective.values - sizes[found.effective.ids]).max() <= (0 if in_hops else 1)
    assert found.min_entropy.values == close(-np.log2(table.max(axis=1))[found.min_entropy.ids])
    assert found.support.values == close(np.log2(len(space)))
    inputs = (1 - (1 - table) ** draws).sum(axis=0)
    assert found.inputs.values == close(inputs[found.inputs.ids])
    alike = (table * effort.gamma >= table.max(axis=0) * (1 - 1e-9)).sum(axis=0)
    assert (found.alike.values == alike[found.alike.ids]).mean() >= (1 if in_hops else 0.95)
    logs = np.log(table)
    for word, loss in zip(found.near_loss.ids, found.near_loss.values, strict=True):
        losses = [np.abs(logs[word] - logs[other]).max() for other in near[word, : effort.similar]]
        assert loss == close(max(losses))
    measured = found.near_loss.ids
    assert found.kept.value == close(own[measured].mean())
    assert found.near.value == close(np.mean([table[w, near[w]].sum() for w in measured]))
    assert found.kept.value + found.near.value + found.far.value == close(1)
    for prior, adversary in (("uniform", found.uniform), ("frequency", found.frequency)):
        weight = np.exp(log_prior(space, prior))
        right = (weight[:, None] / weight.sum() * table).max(axis=0).sum()
        assert adversary.low == close(right)
        assert adversary.high == adversary.low
        assert adversary.n == len(space)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0])
def test_figures_agree_with_the_whole_table(name: str, epsilon: float) -> None:
    space = make_space(90, 4, seed=3)
    kind, options = MECHANISMS[name]
    meter = meter_for(maker(kind, space, **options), space, EFFORT)
    made = meter.make(epsilon)
    assert isinstance(made, ExponentialMechanism)
    in_hops = kind in ("graph", "ring")
    check(meter.measure([epsilon])[0], whole_table(made), space, EFFORT, in_hops=in_hops)


@pytest.mark.parametrize("name", ["graph", "ring", "exponential"])
def test_the_parts_agree_with_the_whole_measurement(name: str) -> None:
    space = make_space(70, 4, seed=4)
    meter = meter_for(maker(name, space), space, EFFORT)
    whole = meter.measure([1.3, 2.6])
    for found, stays, distinct, loss, success in zip(
        whole,
        meter.stays([1.3, 2.6]),
        meter.distinct([1.3, 2.6]),
        meter.near_loss([1.3, 2.6]),
        meter.adversary([1.3, 2.6], "frequency"),
        strict=True,
    ):
        assert stays.values == pytest.approx(found.stays.values, rel=1e-4)
        assert distinct.values == pytest.approx(found.distinct.values, rel=1e-4)
        assert loss.values == pytest.approx(found.near_loss.values, rel=1e-4)
        assert success.value == pytest.approx(found.frequency.value, rel=1e-4)
    some = np.array([5, 3, 60])
    assert meter.stays([1.3], some)[0].ids.tolist() == [5, 3, 60]


def test_an_adversary_among_fewer_words_is_right_more_often() -> None:
    space = make_space(80, 4, seed=5)
    for name in ("graph", "exponential"):
        made = maker(name, space)
        among_all = meter_for(made, space, EFFORT).adversary([1.0], "uniform")[0]
        few = meter_for(made, space, Effort(adversary_words=20))
        among_few = few.adversary([1.0], "uniform")[0]
        table = whole_table(few.make(1.0))  # type: ignore[arg-type]
        assert among_few.value == pytest.approx((table[few.suspects] / 20).max(axis=0).sum(), rel=1e-4)
        assert among_few.value > among_all.value
        assert among_few.n == 20


def test_exponential_draws_on_a_graph_are_measured_by_rows_and_agree_with_the_graph() -> None:
    space = make_space(60, 4, seed=6)
    hops = GraphSpace.of(space, 3)

    def make(epsilon: float) -> Exponential:
        return Exponential(hops, epsilon)

    by_rows = meter_for(make, space, EFFORT).measure([1.5])[0]
    by_shells = meter_for(maker("graph", space, k=3, first=1.0), space, EFFORT).measure([1.5])[0]
    assert by_rows.uniform.value == pytest.approx(by_shells.uniform.value)
    assert np.sort(by_rows.stays.values) == pytest.approx(np.sort(by_shells.stays.values))
    assert by_rows.near.value == pytest.approx(by_shells.near.value)


def test_inputs_are_also_counted_along_a_hyperbolic_hierarchy() -> None:
    points = np.random.default_rng(7).normal(size=(50, 2)) * np.linspace(0.1, 4, 50)[:, None]
    space = PoincareSpace("disk", Vocabulary(names(50)), points)
    exact = meter_for(maker("exponential", space), space, Effort(draws=30)).measure([2.0])[0]
    table = whole_table(Exponential(space, 2.0))
    lower = space.radii[:, None] > space.radii
    assert exact.below is not None
    expected = ((1 - (1 - table) ** 30) * lower).sum(axis=0)
    assert exact.below.values == pytest.approx(expected[exact.below.ids])

    def noise(epsilon: float) -> Hyperbolic:
        return Hyperbolic(space, epsilon)

    drawn = meter_for(noise, space, Effort(draws=30))
    found = drawn.measure([3.0])[0]
    assert found.below is not None
    assert (found.below.values <= found.inputs.values).all()
    assert 0 < found.below.values.sum() < found.inputs.values.sum()
    assert "below" in found.summary(space.vocabulary)
    assert 1.0 < span_of(drawn).low < 1.1  # in two dimensions such noise needs an ε above 1, and keeps many words there


@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("name", ["graph", "ring", "exponential", "laplace", "vickrey"])
def test_tiny_vocabularies(words: int, name: str) -> None:
    space = make_space(words, 2, seed=words)
    found = meter_for(maker(name, space), space, Effort(draws=40)).measure([1.0])[0]
    facts = found.summary(space.vocabulary)
    assert 0 <= facts["stays"]["worst"] <= 1
    assert 1 <= facts["distinct"]["worst"] <= words
    if words == 1:
        assert facts["stays"]["worst"] == pytest.approx(1, abs=1e-9)
        assert facts["adversary"]["uniform"]["value"] == pytest.approx(1)


def test_words_at_one_place_are_measured_too() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), [2, 1, 3], axis=0)
    space: Space = EuclideanSpace("equal", Vocabulary(names(6)), vectors)
    makers: list[Callable[[float], Any]] = [maker(name, space) for name in ("graph", "ring", "exponential", "laplace")]
    for make in makers:
        found = meter_for(make, space, Effort(draws=30)).measure([2.0])[0]
        assert np.isfinite(found.stays.values).all()
        assert found.uniform.value <= 1 + 1e-12
