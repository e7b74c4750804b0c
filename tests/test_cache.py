"""The cache when something is wrong with it: damage, no room, no permission."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.cache import cached_arrays, cached_folder
from wordveil.calibration.store import keep, kept
from wordveil.errors import WordveilError
from wordveil.spaces import GraphSpace, RingSpace


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
