"""What is learnt from draws comes near the best guess, never above it, and is not flattered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from tests.attacks.doubles import Bare, Blank
from tests.conftest import ALPHA, make_space
from wordveil._mechanisms import Mechanism, mechanism
from wordveil._mechanisms.laws.counts import Halves
from wordveil._mechanisms.laws.learner import Learnt, Sightings, success_of
from wordveil._mechanisms.priors import log_prior
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, GraphSpace, Space

DRAWS = 20_000
WORDS = 150
SPACE = make_space(WORDS, 4, seed=12)
MADE = mechanism("exponential", SPACE, epsilon=3.0)
TABLE = MADE.law().rows(np.arange(WORDS))
SLACK = norm.isf(ALPHA)


def prior_of(name: str) -> NDArray[np.float64]:
    weights = np.ones(WORDS) if name == "uniform" else 1.0 / (1.0 + np.arange(WORDS))
    if name == "some":
        weights[WORDS // 2 :] = 0.0
    return weights / weights.sum()


PRIORS = ["uniform", "zipf", "some"]


def best_of(prior: NDArray[np.float64], table: NDArray[np.float64] = TABLE) -> float:
    return float((prior[:, None] * table).max(axis=0).sum())


def runs(made: Mechanism[Any], prior: NDArray[np.float64], draws: int, entropy: Entropy) -> Sightings:
    """Run a mechanism on words that come as often as a prior says, but each at least once."""
    suspects = np.flatnonzero(prior)
    row = np.searchsorted(np.cumsum(prior[suspects]), entropy.uniform(draws), side="right").clip(max=len(suspects) - 1)
    row = np.concatenate([np.arange(len(suspects)), row])
    return Sightings.of(suspects, row, made.draw(suspects[row], entropy))


def learnt_by(made: Mechanism[Any], prior: NDArray[np.float64], draws: int, entropy: Entropy) -> Learnt:
    return Learnt(made.space, runs(made, prior, draws, entropy))


def truly(guesses: NDArray[np.int64], prior: NDArray[np.float64]) -> float:
    """How often guesses are right against the known channel."""
    return float((prior[guesses] * TABLE[guesses, np.arange(WORDS)]).sum())


@pytest.mark.parametrize("name", PRIORS)
def test_a_known_channel_is_guessed_nearly_as_well_as_can_be(name: str) -> None:
    prior = prior_of(name)
    learning, testing = Entropy(1).spawn(2)
    own = prior[prior > 0]
    guesses = learnt_by(MADE, prior, DRAWS, learning).guesses(own)
    found, error = success_of([(guesses, runs(MADE, prior, DRAWS, testing))], own)
    exact = best_of(prior)
    assert 0 < error < 0.005
    assert found <= exact + SLACK * error
    assert found >= 0.97 * exact - SLACK * error
    assert found == pytest.approx(truly(guesses, prior), abs=SLACK * error)
    assert truly(guesses, prior) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_the_figure_is_not_flattered_however_few_draws_were_learnt_from(name: str) -> None:
    prior = prior_of(name)
    own = prior[prior > 0]
    far, errors = [], []
    for seed in range(40):
        learning, testing = Entropy(seed).spawn(2)
        guesses = learnt_by(MADE, prior, 300, learning).guesses(own)
        found, error = success_of([(guesses, runs(MADE, prior, 3000, testing))], own)
        itself = float((prior * TABLE.diagonal()).sum())
        far.append(found - max(truly(guesses, prior), itself, own.max()))
        errors.append(error)
    # The larger of two guessers is chosen where they are tested, which is worth less than an error.
    assert -SLACK / np.sqrt(40) < np.mean(far) / np.mean(errors) < 0.6 + SLACK / np.sqrt(40)
    assert 0.6 < np.std(far) / np.mean(errors) < 1.5


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("draws", [300, 2000])
def test_few_draws_teach_more_than_their_counts(name: str, draws: int) -> None:
    prior = prior_of(name)
    gains = []
    for seed in range(10):
        seen = runs(MADE, prior, draws, Entropy(seed))
        ours = truly(Learnt(SPACE, seen).guesses(prior[prior > 0]), prior)
        theirs = []
        for discount in (0.0, 1.0):  # the largest count, and the largest count less one
            counts = np.zeros((WORDS, WORDS))
            counts[seen.suspects[seen.row], seen.output] = seen.count - discount * ~seen.stays
            counts[np.diag_indices(WORDS)] += 0.5 * (prior > 0)
            theirs.append(truly(counts.argmax(axis=0), prior))
        gains.append(ours - max(theirs))
    assert np.mean(gains) > 0


def test_much_is_learnt_of_a_mechanism_with_many_rare_outputs(glove: EuclideanSpace) -> None:
    """Counts that are not discounted, not mixed with pseudo-draws or mixed with no regard to distance reach 0.78."""
    words = 1000
    space = glove.restrict(np.arange(words))
    graph = mechanism("graph", space, epsilon=4.0)
    table = graph.law().rows(np.arange(words))
    prior = np.exp(log_prior(space, "frequency"))
    prior /= prior.sum()
    reached = []
    for seed in range(8):
        seen = runs(graph, prior, 8000, Entropy(seed))
        guesses = Learnt(space, seen).guesses(prior)
        reached.append((prior[guesses] * table[guesses, np.arange(words)]).sum())
    assert np.mean(reached) > 0.785 * (prior[:, None] * table).max(axis=0).sum()


def test_words_released_as_they_are_are_always_guessed() -> None:
    prior = prior_of("zipf")
    learning, testing = Entropy(2).spawn(2)
    guesses = learnt_by(Bare(SPACE), prior, 500, learning).guesses(prior)
    assert guesses.tolist() == list(range(WORDS))
    assert success_of([(guesses, runs(Bare(SPACE), prior, 500, testing))], prior) == pytest.approx((1.0, 0.0), abs=1e-7)


@pytest.mark.parametrize("name", PRIORS)
def test_words_replaced_blindly_are_guessed_no_better_than_unseen(name: str) -> None:
    prior = prior_of(name)
    own = prior[prior > 0]
    learning, testing = Entropy(3).spawn(2)
    guesses = learnt_by(Blank(SPACE), prior, DRAWS, learning).guesses(own)
    found, error = success_of([(guesses, runs(Blank(SPACE), prior, DRAWS, testing))], own)
    assert prior.max() <= found <= prior.max() + SLACK * error


@pytest.mark.parametrize("space", [SPACE, GraphSpace.of(SPACE, 3)])
def test_what_is_learnt_is_a_law_and_the_guess_its_best_column(space: Space) -> None:
    """With distances and, where words are no points, without."""
    prior = prior_of("zipf")
    seen = runs(MADE, prior, 3000, Entropy(4))
    learnt = Learnt(space, seen)
    law = np.exp(learnt.log_columns(np.arange(WORDS))).T
    assert law.sum(axis=1) == pytest.approx(np.ones(WORDS), rel=1e-5)
    values = prior[:, None] * law
    guesses = learnt.guesses(prior)
    guessed = values[guesses, np.arange(WORDS)]
    assert guessed.sum() > 0.99 * values.max(axis=0).sum()
    looked_at = np.eye(WORDS, dtype=np.bool_)
    looked_at[:10] = True
    looked_at[seen.row, seen.output] = True
    assert guessed == pytest.approx(np.where(looked_at, values, 0.0).max(axis=0))


@pytest.mark.parametrize("draws", [11, 201])
@pytest.mark.parametrize("name", PRIORS[:2])
def test_halves_of_dealt_draws_hold_the_truth_between_them(draws: int, name: str) -> None:
    made = mechanism("exponential", SPACE, epsilon=1.0)
    prior = prior_of(name)
    exact = best_of(prior, made.law().rows(np.arange(WORDS)))
    lows, highs, values = [], [], []
    for seed in range(10):
        ids = np.random.default_rng(seed).permutation(WORDS)  # in any order, as a sample of words is
        outputs = made.draw(np.repeat(ids, draws), Entropy(seed)).reshape(-1, draws)
        halves = Halves.joined([Halves.of(ids[[place]], outputs[[place]]) for place in range(WORDS)])
        ((_, found),) = halves.guesses(SPACE, [prior[ids]])
        assert found.n == WORDS
        lows.append(found.low)
        highs.append(found.high)
        values.append(found.value)
    assert np.mean(lows) < exact < np.mean(highs)
    assert np.mean(values) == pytest.approx(exact, rel=0.6 if draws < 100 else 0.15)


def test_words_that_share_their_randomness_have_the_larger_error() -> None:
    prior = prior_of("zipf")
    row = np.repeat(np.arange(WORDS), 50)
    fresh = Sightings.of(np.arange(WORDS), row, MADE.draw(row, Entropy(6)))
    guesses = np.arange(WORDS)
    alone = success_of([(guesses, fresh)], prior)
    together = success_of([(guesses, fresh)], prior, block_of=np.arange(WORDS) // 30)
    assert alone[0] == pytest.approx(together[0])
    assert together[1] > 1.5 * alone[1]
    twice = success_of([(guesses, fresh), (guesses, fresh)], prior)
    assert twice[1] == pytest.approx(alone[1] / np.sqrt(2))
