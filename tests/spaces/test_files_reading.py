"""Embedding files of every form that programs write."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.conftest import make_space
from wordveil.errors import FileError, OptionError, SpaceError
from wordveil.progress import watched_by
from wordveil.spaces.files import FORMATS, read_vectors, write_vectors
from wordveil.spaces.formats import common

WORDS = ["the", "naïve", "海", "e\u0301", "\u00e9", "'s", "3.5", "</s>", "\u00a0", "\u0085", "\u2028", "#", '"']
VECTORS = np.random.default_rng(5).normal(size=(len(WORDS), 7)).astype(np.float32)
BINARY = b"2 2\nthe \0\0\0?\0\0\x80?sea \0\0\0@\0\0\xc0?"


def read(folder: Path, content: bytes, name: str = "some.txt") -> tuple[list[str], list[list[float]]]:
    path = folder / name
    path.write_bytes(content)
    words, vectors = read_vectors(path)
    assert vectors.dtype == np.float32
    return words, vectors.tolist()


@pytest.mark.parametrize("packed", [".gz", ""])
@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.bin", "v.npz", "v.safetensors"])
def test_what_is_written_is_read(tmp_path: Path, name: str, packed: str) -> None:
    path = tmp_path / (name + packed)
    write_vectors(path, WORDS, VECTORS)
    words, vectors = read_vectors(path)
    assert words == WORDS
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, VECTORS)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "folder"])
def test_the_content_tells_the_format_without_a_telling_name(tmp_path: Path, form: str, packed: bool) -> None:
    path = tmp_path / "embedding"
    write_vectors(path, WORDS, VECTORS, form)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    words, vectors = read_vectors(path)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)


def test_a_folder_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "space"
    write_vectors(path, WORDS, VECTORS, "folder")
    assert {file.name for file in path.iterdir()} == {"vectors.npy", "words.txt"}
    words, vectors = read_vectors(path)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)
    assert not vectors.flags.writeable


@pytest.mark.parametrize("form", ["npz", "safetensors", "folder"])
def test_half_precision_stays(tmp_path: Path, form: str) -> None:
    half = VECTORS.astype(np.float16)
    write_vectors(tmp_path / "half", WORDS, half, form)
    _, vectors = read_vectors(tmp_path / "half")
    assert vectors.dtype == np.float16
    np.testing.assert_array_equal(vectors, half)


@pytest.mark.parametrize("form", ["glove", "word2vec", "word2vec-binary"])
def test_half_precision_becomes_single_where_the_format_has_no_half(tmp_path: Path, form: str) -> None:
    half = VECTORS.astype(np.float16)
    write_vectors(tmp_path / "half", WORDS, half, form)
    _, vectors = read_vectors(tmp_path / "half")
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, half)


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i2", "u1"])
def test_other_numbers_become_single(tmp_path: Path, dtype: str) -> None:
    table = np.array([[1, 2], [3, 4]], dtype)
    np.savez(tmp_path / "a.npz", words=np.array(["the", "sea"]), vectors=table)
    write_vectors(tmp_path / "b.npz", ["the", "sea"], table)
    for name in ("a.npz", "b.npz"):
        words, vectors = read_vectors(tmp_path / name)
        assert words == ["the", "sea"]
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [[1, 2], [3, 4]]


def test_doubles_in_safetensors_and_columns_first_in_npz(tmp_path: Path) -> None:
    table = np.asfortranarray(VECTORS.astype(np.float64))
    joined = np.frombuffer("\n".join(WORDS).encode(), np.uint8)
    save_file({"vectors": np.ascontiguousarray(table), "words": joined}, tmp_path / "a.safetensors")
    np.savez_compressed(tmp_path / "a.npz", vectors=table, words=joined)
    for name in ("a.safetensors", "a.npz"):
        words, vectors = read_vectors(tmp_path / name)
        assert words == WORDS
        assert vectors.flags.c_contiguous
        np.testing.assert_array_equal(vectors, VECTORS)


def test_glove_words_with_spaces(tmp_path: Path) -> None:
    content = b"the 1 2 3\n. . . 4 5 6\nat name@domain.com -7 8e0 +9\n"
    assert read(tmp_path, content) == (["the", ". . .", "at name@domain.com"], [[1, 2, 3], [4, 5, 6], [-7, 8, 9]])


@pytest.mark.parametrize(
    "content",
    [
        b"the 1 2\nsea 3 4",
        b"the 1 2\r\nsea 3 4\r\n",
        b"the 1 2 \nsea 3 4 \n",
        b"the\t1\t2\nsea\t3\t4\n",
        b"the\t1 2\nsea 3\t4\n",
        b"the  1   2\n sea 3 4\t\n",
        b"the 1 2\nsea 3 4\n\n \n",
        b"\xef\xbb\xbfthe 1 2\nsea 3 4\n",
        b"2 2\nthe 1 2 \nsea 3 4 \n",
        b"2 2\r\nthe 1 2\r\nsea 3 4\r\n",
        b"\xef\xbb\xbf2\t2\nthe 1 2\nsea 3 4\n\n",
    ],
)
def test_the_ways_to_lay_out_a_text(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, content) == (["the", "sea"], [[1, 2], [3, 4]])


@pytest.mark.parametrize("content", [BINARY, BINARY.replace(b"sea", b"\nsea") + b"\n"])
@pytest.mark.parametrize("name", ["some.bin", "some.w2v"])
def test_binary_with_and_without_line_breaks(tmp_path: Path, content: bytes, name: str) -> None:
    assert read(tmp_path, content, name) == (["the", "sea"], [[0.5, 1], [2, 1.5]])


def test_long_files_cross_the_blocks_of_the_readers(tmp_path: Path) -> None:
    count = 6000
    words = [f"w{number}" for number in range(count)]
    words[3000] = "a word with spaces"
    vectors = np.random.default_rng(6).normal(size=(count, 60)).astype(np.float32)
    write_vectors(tmp_path / "long.txt", words, vectors)
    words[3000] = "one"
    write_vectors(tmp_path / "long.vec", words, vectors)
    write_vectors(tmp_path / "long.bin", words, vectors)
    assert (tmp_path / "long.bin").stat().st_size > 1 << 20
    for name in ("long.txt", "long.vec", "long.bin"):
        found, numbers = read_vectors(tmp_path / name)
        assert found[:3000] == words[:3000]
        assert found[3001:] == words[3001:]
        np.testing.assert_array_equal(numbers, vectors)


def test_a_given_format_overrides_the_name(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_text("2 7\n3 8\n")
    words, vectors = read_vectors(path, format="glove")
    assert words == ["2", "3"]
    assert vectors.tolist() == [[7], [8]]


def test_words_may_end_with_a_line_break(tmp_path: Path) -> None:
    joined = np.frombuffer(b"the\nsea\n", np.uint8)
    np.savez(tmp_path / "a.npz", words=joined, vectors=np.ones((2, 2)))
    assert read_vectors(tmp_path / "a.npz")[0] == ["the", "sea"]


@pytest.mark.parametrize("form", ["glove", "word2vec", "word2vec-binary"])
def test_a_word_that_the_format_cannot_hold_is_refused(tmp_path: Path, form: str) -> None:
    with pytest.raises(SpaceError, match="word 2"):
        write_vectors(tmp_path / "v", ["the", "route 66"], [[1.0], [2.0]], form)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "vectors", "place"),
    [
        (["the", "the"], [[1.0], [2.0]], "word 2"),
        (["the"], [[1.0], [2.0]], "1 .* 2"),
        (["the", ""], [[1.0], [2.0]], "word 2"),
        (["the", "a\nb"], [[1.0], [2.0]], "word 2"),
        (["the", "\ud800"], [[1.0], [2.0]], "word 2"),
        (["the", "sea"], [[1.0], [np.nan]], "word 2"),
        (["the", "sea"], [[1.0], [1e300]], "word 2"),
        (["the"], [1.0], "vectors"),
        (["the"], [["a"]], "vectors"),
        ([], np.ones((0, 3)), "no words"),
        (["the"], np.ones((1, 0)), "no words"),
    ],
)
def test_what_is_no_embedding_is_not_written(tmp_path: Path, words: list[str], vectors: object, place: str) -> None:
    with pytest.raises(SpaceError, match=place):
        write_vectors(tmp_path / "v.npz", words, vectors)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="missing"):
        write_vectors(tmp_path / "missing" / "v.npz", ["the"], [[1.0]])
    with pytest.raises(OptionError, match="glove"):
        write_vectors(tmp_path / "v", ["the"], [[1.0]])
    with pytest.raises(OptionError, match="'vec'"):
        write_vectors(tmp_path / "v", ["the"], [[1.0]], "vec")


def test_writing_replaces_a_file_but_not_a_full_folder(tmp_path: Path) -> None:
    for number in (1.0, 2.0):
        write_vectors(tmp_path / "v.npz", ["the"], [[number]])
    assert read_vectors(tmp_path / "v.npz")[1].tolist() == [[2]]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").touch()
    with pytest.raises(FileError, match="full"):
        write_vectors(tmp_path / "full", ["the"], [[1.0]], "folder")


def test_the_same_embedding_makes_the_same_gzip_file(tmp_path: Path) -> None:
    for name in ("a.txt.gz", "b.txt.gz"):
        write_vectors(tmp_path / name, WORDS, VECTORS)
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


@pytest.mark.parametrize("name", ["a.txt", "a.vec", "a.bin", "a.npz", "a.safetensors", "a.txt.gz"])
def test_reading_a_large_file_is_told_from_the_beginning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = make_space(300, 4)
    write_vectors(tmp_path / name, space.vocabulary.words, space.matrix)
    quiet: list[str] = []
    with watched_by(lambda what, _: quiet.append(what)):
        read_vectors(tmp_path / name)
    assert not quiet  # it takes no time
    monkeypatch.setattr(common, "_LARGE", 0)
    told: list[tuple[str, float]] = []
    with watched_by(lambda what, share: told.append((what, share))):
        read_vectors(tmp_path / name)
    assert told[0][1] == 0.0
    assert all(0.0 <= share <= 1.0 for _, share in told)
    if not name.endswith(".npz"):  # which is read at once
        assert any("GiB" in what for what, _ in told)
