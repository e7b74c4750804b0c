"""Draws on a large graph, whose words are numbered anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chisquare

from tests.conftest import ALPHA, make_space
from wordveil._mechanisms.graph import Graph
from wordveil.files import _ENTRY
from wordveil.kernels import compiled
from wordveil.kernels.hop_draws import HopDraws, look_around
from wordveil.noise import Entropy
from wordveil.spaces import GraphSpace
from wordveil.spaces.laid import lay_out

WORDS = 900
KEY = f"4-{0:064x}"


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> GraphSpace:
    """Return a graph that counts as large, of which nothing is in the cache."""
    monkeypatch.setattr("wordveil.spaces.laid.LARGE", WORDS)
    made = GraphSpace.of(make_space(WORDS, 4, seed=6), 4)
    return GraphSpace("large", made.vocabulary, made.indptr, made.indices)


def test_the_graph_is_the_same_by_other_numbers(graph: GraphSpace) -> None:
    laid = graph.laid
    assert laid.order is not None
    assert laid.places is not None
    assert np.array_equal(np.sort(laid.order), np.arange(WORDS))
    assert np.array_equal(laid.places[laid.order], np.arange(WORDS))
    assert not np.array_equal(laid.order, np.arange(WORDS))
    some = np.arange(0, WORDS, 7)
    hops = graph.search.distances(laid.order[some])
    assert np.array_equal(laid.search.distances(some), hops[:, laid.order])


def test_a_small_graph_is_left_as_it_is() -> None:
    small = GraphSpace.of(make_space(60, 4), 3)
    assert small.laid.search is small.search
    assert small.laid.order is None


@pytest.mark.skipif(compiled() is None, reason="only compiled code asks for it")
@pytest.mark.parametrize("k", [0, 4, 40])
def test_surroundings_are_those_of_a_search(k: int) -> None:
    graph, native = GraphSpace.of(make_space(WORDS, 4, seed=6), k), compiled()
    assert native is not None
    around = look_around(graph.search.native_form, native)
    hops, degrees = graph.search.distances(np.arange(WORDS)), np.diff(graph.indptr)
    known = around.counts[:, :, 0] > 0
    assert known[:, :2].all()
    for level in range(around.counts.shape[1]):
        here = hops == level
        assert np.array_equal(around.counts[known[:, level], level, 0], here.sum(axis=1)[known[:, level]])
        assert np.array_equal(around.counts[known[:, level], level, 1], (here @ degrees)[known[:, level]])
    seen = around.afar.astype(int)
    assert (seen.shape[1] == 0) == (k == 40)  # where no words lie far from one another
    for word in range(0, WORDS, 50):
        assert (np.abs(seen - seen[word]).max(axis=1, initial=0) <= hops[word]).all()


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 8.0])
def test_draws_on_a_large_graph_follow_the_law_with_a_compiler_and_without(
    graph: GraphSpace, blocks: bool, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, words = Graph(graph, epsilon), np.array([0, 450, 899])
    if blocks:
        made = made.without(np.arange(0, WORDS, 3))
    ids = np.tile(words, 15_000)
    drawn = made.draw(ids, Entropy(5))
    each = made.draw_each(ids[:3000], [bytes([number % 251]) * 32 for number in range(3000)])
    for column, word in enumerate(words):
        expected = made.probabilities(int(word)) * 15_000
        counts = np.bincount(drawn[column::3], minlength=WORDS)
        assert not counts[expected == 0].any()
        many = expected > 10
        observed, wanted = (np.append(one[many], one[~many].sum()) for one in (counts, expected))
        assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > ALPHA
    monkeypatch.setenv("WORDVEIL_KERNELS", "off")
    again = Graph(graph, epsilon)
    if blocks:
        again = again.without(np.arange(0, WORDS, 3))
    assert np.array_equal(again.draw(ids[:6000], Entropy(5)), made.draw(ids[:6000], Entropy(5)))
    assert np.array_equal(again.draw_each(ids[:300], [bytes([number % 251]) * 32 for number in range(300)]), each[:300])


@pytest.mark.skipif(compiled() is None, reason="only compiled code asks for surroundings")
@pytest.mark.parametrize("blocked", [(), (17, 400, 401)])
@pytest.mark.parametrize(("k", "fall"), [(0, 0.3), (0, 1.0), (0, 3.0), (4, 0.5), (4, 3.0), (4, 5.0)])
def test_words_that_come_once_are_drawn_as_without_surroundings_and_by_the_law(
    k: int, fall: float, blocked: tuple[int, ...]
) -> None:
    graph, native = GraphSpace.of(make_space(WORDS, 4, seed=6), k), compiled()
    assert native is not None
    form, weights = graph.search.native_form, np.exp(-fall * np.arange(graph.shells + 1.0))
    around, hops = look_around(form, native), graph.search.distances(np.arange(WORDS))
    are_blocked = np.isin(np.arange(WORDS), blocked)
    law = np.array([np.bincount(row[~are_blocked], minlength=graph.shells + 1) for row in hops]) * weights
    law /= law.sum(axis=1, keepdims=True)
    given = are_blocked if blocked else None
    known, unknown = HopDraws(form, weights, given, around), HopDraws(form, weights, given)
    found = np.zeros(graph.shells + 1)
    every, starts = np.arange(WORDS), np.arange(WORDS + 1)
    for number in range(40):
        key = np.full(8, number, dtype=np.uint32)
        drawn = known.draw(native, every, starts, key)
        if number % 10 == 0:  # new ones, which remember nothing
            known = HopDraws(form, weights, given, around)
        assert not are_blocked[drawn].any()
        assert np.array_equal(drawn, unknown.draw(native, every, starts, key))
        found += np.bincount(hops[every, drawn], minlength=len(found))
    stated = 40 * law.sum(axis=0)
    many = stated > 20
    assert chi2.sf((np.square(found - stated)[many] / stated[many]).sum(), many.sum()) > ALPHA


def test_a_graph_that_was_sent_to_another_process_draws_the_same(graph: GraphSpace) -> None:
    ids, made = np.arange(WORDS), Graph(graph, 2.0)
    drawn = made.draw(ids, Entropy(3))
    sent = pickle.dumps(made)
    assert len(sent) < len(pickle.dumps(graph)) + 10_000  # what is laid out is made again, or found in the cache
    assert np.array_equal(pickle.loads(sent).draw(ids, Entropy(3)), drawn)  # noqa: S301 - it was made here


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(compiled() is None, reason="only compiled code keeps anything")
def test_what_is_found_is_kept_in_the_cache(graph: GraphSpace, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lay_out(graph.search, KEY)
    (entry,) = cache.iterdir()
    assert _ENTRY.fullmatch(entry.name)  # or room would never be made of it
    monkeypatch.setattr("wordveil.spaces.laid.look_around", None)
    again = lay_out(graph.search, KEY)
    assert first.around is not None
    assert again.around is not None
    assert np.array_equal(first.around.counts, again.around.counts)
    assert np.array_equal(first.search.native_form[1], again.search.native_form[1])


DAMAGES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "shorter": lambda numbers: numbers[:-1],
    "longer": lambda numbers: np.concatenate([numbers, numbers[-1:]]),
    "of another type": lambda numbers: numbers.astype(np.float64),
    "wider": lambda numbers: np.repeat(numbers, 2, axis=-1),
    "without shape": lambda numbers: numbers.ravel()[0],
    "of another graph": lambda numbers: np.repeat(numbers[1::2], 2, axis=0),
}


@pytest.mark.skipif(compiled() is None, reason="only compiled code keeps anything")
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["order", "counts", "afar"])
def test_what_does_not_fit_the_graph_is_made_again(graph: GraphSpace, cache: Path, name: str, how: str) -> None:
    whole = lay_out(graph.search, KEY)
    (path,) = cache.glob(f"*/{name}.npy")
    numbers = np.load(path)
    np.save(path, DAMAGES[how](numbers))
    again = lay_out(graph.search, KEY)
    assert whole.order is not None
    assert again.order is not None
    assert np.array_equal(whole.order, again.order)
    if (name, how) != ("afar", "of another graph"):  # it is not seen, and told in no form
        assert np.array_equal(np.load(path), numbers)


def test_draws_are_on_the_graph_in_whatever_order_it_was_kept(graph: GraphSpace, cache: Path) -> None:
    lay_out(graph.search, KEY)
    for path in cache.glob("*/order.npy"):
        np.save(path, np.load(path)[::-1])
    laid = lay_out(graph.search, KEY)
    assert laid.order is not None
    hops = graph.search.distances(laid.order[:9])
    assert np.array_equal(laid.search.distances(np.arange(9)), hops[:, laid.order])


@pytest.mark.skipif(compiled() is None, reason="only compiled code asks for surroundings")
@pytest.mark.parametrize("level", [1, 2])
def test_wrong_counts_lead_to_no_place_that_there_is_not(graph: GraphSpace, level: int) -> None:
    native, form = compiled(), graph.search.native_form
    assert native is not None
    around = look_around(form, native)
    counts = around.counts.copy()
    counts[:, level:] = 60_000
    counts[:, 0, 1] = 60_000 if level == 1 else counts[:, 0, 1]
    draws = HopDraws(form, np.exp(-np.arange(graph.shells + 1.0)), None, around._replace(counts=counts))
    for number in range(30):
        drawn = draws.draw(native, np.arange(WORDS), np.arange(WORDS + 1), np.full(8, number, dtype=np.uint32))
        assert 0 <= drawn.min() <= drawn.max() < WORDS
