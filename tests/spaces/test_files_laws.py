"""Laws of the embedding files: what is written is read, and garbage is only ever refused."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.spaces.files import FORMATS, read_vectors, write_vectors

FILE_FORMATS = [form for form in FORMATS if form != "folder"]
Embedding = tuple[list[str], NDArray[np.float32]]
SMALL: Embedding = (["the", "sea", "ship"], np.array([[1, 2.5], [-0.25, 4], [5, 6]], np.float32))


@st.composite
def embeddings(draw: st.DrawFn) -> Embedding:
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
    words = draw(st.lists(st.text(letters, min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
    floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
    vectors = draw(arrays(np.float32, (len(words), draw(st.integers(1, 5))), elements=floats))
    return words, vectors


@settings(max_examples=150, deadline=None, derandomize=True)
@given(embeddings(), st.sampled_from(FORMATS), st.booleans())
def test_what_is_written_is_read(embedding: Embedding, form: str, packed: bool) -> None:
    words, vectors = embedding
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v.gz" if packed and form != "folder" else "v")
        try:
            write_vectors(path, words, vectors, form)
        except WordveilError:
            assert form in {"glove", "word2vec", "word2vec-binary"}
            assert any(set(" \t\r\v\f") & set(word) or word.startswith("\ufeff") for word in words)
            return
        found, numbers = read_vectors(path, format=form)
        assert found == words
        np.testing.assert_array_equal(numbers, vectors)


def refused_or_whole(content: bytes, name: str, form: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            words, vectors = read_vectors(path, format=form)
        except WordveilError as error:
            assert str(error).endswith(".")  # noqa: PT017
        else:
            assert len(words) == len(set(words)) == len(vectors)
            assert np.isfinite(vectors).all()


NAMES = st.sampled_from(["v", "v.txt", "v.vec", "v.bin", "v.npz", "v.safetensors"])
SCRAPS = st.sampled_from(
    [b"", b"2 2\n", b"the 1 2\n", b"\x1f\x8b\x08\0", b"PK\x03\x04", b"\x10\0\0\0\0\0\0\0{", b"\x93NUMPY\x01\0"]
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(SCRAPS, st.binary(max_size=200), NAMES, st.sampled_from([None, *FILE_FORMATS]), st.booleans())
def test_garbage_is_only_refused(start: bytes, rest: bytes, name: str, form: str | None, packed: bool) -> None:
    content = start + rest
    refused_or_whole(gzip.compress(content) if packed else content, name, form)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*b"the sea\n\r\t .-+e0123456789nai_x\xff\xc3\xa9"]), max_size=60).map(bytes),
    st.sampled_from(["glove", "word2vec", None]),
)
def test_text_of_the_right_letters_is_only_refused(content: bytes, form: str | None) -> None:
    refused_or_whole(content, "v.txt", form)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(FILE_FORMATS),
    st.booleans(),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=3),
    st.floats(0, 1),
)
def test_damaged_files_are_only_refused(form: str, packed: bool, changes: list[tuple[float, int]], keep: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v")
        write_vectors(path, *SMALL, form)
        content = bytearray(path.read_bytes())
    if packed:
        content = bytearray(gzip.compress(bytes(content)))
    for place, value in changes:
        content[int(place * (len(content) - 1))] = value
    if keep < 0.5:
        del content[int(2 * keep * len(content)) :]
    refused_or_whole(bytes(content), "v", form)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=3), st.floats(0, 1))
def test_damaged_folders_are_only_refused(changes: list[tuple[float, int]], keep: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "space")
        write_vectors(path, *SMALL, "folder")
        content = bytearray((path / "vectors.npy").read_bytes())
        for place, value in changes:
            content[int(place * (len(content) - 1))] = value
        (path / "vectors.npy").write_bytes(content[: int(2 * keep * len(content))])
        try:
            words, vectors = read_vectors(path)
        except WordveilError:
            return
        assert len(words) == len(vectors)
