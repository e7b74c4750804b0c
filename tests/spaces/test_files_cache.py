"""The cache of parsed embeddings."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from wordveil.errors import SpaceError
from wordveil.spaces.files import load_vectors, write_vectors


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WORDVEIL_CACHE", str(folder))
    return folder


def entries(cache: Path) -> set[str]:
    return {entry.name for entry in cache.iterdir()}


def test_a_second_load_maps_the_parsed_form(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\nsea 3 4\n")
    for _ in range(2):
        words, vectors = load_vectors(path)
        assert words == ["the", "sea"]
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [[1, 2], [3, 4]]
        assert not vectors.flags.writeable
    (entry,) = cache.iterdir()
    assert {file.name for file in entry.iterdir()} == {"vectors.npy", "words.txt"}
    np.save(entry / "vectors.npy", np.zeros((2, 2), np.float32))
    assert load_vectors(str(path))[1].tolist() == [[0, 0], [0, 0]]


def test_a_changed_file_is_read_again(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\n")
    load_vectors(path)
    path.write_text("sea 3 4\n")
    os.utime(path, ns=(1, 1))
    assert load_vectors(path)[0] == ["sea"]
    path.write_text("longer 3 4\n")
    os.utime(path, ns=(1, 1))
    assert load_vectors(path)[0] == ["longer"]
    assert len(entries(cache)) == 3


def test_two_files_and_two_formats_do_not_mix(tmp_path: Path, cache: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1 1\n2 2\n")
        os.utime(tmp_path / name, ns=(1, 1))
    assert load_vectors(tmp_path / "a")[0] == ["2"]
    assert load_vectors(tmp_path / "a", format="glove")[0] == ["1", "2"]
    load_vectors(tmp_path / "b")
    assert len(entries(cache)) == 3


def test_half_precision_is_cached_as_it_is(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.npz", ["the"], np.ones((1, 2), np.float16))
    assert load_vectors(tmp_path / "v.npz")[1].dtype == np.float16


def test_a_folder_needs_no_cache(tmp_path: Path, cache: Path) -> None:
    write_vectors(tmp_path / "space", ["the"], [[1.0, 2.0]], "folder")
    words, vectors = load_vectors(tmp_path / "space")
    assert words == ["the"]
    assert not vectors.flags.writeable
    assert not cache.exists()


def test_a_broken_file_leaves_nothing_in_the_cache(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\nsea 3\n")
    with pytest.raises(SpaceError, match="line 2"):
        load_vectors(path)
    assert not entries(cache)


@pytest.mark.parametrize("damage", [b"", b"the\n", b"the\nsea\nship\n"])
def test_a_damaged_copy_is_made_again(tmp_path: Path, cache: Path, damage: bytes) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\nsea 3 4\n")
    load_vectors(path)
    (entry,) = cache.iterdir()
    (entry / "words.txt").write_bytes(damage)
    for _ in range(2):
        words, vectors = load_vectors(path)
        assert words == ["the", "sea"]
        assert vectors.tolist() == [[1, 2], [3, 4]]
    assert entries(cache) == {entry.name}


def test_a_copy_that_was_cut_short_is_made_again(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\nsea 3 4\n")
    load_vectors(path)
    (entry,) = cache.iterdir()
    vectors = entry / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-4])
    assert load_vectors(path)[1].tolist() == [[1, 2], [3, 4]]


def test_another_file_of_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    path, link = tmp_path / "v.npz", tmp_path / "link.npz"
    for number in (1.0, 2.0):
        write_vectors(path, ["the"], [[number, 0.0]])  # puts a new file in the place of the old one
        os.utime(path, ns=(1, 1))
        assert load_vectors(path)[1].tolist() == [[number, 0]]
    other = tmp_path / "other.npz"
    write_vectors(other, ["the"], [[3.0, 0.0]])
    os.utime(other, ns=(1, 1))
    for target, number in ((path, 2.0), (other, 3.0)):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert load_vectors(link)[1].tolist() == [[number, 0]]


def test_without_a_cache_folder_it_still_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\n")
    monkeypatch.setenv("WORDVEIL_CACHE", str(path / "below"))
    assert load_vectors(path)[0] == ["the"]
