"""Hyperbolic mechanisms: their laws, what they promise, and the audit's word on the paper's claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from tests.conftest import ALPHA, names
from wordveil.audit import Auditor
from wordveil.errors import WordveilError
from wordveil.guarantee import Notion
from wordveil.mechanisms import Exponential, Graph, Hyperbolic, HyperbolicIcdm19
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, PoincareSpace, Vocabulary


def disk(words: int = 80, dimension: int = 2, seed: int = 1) -> PoincareSpace:
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(words, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.sqrt(generator.uniform(0, 0.95, words))
    return PoincareSpace.from_ball("disk", Vocabulary(names(words)), directions * lengths[:, None])


@pytest.mark.parametrize(("dimension", "kappa"), [(2, 1.2), (2, 5.0), (5, 4.5), (10, 30.0)])
def test_the_radius_has_its_law(dimension: int, kappa: float) -> None:
    space = disk(20, dimension)
    ids = np.full(20_000, 7)
    distance = space.apart(Hyperbolic(space, kappa).perturb(ids, Entropy(2)), ids)
    grid = np.linspace(0, 200 / (kappa - dimension + 1), 400_001)
    with np.errstate(divide="ignore"):
        logs = -kappa * grid + (dimension - 1) * (grid + np.log1p(-np.exp(-2 * grid)))
    height = np.exp(logs - logs[1:].max())
    cumulated = integrate.cumulative_trapezoid(height, grid, initial=0)
    assert stats.kstest(distance, lambda r: np.interp(r, grid, cumulated / cumulated[-1])).pvalue > ALPHA


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.5), (2, 0.125), (2, 3.0), (8, 1.0)])
def test_the_papers_noise_has_its_law(dimension: int, epsilon: float) -> None:
    space = PoincareSpace.from_ball("point", Vocabulary(["zqa"]), np.zeros((1, dimension)))
    made = HyperbolicIcdm19(space, epsilon, translate="mobius")
    ids = np.zeros(20_000, dtype=np.int64)
    lengths = np.tanh(space.apart(made.perturb(ids, Entropy(3)), ids) / 2)
    grid = np.linspace(0, 1, 200_001)
    height = grid ** (dimension - 1) * ((1 - grid) / (1 + grid)) ** epsilon
    cumulated = integrate.cumulative_trapezoid(height, grid, initial=0)
    assert stats.kstest(lengths, lambda r: np.interp(r, grid, cumulated / cumulated[-1])).pvalue > ALPHA


def test_an_epsilon_that_is_too_small_is_refused_with_the_reason() -> None:
    for dimension, epsilon in ((2, 1.0), (5, 3.9)):
        with pytest.raises(WordveilError, match=f"above {dimension - 1}"):
            Hyperbolic(disk(10, dimension), epsilon)
    flat = EuclideanSpace("flat", Vocabulary(names(3)), np.eye(3))
    for kind in (Hyperbolic, HyperbolicIcdm19):
        with pytest.raises(WordveilError, match="Poincar"):
            kind(flat, 9.0)


def test_guarantees() -> None:
    space = disk(10, 3)
    assert Hyperbolic(space, 4.0).guarantee.loss(2.0) == 8.0
    assert HyperbolicIcdm19(space, 1.0, translate="mobius").guarantee.loss(2.0) == 8.0
    assert HyperbolicIcdm19(space, 1.0).guarantee.notion is Notion.NONE
    assert HyperbolicIcdm19(space, 1.0, translate="mobius", sampler="metropolis").guarantee.notion is Notion.NONE


def test_the_audit_confirms_and_convicts() -> None:
    space = disk(60)
    auditor = Auditor(words=60, draws=20_000, repeat=True)
    honest = auditor.examine(Hyperbolic(space, 2.0), lambda smaller: Hyperbolic(smaller, 2.0))
    assert honest.verdict == "holds"
    assert honest.worst is not None
    assert honest.worst.share > 0.3
    carried = auditor.examine(
        HyperbolicIcdm19(space, 0.5, translate="mobius"),
        lambda smaller: HyperbolicIcdm19(smaller, 0.5, translate="mobius"),
    )
    assert carried.verdict == "holds"
    printed = auditor.examine(HyperbolicIcdm19(space, 0.5), lambda smaller: HyperbolicIcdm19(smaller, 0.5))
    assert printed.verdict == "no promise"
    assert printed.claim_verdict == "broken"


def test_moving_towards_the_origin_gives_more_general_words() -> None:
    space = disk(200)
    ids = np.repeat(np.arange(200), 20)
    plain = space.radii[Hyperbolic(space, 3.0).draw(ids, Entropy(1))].mean()
    inward = space.radii[Hyperbolic(space, 3.0, generalise=1.0).draw(ids, Entropy(1))].mean()
    assert inward < plain - 0.2


def test_exponential_and_graph_work_on_it_at_any_epsilon() -> None:
    space = disk(60, 5)
    for made in (Exponential(space, 0.1), Graph(space, 0.5)):
        logs = np.log(made.probability_rows(np.arange(60)))
        loss = np.abs(logs[:, None] - logs[None]).max(axis=2)
        assert (loss <= made.guarantee.epsilon * made.space.distances(np.arange(60)) * (1 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize("epsilon", [1.0001, 1e4])
def test_extremes(epsilon: float) -> None:
    space = disk(30)
    points = Hyperbolic(space, epsilon).perturb(np.repeat(np.arange(30), 20), Entropy(0))
    assert np.isfinite(points).all()
    drawn = Hyperbolic(space, epsilon).draw(np.arange(30), Entropy(0))
    assert ((drawn >= 0) & (drawn < 30)).all()
