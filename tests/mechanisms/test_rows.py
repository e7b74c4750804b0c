"""Draws from rows: the same law with and without compiled code, and with whatever is kept of earlier rows."""

from __future__ import annotations

import os
import pickle
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, in_a_fork, make_poincare, make_space
from wordveil._mechanisms import ExponentialMechanism
from wordveil._mechanisms import rows as drawing
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.knn_truncated import KnnTruncated
from wordveil._mechanisms.rows import LazyTable, RowCache, RowDraws
from wordveil.errors import OptionError
from wordveil.kernels import kinds
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, MahalanobisSpace, Vocabulary

MAKERS: dict[str, Callable[[], ExponentialMechanism[Any]]] = {
    "graph": lambda: Graph(make_space(300, 4, seed=3), 1.0),
    "exponential": lambda: Exponential(make_space(300, 4, seed=3), 1.2),
    "prior": lambda: Exponential(make_space(300, 4, seed=3), 1.2, prior="frequency", clip=3.0),
    "knn-truncated": lambda: KnnTruncated(make_space(300, 4, seed=3), 1.5, k=20),
    "mahalanobis": lambda: Exponential(MahalanobisSpace(make_space(300, 4, seed=3), 0.7), 2.0),
    "poincare": lambda: Exponential(make_poincare(300), 1.0),
}


def surprise(made: ExponentialMechanism[Any], word: int, drawn: np.ndarray) -> float:
    expected = made.probabilities(word) * len(drawn)
    counts = np.bincount(drawn, minlength=len(expected))
    common = expected > 10
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    some = wanted > 1e-9
    return float(stats.chisquare(observed[some], wanted[some] * observed[some].sum() / wanted[some].sum()).pvalue)


@pytest.mark.parametrize("code", [*kinds(), "off"])
@pytest.mark.parametrize("name", MAKERS)
def test_every_code_draws_the_stated_law(code: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", code)
    made = MAKERS[name]()
    words = np.array([0, 63, 64, 299])
    for batch in range(2):  # the second finds its rows kept
        drawn = made.draw(np.tile(words, 20_000), Entropy(batch))
        for column, word in enumerate(words):
            assert surprise(made, int(word), drawn[column::4]) > ALPHA
    # more than half of the words at once, whose sums are made together
    everyone = MAKERS[name]()
    drawn = everyone.draw(np.tile(np.arange(300), 2_000), Entropy(5))
    for word in words.tolist():
        assert surprise(everyone, word, drawn[word::300]) > ALPHA


@pytest.mark.parametrize("memory", [0, 1, 3 * 5 * 4, 20 * 5 * 4, 1 << 20])
def test_what_is_kept_changes_no_draw(memory: int) -> None:
    made = Exponential(make_space(300, 4, seed=3), 0.5)
    free, bound = RowDraws(made.row_source(), 1 << 20), RowDraws(made.row_source(), memory)
    generator = np.random.default_rng(0)
    for batch in range(4):
        ids = generator.integers(0, 140, 500)
        assert np.array_equal(free.draw(ids, Entropy(batch)), bound.draw(ids, Entropy(batch)))
    assert len(bound.cache) == min(memory // (5 * 4), len(free.cache))


def test_the_least_recently_used_row_goes() -> None:
    cache = RowCache(10, 2, np.float64, 3 * 16)
    for word in (4, 5, 6):
        cache.keep(np.array([word]), np.full((1, 2), float(word)))
    rows, missing = cache.look_up(np.array([4, 9]))
    assert rows[0].tolist() == [4.0, 4.0]
    assert missing.tolist() == [1]
    cache.keep(np.array([7]), np.full((1, 2), 7.0))
    assert cache.look_up(np.array([4, 5, 6, 7]))[1].tolist() == [1]
    cache.keep(np.arange(10), np.repeat(np.arange(10.0), 2).reshape(10, 2))
    rows, missing = cache.look_up(np.arange(10))
    here = np.setdiff1d(np.arange(10), missing)
    assert len(here) == len(cache) == 3
    assert np.array_equal(rows[here, 0], here)


def test_a_filling_that_fails_leaves_nothing() -> None:
    cache = RowCache(4, 1, np.float32, 100)
    cache.keep(np.array([2]), np.ones((1, 1)))

    def fail(_: np.ndarray) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        cache.fill(fail)
    assert cache.count_missing(np.arange(4)) == 4
    cache.fill(lambda table: table.fill(3.0))
    assert cache.look_up(np.arange(4))[0].tolist() == [[3.0]] * 4


def test_several_threads_share_one_mechanism() -> None:
    made = Exponential(make_space(300, 4, seed=3), 0.5)
    made.rows = RowDraws(made.row_source(), 30 * 5 * 4)
    alone = Exponential(make_space(300, 4, seed=3), 0.5)
    batches = [np.random.default_rng(seed).integers(0, 140, 400) for seed in range(24)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: made.draw(job[1], Entropy(job[0])), enumerate(batches)))
    for seed, (ids, drawn) in enumerate(zip(batches, together, strict=True)):
        assert np.array_equal(drawn, alone.draw(ids, Entropy(seed)))


def test_threads_that_ask_for_figures_first_lose_none_of_one_another() -> None:
    words = np.arange(64)
    wanted = np.stack([words, -words], axis=1).astype(np.float64)
    for _ in range(50):
        begin = threading.Barrier(4)

        def compute(ids: Any, begin: threading.Barrier = begin) -> Any:
            begin.wait()
            return wanted[ids]

        figures = LazyTable(64, compute)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(figures, np.split(words, 4)))
        assert np.array_equal(figures(words), wanted)


