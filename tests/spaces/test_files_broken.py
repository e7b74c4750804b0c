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

from wordveil.errors import WordveilError
from wordveil.spaces.files import load_vectors, read_vectors, write_vectors


def refusal(path: Path, form: str | None = None) -> str:
    with pytest.raises(WordveilError) as caught:
        read_vectors(path, format=form)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return sentence.replace(str(path), "FILE")


def refused(folder: Path, content: bytes, name: str = "some", form: str | None = None) -> str:
    (folder / name).write_bytes(content)
    return refusal(folder / name, form)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "FILE is empty"),
        (b"\n\n", "FILE, line 1: not a word followed by numbers"),
        (b"Just a letter.\n", "FILE, line 1: not a word followed by numbers"),
        (b"the 1 2\nsea 3\n", "FILE, line 2: 1 numbers where line 1 has 2"),
        (b"the 1 2\nnew york 3\n", "FILE, line 2: 1 numbers where line 1 has 2"),
        (b"the 1 2\nsea 3 4 5\n", "FILE, line 2: 3 numbers where line 1 has 2"),
        (b"the 1 2\nsea\n", "FILE, line 2: 0 numbers where line 1 has 2"),
        (b"the 1 2\nsea 3 4\nshi", "FILE, line 3: 0 numbers"),
        (b"the 1\nsea 1 2\n", "FILE, line 2: 2 numbers where line 1 has 1"),
        (b"the 1 2 3\nsea 1 x 3\n", "FILE, line 2: what should be number 2 is not a number"),
        (b"the 1 2 3\nsea 1 2 3,5\n", "FILE, line 2: what should be number 3 is not a number"),
        (b"the 1 2\nsea 1 1_0\n", "FILE, line 2: what should be number 2 is not a number"),
        (b"the 1 x 3\n", "FILE, line 1: not all that follows the word are numbers"),
        (b"the 1 2\n 3 4\n", "FILE, line 2: no word before the numbers"),
        (b"the 1 2\n\nsea 3 4\n", "FILE, line 2: an empty line"),
        (b"the 1 2\nsea nan 4\n", "FILE, line 2: a number is NaN, infinite or too large"),
        (b"the 1 2\nsea 3 -Inf\n", "FILE, line 2: a number is NaN, infinite or too large"),
        (b"the 1 2\nnew york 3 1e39\n", "FILE, line 2: a number is NaN, infinite or too large"),
        (b"the 1 2\nsea 3 4\nthe 5 6\n", "FILE, line 3: the word 'the' was already given in line 1"),
        (b"the 1 2\nse\xe4 3 4\n", "FILE, line 2: not valid UTF-8"),
        ("the 1 2\nsea 3 4\n".encode("utf-16"), "FILE, line 1: "),
        (b"x" * (1 << 25), "FILE, line 1: too long"),
    ],
)
def test_broken_glove_text(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refused(tmp_path, content).startswith(sentence)
    assert refused(tmp_path, gzip.compress(content), "some.gz").startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"the 1 2\n", "FILE, line 1: not a word2vec header"),
        (b"0 2\n", "FILE, line 1: the header promises no words or no numbers"),
        (b"2 0\nthe\nsea\n", "FILE, line 1: the header promises no words or no numbers"),
        (b"3 2\nthe 1.5 2.5\nsea 3.5 4.5\n", "FILE ends after line 3, but its header promises 3 words"),
        (b"1 2\nthe 1 2\nsea 3 4\n", "FILE, line 3: one word more than the 1 that the header promises"),
        (b"2 3\nthe 1.5 2.5\nsea 3.5 4.5\n", "FILE, line 2: 2 numbers where the header promises 3"),
        (b"2 1\nthe 1 2\nsea 3 4\n", "FILE, line 2: 2 numbers where the header promises 1"),
        (b"999999999999 300\nthe 1 2\n", "FILE, line 1: the header promises 999999999999 words of 300"),
        (b"2 2\nthe 1 2\nthe 3 4\n", "FILE, line 3: the word 'the' was already given in line 2"),
        (b"2 2\nthe 1 2\nsea 3 nan\n", "FILE, line 3: a number is NaN"),
    ],
)
def test_broken_word2vec_text(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refused(tmp_path, content, form="word2vec").startswith(sentence)


def test_a_header_that_a_packed_file_cannot_keep(tmp_path: Path) -> None:
    content = gzip.compress(b"999999999999 300\nthe 1 2\n")
    assert "words of 300 numbers, which do not fit" in refused(tmp_path, content, "some.vec.gz")


def test_a_long_word_is_cut_in_the_sentence(tmp_path: Path) -> None:
    line = b"x" * 5000 + b" 1 2\n"
    assert f"'{'x' * 40}…'" in refused(tmp_path, line + line)


RECORD = struct.pack("<4s2f", b"the ", 0.5, 1.0)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (RECORD, "FILE, line 1: not a word2vec header"),
        (b"2 2\n" + RECORD + b"sea \0\0\0?", "FILE, record 2: the file ends before this record does"),
        (b"2 2\n" + RECORD + b"seeeeeeeeeeea", "FILE, record 2: the file ends before this record does"),
        (b"1 2\n" + RECORD + b"sea \0\0\0?\0\0\0?", "FILE goes on after record 1"),
        (b"2 2\n" + RECORD + RECORD, "FILE, record 2: the word 'the' was already given in record 1"),
        (b"2 2\n" + RECORD + RECORD[3:], "FILE, record 2: the word is empty"),
        (b"1 2\n\xe4 " + RECORD[4:], "FILE, record 1: no word in UTF-8 where one should begin"),
        (b"1 2\nthe \0\0\xc0\x7f\0\0\0?", "FILE, record 1: a number is NaN"),
        (b"99999999999999999 9999999\n" + RECORD, "FILE, line 1: the header promises 9999999999"),
        (b"2 1\n" + b"x" * (1 << 22), "FILE, record 1: no word in UTF-8"),
    ],
)
def test_broken_word2vec_binary(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refused(tmp_path, content, "some.bin").startswith(sentence)
    assert refused(tmp_path, gzip.compress(content), "some.bin.gz").startswith(sentence)


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
    assert refused(tmp_path, bytes(content), name) == (
        "FILE is a gzip file that is cut short or damaged; fetch or pack it again."
    )


def archive(**arrays: Any) -> bytes:
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


WORDS, TABLE = np.array(["the", "sea"]), np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"words": WORDS}, "FILE has no array 'vectors'"),
        ({"vectors": TABLE}, "FILE has no array 'words'"),
        ({"words": WORDS, "vectors": TABLE[0]}, "FILE: 'vectors' must be a table"),
        ({"words": WORDS, "vectors": TABLE * 1j}, "FILE: 'vectors' must be a table of real numbers"),
        ({"words": WORDS, "vectors": TABLE > 0}, "FILE: 'vectors' must be a table of real numbers"),
        ({"words": WORDS[:1], "vectors": TABLE}, "FILE holds 1 words but 2 vectors"),
        ({"words": WORDS[:0], "vectors": TABLE[:0]}, "FILE holds no words"),
        ({"words": WORDS[None], "vectors": TABLE}, "FILE: 'words' must be a list of text"),
        ({"words": np.arange(2), "vectors": TABLE}, "FILE: 'words' must be a list of text"),
        ({"words": WORDS.astype(object), "vectors": TABLE}, "the array 'words' of FILE holds pickled"),
        ({"words": WORDS, "vectors": TABLE.astype(object)}, "the array 'vectors' of FILE holds pickled"),
        ({"words": WORDS, "vectors": TABLE * [[1], [np.inf]]}, "FILE, word 2: a number is NaN, infinite"),
        (
            {"words": WORDS[[0, 0]], "vectors": TABLE},
            "FILE, word 2: the word 'the' was already given in word 1",
        ),
        ({"words": np.array(["a\nb", "c"]), "vectors": TABLE}, "FILE, word 1: the word holds a line break"),
        ({"words": np.frombuffer(b"a\n\xff", np.uint8), "vectors": TABLE}, "FILE, word 2: not valid UTF-8"),
        (
            {"words": np.frombuffer(b"a\n\nb", np.uint8), "vectors": np.ones((3, 1))},
            "FILE, word 2: the word is empty",
        ),
    ],
)
def test_broken_npz(tmp_path: Path, arrays: dict[str, Any], sentence: str) -> None:
    assert refused(tmp_path, archive(**arrays), "some.npz").startswith(sentence)


