"""Lists of the most similar words: approximate ones say how good they are, and a build goes on where it was stopped."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import names
from wordveil._mechanisms.graph import Graph
from wordveil.errors import SpaceError
from wordveil.kernels import compiled
from wordveil.parallel import memory_of_machine
from wordveil.progress import watched_by
from wordveil.spaces import EuclideanSpace, GraphSpace, Vocabulary, graph, listing, products


@pytest.fixture
def small_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    monkeypatch.setattr(listing, "_PIECE", 256)
    monkeypatch.setattr(listing, "_FEWEST", 2)
    return tmp_path


def clustered(words: int = 3000, clusters: int = 40, spread: float = 0.4, seed: int = 0) -> EuclideanSpace:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(clusters, 12))
    vectors = centres[generator.integers(clusters, size=words)] + spread * generator.normal(size=(words, 12))
    return EuclideanSpace("clustered", Vocabulary(names(words)), vectors.astype(np.float32))


def test_pieces_make_the_same_graph_as_one_search(small_pieces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = clustered(1000)
    told: list[tuple[str, float]] = []
    with watched_by(lambda what, share: told.append((what, share))):
        pieced = GraphSpace.of(space, 5)
    assert told[0][1] == 0.0
    assert "GiB" in told[0][0], "what it takes is said before the work begins"
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert [path.name.split("-")[1] for path in small_pieces.iterdir()] == ["2"]  # the graph, and no piece of it
    monkeypatch.setattr(listing, "_PIECE", 10**6)
    monkeypatch.setenv("WORDVEIL_CACHE", str(small_pieces / "another"))
    assert GraphSpace.of(space, 5).checksum == pieced.checksum
    assert not pieced.remarks


def test_a_large_space_is_searched_in_parts_and_says_how_well(
    small_pieces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = clustered()
    monkeypatch.setattr(listing, "_EXACT", 0.0)
    near = listing.list_similar(space, 10)
    true, _ = space.similar(np.arange(len(space)), 10)
    share = (true[:, :, None] == near.where[:, None, :]).any(axis=2).mean()
    assert share > 0.8
    assert near.found == pytest.approx(share, abs=0.05)
    assert (np.diff(near.likeness, axis=1) <= 0.0).all()
    assert (np.sort(near.where, axis=1)[:, 1:] != np.sort(near.where, axis=1)[:, :-1]).all()
    assert (near.where != np.arange(len(space))[:, None]).all()
    made = Graph(space, 4.0)
    assert any(f"{100 * near.found:.0f}%" in caveat for caveat in made.guarantee.caveats)
    assert (made.space.hops(np.array([0])) >= 0).all()


@pytest.mark.parametrize("exact", [True, False])
def test_a_build_that_was_stopped_goes_on(small_pieces: Path, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    space = clustered(1500)
    if not exact:
        monkeypatch.setattr(listing, "_EXACT", 0.0)

    def stop(_: str, share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with watched_by(stop), pytest.raises(KeyboardInterrupt):
        listing.list_similar(space, 5)
    kept = len(list(small_pieces.glob("graph-piece-*")))
    assert kept > 1
    searched: list[int] = []
    of = EuclideanSpace if exact else listing._Cells
    search: Callable[..., Any] = of.similar

    def counted(self: Any, ids: Any, k: int) -> Any:
        searched.append(len(ids))
        return search(self, ids, k)

    monkeypatch.setattr(of, "similar", counted)
    done = listing.list_similar(space, 5)
    assert 0 < len(searched) == -(-1500 // 256) - kept
    done.forget_pieces()
    assert not list(small_pieces.iterdir())


def test_a_graph_that_this_machine_cannot_hold_is_refused_before_it_is_begun(
    small_pieces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = clustered(1000)
    assert memory_of_machine() > listing.memory_for(len(space), space.dimension, 5)
    monkeypatch.setattr(listing, "memory_of_machine", lambda: 1e8)
    with pytest.raises(SpaceError, match="first words"):
        GraphSpace.of(space, 5)
    assert not [path for path in small_pieces.iterdir() if path.is_dir()]


def test_components_of_a_large_space_are_joined_from_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    space = clustered(2000, clusters=60, spread=0.02)
    monkeypatch.setattr(graph, "_MOST_PAIRS", 0)
    for k in (0, 3):
        indptr, indices = graph.build_graph(space, k)
        joined = GraphSpace("joined", space.vocabulary, indptr, indices)  # which refuses what is not connected
        assert k or 0 <= len(joined.indices) // 2 - (len(space) - 1) < 20  # a tree, and few edges more


@pytest.mark.parametrize("code", [None, "off"])
def test_the_largest_are_kept_whatever_the_tiles(code: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if code:
        monkeypatch.setenv("WORDVEIL_KERNELS", code)
    generator = np.random.default_rng(3)
    points = generator.integers(-3, 4, (5000, 4)).astype(np.float32)  # many equals
    scores, own = points[:50] @ points.T, np.arange(50)
    scores[own, own] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    for k in (1, 7):
        where, values = products.most(points[:50], points, None, k, own=own)
        assert np.array_equal(values, np.take_along_axis(scores, order[:, :k], axis=1))
        assert np.array_equal(np.take_along_axis(scores, where, axis=1), values)
        if k == 1 or (compiled() and not code):  # elsewhere any of equals may be the last
            assert np.array_equal(where, order[:, :k])


def _count_and_open(folder: str, builds: Any) -> None:
    os.environ["WORDVEIL_CACHE"] = folder
    search = listing.list_similar

    def counted(space: Any, k: int) -> Any:
        with builds.get_lock():
            builds.value += 1
        return search(space, k)

    graph.list_similar = counted
    GraphSpace.of(clustered(1200), 4)


def test_three_processes_at_once_build_one_graph_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    builds = context.Value("i", 0)
    processes = [context.Process(target=_count_and_open, args=(str(tmp_path), builds)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert builds.value == 1


def test_a_large_embedding_reports_before_its_checksum_is_computed(
    small_pieces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_SLOW_CHECKSUM", 0)
    space = clustered(300)
    told: list[bool] = []
    with watched_by(lambda *_: told.append("checksum" in vars(space))):
        GraphSpace.of(space, 5)
    assert told[0] is False
