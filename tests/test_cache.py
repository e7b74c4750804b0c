"""The cache when something is wrong with it: damage, no room, no permission."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import wordveil.files
from tests.conftest import in_a_fork, make_space
from wordveil._mechanisms.laws.store import keep, kept
from wordveil.errors import FileError, OptionError
from wordveil.files import KINDS, cached_arrays, cached_folder, found, home, lend
from wordveil.spaces import GraphSpace, RingSpace
from wordveil.spaces.files import load_vectors, write_vectors


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WORDVEIL_CACHE", str(folder))
    return folder


def test_where_the_cache_is(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home() == cache
    monkeypatch.delenv("WORDVEIL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert home() == tmp_path / "xdg" / "wordveil"
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert home() == tmp_path / ".cache" / "wordveil"


def test_entries_that_were_sent_are_found_but_never_written(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, key = tmp_path / "sent", f"graph-{'a' * 32}"
    (sent / key).mkdir(parents=True)
    assert found(key) is None
    with monkeypatch.context() as patch:
        patch.setattr(wordveil.files, "_lent", [])
        lend(sent)
        assert found(key) == sent / key
        assert cached_folder(f"ring-{'b' * 32}", lambda _: None).parent == cache
        (cache / key).mkdir()
        assert found(key) == cache / key  # its own first
    assert [path.name for path in sent.iterdir()] == [key]


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

    with pytest.raises(FileError):
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

    with pytest.raises(FileError, match="WORDVEIL_CACHE"):
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


def fill_x(folder: Path) -> None:
    np.save(folder / "x.npy", np.ones(2))


def get_x() -> list[float]:
    return list(cached_arrays(KEY, fill_x, "x")[0])


KEY = f"ring-1-{5:032x}"
POSIX = pytest.mark.skipif(os.name == "nt", reason="files have no owners and modes there")


@POSIX
@pytest.mark.parametrize(
    ("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o002, 0o755, 0o644), (0o077, 0o700, 0o600)]
)
def test_other_users_may_read_what_the_umask_lets_them(cache: Path, umask: int, folder: int, file: int) -> None:
    def make() -> bytes:
        os.umask(umask)
        get_x()
        return b"made"

    assert in_a_fork(make) == b"made"
    assert stat.S_IMODE((cache / KEY).stat().st_mode) == folder
    assert stat.S_IMODE((cache / KEY / "x.npy").stat().st_mode) == file


def test_what_cannot_be_read_is_as_good_as_not_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with an image that root has built with a narrow umask, and that runs as another user."""
    get_x()
    entry = cache / KEY
    real = os.scandir

    def refuse(path: object) -> object:
        if path == entry:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # nor can it be removed
    assert get_x() == [1, 1]
    assert sorted(path.name for path in entry.iterdir()) == ["x.npy"]
    assert found(KEY) is None


def plant(folder: Path) -> None:
    folder.mkdir(parents=True)
    np.save(folder / "x.npy", np.zeros(2))


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file another user's."""
    real = Path.lstat

    def lstat(this: Path) -> os.stat_result:
        state = real(this)
        return os.stat_result((*state[:4], 12345, *state[5:])) if this == path else state

    monkeypatch.setattr(Path, "lstat", lstat)


@POSIX
@pytest.mark.parametrize("how", ["of another user", "a link", "a link inside", "writable", "a writable file"])
def test_what_others_can_have_written_is_not_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    entry, elsewhere = cache / KEY, tmp_path / "elsewhere"
    plant(elsewhere if how == "a link" else entry)
    for path in (elsewhere, entry):
        if path.exists():
            path.chmod(0o777 if how == "writable" else 0o755)
            (path / "x.npy").chmod(0o666 if how == "a writable file" else 0o644)
    if how == "of another user":
        give_away(entry, monkeypatch)
    elif how == "a link":
        entry.parent.mkdir()
        entry.symlink_to(elsewhere)
    elif how == "a link inside":
        (entry / "x.npy").rename(elsewhere)
        (entry / "x.npy").symlink_to(elsewhere)
    assert get_x() == get_x() == [1, 1]
    if how in ("of another user", "a link"):  # not ours to remove
        assert np.load(entry / "x.npy").tolist() == [0, 0]
    if how == "a link inside":
        assert np.load(elsewhere).tolist() == [0, 0]
    if how.startswith(("writable", "a writable")):
        assert found(KEY) == entry  # made again in its place


@POSIX
def test_what_root_has_written_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get_x()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert (found(KEY) is not None) == ((cache / KEY).stat().st_uid == 0)


def test_without_a_cache_everything_is_made_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file, where a folder should be")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for _ in range(3):
        assert get_x() == [1, 1]
        assert len(list(temporary.iterdir())) == 1
    # A worker uses what its parent has, and removes what it makes itself and nothing else.
    for key in (KEY, f"ring-1-{6:032x}"):
        worker = multiprocessing.get_context("fork").Process(target=cached_arrays, args=(key, fill_x, "x"))
        worker.start()
        worker.join()
        assert worker.exitcode == 0
        assert len(list(temporary.iterdir())) == 1
    assert get_x() == [1, 1]


def test_everything_is_on_the_disk_before_it_has_its_name(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bool]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        seen.append((os.fstat(handle).st_ino, (cache / KEY).exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    get_x()
    assert ((cache / KEY / "x.npy").stat().st_ino, False) in seen


def test_every_kind_of_entry_is_known_to_the_room() -> None:
    source = Path(wordveil.files.__file__).parent
    made = {
        kind
        for path in source.rglob("*.py")
        for kind in re.findall(
            r"""f?"([a-z]+(?:-[a-z]+)*)-[^"\s]*(?:\{[^"]*checksum|\{hashlib|\{digest_of|\{made|\{key|" \+ hashlib)""",
            path.read_text(),
        )
    }
    assert {"graph" if kind.startswith("graph-") else kind for kind in made} == set(KINDS)


MIB = 1 << 20
DAY = 24 * 3600


def put(number: int, size: int, age: float = 0.0) -> Path:
    """Cache so many bytes, last used so long ago."""

    def fill(folder: Path) -> None:
        (folder / "a").write_bytes(bytes(size))

    folder = cached_folder(f"ring-1-{number:032x}", fill)
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


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")
def test_what_a_process_uses_stays_however_large(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE_SIZE", "1")
    used, small = put(1, 20 * MIB, 9 * DAY), put(2, MIB, 9 * DAY)
    last = put(3, MIB)
    assert sorted(cache.iterdir()) == sorted([used, last])
    assert not small.exists()


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
    theirs = ("photographs", "notes-2024", ".making", f"backup-{7:032x}", f"ring-{7:x}", f"my-ring-1-{7:032x}")
    mine = [cache / name for name in theirs]
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
    with pytest.raises(OptionError, match="WORDVEIL_CACHE_SIZE"):
        put(0, 1)
