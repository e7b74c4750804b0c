"""Every mechanism of the exponential family draws from the probabilities it states, and those keep the promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space, names
from wordveil._mechanisms import ExponentialMechanism, mechanism
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.ring import Ring
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, GraphSpace, RingSpace, Vocabulary

MAKERS: dict[str, Callable[[EuclideanSpace, float], ExponentialMechanism[Any]]] = {
    "graph": Graph,
    "tree": lambda space, epsilon: Graph(space, epsilon, k=0),
    "plain hops": lambda space, epsilon: Graph(space, epsilon, k=3, first=1.0),
    "a flat top": lambda space, epsilon: Graph(space, epsilon, k=3, first=0.0),
    "ring": Ring,
    "exponential": Exponential,
    "frequency": lambda space, epsilon: Exponential(space, epsilon, prior="frequency"),
    "density": lambda space, epsilon: Exponential(space, epsilon, prior="density"),
    "blahut-arimoto": lambda space, epsilon: Exponential(space, epsilon, prior="blahut-arimoto"),
    "clip": lambda space, epsilon: Exponential(space, epsilon, clip=2.0),
    "on a graph": lambda space, epsilon: Exponential(GraphSpace.of(space, 2), epsilon, prior="frequency"),
    "on a ring": lambda space, epsilon: Exponential(RingSpace.of(space), epsilon, clip=3),
}


def table(made: ExponentialMechanism[Any]) -> np.ndarray:
    return np.array([made.probabilities(word) for word in range(len(made.space))])


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_draws_follow_the_stated_probabilities(name: str, epsilon: float) -> None:
    made = MAKERS[name](make_space(150, 4, seed=2), epsilon)
    words = np.array([0, 17, 149])
    draws = 60_000
    drawn = made.draw(np.tile(words, draws), Entropy(int(10 * epsilon)))
    for column, word in enumerate(words):
        expected = made.probabilities(int(word)) * draws
        counts = np.bincount(drawn[column::3], minlength=150)
        rare = expected < 10
        observed, wanted = counts[~rare], expected[~rare]
        if expected[rare].sum() > 0:
            observed, wanted = (np.append(observed, counts[rare].sum()), np.append(wanted, expected[rare].sum()))
        assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > ALPHA


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 40.0, 1e4])
def test_the_promise_holds_for_every_pair_and_output(name: str, epsilon: float) -> None:
    space = make_space(80, 3, seed=6)
    made = MAKERS[name](space, epsilon)
    chances = table(made)
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances > 0).all()
    logs = np.log(chances)
    distance = made.space.distances(np.arange(80)).astype(np.float64)
    loss = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    allowed = made.guarantee.epsilon * distance
    assert (loss <= allowed * (1 + 1e-5) + 1e-9).all()
    if name == "clip":
        assert loss.max() <= epsilon * 2.0 * (1 + 1e-9)


def test_an_exponential_without_the_half_would_be_convicted() -> None:
    # The check above can fail: on a graph, where the normaliser varies, the full exponent breaks the promise.
    space = GraphSpace.of(make_space(80, 3, seed=6), 3)
    distance = space.distances(np.arange(80))
    chances = np.exp(-2.0 * distance)
    logs = np.log(chances / chances.sum(axis=1, keepdims=True))
    loss = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert (loss > 2.0 * distance + 1e-6).any()


@pytest.mark.parametrize("words", [5, 6])
def test_the_ring_has_one_normaliser(words: int) -> None:
    ring = RingSpace("r", Vocabulary(names(words)), np.arange(words))
    weights = np.exp(Ring(ring, 1.3).log_weights(np.arange(words)))
    assert np.allclose(weights.sum(axis=1), weights.sum(axis=1)[0], rtol=1e-14)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1e-3, 1e4])
def test_tiny_vocabularies_and_extreme_epsilons(name: str, words: int, epsilon: float) -> None:
    made = MAKERS[name](make_space(words, 2, seed=words), epsilon)
    drawn = made.draw(np.repeat(np.arange(words), 50), Entropy(1))
    assert ((drawn >= 0) & (drawn < words)).all()
    assert np.isfinite(table(made)).all()


@pytest.mark.parametrize("name", MAKERS)
def test_equal_words_are_told_apart_by_nothing_but_their_distance(name: str) -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), [2, 1, 3], axis=0)
    made = MAKERS[name](EuclideanSpace("equal", Vocabulary(names(6)), vectors), 2.0)
    assert np.isfinite(table(made)).all()
    assert made.draw(np.arange(6), Entropy(0)).shape == (6,)


def test_a_draw_of_nothing() -> None:
    for make in MAKERS.values():
        assert make(make_space(), 1.0).draw(np.empty(0, dtype=np.int64)).shape == (0,)


def test_a_seed_repeats_and_no_seed_does_not(toy: EuclideanSpace) -> None:
    for make in MAKERS.values():
        made = make(toy, 0.2)
        ids = np.arange(60).repeat(3)
        assert np.array_equal(made.draw(ids, Entropy(4)), made.draw(ids, Entropy(4)))
        assert not np.array_equal(made.draw(ids), made.draw(ids))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_graph_on_the_bundled_space_follows_its_law(epsilon: float, glove: EuclideanSpace) -> None:
    # Shells of every size, from the nearest words to the thousands at six hops: from lists, by edges and by guesses.
    made = mechanism("graph", glove, epsilon=epsilon)
    assert isinstance(made, Graph)
    place = glove.vocabulary.id("harbour")
    drawn = made.draw(np.full(100_000, place), Entropy(8))
    hops = made.space.distances(np.array([place]))[0].astype(int)
    expected = np.bincount(hops, weights=made.probabilities("harbour")) * len(drawn)
    observed = np.bincount(hops[drawn], minlength=len(expected))
    least = int(np.flatnonzero(expected > 10)[-1])  # the shells beyond count as one with it
    seen, stated = (np.append(some[:least], some[least:].sum()) for some in (observed, expected))
    assert stats.chisquare(seen, stated).pvalue > ALPHA
    for hop in (
        (1, 2, 3, 4, 6) if epsilon == 4.0 else (3, 4, 5, 6, 7)
    ):  # uniform inside a shell: the ids in it, cut in twenty
        inside = np.flatnonzero(hops == hop)
        bins = np.searchsorted(inside, drawn[hops[drawn] == hop]) * 20 // len(inside)
        weights = np.bincount(np.arange(len(inside)) * 20 // len(inside), minlength=20)
        counts = np.bincount(bins, minlength=20)[weights > 0]
        share = weights[weights > 0] / len(inside)
        assert stats.chisquare(counts, share * counts.sum()).pvalue > ALPHA


def test_rare_shells_have_their_probability() -> None:
    # On a path of words with a large epsilon the far words have chances far below 2^-53, and still not zero.
    line = GraphSpace("path", Vocabulary(names(40)), *_path(40))
    made = Graph(line, 20.0)
    chances = made.probabilities(0)
    assert (chances > 0).all()
    assert chances[39] == pytest.approx(np.exp(-10.0 * 38.5) / (1 + np.exp(-5.0)), rel=1e-3)


@pytest.mark.parametrize("first", [0.0, 0.25, 0.5, 1.0])
def test_the_first_hop_costs_what_it_is_told_to_and_every_other_one(first: float) -> None:
    line = GraphSpace("path", Vocabulary(names(6)), *_path(6))
    chances = Graph(line, 3.0, first=first).probabilities(0)
    assert np.log(chances[:-1] / chances[1:]) == pytest.approx([1.5 * first, 1.5, 1.5, 1.5, 1.5])


@pytest.mark.parametrize("first", [-0.1, 1.1, float("nan")])
def test_a_first_hop_that_costs_more_than_a_hop_is_refused(first: float, toy: EuclideanSpace) -> None:
    # For the proof a hop may cost at most 1: with more, neighbours would be told apart by more than ε.
    with pytest.raises(OptionError, match="first"):
        Graph(toy, 1.0, first=first)


def _path(words: int) -> tuple[np.ndarray, np.ndarray]:
    rows = [[j for j in (i - 1, i + 1) if 0 <= j < words] for i in range(words)]
    return np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int64)


@pytest.mark.parametrize("first", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [0, 3, 8])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 9.0])
def test_the_computed_loss_of_a_hop_holds_and_is_no_more_than_promised(epsilon: float, k: int, first: float) -> None:
    made = Graph(make_space(120, 3, seed=4), epsilon, k=k, first=first)
    logs = np.log(table(made))
    ids = np.arange(120)
    hops = made.space.distances(ids)
    losses = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    computed = made.loss_per_hop()
    assert computed <= epsilon * (1 + 1e-12)
    assert (losses <= computed * hops + 1e-9).all()
    if k == 3:
        assert computed < 0.99 * epsilon  # it says more than the promise
    if first == 1.0:
        assert losses[hops == 1].max() == pytest.approx(computed, rel=1e-9)  # and cannot say more


def test_where_all_words_are_alike_a_hop_loses_half() -> None:
    words = 12
    indptr, indices = (
        np.arange(0, 2 * words + 1, 2),
        np.array([[(i - 1) % words, (i + 1) % words] for i in range(words)]),
    )
    circle = GraphSpace("circle", Vocabulary(names(words)), indptr, np.sort(indices, axis=1).ravel())
    assert Graph(circle, 3.0).loss_per_hop() == pytest.approx(1.5)


@pytest.mark.parametrize("first", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 8.0, 40.0])
def test_the_largest_loss_of_a_graph_covers_every_pair_and_output(epsilon: float, first: float) -> None:
    """With the shells of all words and without them; and with them it is exact enough to be worth its while."""
    space = GraphSpace.of(make_space(60, 4), 3)
    words = np.arange(60)
    known = GraphSpace("known", space.vocabulary, space.indptr, space.indices, space.shell_sizes(words))
    assert known.diameter == space.hops(words).max() <= space.diameter
    logs = np.log(Graph(known, epsilon, first=first).probability_rows(words))
    true = max(float((logs[word] - logs).max()) for word in words)
    computed, bound = (Graph(one, epsilon, first=first).largest_loss for one in (known, space))
    assert true <= computed * (1 + 1e-9)
    assert computed <= min(bound, epsilon * known.diameter)


@pytest.mark.parametrize("blocked", [[5], list(range(0, 60, 3)), list(range(2, 60))])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 8.0, 40.0])
def test_the_largest_loss_of_a_graph_covers_every_pair_without_blocked_outputs(
    epsilon: float, blocked: list[int]
) -> None:
    space = GraphSpace.of(make_space(60, 4), 3)
    words = np.arange(60)
    known = GraphSpace("known", space.vocabulary, space.indptr, space.indices, space.shell_sizes(words))
    graphs = [Graph(one, epsilon) for one in (known, space)]
    assert all(graph.largest_loss > 0.0 for graph in graphs)  # and nothing of it is left for fewer outputs
    fewer = [graph.without(np.array(blocked)) for graph in graphs]
    rows = fewer[0].probability_rows(words)
    assert not rows[:, blocked].any()
    logs = np.log(np.delete(rows, blocked, axis=1))
    true = max(float((logs[word] - logs).max()) for word in words)
    computed, bound = (graph.largest_loss for graph in fewer)
    assert true <= computed * (1 + 1e-9)
    assert computed <= min(bound, epsilon * known.diameter)
    near = float(np.abs(logs[np.repeat(words, np.diff(space.indptr))] - logs[space.indices]).max())
    assert near <= fewer[0].loss_per_hop() * (1 + 1e-9)
