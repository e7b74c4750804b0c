"""Opening spaces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.errors import SpaceError
from wordveil.spaces import EuclideanSpace, GraphSpace, RingSpace, Vocabulary, bundled_facts, load_space
from wordveil.spaces.files import write_vectors
from wordveil.text import tokenise


def test_the_bundled_space_is_what_its_checksum_says(glove: EuclideanSpace) -> None:
    facts = bundled_facts("glove-50k")
    assert glove.checksum == facts["checksum"]
    assert (len(glove), glove.dimension) == (facts["words"], facts["dimension"]) == (50_000, 100)
    graph = GraphSpace.of(glove)
    assert graph.checksum == facts["graph_checksum"]


def test_the_bundled_graph_is_the_graph_of_the_bundled_vectors(glove: EuclideanSpace) -> None:
    graph = GraphSpace.of(glove)
    sample = np.array([0, 17, 4_000, 49_999])
    for word, listed in zip(sample, glove.similar(sample, 10)[0], strict=True):
        row = graph.indices[graph.indptr[word] : graph.indptr[word + 1]]
        assert set(listed.tolist()) <= set(row.tolist())
    sizes = graph.shell_sizes(sample)
    assert (sizes.sum(axis=1) == 50_000).all()
    assert np.array_equal(graph.search.sizes(sample[:1])[0], sizes[0][: len(graph.search.sizes(sample[:1])[0])])


def test_the_bundled_ring_visits_every_word(glove: EuclideanSpace) -> None:
    assert np.array_equal(np.sort(RingSpace.of(glove).tour), np.arange(50_000))


def test_every_bundled_word_is_one_token(glove: EuclideanSpace) -> None:
    for word in glove.vocabulary.words[::97]:
        assert tokenise(word) == (["", word, ""], [word])


def test_an_embedding_file(tmp_path: Path) -> None:
    space = make_space(40, 6)
    write_vectors(tmp_path / "toy.txt", space.vocabulary.words, space.matrix)
    opened = load_space(tmp_path / "toy.txt")
    assert isinstance(opened, EuclideanSpace)
    assert opened.vocabulary.words == space.vocabulary.words
    assert np.allclose(opened.matrix, space.matrix, atol=1e-5)
    unit = load_space(str(tmp_path / "toy.txt"), normalise=True)
    assert isinstance(unit, EuclideanSpace)
    assert np.allclose(np.linalg.norm(unit.matrix, axis=1), 1, atol=1e-5)


def test_what_is_not_there() -> None:
    with pytest.raises(SpaceError, match="glove-50k"):
        load_space("nothing-here")


def test_facts_are_json() -> None:
    assert json.dumps(bundled_facts("glove-50k"))


@pytest.mark.parametrize("words", [["ΑΣ", "The", "Σ", "İ"], ["ΑΣ", "a\nB", "\n"]])
def test_words_are_among_others_in_lower_case(words: list[str]) -> None:
    for word in words:
        assert Vocabulary(words).among({word.lower()}).tolist() == [other == word for other in words]
