"""Draws that share directions have the mechanism's own law, at every ε."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space
from wordveil import mechanism
from wordveil._mechanisms.laws import Directed, DirectedLaw, Effort, SampledLaw
from wordveil._mechanisms.laws.rays import Rays
from wordveil.noise import Entropy

DRAWS = 20_000
CASES: list[tuple[str, dict[str, Any], tuple[float, ...]]] = [
    ("vickrey", {}, (1.0, 6.0)),
    ("vickrey", {"t": 0.9}, (3.0,)),
    ("polar", {}, (0.5, 8.0)),  # at the first many points lie behind the word
    ("remapped", {}, (2.0, 9.0)),
]


@pytest.mark.parametrize(("name", "options", "epsilons"), CASES)
def test_draws_along_shared_directions_have_the_law_of_draws(
    name: str, options: dict[str, Any], epsilons: tuple[float, ...]
) -> None:
    space, ids = make_space(40, 4), np.array([3, 17])
    makers = [mechanism(name, space, epsilon=epsilon, **options) for epsilon in epsilons]
    rays = Rays(makers[0].space.points(np.arange(len(space))))
    found = cast("Directed", makers[0]).draw_along(epsilons, rays, ids, DRAWS, Entropy(1))
    assert found.shape == (len(ids), len(epsilons), DRAWS)
    for place, made in enumerate(makers):
        for row, word in enumerate(ids):
            plain = made.draw(np.full(DRAWS, word), Entropy(2 + row))
            counts = np.stack([np.bincount(drawn, minlength=len(space)) for drawn in (plain, found[row, place])])
            usual = counts.sum(axis=0) >= 20
            table = np.column_stack([counts[:, usual], counts[:, ~usual].sum(axis=1) + 1])
            assert stats.chi2_contingency(table).pvalue > ALPHA


def test_figures_are_those_of_plain_draws() -> None:
    made, ids = mechanism("vickrey", make_space(300, 5), epsilon=5.0), np.arange(0, 300, 3)
    effort = Effort(draws=2000)
    shared, plain = DirectedLaw(made, effort).stays(ids), SampledLaw(made, effort).stays(ids)
    apart = shared.mean - plain.mean
    assert abs(apart) < stats.norm.isf(ALPHA / 2) * np.hypot(shared.mean_error, plain.mean_error)
    assert shared.errors is not None
    assert plain.errors is not None
    scores = (shared.values - plain.values) / np.hypot(shared.errors, plain.errors)
    assert stats.chi2.sf(np.square(scores).sum(), len(ids)) > ALPHA


def test_what_was_drawn_for_one_figure_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ids = mechanism("vickrey", make_space(100, 5), epsilon=5.0), np.arange(100)
    law = DirectedLaw(made, Effort(draws=100))
    first = law.stays(ids)
    monkeypatch.setattr(type(made), "draw_along", None)
    np.testing.assert_array_equal(law.stays(ids).values, first.values)
    assert law.distinct(ids).values.min() >= 1
