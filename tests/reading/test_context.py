"""The context reader: a posterior that sums to 1, is calibrated, and knows more than one word at a time tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import make_space, names
from wordveil import Entropy, FileError, InputError, OptionError, Reader, mechanism

pytest.importorskip("torch")

from wordveil.reading import context
from wordveil.reading.network import Size

WORDS = 40
SPACE = make_space(WORDS, 6, seed=3)
NAMES = names(WORDS)
MADE = mechanism("graph", SPACE, epsilon=4.5, k=4)
SMALL = Size(layers=2, width=48, heads=2, steps=400, batch=32, rate=3e-3, dropout=0.1)


def release(texts: int, seed: int) -> tuple[list[str], NDArray[np.int64]]:
    """Veil texts that are alike, as forms and tickets are: each is one of a few sentences."""
    sentences = np.random.default_rng(0).integers(0, WORDS, (6, 8))
    clean = sentences[np.random.default_rng(seed).integers(0, len(sentences), texts)]
    drawn = MADE.draw(clean.ravel(), Entropy(seed)).reshape(clean.shape)
    return [" ".join(NAMES[word] for word in row) for row in drawn], clean


@pytest.fixture(scope="module")
def fitted() -> Reader:
    usual, context.Context.size = context.Context.size, SMALL
    try:
        return Reader(MADE, kind="context", select="all").fit(release(600, 1)[0])
    finally:
        context.Context.size = usual


def test_context_finds_more_words_than_one_at_a_time_and_knows_how_sure_it_may_be(fitted: Reader) -> None:
    texts, clean = release(150, 2)
    one_at_a_time = Reader(MADE, kind="population", select="all").fit(texts)
    sure, right = [], []
    rates = {}
    for name, reader in (("context", fitted), ("population", one_at_a_time)):
        hits = []
        for text, words in zip(texts, clean, strict=True):
            places = reader.posterior(text, top=WORDS)
            for place, word in zip(places, words.tolist(), strict=True):
                assert sum(place.probabilities) == pytest.approx(1.0, abs=1e-3)
                hits.append(place.words[0] == NAMES[word])
                if name == "context":
                    sure.append(place.probabilities[0])
                    right.append(hits[-1])
        rates[name] = np.mean(hits)
    assert rates["context"] > rates["population"] + 0.1
    assert np.mean(sure) == pytest.approx(np.mean(right), abs=0.1)


def test_what_is_read_is_saved_and_comes_back(fitted: Reader, tmp_path: Path) -> None:
    texts, _ = release(20, 3)
    fitted.save(tmp_path / "reader.npz")
    again = Reader.load(tmp_path / "reader.npz", space=SPACE)
    assert again.kind == "context"
    assert again.transform(texts) == pytest.approx(fitted.transform(texts), abs=1e-4)
    assert again.best(texts[0]) == fitted.best(texts[0])


def test_a_text_released_twice_says_more(fitted: Reader) -> None:
    first, clean = release(60, 4)
    drawn = MADE.draw(clean.ravel(), Entropy(5)).reshape(clean.shape)
    second = [" ".join(NAMES[word] for word in row) for row in drawn]
    hits = np.zeros(2)
    for text, other, words in zip(first, second, clean.tolist(), strict=True):
        for number, others in enumerate(([], [other])):
            places = fitted.posterior(text, top=1, others=others)
            hits[number] += sum(place.words[0] == NAMES[word] for place, word in zip(places, words, strict=True))
    assert hits[1] > hits[0]


def test_long_texts_are_read_in_windows(fitted: Reader) -> None:
    texts, _ = release(60, 6)
    long = " ".join(texts)
    assert len(fitted.posterior(long, top=1)) == 480
    assert fitted.transform([long, ""]).shape == (2, 6)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    reader = Reader(MADE, kind="context", select="all")
    with pytest.raises(OptionError):
        reader.transform(["a text"])
    with pytest.raises(InputError):
        reader.fit([])
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"nothing")
    with pytest.raises(FileError):
        Reader.load(broken, space=SPACE)
