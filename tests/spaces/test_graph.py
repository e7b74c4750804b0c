"""Neighbour graphs against brute force."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree, shortest_path
from scipy.stats import binomtest, chi2

from tests.conftest import ALPHA, make_space, names
from wordveil.errors import OptionError, SpaceError
from wordveil.kernels import compiled
from wordveil.kernels.hop_draws import HopDraws, look_around
from wordveil.spaces import EuclideanSpace, GraphSpace, Vocabulary
from wordveil.spaces.hops import HopSearch


def adjacency(graph: GraphSpace) -> np.ndarray:
    words = len(graph)
    return csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(words, words)).toarray() > 0


def cosines(space: EuclideanSpace) -> np.ndarray:
    directions = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    return directions.astype(np.float64) @ directions.T.astype(np.float64)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(rows=st.integers(0, 70), asked=st.lists(st.lists(st.integers(0, 59), max_size=30), max_size=6))
def test_hops_that_are_remembered_are_those_that_are_searched(rows: int, asked: list[list[int]]) -> None:
    graph, other = (GraphSpace.of(make_space(60, 4), 2) for _ in range(2))
    graph.remember(rows * 60)
    for ids in asked:
        assert np.array_equal(graph.hops(np.array(ids, dtype=np.int64)), other.hops(np.array(ids, dtype=np.int64)))


def test_threads_share_what_is_remembered() -> None:
    graph, other = (GraphSpace.of(make_space(300, 4), 2) for _ in range(2))
    graph.remember(300 * 200)
    asked = [np.random.default_rng(seed).integers(0, 300, 40) for seed in range(200)]
    with ThreadPoolExecutor(8) as pool:
        for ids, found in zip(asked, pool.map(graph.hops, asked), strict=True):
            assert np.array_equal(found, other.hops(ids))


def test_a_graph_that_is_held_is_not_made_twice() -> None:
    space = make_space(60, 4)
    graph = GraphSpace.of(space, 2)
    assert GraphSpace.of(space, 2) is graph
    assert GraphSpace.of(space, 3) is not graph
    assert GraphSpace.of(make_space(60, 4), 2) is not graph


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_edges_are_nearest_words_and_a_spanning_tree(k: int, seed: int) -> None:
    space = make_space(150, 4, seed)
    joined = adjacency(GraphSpace.of(space, k))
    similarity = cosines(space)
    np.fill_diagonal(similarity, -2)
    near = np.zeros_like(joined)
    np.put_along_axis(near, np.argsort(-similarity, axis=1)[:, :k], True, axis=1)
    near |= near.T
    assert np.array_equal(joined, joined.T)
    assert not joined.diagonal().any()
    assert (joined | ~near).all()
    assert connected_components(csr_array(joined))[0] == 1
    # Beside the neighbours there are only the edges of the shortest tree that joins their components.
    lengths = 2.0 - similarity
    np.fill_diagonal(lengths, 0)
    lengths[near] = 1e-9
    tree = minimum_spanning_tree(csr_array(lengths)).toarray() > 0
    assert np.array_equal(joined, near | tree | tree.T)


@pytest.mark.parametrize("k", [0, 2, 3])
def test_distances_and_shell_sizes_agree_with_brute_force(k: int) -> None:
    space = make_space(400, 4, seed=5)
    graph = GraphSpace.of(space, k)
    full = shortest_path(csr_array(adjacency(graph)), unweighted=True)
    ids = np.arange(400)
    assert np.array_equal(graph.distances(ids), full)
    sizes = graph.shell_sizes(ids)
    assert np.array_equal(sizes, [np.bincount(row.astype(int), minlength=sizes.shape[1]) for row in full])
    assert graph.diameter >= full.max()
    few = np.random.default_rng(1).integers(0, 400, (400, 7))
    assert np.array_equal(graph.distances_to(ids, few), np.take_along_axis(full, few, axis=1))
    where, hops = graph.neighbours(ids[:5], 7)
    assert np.array_equal(hops, np.sort(np.where(np.eye(400, dtype=bool), np.inf, full)[:5], axis=1)[:, :7])
    assert not (where == ids[:5, None]).any()
    alike, likeness = graph.similar(ids[:5], 7)
    assert np.array_equal(alike, where)
    assert np.array_equal(likeness, -hops)
    assert graph.depths is None


def test_shell_sizes_are_kept_as_they_come() -> None:
    graph = GraphSpace.of(make_space(300, 3, seed=8), 0)
    some = graph.shell_sizes(np.array([4, 4, 9]))
    everything = graph.shell_sizes(np.arange(300))
    assert np.array_equal(everything[[4, 4, 9], : some.shape[1]], some)
    assert (everything.sum(axis=1) == 300).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 90), st.data())
def test_search_on_any_graph(words: int, data: st.DataObject) -> None:
    pair = st.tuples(st.integers(0, words - 1), st.integers(0, words - 1))
    joined = np.zeros((words, words), dtype=bool)
    for left, right in data.draw(st.lists(pair, max_size=2 * words)):
        if left != right:
            joined[left, right] = joined[right, left] = True
    sparse = csr_array(joined)
    search = HopSearch(sparse.indptr, sparse.indices)
    sources = np.array(data.draw(st.lists(st.integers(0, words - 1), min_size=1, max_size=300)))
    full = shortest_path(sparse, unweighted=True)
    full[np.isinf(full)] = -1
    assert np.array_equal(search.distances(sources), full[sources])
    for source, sizes in zip(sources, search.sizes(sources), strict=True):
        reached = full[source][full[source] >= 0].astype(int)
        assert np.array_equal(sizes[: reached.max() + 1], np.bincount(reached))
        assert not sizes[reached.max() + 1 :].any()


@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("k", [0, 3])
def test_tiny_and_degenerate_spaces(words: int, k: int) -> None:
    space = EuclideanSpace(f"tiny{words}", Vocabulary(names(words)), np.zeros((words, 3)))
    graph = GraphSpace.of(space, k)
    assert (graph.distances(np.arange(words)) >= 0).all()
    assert graph.shell_sizes(np.arange(words)).sum() == words * words


def test_equal_vectors_still_make_one_component() -> None:
    space = EuclideanSpace("equal", Vocabulary(names(40)), np.ones((40, 3)))
    for k in (0, 2):
        assert (GraphSpace.of(space, k).distances(np.arange(40)) >= 0).all()


def test_a_negative_k_is_refused() -> None:
    with pytest.raises(OptionError, match="k"):
        GraphSpace.of(make_space(), -1)


@pytest.mark.skipif(compiled() is None, reason="there is nothing to compare with")
def test_first_draws_reach_words_two_hops_away_where_nothing_is_listed_but_the_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a path all ways to a word two hops away are of even length, and a guess looks for ways of three edges, too.
    search = HopSearch(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
    sources, starts = np.zeros(5000, dtype=np.int64), np.arange(5001)  # each draw is the first of its source
    weights = np.exp(-2.0 * np.array([0.0, 0.5, 1.5, 2.5]))
    drawn = []
    for code in ("off", ""):
        monkeypatch.setenv("WORDVEIL_KERNELS", code)
        drawn.append(search.draw(sources, starts, weights, np.arange(8, dtype=np.uint32)))
    assert np.array_equal(drawn[0], drawn[1])
    assert binomtest(int((drawn[1] == 2).sum()), 5000, weights[2] / weights[:3].sum()).pvalue > ALPHA


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.integers(1, 300), fall=st.sampled_from([0.01, 0.5, 2.0, 30.0]), blocked=st.booleans(), data=st.data())
@pytest.mark.skipif(compiled() is None, reason="there is nothing to compare with")
def test_compiled_draws_are_those_of_numpy_on_any_graph(
    words: int, fall: float, blocked: bool, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    joined = np.zeros((words, words), dtype=bool)
    joined[np.arange(1, words), [generator.integers(word) for word in range(1, words)]] = True  # a tree, and more
    more = generator.integers(words, size=(data.draw(st.integers(0, 3 * words)), 2))
    joined[more[:, 0], more[:, 1]] = True
    sparse = csr_array((joined | joined.T) & ~np.eye(words, dtype=bool))
    search = HopSearch(sparse.indptr, sparse.indices)
    sources, counts = generator.permutation(words)[:40], generator.integers(0, 9, min(words, 40))
    starts = np.concatenate([[0], np.cumsum(counts)])
    weights = np.exp(np.maximum(-fall * np.arange(words + 1.0), -600.0))
    is_blocked = generator.uniform(size=words) < 0.7 if blocked else None
    if is_blocked is not None:
        is_blocked[generator.integers(words)] = False
    one, each = (
        generator.integers(0, 2**32, 8, dtype=np.uint32),
        generator.integers(0, 2**32, (starts[-1], 8), dtype=np.uint32),
    )
    drawn = []
    for code in ("off", ""):
        monkeypatch.setenv("WORDVEIL_KERNELS", code)
        drawn.append([search.draw(sources, starts, weights, keys, is_blocked) for keys in (one, each)])
    assert np.array_equal(drawn[0], drawn[1])
    native = compiled()
    assert native is not None
    # What was listed for the draws before is used again, until there is no room for more.
    rows, law = (sparse.indptr, sparse.indices, words, sparse.nnz), (weights, is_blocked)
    found = look_around(rows, native)
    for remembered, around in product((0, 1 << 12, 1 << 20), (None, found)):
        draws = HopDraws(rows, *law, around, remembered=remembered)
        again = [[draws.draw(native, sources, starts, keys) for keys in (one, each)] for _ in range(4)]
        assert all(np.array_equal(drawn[0], others) for others in again)
    assert is_blocked is None or not is_blocked[np.array(drawn)].any()


def _joined(kind: str, words: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == "neighbours":
        graph = GraphSpace.of(make_space(words, 5, seed=3), 6)
        return graph.indptr, graph.indices
    ends = np.arange(1, words)
    begins = ends - 1 if kind == "chain" else np.zeros_like(ends)
    one_way = csr_array((np.ones(words - 1), (begins, ends)), shape=(words, words))
    return (one_way + one_way.T).indptr, (one_way + one_way.T).indices


@pytest.mark.parametrize("kind", ["neighbours", "chain", "star"])
def test_many_draws_are_those_of_numpy_however_far_words_are_told(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words, generator, native = 1000, np.random.default_rng(7), compiled()
    assert native is not None
    search = HopSearch(*_joined(kind, words))
    weights = np.exp(-0.25 * np.arange(words + 1.0))
    is_blocked = generator.uniform(size=words) < 0.2
    sources = np.sort(generator.permutation(words)[:600])
    starts = np.concatenate([[0], np.cumsum(generator.integers(0, 80, len(sources)))])
    key, wanted = generator.integers(0, 2**32, 8, dtype=np.uint32), []
    monkeypatch.setenv("WORDVEIL_KERNELS", "off")
    expected = search.draw(sources, starts, weights, key, is_blocked)
    monkeypatch.delenv("WORDVEIL_KERNELS")

    def draw_hops(*given: Any) -> None:
        wanted.append(0 if given[-4] is None else int(given[-4].sum()))
        native.draw_hops(*given)

    watched: Any = SimpleNamespace(
        draw_hops=draw_hops,
        scratch_of_hops=native.scratch_of_hops,
        all_hops=native.all_hops,
        keep_rows=native.keep_rows,
    )
    rows = (*search.native_form[:2], words, int(search.native_form[0][-1]))
    kept = []
    for remembered in (0, 1 << 18, 1 << 24):  # no room for what is found, for some of it, and for all
        draws = HopDraws(rows, weights, is_blocked, remembered=remembered)
        for _ in range(3):
            assert np.array_equal(draws.draw(watched, sources, starts, key), expected)
        kept.append(int((draws._kept[0][:, 1] != 0).sum()))
    if kind == "neighbours":
        assert kept[0] == 0 < kept[2]
        assert kept[1] <= kept[2]
        assert max(wanted) > 0
        hops = search.distances(sources)
        counts = np.array(
            [np.bincount(row[row >= 0], weights=~is_blocked[row >= 0], minlength=20)[:20] for row in hops]
        )
        law = counts * weights[:20] / (counts * weights[:20]).sum(axis=1, keepdims=True)
        whose = np.repeat(np.arange(len(sources)), np.diff(starts))
        found = np.bincount(hops[whose, expected], minlength=20)[:20]
        stated = (law * np.diff(starts)[:, None]).sum(axis=0)
        many = stated > 20
        assert chi2.sf((np.square(found - stated)[many] / stated[many]).sum(), many.sum()) > ALPHA


def test_threads_that_draw_at_once_draw_what_they_would_alone() -> None:
    graph = GraphSpace.of(make_space(3000, 5, seed=2), 6)
    rows = (graph.indptr, graph.indices, len(graph), len(graph.indices))
    weights = np.exp(-0.3 * np.arange(graph.shells + 1.0))
    generator, native = np.random.default_rng(5), compiled()
    assert native is not None
    calls = []
    for _ in range(40):  # the same words again and again, so that threads meet at many of them
        sources = np.unique(generator.integers(0, 400, 200))
        counts = generator.integers(1, 30, len(sources))
        calls.append((sources, np.concatenate([[0], np.cumsum(counts)]), generator.integers(0, 2**32, 8, np.uint32)))
    alone = [HopDraws(rows, weights).draw(native, *call) for call in calls]
    shared = HopDraws(rows, weights)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda call: shared.draw(native, *call), calls))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


@pytest.mark.parametrize("kind", ["neighbours", "chain", "star"])
@pytest.mark.parametrize("nearest", [0, 1, 2, 5])
@pytest.mark.parametrize("several", [1, 300, 500])
def test_rows_have_the_hops_to_every_word(kind: str, nearest: int, several: int) -> None:
    # many sources at once, and few, and more hops than a row can tell
    words = 3000
    indptr, indices = _joined(kind, words)
    search, native = HopSearch(indptr, indices), compiled()
    assert native is not None
    sources = np.random.default_rng(4).permutation(words)[:several]
    draws = HopDraws((*search.native_form[:2], words, len(indices)), np.ones(words))
    entries, room, _, used = draws._kept
    used[1] = nearest
    native.keep_rows(draws._graph, sources, len(sources), draws._kept)
    rows = np.stack([room[place : place + 2 * (words // 64 + 1)] for place in entries[sources, 1].tolist()])
    planes = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").reshape(len(sources), -1, 2, 64)
    hops = sum(planes[:, :, plane].reshape(len(sources), -1)[:, :words].astype(int) << plane for plane in range(2))
    assert np.array_equal(hops, np.clip(search.distances(sources) - nearest, 0, 3))


def test_threads_do_not_keep_the_same_rows_twice() -> None:
    graph = GraphSpace.of(make_space(3000, 5, seed=2), 6)
    rows = (graph.indptr, graph.indices, len(graph), len(graph.indices))
    native, kept, is_keeping, is_done = compiled(), list[int](), threading.Event(), threading.Event()
    assert native is not None
    weights = np.exp(-0.3 * np.arange(graph.shells + 1.0))
    draws = HopDraws(rows, weights)
    draws._kept[0][:200, 2] = 1 << 40  # as if that many edges had been looked at for the guesses of these words

    def keep_rows(graph: object, busy: np.ndarray, count: int, *kept_in: object) -> None:
        kept.extend(busy[:count].tolist())
        is_keeping.set()
        is_done.wait(60)
        native.keep_rows(graph, busy, count, *kept_in)

    slow: Any = SimpleNamespace(
        draw_hops=native.draw_hops,
        scratch_of_hops=native.scratch_of_hops,
        all_hops=native.all_hops,
        keep_rows=keep_rows,
    )
    call = np.array([5]), np.array([0, 1 << 14]), np.zeros(8, dtype=np.uint32)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(draws.draw, slow, *call)
        is_keeping.wait(60)
        second = pool.submit(draws.draw, slow, *call).result(60)  # which waits for nobody
        is_done.set()
        assert np.array_equal(first.result(60), second)
    assert sorted(kept) == list(range(200))
    draws.draw(slow, *call)
    assert len(kept) == 200


@pytest.mark.parametrize("code", [None, "off"])
def test_draws_that_cannot_be_are_refused(code: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if code:
        monkeypatch.setenv("WORDVEIL_KERNELS", code)
    search = GraphSpace.of(make_space(50, 3, seed=1), 2).search
    one, starts, weights, key = np.array([3]), np.array([0, 2]), np.exp(-np.arange(51.0)), np.zeros(8, dtype=np.uint32)
    with pytest.raises(ValueError, match="blocked"):
        search.draw(one, starts, weights, key, np.ones(50, dtype=np.bool_))
    for begins in ([0], [1, 2], [0, 1, 2]):
        with pytest.raises(ValueError, match="begin"):
            search.draw(one, np.array(begins), weights, key)
    with pytest.raises(ValueError, match="begin"):
        search.draw(one, starts, weights, np.zeros((3, 8), dtype=np.uint32))
    with pytest.raises(IndexError):
        search.draw(np.array([50]), starts, weights, key)
    assert search.draw(one[:0], starts[:1], weights, key).shape == (0,)


def test_a_graph_beyond_all_measure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.spaces.graph._MOST_EDGES", 100)
    with pytest.raises(OptionError, match=r"k=6 .* 5"):
        GraphSpace.of(make_space(20), 6)
    assert len(GraphSpace.of(make_space(20), 5)) == 20
    assert len(GraphSpace.of(make_space(10), 1_000_000)) == 10  # all are neighbours of all


def test_a_graph_must_hold_together() -> None:
    for indptr, indices in (([0, 1], [1]), ([0, 1], [-1]), ([0, 2], [0]), ([0, 1, 0], []), ([1, 1], [0]), ([], [])):
        with pytest.raises(ValueError, match="graph"):
            HopSearch(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int64))


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        (np.array([0, 60_000, 60_000, 4], dtype=np.uint16), np.array([1, 2, 0, 1])),  # differences wrap
        (np.array([0, 2**32, 2**32, 4]), np.array([1, 2, 0, 1])),  # 0 in 32 bits
        (np.array([0, 1, 3, 4]), np.array([2**32 + 1, 0, 2, 1])),
        (np.array([0, 1, 3, 4], dtype=np.uint64), np.array([2**64 - 1, 0, 2, 1], dtype=np.uint64)),
        (np.array([0, 1, 3, 4]), np.array([1.0, np.nan, 2.0, 1.0])),
        (np.array([0.0, 1, 3, 4]), np.array([1, 0, 2, 1])),
        (np.array([[0, 1], [3, 4]]), np.array([1, 0, 2, 1])),
        (np.array([0, 1, 3, 4]), np.array([[1, 0], [2, 1]])),
        (np.array(4), np.array([1, 0, 2, 1])),
        (np.array([], dtype=np.int64), np.array([], dtype=np.int64)),
    ],
)
def test_rows_that_lead_out_of_the_arrays_never_reach_compiled_code(indptr: np.ndarray, indices: np.ndarray) -> None:
    with pytest.raises(ValueError, match="graph"):
        HopSearch(indptr, indices)
    with pytest.raises(SpaceError):
        GraphSpace("broken", Vocabulary(names(3)), indptr, indices)
    sizes = np.array([[1, 1, 1], [1, 2, 0], [1, 1, 1]])
    with pytest.raises(SpaceError):
        GraphSpace("broken", Vocabulary(names(3)), indptr, indices, sizes, trusted=True)


def test_a_search_does_not_follow_what_becomes_of_the_arrays_it_was_made_from() -> None:
    indptr, indices = np.array([0, 1, 3, 4], dtype=np.int32), np.array([1, 0, 2, 1], dtype=np.int32)
    search, graph = HopSearch(indptr, indices), GraphSpace("line", Vocabulary(names(3)), indptr, indices)
    indptr[:], indices[:] = 2**30, 2**30
    for one in (search, graph.search):
        assert one.distances_to(np.array([0]), np.array([[2]])).tolist() == [[2]]
    with pytest.raises(ValueError, match="read-only"):
        graph.indices[0] = 7


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64, np.uint64, ">i4"])
def test_a_graph_of_any_integers(kind: str) -> None:
    graph = GraphSpace("line", Vocabulary(names(3)), np.array([0, 1, 3, 4], kind), np.array([1, 0, 2, 1], kind))
    assert graph.distances(np.arange(3)).tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize(
    "sizes",
    [
        np.array([[1, 0, 0]] * 3),  # nobody but the word itself
        np.array([[1, 1, 1], [1, 2, 0]]),
        np.array([1, 1, 1]),
        np.empty((3, 0), dtype=np.int64),
        np.array([[1.0, 1, 1], [1, 2, 0], [1, 1, 1]]),
        np.array([[2, 0, 1], [1, 2, 0], [1, 1, 1]]),
        np.array([[1, 3, -1], [1, 2, 0], [1, 1, 1]]),
        np.array([[1, 2, 0], [1, 2, 0], [1, 1, 1]]),  # more neighbours than edges
        np.array([[1, 2**64 - 1, 3], [1, 2, 0], [1, 1, 1]], dtype=np.uint64),  # the sum wraps to 3
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_sizes_that_cannot_be_those_of_the_graph_are_refused(sizes: np.ndarray, trusted: bool) -> None:
    line = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1])
    with pytest.raises(SpaceError, match="sizes"):
        GraphSpace("line", Vocabulary(names(3)), *line, sizes, trusted=trusted)


def test_sizes_given_do_not_spare_the_edges_their_check() -> None:
    one_way = np.array([0, 1, 2, 3]), np.array([1, 2, 0])
    with pytest.raises(SpaceError):
        GraphSpace("broken", Vocabulary(names(3)), *one_way, np.ones((3, 3), dtype=np.uint16))


def test_the_sizes_of_a_folder_are_counted_anew(tmp_path: Path) -> None:
    indptr, indices = np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2])
    false = np.array([[1, 1, 2, 0], [1, 2, 1, 0], [1, 2, 1, 0], [1, 1, 2, 0]])
    for name, numbers in (("indptr", indptr), ("indices", indices), ("sizes", false)):
        np.save(tmp_path / f"{name}.npy", numbers)
    graph = GraphSpace.load("line", Vocabulary(names(4)), tmp_path)
    assert graph.shell_sizes(np.arange(4)).tolist() == [[1, 1, 1, 1], [1, 2, 1, 0], [1, 2, 1, 0], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        ([0, 1, 2, 3, 4], [1, 0, 3, 2]),  # in two parts
        ([0, 1, 2, 3, 3], [1, 2, 3]),  # one way only
        ([0, 1, 2, 3, 4], [1, 0, 4, 2]),  # to nowhere
        ([0, 1, 2], [1, 0]),  # of fewer words
    ],
)
def test_a_graph_on_which_hops_are_no_distance_is_refused(indptr: list[int], indices: list[int]) -> None:
    with pytest.raises(SpaceError):
        GraphSpace("broken", Vocabulary(names(4)), np.array(indptr), np.array(indices))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    graph = GraphSpace.of(make_space(50, 3), 2)
    with graph._lock:  # as another thread would hold it
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if (graph.shell_sizes(np.arange(50)).sum(axis=1) == 50).all() else 1)
        assert os.waitpid(child, 0)[1] == 0