def test_damaged_npz(tmp_path: Path) -> None:
    whole = archive(words=WORDS, vectors=TABLE)
    flipped = bytearray(whole)
    flipped[whole.index(TABLE.tobytes())] ^= 1
    for content in (whole[:-40], bytes(flipped), b"PK\x03\x04", b"no zip at all"):
        assert refused(tmp_path, content, "some.npz").startswith("FILE is not a whole .npz archive")


def test_npz_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**6)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(tmp_path / "some.npz", "w") as target:
        target.writestr("vectors.npy", header.getvalue())
        words = io.BytesIO()
        np.save(words, WORDS)
        target.writestr("words.npy", words.getvalue())
    assert refusal(tmp_path / "some.npz").startswith("the array 'vectors' of FILE is cut short")


JOINED = np.frombuffer(b"the\nsea", np.uint8)


@pytest.mark.parametrize(
    ("tensors", "sentence"),
    [
        ({"words": JOINED}, "FILE has no tensor 'vectors'"),
        ({"vectors": TABLE}, "FILE has no tensor 'words'"),
        ({"words": JOINED, "vectors": TABLE[0]}, "FILE: 'vectors' must be a table"),
        ({"words": JOINED, "vectors": TABLE.astype(int)}, "FILE: 'vectors' must be a table of 16-"),
        ({"words": JOINED.astype(int), "vectors": TABLE}, "FILE: 'words' must be one row of UTF-8 bytes"),
        ({"words": JOINED[:3], "vectors": TABLE}, "FILE holds 1 words but 2 vectors"),
        ({"words": JOINED[:0], "vectors": TABLE[:0]}, "FILE holds no words"),
        ({"words": JOINED, "vectors": TABLE * np.float32(np.nan)}, "FILE, word 1: a number is NaN"),
    ],
)
def test_broken_safetensors(tmp_path: Path, tensors: dict[str, Any], sentence: str) -> None:
    save_file(tensors, tmp_path / "some.safetensors")
    assert refusal(tmp_path / "some.safetensors").startswith(sentence)


