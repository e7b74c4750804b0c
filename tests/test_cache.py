"""The cache when something is wrong with it: damage, no room, no permission."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.cache import cached_arrays, cached_folder
from wordveil.calibration.store import keep, kept
from wordveil.errors import WordveilError
from wordveil.spaces import GraphSpace, RingSpace
from wordveil.spaces.files import load_vectors, write_vectors


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WORDVEIL_CACHE", str(folder))
    return folder


def damage(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: {"empty": 0, "cut in its header": 20, "cut in its numbers": -4}[how]])


HOW = ["gone", "empty", "cut in its header", "cut in its numbers"]


@pytest.mark.parametrize("how", HOW)
def test_damaged_arrays_are_made_again(cache: Path, how: str) -> None:
    space = make_space(30)
    graph, ring = GraphSpace.of(space, 3), RingSpace.of(space)
    files = sorted(cache.rglob("*.npy"))
    assert {path.name for path in files} >= {"indptr.npy", "indices.npy", "tour.npy"}
    for path in files:
        damage(path, how)
        assert GraphSpace.of(space, 3).checksum == graph.checksum
        assert (RingSpace.of(space).tour == ring.tour).all()


def test_what_cannot_be_made_whole_is_told(cache: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "a.npy").write_bytes(b"")

    with pytest.raises(WordveilError, match=r"is damaged and cannot be replaced; delete it\."):
        cached_arrays("key", fill, "a")


@pytest.mark.parametrize("how", [*HOW[1:], "gone"])
def test_damaged_figures_are_measured_again(cache: Path, how: str) -> None:
    figures = {"a": np.arange(1000.0)}
    keep({"what": 1}, figures)
    (path,) = cache.rglob("*.npz")
    damage(path, how)
    assert kept({"what": 1}) is None
    keep({"what": 1}, figures)
    if how != "gone":  # an empty folder of that name is somebody else's doing
        found = kept({"what": 1})
        assert found is not None
        assert (found["a"] == figures["a"]).all()


def test_a_full_disk_is_told(cache: Path) -> None:
    def fill(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(WordveilError, match=r"cannot be written \(No space left on device\); set WORDVEIL_CACHE"):
        cached_folder("key", fill)
    assert list(cache.iterdir()) == []


def test_without_a_cache_nothing_is_left_behind(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file, where a folder should be")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = "from tests.conftest import make_space; from wordveil.spaces import GraphSpace; GraphSpace.of(make_space(9))"
    told = {"WORDVEIL_CACHE": str(cache), "TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | told)
    assert list(temporary.iterdir()) == []


MIB = 1 << 20
DAY = 24 * 3600


def put(number: int, size: int, age: float = 0.0) -> Path:
    """Cache so many bytes, last used so long ago."""

    def fill(folder: Path) -> None:
        (folder / "a").write_bytes(bytes(size))

    folder = cached_folder(f"some-1-{number:032x}", fill)
    set_age(folder, age)
    return folder


def set_age(folder: Path, age: float) -> None:
    then = time.time() - age
    os.utime(folder, (then, then))


def test_what_was_not_used_for_longest_makes_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", "3")
    old = [put(number, MIB, (9 - number) * DAY) for number in range(3)]
    assert all(folder.is_dir() for folder in old)  # they just fit
    put(0, MIB)  # used, and nothing is written
    new = put(3, MIB)
    assert sorted(cache.iterdir()) == sorted([old[0], old[2], new])
    large = put(4, 3 * MIB)
    assert sorted(cache.iterdir()) == sorted([old[0], new, large])  # too much, but all of it was used just now
    for folder in (old[0], new, large):
        set_age(folder, DAY)
    last = put(5, MIB)
    assert sorted(cache.iterdir()) == [last]


def test_figures_that_are_read_are_in_use(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", "1")
    for number in range(2):
        keep({"what": number}, {"a": np.random.default_rng(number).random(MIB // 16)})
    for folder in cache.iterdir():
        set_age(folder, DAY)
    assert kept({"what": 0}) is not None
    put(0, MIB)
    assert kept({"what": 0}) is not None
    assert kept({"what": 1}) is None


def test_only_what_the_cache_made_is_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", "0")
    mine = [cache / name for name in ("photographs", "notes-2024", ".making")]
    scratch = [cache / f".{what}-ab12_{age}" for what in ("making", "going") for age in ("old", "new")]
    for folder in (*mine, *scratch):
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(bytes(MIB))
        set_age(folder, 2 * DAY if folder.name.endswith("old") or folder in mine else 0)
    new = put(0, MIB)
    left = set(cache.iterdir())
    assert left == {*mine, new, *(folder for folder in scratch if folder.name.endswith("new"))}


def test_arrays_that_are_mapped_can_be_read_when_they_have_gone(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", "0")
    space = make_space(30)
    path = tmp_path / "vectors.txt"
    write_vectors(path, space.vocabulary.words, space.matrix)
    _, mapped = load_vectors(path)
    for folder in cache.iterdir():
        set_age(folder, DAY)
    last = put(0, 1)
    assert list(cache.iterdir()) == [last]
    assert (np.asarray(mapped) == space.matrix).all()


@pytest.mark.parametrize("size", ["much", "-1", "1.5"])
def test_a_size_that_is_none_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", size)
    with pytest.raises(WordveilError, match=r"WORDVEIL_CACHE_SIZE must be a whole number of MiB\."):
        put(0, 1)