def test_a_copy_takes_no_rows_along() -> None:
    made = Exponential(make_space(300, 4, seed=3), 0.5)
    made.draw(np.arange(300))
    copy = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    assert len(made.rows.cache) == 300
    assert len(copy.rows.cache) == 0
    assert np.array_equal(copy.draw(np.arange(100), Entropy(1)), made.draw(np.arange(100), Entropy(1)))


def test_the_memory_is_chosen_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_ROW_CACHE", "0")
    made = Exponential(make_space(300, 4, seed=3), 0.5)
    made.draw(np.arange(100))
    assert len(made.rows.cache) == 0
    monkeypatch.setenv("WORDVEIL_ROW_CACHE", "much")
    with pytest.raises(OptionError, match="WORDVEIL_ROW_CACHE"):
        Exponential(make_space(), 0.5).draw(np.arange(3))
    with pytest.raises(OptionError, match="memory"):
        RowCache(3, 3, np.float32, -1)


def test_the_bundled_space_is_measured_as_closely_as_is_said(glove: EuclideanSpace) -> None:
    made = Exponential(glove, 3.0)
    ids = np.arange(0, len(glove), 5000)
    sums = made.rows.source.sums(ids)
    points = glove.matrix.astype(np.float64)
    for row, word in zip(sums, ids, strict=True):
        weights = np.exp(-1.5 * np.sqrt(((points - points[word]) ** 2).sum(axis=1)))
        exact = np.add.reduceat(weights, np.arange(0, len(glove), 64))
        assert np.abs(np.log(row / exact)).max() < 1.5 * glove.precision + 2.0**-18
    drawn = made.draw(np.full(50_000, ids[3]), Entropy(0))
    assert surprise(made, int(ids[3]), drawn) > ALPHA


def test_a_very_large_epsilon_still_draws(toy: EuclideanSpace) -> None:
    for made in (Exponential(toy, 1e9), KnnTruncated(toy, 1e9, k=5)):
        assert (made.probabilities(0) > 0).all()
        assert np.array_equal(made.draw(np.arange(60), Entropy(0)), np.arange(60))


def off_centre(words: int = 60) -> EuclideanSpace:
    """Words close together, far from the origin: where expanded squares lose their digits."""
    points = 30.0 + 0.05 * np.random.default_rng(3).normal(size=(words, 20))
    return EuclideanSpace("far", Vocabulary([f"w{place}" for place in range(words)]), points)


def test_the_kth_neighbour_is_measured_as_the_weights_are() -> None:
    """A cut from a rougher distance than the weights would be another law than the stated one."""
    space = off_centre()
    made = KnnTruncated(space, 50.0, k=5)
    drawn = made.draw(np.zeros(100_000, dtype=np.int64), Entropy(4))
    expected = 100_000 * made.probabilities(0)
    assert stats.chisquare(np.bincount(drawn, minlength=len(space)), expected).pvalue > ALPHA


def test_a_forked_process_starts_with_an_empty_cache() -> None:
    cache = RowCache(10, 4, np.float64, memory=1 << 20)
    cache.keep(np.arange(5), np.ones((5, 4)))
    assert in_a_fork(lambda: bytes([cache.count_missing(np.arange(10)), len(cache)])) == bytes([10, 0])
    assert cache.count_missing(np.arange(10)) == 5


