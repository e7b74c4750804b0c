"""The modules that everything stands on."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

from wordveil.files import cached_folder, home
from wordveil.guarantee import Guarantee, Notion
from wordveil.parallel import blocks, cores, quota, run, shares, use_here


def test_run_keeps_the_order_and_counts() -> None:
    done = []
    assert run(lambda item: item * 2, range(20), lambda: done.append(1)) == list(range(0, 40, 2))
    assert len(done) == 20
    assert run(lambda item: item, []) == []


def test_a_thread_may_be_told_how_many_cores_are_its_own() -> None:
    usual = cores()
    with ThreadPoolExecutor(1, initializer=use_here, initargs=(usual + 2,)) as pool:
        assert pool.submit(cores).result() == usual + 2
    assert cores() == usual


@pytest.mark.parametrize("own", [1, 4])
def test_shares_are_all_rows_and_none_is_small(own: int) -> None:
    def cut(starts: NDArray[np.int64]) -> list[slice]:
        return list(shares(starts, 500))

    generator = np.random.default_rng(3)
    for rows in (0, 1, 7, 300):
        held = generator.integers(0, 50, rows)
        starts = np.concatenate([[0], np.cumsum(held)])
        with ThreadPoolExecutor(1, initializer=use_here, initargs=(own,)) as pool:
            found = pool.submit(cut, starts).result()
        assert [row for part in found for row in range(part.start, part.stop)] == list(range(rows))
        assert len(found) <= (1 if own == 1 else max(1, starts[-1] // 500))
    assert len(found) > 1 or own == 1


def test_threads_have_a_blas_of_one_thread() -> None:
    if cores() == 1:
        return
    np.ones((2, 2)) @ np.ones((2, 2))

    def of_numpy(_: int) -> list[int]:
        """The BLAS that we call; other libraries in the process have theirs."""
        found = [lib for lib in threadpool_info() if lib["user_api"] == "blas" and "numpy" in lib["filepath"]]
        return [lib["num_threads"] for lib in found]

    seen = run(of_numpy, range(4))
    assert all(count == 1 for counts in seen for count in counts)


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_blas_gets_its_threads_back_when_the_last_of_several_is_done(first_to_leave: int) -> None:
    np.ones((2, 2)) @ np.ones((2, 2))

    def of_numpy() -> list[int]:
        found = [lib for lib in threadpool_info() if lib["user_api"] == "blas" and "numpy" in lib["filepath"]]
        return [lib["num_threads"] for lib in found]

    begun, may_end = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def work(job: tuple[int, int]) -> None:
        begun[job[0]].set()
        may_end[job[0]].wait(10)

    def set_blas(threads: int) -> None:
        with ThreadPoolExecutor(1) as pool:  # in a thread that is gone when others want to set it
            pool.submit(threadpool_limits, limits=threads, user_api="blas").result()

    usual = max(of_numpy(), default=1)
    set_blas(2)
    before, seen = of_numpy(), []
    jobs = [threading.Thread(target=run, args=(work, [(number, 0), (number, 1)])) for number in range(2)]
    try:
        for number in range(2):
            jobs[number].start()
            begun[number].wait(10)
        for number in (first_to_leave, 1 - first_to_leave):
            seen.append(of_numpy())
            may_end[number].set()
            jobs[number].join()
        after = of_numpy()
    finally:
        set_blas(usual)
    assert seen == [[1] * len(before)] * 2
    assert after == before


def test_a_failure_in_a_thread_is_raised() -> None:
    def fail(item: int) -> None:
        if item == 3:
            raise KeyError("x")

    with pytest.raises(KeyError):
        run(fail, range(5))


def test_blocks() -> None:
    assert [(part.start, part.stop) for part in blocks(7, 3)] == [(0, 3), (3, 6), (6, 7)]
    assert list(blocks(0, 3)) == []


def test_the_cache_fills_once_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path / "cache"))
    calls = []

    def fill(folder: Path) -> None:
        calls.append(1)
        (folder / "x").write_text("y")

    assert cached_folder("key", fill) == cached_folder("key", fill) == home() / "key"
    assert len(calls) == 1

    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cached_folder("other", fail)
    assert [path.name for path in home().iterdir()] == ["key"]


def test_of_two_who_need_the_same_one_fills_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    gate, filled = threading.Barrier(2), []

    def fill(folder: Path) -> None:
        filled.append(folder)
        (folder / "x").write_text("y")

    def need(_: int) -> str:
        gate.wait(30)
        return (cached_folder("key", fill) / "x").read_text()

    assert run(need, range(2)) == ["y", "y"]
    assert len(filled) == 1


def test_an_unwritable_cache_does_not_stop_anyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path / "file" / "below"))
    assert (cached_folder("key", lambda folder: (folder / "x").touch()) / "x").exists()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDVEIL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", os.sep + "x")
    assert home() == Path(os.sep, "x", "wordveil")


def test_guarantees_speak() -> None:
    metric = Guarantee(Notion.METRIC, 2.0, "hops", "hop")
    assert "7.39" in metric.sentence()
    assert "exp(2·d" in metric.formula()
    tiny = [Guarantee(Notion.METRIC, epsilon, "hops", "hop").sentence() for epsilon in (0.5, 0.02, 0.001, 1e-9)]
    told = ["e^0.5 (about 1.65)", "e^0.02 (about 1.021)", "e^0.001 (about 1.0011)", "e^(1e-09) (hardly more than 1)"]
    assert all(factor in sentence for factor, sentence in zip(told, tiny, strict=True))
    assert "covered" not in metric.sentence()
    partly = Guarantee(Notion.METRIC, 2.0, "hops", "hop", pairs="some words")
    assert "some words" in partly.sentence()
    assert "some words" in partly.formula()
    near = Guarantee(Notion.APPROXIMATE, 1.0, "distance", "unit", delta=1e-6, pairs="some words")
    assert near.loss(99) == 1.0
    assert "1e-06" in near.sentence()
    assert "some words" in near.formula()
    none = metric.void("because").with_caveat("also")
    assert none.loss(1) == math.inf
    assert none.caveats == ("because", "also")
    assert "no bound" in none.formula()
    for promise in (metric, near, none):
        assert Guarantee.from_dict(promise.to_dict()) == promise


@pytest.mark.parametrize(
    ("own", "limits", "found"),
    [
        ("0::/", {}, None),
        ("0::/", {"": "max 100000"}, None),
        ("0::/", {"": "200000 100000"}, 2),
        ("9:cpu:/\n0::/pod/box", {"pod/box": "150000 100000", "pod": "max 100000"}, 2),
        ("0::/pod/box", {"pod/box": "800000 100000", "pod": "50000 100000"}, 1),
        ("0::/pod/box", {"pod/box": "no number", "pod": "10 0"}, None),
        ("9:cpu:/", {"": "200000 100000"}, None),
    ],
)
def test_a_container_has_the_cores_that_it_may_use(
    tmp_path: Path, own: str, limits: dict[str, str], found: int | None
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own + "\n")
    for group, limit in limits.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(limit + "\n")
    assert quota(tmp_path) == found


def test_a_system_without_control_groups_sets_no_limit(tmp_path: Path) -> None:
    assert quota(tmp_path) is None
