"""One law for all: what it answers agrees with the whole table of probabilities, by brute force."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.attacks.doubles import Bare, Blank
from tests.conftest import make_space, names
from wordveil._mechanisms import Effort, Law, Mechanism, mechanism
from wordveil._mechanisms.blocking import block_ids
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary

WORDS = 60
SPACE = make_space(WORDS, 4, seed=21)
EVERYONE = np.arange(WORDS)
EXACT: dict[str, tuple[str, dict[str, Any]]] = {
    "graph": ("graph", {"k": 4}),
    "graph, plain hops": ("graph", {"k": 3, "first": 1.0}),
    "tree": ("graph", {"k": 0, "first": 0.0}),
    "ring": ("ring", {}),
    "exponential": ("exponential", {"prior": "frequency"}),
    "truncated": ("truncated", {}),
    "knn-truncated": ("knn-truncated", {"k": 5}),
}


def law_named(name: str, epsilon: float = 2.0) -> tuple[Law, NDArray[np.float64]]:
    kind, options = EXACT[name]
    law = mechanism(kind, SPACE, epsilon=epsilon, **options).law()
    return law, law.rows(EVERYONE)


def some_prior(seed: int, missing: int = 0) -> NDArray[np.float64]:
    prior = np.random.default_rng(seed).gamma(0.3, size=WORDS) + 1e-6
    prior[:missing] = 0.0
    return prior


@pytest.mark.parametrize("name", EXACT)
def test_rows_columns_and_chances_are_one_table(name: str) -> None:
    law, table = law_named(name)
    assert law.exact
    assert law.error == 0.0
    assert law.draws is None
    assert table.sum(axis=1) == pytest.approx(np.ones(WORDS))
    some, few = np.array([7, 3, 50]), np.array([9, 0, 31, 2])
    assert np.exp(law.log_columns(some)) == pytest.approx(table[:, some].T, rel=1e-5)
    assert np.exp(law.log_columns(some, few)) == pytest.approx(table[np.ix_(few, some)].T, rel=1e-5)
    assert law.stays(few).values == pytest.approx(table[few, few], rel=1e-5)
    others = np.array([[1, 2], [9, 3], [4, 4], [8, 0]])
    assert law.chances(few, others) == pytest.approx(table[few[:, None], others], rel=1e-5)


COMPARATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "santext-plus": ("santext-plus", {}),
    "santext-plus, none left bare": ("santext-plus", {"p": 1.0, "share": 1.0}),
    "custext": ("custext", {"k": 7}),
    "custext, sets of their own": ("custext", {"k": 5, "mapping": "aggressive"}),
    "diffractor": ("diffractor", {"lists": 3}),
    "tem-quotient": ("tem-quotient", {}),
    "bayes-remap": ("bayes-remap", {}),
    "bayes-remap of exponential": ("bayes-remap", {"of": "exponential"}),
}


@pytest.mark.parametrize("name", COMPARATORS)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
@pytest.mark.parametrize("blocked", [[], [3, 8]])
def test_columns_of_comparators_are_those_of_their_rows(name: str, epsilon: float, blocked: list[int]) -> None:
    kind, options = COMPARATORS[name]
    made = block_ids(mechanism(kind, SPACE, epsilon=epsilon, **options), np.array(blocked, dtype=np.int64))
    law = made.law()
    table = law.rows(EVERYONE)
    some, few = np.array([7, 3, 50, 7, 8]), np.array([9, 0, 31, 7, 2])
    assert np.exp(law.log_columns(EVERYONE)) == pytest.approx(table.T, rel=1e-5)
    assert np.exp(law.log_columns(some, few)) == pytest.approx(table[np.ix_(few, some)].T, rel=1e-5)
    assert law.log_columns(some[:0], few).shape == (0, 5)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("epsilon", [0.4, 3.0])
def test_the_loss_between_words_is_the_largest_ratio_over_all_outputs(name: str, epsilon: float) -> None:
    law, table = law_named(name, epsilon)
    others = SPACE.similar(EVERYONE, 6)[0]
    logs = np.log(table)
    expected = np.abs(logs[:, None, :] - logs[others]).max(axis=2)
    assert law.loss(EVERYONE, others) == pytest.approx(expected, rel=1e-4)
    assert not law.loss_is_bound


@settings(deadline=None, max_examples=25)
@given(name=st.sampled_from(sorted(EXACT)), seed=st.integers(0, 999), missing=st.integers(0, WORDS - 1))
def test_the_posterior_is_what_bayes_says(name: str, seed: int, missing: int) -> None:
    law, table = law_named(name)
    prior = some_prior(seed, missing)
    outputs = np.array([5, 41, 17])
    joint = prior[:, None] * table[:, outputs]
    posterior = law.posterior(outputs, prior)
    assert posterior.sum(axis=1) == pytest.approx(np.ones(3))
    assert posterior == pytest.approx((joint / joint.sum(axis=0)).T, rel=1e-4, abs=1e-12)
    vectors = SPACE.matrix
    mean = law.posterior_mean(vectors, prior, outputs)
    assert mean == pytest.approx(posterior @ vectors, rel=1e-3, abs=1e-4)


@settings(deadline=None, max_examples=25)
@given(name=st.sampled_from(sorted(EXACT)), seed=st.integers(0, 999), missing=st.integers(0, WORDS - 1))
def test_no_guess_is_right_more_often_than_the_best(name: str, seed: int, missing: int) -> None:
    law, table = law_named(name)
    prior = some_prior(seed, missing)
    joint = prior[:, None] / prior.sum() * table
    guess = law.best_guess(prior)
    assert guess.success.value == pytest.approx(joint.max(axis=0).sum(), rel=1e-4)
    assert guess.success.low == guess.success.high
    assert joint[guess.words, EVERYONE].sum() == pytest.approx(guess.success.value, rel=1e-4)
    assert (prior[guess.words] > 0).all()


@settings(deadline=None, max_examples=25)
@given(name=st.sampled_from(sorted(EXACT)), seed=st.integers(0, 999), missing=st.integers(0, WORDS - 1))
def test_the_information_is_that_of_the_whole_table(name: str, seed: int, missing: int) -> None:
    law, table = law_named(name)
    prior = some_prior(seed, missing)
    joint = prior[:, None] / prior.sum() * table
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    found = law.information(prior)
    assert found.value == pytest.approx((joint[there] * np.log2(joint[there] / apart[there])).sum(), rel=1e-3, abs=1e-5)
    assert found.low == found.high


def test_the_information_of_a_learnt_law_is_no_more_than_the_truth() -> None:
    prior = some_prior(8)
    entropy = -(prior / prior.sum()) @ np.log2(prior / prior.sum())
    assert Bare(SPACE).law().information(prior).value == pytest.approx(entropy, rel=0.1)
    assert Blank(SPACE).law().information(prior).low < 0.02
    law, _ = law_named("graph")

    class Concealed(Blank):
        draw = law.mechanism.draw

    learnt, truth = Concealed(SPACE).law(Effort(draws=5000)).information(prior), law.information(prior).value
    assert learnt.low < truth
    assert learnt.value > truth - 0.2


@pytest.mark.parametrize("name", EXACT)
def test_the_posterior_is_the_prior_where_nothing_is_revealed(name: str) -> None:
    kind, options = EXACT[name]
    law = mechanism(kind, SPACE, epsilon=1e-6, **options).law()
    prior = some_prior(3)
    assert law.posterior(np.array([4, 9]), prior)[1] == pytest.approx(prior / prior.sum(), rel=1e-3)


@pytest.mark.parametrize("name", ["graph", "exponential"])
def test_frequencies_are_found_again_from_counts(name: str) -> None:
    law, table = law_named(name, 8.0)
    prior = some_prior(5)
    prior /= prior.sum()
    found = law.explain_counts(1e6 * prior @ table, rounds=3000)
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(found - prior).sum() < 0.05
    likelihoods = []
    for rounds in (1, 2, 5, 20):
        guessed = law.explain_counts(1e6 * prior @ table, rounds=rounds)
        likelihoods.append(float((prior @ table) @ np.log(guessed @ table)))
    assert likelihoods == sorted(likelihoods)  # no round makes what was seen less likely
    impossible = law.explain_counts(np.ones(WORDS), np.where(EVERYONE < 10, 1.0, 0.0))
    assert (impossible[10:] == 0).all()


def test_an_output_that_no_word_of_the_prior_gives_says_nothing() -> None:
    law = mechanism("custext", SPACE, epsilon=2.0).law()
    prior = np.where(EVERYONE < 1, 1.0, 0.0)
    given = prior @ law.rows(EVERYONE) > 0
    assert not given.all()
    found = law.explain_counts(np.ones(WORDS), prior, aside=np.ones(WORDS), rounds=3)
    assert np.isfinite(found).all()
    assert found == pytest.approx(law.explain_counts(1.0 * given, prior, aside=1.0 * given, rounds=3), abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(EXACT)),
    epsilon=st.sampled_from([0.1, 3.0, 40.0]),
    seed=st.integers(0, 999),
    missing=st.integers(0, WORDS - 1),
    seen=st.integers(1, WORDS),
)
def test_a_round_on_counts_is_what_bayes_says(name: str, epsilon: float, seed: int, missing: int, seen: int) -> None:
    law, table = law_named(name, epsilon)
    prior = some_prior(seed, missing)
    prior /= prior.sum()
    counts = np.zeros(WORDS)
    counts[np.random.default_rng(seed).permutation(WORDS)[:seen]] = 7.0
    joint = prior[:, None] * table
    possible = counts * (joint.sum(axis=0) > 1e-30)  # what hardly any word gives is not seen
    if possible.any():
        behind = (joint / np.maximum(joint.sum(axis=0), 1e-300)) @ (possible / possible.sum())
        assert law.explain_counts(possible, prior, rounds=1) == pytest.approx(behind, rel=1e-4, abs=1e-9)


def test_what_makes_no_sense_is_refused() -> None:
    law, _ = law_named("graph")
    for prior in (np.zeros(WORDS), np.ones(WORDS - 1), np.full(WORDS, np.nan), -np.ones(WORDS)):
        with pytest.raises(OptionError):
            law.best_guess(prior)
        with pytest.raises(OptionError):
            law.posterior(EVERYONE, prior)
        with pytest.raises(OptionError):
            law.information(prior)
    for counts in (np.zeros(WORDS), np.ones(3), -np.ones(WORDS)):
        with pytest.raises(OptionError):
            law.explain_counts(counts)
    refused = {"words": -1, "draws": 0, "eta": 1.0, "gamma": 0.5, "seed": -1, "adversary_draws": 1, "column_draws": 0}
    for wrong in ({name: value} for name, value in refused.items()):
        with pytest.raises(OptionError):
            Effort(**wrong)  # type: ignore[arg-type]


class Counted(Blank):
    """A mechanism that counts what is drawn of it."""

    drawn = 0

    def draw(self, ids: NDArray[np.integer[Any]], entropy: Entropy | None = None) -> NDArray[np.int64]:
        self.drawn += len(ids)
        return super().draw(ids, entropy)


def test_what_was_drawn_under_one_prior_serves_the_others_and_all_who_ask_at_once() -> None:
    made = Counted(SPACE)
    law, prior = made.law(Effort(column_draws=6000)), some_prior(1)
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: law.log_columns(EVERYONE, prior=prior), range(4))
    once = made.drawn
    assert 6000 <= once <= 6000 + 3 * WORDS
    assert all(np.array_equal(first, other) for other in others)
    law.log_columns(EVERYONE, prior=1.05 * prior + 0.05 * prior.mean())  # the same but for a few
    law.log_columns(EVERYONE, EVERYONE[5:], prior=prior[5:])  # of fewer words
    assert made.drawn <= 1.5 * once
    before = made.drawn
    law.log_columns(EVERYONE)  # and of unlikely words much more is wanted
    assert before < made.drawn < 2.5 * once
    again = pickle.loads(pickle.dumps(law))  # noqa: S301 - what was written here
    assert np.array_equal(again.log_columns(EVERYONE), law.log_columns(EVERYONE))
    assert made.drawn == again.mechanism.drawn


@pytest.mark.parametrize("name", ["laplace", "vickrey", "elastic", "gaussian"])
def test_a_law_from_draws_comes_near_long_counting(name: str) -> None:
    made: Mechanism[Any] = mechanism(name, SPACE, epsilon=4.0)
    law = made.law(Effort(draws=2000, seed=1))
    truth = made.law(Effort(draws=40_000, seed=2)).rows(np.array([3, 8]))
    assert not law.exact
    assert law.draws == 2000
    assert np.abs(law.rows(np.array([3, 8])) - truth).max() < 6 * law.error
    assert law.stays(np.array([3, 8])).values == pytest.approx([truth[0, 3], truth[1, 8]], abs=6 * law.error)
    columns = np.exp(law.log_columns(EVERYONE, EVERYONE))
    assert columns.sum(axis=0) == pytest.approx(np.ones(WORDS), rel=1e-5)  # over all outputs
    assert law.posterior(np.array([5]), np.ones(WORDS)).sum() == pytest.approx(1.0)
    again = made.law(Effort(draws=2000, seed=1))
    assert np.array_equal(again.rows(np.array([3])), law.rows(np.array([3])))


def test_a_law_from_draws_knows_what_is_bare_and_what_is_blank() -> None:
    effort = Effort(draws=300)
    uniform = np.full(WORDS, 1.0 / WORDS)
    bare = Bare(SPACE).law(effort).best_guess(uniform)
    assert bare.success.value == pytest.approx(1.0)
    assert np.array_equal(bare.words, EVERYONE)
    blank = Blank(SPACE).law(effort).best_guess(uniform)
    assert blank.success.low <= 1.0 / WORDS + 1e-9 <= blank.success.high + 1e-9


def test_laws_at_other_epsilons_are_those_of_the_mechanisms_made_there() -> None:
    for name in ("graph", "ring", "exponential", "laplace"):
        made = [mechanism(name, SPACE, epsilon=epsilon) for epsilon in (1.0, 5.0)]
        effort = Effort(draws=200)
        shared = made[0].law(effort).at(made)
        for law, alone in zip(shared, made, strict=True):
            assert law.mechanism.epsilon == alone.epsilon
            assert law.stays(EVERYONE).values == pytest.approx(alone.law(effort).stays(EVERYONE).values, rel=1e-6)
            assert repr(alone.epsilon).rstrip(".0") in repr(law)


def test_rows_fetched_apart_share_no_draws_and_come_out_the_same_again() -> None:
    law = Blank(SPACE).law(Effort(draws=400))  # its words have one law, so that the same draws would show
    apart = [law.rows(np.array([word]))[0] for word in range(4)]
    assert all(not np.array_equal(one, other) for place, one in enumerate(apart) for other in apart[:place])
    assert np.abs(np.corrcoef(apart) - np.eye(4)).max() < 0.6
    assert np.array_equal(law.rows(np.array([2]))[0], apart[2])


@pytest.mark.parametrize("name", ["laplace", "density"])
def test_words_at_one_place_and_certain_priors_do_not_upset_a_law_from_draws(name: str) -> None:
    vectors = np.random.default_rng(3).normal(size=(WORDS, 4)).astype(np.float32)
    vectors[1] = vectors[0]
    space = EuclideanSpace("twins", Vocabulary(names(WORDS)), vectors)
    law = mechanism(name, space, epsilon=300.0).law(Effort(draws=200))
    assert law.posterior(np.array([0, 1]), np.ones(WORDS)).sum(axis=1) == pytest.approx([1.0, 1.0])
    for prior in (np.ones(WORDS), np.eye(WORDS)[3]):
        success = law.best_guess(prior).success
        assert 0.0 <= success.low <= success.value <= success.high <= 1.0