def test_threads_of_a_forked_process_never_get_the_row_of_another_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of a child use the cache first at once: neither may begin anew while the other is keeping a row."""
    cache = RowCache(10, 4, np.float64, memory=32)  # room for one
    cache.keep(np.array([9]), np.full((1, 4), 9.0))
    keeping, both_in = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []  # made in the child: Python 3.13 starts none that is older than the fork

    class Slow(np.ndarray):
        def __getitem__(self, key: Any) -> Any:  # in the midst of keeping
            keeping.set()
            threads[0].join(0.3)  # nothing that it does may end before this does
            return super().__getitem__(key)

    def look_at_process() -> int:
        if threading.current_thread() in threads[:1]:
            both_in.set()
            keeping.wait(5)
        return process()

    def keep_first() -> None:
        both_in.wait(0.3)
        cache.keep(np.array([1]), np.full((1, 4), 1.0).view(Slow))

    def keep_second() -> None:
        cache.count_missing(np.arange(3))
        keeping.wait(5)
        cache.keep(np.array([2]), np.full((1, 4), 2.0))

    process = os.getpid
    monkeypatch.setattr(os, "getpid", look_at_process)

    def answer() -> bytes:
        threads.extend(threading.Thread(target=work) for work in (keep_second, keep_first))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows, missing = cache.look_up(np.arange(10))
        here = np.setdiff1d(np.arange(10), missing)
        return bytes([len(here) == len(cache) == 1, np.array_equal(rows[here, 0], here)])

    assert in_a_fork(answer) == bytes([True, True])


def test_a_lock_held_at_the_fork_does_not_hang_the_child() -> None:
    cache = RowCache(3, 1, np.float64, memory=24)
    told: list[bytes] = []
    cache.fill(lambda _: told.append(in_a_fork(lambda: bytes([cache.count_missing(np.arange(3))]))))
    assert told == [bytes([3])]


def rows_of(words: np.ndarray) -> np.ndarray:
    return np.repeat(words.astype(np.float64)[:, None], 1024, axis=1)  # 8 KiB each


def test_all_mechanisms_of_a_process_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_ROW_CACHE", "1")
    monkeypatch.setattr(drawing, "_BUDGET", drawing._Budget())  # not with what other tests have left
    everyone = np.arange(128)  # 1 MiB
    first = RowCache(128, 1024, np.float64)
    first.keep(everyone, rows_of(everyone))
    assert len(first) == 128
    caches = [first, *(RowCache(128, 1024, np.float64) for _ in range(3))]
    for round_ in range(3):
        for cache in caches:
            rows, missing = cache.look_up(everyone)
            rows[missing] = rows_of(missing)
            cache.keep(missing, rows[missing])
            assert np.array_equal(rows, rows_of(everyone))
            assert sum(len(cache) for cache in caches) <= 128
        if round_:
            assert min(len(cache) for cache in caches) >= 32  # none is kept out
    held = [len(cache) for cache in caches]
    for cache in caches:
        cache.keep(everyone, rows_of(everyone))
    assert [len(cache) for cache in caches] == held  # and none is driven out again and again
    del caches[1:], cache
    first.keep(everyone, rows_of(everyone))
    assert len(first) == 128  # what is gone takes nothing


def test_what_was_not_used_for_a_while_gives_up_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_ROW_CACHE", "1")
    monkeypatch.setattr(drawing, "_BUDGET", drawing._Budget())
    everyone, now = np.arange(128), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    old, new = RowCache(128, 1024, np.float64), RowCache(128, 1024, np.float64)
    old.keep(everyone[:64], rows_of(everyone[:64]))
    new.keep(everyone, rows_of(everyone))
    assert (len(old), len(new)) == (64, 64)
    new.fill(lambda _: pytest.fail("there is no memory for it"))
    now[0] += 100.0
    new.look_up(everyone)
    new.fill(lambda table: table.__setitem__(slice(None), rows_of(everyone)))
    assert (len(old), len(new)) == (0, 128)
    assert np.array_equal(new.look_up(everyone)[0], rows_of(everyone))
    assert in_a_fork(lambda: bytes([len(new), len(old)])) == bytes([0, 0])


def test_figures_of_all_words_do_not_hold_the_rows_that_they_come_from() -> None:
    made = KnnTruncated(make_space(6000, 4, seed=3), 1.5, k=20)
    tracemalloc.start()
    try:
        made.log_weight_columns(np.array([1]), np.arange(6000))
        assert tracemalloc.get_traced_memory()[1] < 6000 * 6000 * 4 / 2
    finally:
        tracemalloc.stop()
