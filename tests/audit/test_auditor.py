"""The audit convicts what is broken and acquits what is honest."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from benchmarks.mutants import convict

from tests.audit import doubles
from tests.audit.wrong_builds import MISTAKES, WRONG_BUILDS
from tests.conftest import FLAT, make_space, names
from wordveil._mechanisms import MECHANISMS
from wordveil._mechanisms.exponential import Exponential
from wordveil.audit import ERROR, Auditor, Evidence
from wordveil.audit.exact import exact_losses
from wordveil.audit.sampled import loss_bound
from wordveil.errors import OptionError
from wordveil.spaces import EuclideanSpace, Vocabulary

UNPROVEN = {"jaccard", "remapped", "tem-quotient"}
AUDITOR = {"words": 60, "draws": 20_000, "repeat": True}


@pytest.fixture(scope="module")
def space() -> EuclideanSpace:
    return make_space(150, 4, seed=12)


@pytest.mark.parametrize("name", FLAT)
def test_honest_mechanisms_are_acquitted_and_broken_claims_are_not(name: str, space: EuclideanSpace) -> None:
    verdict = Auditor(**AUDITOR).audit(name, space, epsilon=1.0)  # type: ignore[arg-type]
    claims = dict.fromkeys(("nadp", "jaccard", "remapped", "custext", "tem-quotient"), "broken")
    assert verdict.verdict == ("no promise" if name in UNPROVEN else "holds")
    assert verdict.claim_verdict == claims.get(name, "")
    assert verdict.worst is not None
    assert verdict.error == ERROR
    assert json.loads(json.dumps(verdict.to_dict()))["verdict"] == verdict.verdict


@pytest.mark.parametrize("mutant", doubles.MUTANTS, ids=lambda mutant: mutant.kind.__name__)
def test_wrong_mechanisms_are_convicted(mutant: doubles.Mutant) -> None:
    verdict = convict(mutant)
    assert verdict.verdict == "broken"
    assert verdict.worst is not None
    assert verdict.worst.breaks


@pytest.mark.parametrize("cell", WRONG_BUILDS, ids="-".join)
def test_wrong_builds_are_convicted(cell: tuple[str, str]) -> None:
    assert convict(WRONG_BUILDS[cell]).verdict == "broken"


def test_every_mistake_is_made_in_every_mechanism_that_it_can_be_made_in() -> None:
    made = {mistake: {name for name, other in WRONG_BUILDS if other == mistake} for mistake in MISTAKES}
    promising = set(MECHANISMS) - UNPROVEN
    assert made == {
        "noise scaled by 0.8": promising,
        "½ missing": {"graph", "exponential", "truncated", "knn-truncated", "density", "custext", "santext-plus"},
        "Beta shape off by one": {"hyperbolic"},
        "seed fixed": promising,
        "clipped after the draw": promising,
    }


def test_close_pairs_far_from_the_origin_are_not_convicted_on_rounding() -> None:
    places = np.concatenate([np.linspace(0, 3, 100), np.linspace(0, 3, 100) + 1e-4]) + 100.0
    space = EuclideanSpace("close", Vocabulary(names(200)), places[:, None])
    for name in ("exponential", "truncated", "knn-truncated"):
        assert Auditor(words=200, draws=5000, repeat=True).audit(name, space, epsilon=1.0).verdict == "holds"


def test_a_nan_is_no_acquittal() -> None:
    assert Evidence("x", "a", "b", 1.0, 1.0, float("nan")).breaks
    assert Evidence("x", "a", "b", 1.0, 1e-6, float("nan"), quantity="p-value").breaks


def test_the_evidence_names_words_and_outputs(space: EuclideanSpace) -> None:
    verdict = Auditor(**AUDITOR).audit("remapped", space, epsilon=1.0)  # type: ignore[arg-type]
    worst = verdict.worst
    assert worst is not None
    assert worst.left in space.vocabulary
    assert worst.right in space.vocabulary
    assert worst.measured > worst.allowed
    assert worst.output


def test_an_exact_audit_of_the_bundled_graph(glove: EuclideanSpace) -> None:
    verdict = Auditor(words=40, draws=20_000, repeat=True).audit("graph", glove, epsilon=3.0)
    assert verdict.verdict == "holds"
    assert verdict.worst is not None
    assert verdict.worst.exact
    assert 0.5 < verdict.worst.share <= 1.0 + 1e-9


def test_bounds_are_too_high_as_seldom_as_they_say() -> None:
    generator = np.random.default_rng(0)
    left, right = generator.binomial(500, 0.3, 4000), generator.binomial(500, 0.1, 4000)
    wrong = (loss_bound(left, right, (500, 500), 0.05) > np.log(3.0)).mean()
    assert wrong <= 0.1


def test_senseless_settings() -> None:
    for settings_ in ({"words": 1}, {"draws": 10}, {"draws": 10**10}, {"seed": -1}):
        with pytest.raises(OptionError):
            Auditor(**settings_)  # type: ignore[arg-type]


def test_gaussian_noise_is_judged_on_pairs_that_it_covers() -> None:
    """With a small reach no two words are covered; telling them apart breaks nothing."""
    small = make_space(60, 5)
    assert Auditor(**AUDITOR).audit("gaussian", small, epsilon=1.0, reach=0.05).verdict == "holds"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "loss"),
    [
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]], np.log(1.25)),  # nobody gives the last word
        ([[0.5, 0.5, 0.0], [0.5, 0.4, 0.1], [0.5, 0.5, 0.0]], np.inf),
    ],
)
def test_an_output_of_no_probability_hides_no_loss(rows: list[list[float]], loss: float) -> None:
    space = make_space(3, 2)

    class Sparse(Exponential):
        def probability_rows(self, ids: Any) -> Any:
            return np.array(rows)[ids]

    made = Sparse(space, 1.0)
    (found,) = exact_losses(made, made.guarantee, np.arange(3))
    assert found.measured == pytest.approx(loss)