def test_damaged_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    save_file({"words": JOINED, "vectors": TABLE}, path)
    whole = path.read_bytes()
    for content in (whole[:-4], whole[:20], b"no tensors", struct.pack("<Q", 10**15) + whole[8:]):
        assert refused(tmp_path, content, path.name).startswith("FILE is not a whole .safetensors file")


def test_broken_folders(tmp_path: Path) -> None:
    path = tmp_path / "space"
    path.mkdir()
    assert "is a folder but not an embedding (it lacks vectors.npy and words.txt)" in refusal(path)
    np.save(path / "vectors.npy", TABLE)
    assert "(it lacks words.txt)" in refusal(path)
    (path / "words.txt").write_text("the\n")
    assert "FILE/words.txt holds 1 words but 2 vectors" in refusal(path)
    (path / "words.txt").write_text("the\nthe\n")
    assert "FILE/words.txt, line 2: the word 'the' was already given in line 1" in refusal(path)
    (path / "words.txt").write_bytes(b"the\n\xff\n")
    assert "FILE/words.txt, line 2: not valid UTF-8" in refusal(path)
    (path / "words.txt").write_bytes(gzip.compress(b"the\nsea\n"))
    assert "FILE/words.txt is gzipped; unpack it first" in refusal(path)
    (path / "words.txt").write_bytes(b"the\nsea\n" + b"x" * (2 << 20))
    assert "FILE/words.txt is far too large for the words of 2 vectors" in refusal(path)
    (path / "words.txt").write_text("the\nsea\n")
    content = (path / "vectors.npy").read_bytes()
    (path / "vectors.npy").write_bytes(content[:-1])
    assert "FILE/vectors.npy is cut short or damaged" in refusal(path)
    (path / "vectors.npy").write_bytes(b"garbage")
    assert "FILE/vectors.npy is not an array that numpy can read" in refusal(path)
    np.save(path / "vectors.npy", np.array([[None]]), allow_pickle=True)
    assert "FILE/vectors.npy holds pickled Python objects" in refusal(path)
    assert "is a folder where a file is meant" in refusal(path, "glove")
    assert "is a file where a folder is meant" in refusal(path / "words.txt", "folder")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "FILE is a fastText model, not its vectors; give the .vec file"),
        (b"\x93NUMPY\x01\0", "FILE is an array without words"),
        (b"\x80\x04\x95garbage", "FILE is a pickle, which is never loaded"),
    ],
)
def test_files_of_other_programs(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refused(tmp_path, content, "model.bin").startswith(sentence)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing.txt") == "there is no file FILE; check the path."
    (tmp_path / "file").touch()
    assert "there is no file" in refusal(tmp_path / "file" / "below")
    assert "cannot be read" in refusal(tmp_path / ("long" * 100))
    assert refusal(tmp_path / "file", "glove").startswith("FILE is empty")
    with pytest.raises(WordveilError, match="no format 'csv'; choose one of: glove"):
        read_vectors(tmp_path / "file", format="csv")
    with pytest.raises(WordveilError, match="there is no file"):
        load_vectors(tmp_path / "missing.txt")


@pytest.mark.skipif(os.name != "posix", reason="no named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").startswith("FILE is not a regular file")
    with pytest.raises(WordveilError, match="a device or a pipe"):
        write_vectors(tmp_path / "pipe", ["a"], [[1.0]], "glove")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("the 1 2\n")
    path.chmod(0)
    assert refusal(path).startswith("FILE cannot be read (Permission denied)")
