"""Broken embedding files get one clear sentence that names the place."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from wordveil.errors import FileError, OptionError, SpaceError, WordveilError
from wordveil.spaces.files import load_vectors, read_vectors, write_vectors


def refusal(path: Path, form: str | None = None) -> WordveilError:
    with pytest.raises(WordveilError) as caught:
        read_vectors(path, format=form)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def is_about(error: WordveilError, kind: type[WordveilError], place: str = "") -> None:
    """Check the class of a refusal, and that it names the line, record, word, array or file that is meant."""
    assert type(error) is kind
    assert place in str(error)


def refused(folder: Path, content: bytes, name: str = "some", form: str | None = None) -> WordveilError:
    (folder / name).write_bytes(content)
    return refusal(folder / name, form)


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (b"", FileError, ""),
        (b"\n\n", SpaceError, "line 1"),
        (b"Just a letter.\n", SpaceError, "line 1"),
        (b"the 1 2\nsea 3\n", SpaceError, "line 2"),
        (b"the 1 2\nnew york 3\n", SpaceError, "line 2"),
        (b"the 1 2\nsea 3 4 5\n", SpaceError, "line 2"),
        (b"the 1 2\nsea\n", SpaceError, "line 2"),
        (b"the 1 2\nsea 3 4\nshi", SpaceError, "line 3"),
        (b"the 1\nsea 1 2\n", SpaceError, "line 2"),
        (b"the 1 2 3\nsea 1 x 3\n", SpaceError, "line 2"),
        (b"the 1 2 3\nsea 1 2 3,5\n", SpaceError, "line 2"),
        (b"the 1 2\nsea 1 1_0\n", SpaceError, "line 2"),
        (b"the 1 x 3\n", SpaceError, "line 1"),
        (b"the 1 2\n 3 4\n", SpaceError, "line 2"),
        (b"the 1 2\n\nsea 3 4\n", SpaceError, "line 2"),
        (b"the 1 2\nsea nan 4\n", SpaceError, "line 2"),
        (b"the 1 2\nsea 3 -Inf\n", SpaceError, "line 2"),
        (b"the 1 2\nnew york 3 1e39\n", SpaceError, "line 2"),
        (b"the 1 2\nsea 3 4\nthe 5 6\n", SpaceError, "line 3"),
        (b"the 1 2\nse\xe4 3 4\n", SpaceError, "line 2"),
        ("the 1 2\nsea 3 4\n".encode("utf-16"), SpaceError, "line 1"),
        (b"x" * (1 << 25), SpaceError, "line 1"),
    ],
)
def test_broken_glove_text(tmp_path: Path, content: bytes, kind: type[WordveilError], place: str) -> None:
    is_about(refused(tmp_path, content), kind, place)
    is_about(refused(tmp_path, gzip.compress(content), "some.gz"), kind, place)


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (b"the 1 2\n", SpaceError, "line 1"),
        (b"0 2\n", SpaceError, "line 1"),
        (b"2 0\nthe\nsea\n", SpaceError, "line 1"),
        (b"3 2\nthe 1.5 2.5\nsea 3.5 4.5\n", FileError, "line 3"),
        (b"1 2\nthe 1 2\nsea 3 4\n", SpaceError, "line 3"),
        (b"2 3\nthe 1.5 2.5\nsea 3.5 4.5\n", SpaceError, "line 2"),
        (b"2 1\nthe 1 2\nsea 3 4\n", SpaceError, "line 2"),
        (b"999999999999 300\nthe 1 2\n", FileError, "line 1"),
        (b"2 2\nthe 1 2\nthe 3 4\n", SpaceError, "line 3"),
        (b"2 2\nthe 1 2\nsea 3 nan\n", SpaceError, "line 3"),
    ],
)
def test_broken_word2vec_text(tmp_path: Path, content: bytes, kind: type[WordveilError], place: str) -> None:
    is_about(refused(tmp_path, content, form="word2vec"), kind, place)


def test_a_header_that_a_packed_file_cannot_keep(tmp_path: Path) -> None:
    content = gzip.compress(b"999999999999 300\nthe 1 2\n")
    is_about(refused(tmp_path, content, "some.vec.gz"), FileError, "line 1")


def test_a_long_word_is_cut_in_the_sentence(tmp_path: Path) -> None:
    line = b"x" * 5000 + b" 1 2\n"
    is_about(refused(tmp_path, line + line), SpaceError, f"'{'x' * 40}…'")


RECORD = struct.pack("<4s2f", b"the ", 0.5, 1.0)


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (RECORD, SpaceError, "line 1"),
        (b"2 2\n" + RECORD + b"sea \0\0\0?", FileError, "record 2"),
        (b"2 2\n" + RECORD + b"seeeeeeeeeeea", FileError, "record 2"),
        (b"1 2\n" + RECORD + b"sea \0\0\0?\0\0\0?", SpaceError, "record 1"),
        (b"2 2\n" + RECORD + RECORD, SpaceError, "record 2"),
        (b"2 2\n" + RECORD + RECORD[3:], SpaceError, "record 2"),
        (b"1 2\n\xe4 " + RECORD[4:], SpaceError, "record 1"),
        (b"1 2\nthe \0\0\xc0\x7f\0\0\0?", SpaceError, "record 1"),
        (b"99999999999999999 9999999\n" + RECORD, FileError, "line 1"),
        (b"2 1\n" + b"x" * (1 << 22), SpaceError, "record 1"),
    ],
)
def test_broken_word2vec_binary(tmp_path: Path, content: bytes, kind: type[WordveilError], place: str) -> None:
    is_about(refused(tmp_path, content, "some.bin"), kind, place)
    is_about(refused(tmp_path, gzip.compress(content), "some.bin.gz"), kind, place)


@pytest.mark.parametrize("name", ["some.txt.gz", "some.npz.gz", "some.safetensors.gz", "some.bin.gz"])
@pytest.mark.parametrize("damage", ["cut short", "changed"])
def test_damaged_gzip(tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / name
    vectors = np.random.default_rng(1).normal(size=(3000, 20))
    write_vectors(path, [f"w{number}" for number in range(3000)], vectors)
    content = bytearray(path.read_bytes())
    if damage == "cut short":
        del content[-3000:]
    else:
        content[-6] ^= 1
    is_about(refused(tmp_path, bytes(content), name), FileError, "gzip")


def archive(**arrays: Any) -> bytes:
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


WORDS, TABLE = np.array(["the", "sea"]), np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "kind", "place"),
    [
        ({"words": WORDS}, SpaceError, "'vectors'"),
        ({"vectors": TABLE}, SpaceError, "'words'"),
        ({"words": WORDS, "vectors": TABLE[0]}, SpaceError, "'vectors'"),
        ({"words": WORDS, "vectors": TABLE * 1j}, SpaceError, "'vectors'"),
        ({"words": WORDS, "vectors": TABLE > 0}, SpaceError, "'vectors'"),
        ({"words": WORDS[:1], "vectors": TABLE}, SpaceError, ""),
        ({"words": WORDS[:0], "vectors": TABLE[:0]}, SpaceError, ""),
        ({"words": WORDS[None], "vectors": TABLE}, SpaceError, "'words'"),
        ({"words": np.arange(2), "vectors": TABLE}, SpaceError, "'words'"),
        ({"words": WORDS.astype(object), "vectors": TABLE}, FileError, "'words'"),
        ({"words": WORDS, "vectors": TABLE.astype(object)}, FileError, "'vectors'"),
        ({"words": WORDS, "vectors": TABLE * [[1], [np.inf]]}, SpaceError, "word 2"),
        ({"words": WORDS[[0, 0]], "vectors": TABLE}, SpaceError, "word 2"),
        ({"words": np.array(["a\nb", "c"]), "vectors": TABLE}, SpaceError, "word 1"),
        ({"words": np.frombuffer(b"a\n\xff", np.uint8), "vectors": TABLE}, SpaceError, "word 2"),
        ({"words": np.frombuffer(b"a\n\nb", np.uint8), "vectors": np.ones((3, 1))}, SpaceError, "word 2"),
    ],
)
def test_broken_npz(tmp_path: Path, arrays: dict[str, Any], kind: type[WordveilError], place: str) -> None:
    is_about(refused(tmp_path, archive(**arrays), "some.npz"), kind, place)


def test_damaged_npz(tmp_path: Path) -> None:
    whole = archive(words=WORDS, vectors=TABLE)
    flipped = bytearray(whole)
    flipped[whole.index(TABLE.tobytes())] ^= 1
    for content in (whole[:-40], bytes(flipped), b"PK\x03\x04", b"no zip at all"):
        is_about(refused(tmp_path, content, "some.npz"), FileError)


def test_npz_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**6)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(tmp_path / "some.npz", "w") as target:
        target.writestr("vectors.npy", header.getvalue())
        words = io.BytesIO()
        np.save(words, WORDS)
        target.writestr("words.npy", words.getvalue())
    is_about(refusal(tmp_path / "some.npz"), FileError, "'vectors'")


JOINED = np.frombuffer(b"the\nsea", np.uint8)


@pytest.mark.parametrize(
    ("tensors", "kind", "place"),
    [
        ({"words": JOINED}, SpaceError, "'vectors'"),
        ({"vectors": TABLE}, SpaceError, "'words'"),
        ({"words": JOINED, "vectors": TABLE[0]}, SpaceError, "'vectors'"),
        ({"words": JOINED, "vectors": TABLE.astype(int)}, SpaceError, "'vectors'"),
        ({"words": JOINED.astype(int), "vectors": TABLE}, SpaceError, "'words'"),
        ({"words": JOINED[:3], "vectors": TABLE}, SpaceError, ""),
        ({"words": JOINED[:0], "vectors": TABLE[:0]}, SpaceError, ""),
        ({"words": JOINED, "vectors": TABLE * np.float32(np.nan)}, SpaceError, "word 1"),
    ],
)
def test_broken_safetensors(tmp_path: Path, tensors: dict[str, Any], kind: type[WordveilError], place: str) -> None:
    save_file(tensors, tmp_path / "some.safetensors")
    is_about(refusal(tmp_path / "some.safetensors"), kind, place)


def test_damaged_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    save_file({"words": JOINED, "vectors": TABLE}, path)
    whole = path.read_bytes()
    for content in (whole[:-4], whole[:20], b"no tensors", struct.pack("<Q", 10**15) + whole[8:]):
        is_about(refused(tmp_path, content, path.name), FileError)


def test_broken_folders(tmp_path: Path) -> None:
    path = tmp_path / "space"
    path.mkdir()
    is_about(refusal(path), FileError, "vectors.npy and words.txt")
    np.save(path / "vectors.npy", TABLE)
    is_about(refusal(path), FileError, "words.txt")
    for content, kind, place in (
        (b"the\n", SpaceError, "words.txt"),
        (b"the\nthe\n", SpaceError, "words.txt, line 2"),
        (b"the\n\xff\n", SpaceError, "words.txt, line 2"),
        (gzip.compress(b"the\nsea\n"), FileError, "gzipped"),
        (b"the\nsea\n" + b"x" * (2 << 20), SpaceError, "words.txt"),
    ):
        (path / "words.txt").write_bytes(content)
        is_about(refusal(path), kind, place)
    (path / "words.txt").write_text("the\nsea\n")
    content = (path / "vectors.npy").read_bytes()
    for damaged in (content[:-1], b"garbage"):
        (path / "vectors.npy").write_bytes(damaged)
        is_about(refusal(path), FileError, "vectors.npy")
    np.save(path / "vectors.npy", np.array([[None]]), allow_pickle=True)
    is_about(refusal(path), FileError, "pickle")
    is_about(refusal(path, "glove"), FileError)
    is_about(refusal(path / "words.txt", "folder"), FileError)


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", SpaceError, ".vec"),
        (b"\x93NUMPY\x01\0", SpaceError, "vectors.npy"),
        (b"\x80\x04\x95garbage", SpaceError, "pickle"),
    ],
)
def test_files_of_other_programs(tmp_path: Path, content: bytes, kind: type[WordveilError], place: str) -> None:
    is_about(refused(tmp_path, content, "model.bin"), kind, place)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing.txt", tmp_path / "file" / "below", tmp_path / ("long" * 100)):
        is_about(refusal(path), FileError)
    is_about(refusal(tmp_path / "file", "glove"), FileError)
    with pytest.raises(OptionError, match="'csv'"):
        read_vectors(tmp_path / "file", format="csv")
    with pytest.raises(FileError):
        load_vectors(tmp_path / "missing.txt")


@pytest.mark.skipif(os.name != "posix", reason="no named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    is_about(refusal(tmp_path / "pipe"), FileError)
    with pytest.raises(FileError):
        write_vectors(tmp_path / "pipe", ["a"], [[1.0]], "glove")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("the 1 2\n")
    path.chmod(0)
    is_about(refusal(path), FileError)
