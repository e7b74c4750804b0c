"""The context reader: a posterior that sums to 1, is calibrated, and knows more than one word at a time tells."""

from __future__ import annotations

import csv
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import make_space, names
from wordveil import Entropy, FileError, InputError, OptionError, Reader, Veil, load_space, mechanism

pytest.importorskip("torch")

from wordveil.reading import context
from wordveil.reading.network import Size

WORDS = 40
SPACE = make_space(WORDS, 6, seed=3)
NAMES = names(WORDS)
MADE = mechanism("graph", SPACE, epsilon=4.5, k=4)
SMALL, QUICK = (
    Size(width=48, heads=2, towers=1, questions=1, words=48),
    context.Schedule(least=700, most=700, batch=256, rate=3e-3),
)


def release(texts: int, seed: int) -> tuple[list[str], NDArray[np.int64]]:
    """Veil texts that are alike, as forms and tickets are: each is one of a few sentences."""
    sentences = np.random.default_rng(0).integers(0, WORDS, (6, 8))
    clean = sentences[np.random.default_rng(seed).integers(0, len(sentences), texts)]
    drawn = MADE.draw(clean.ravel(), Entropy(seed)).reshape(clean.shape)
    return [" ".join(NAMES[word] for word in row) for row in drawn], clean


@pytest.fixture(scope="module")
def fitted() -> Reader:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context.Context, "size", SMALL)
        patch.setattr(context.Context, "schedule", QUICK)
        return Reader(MADE, kind="context", select="all", once=False).fit(release(600, 1)[0])


def test_context_finds_more_words_than_one_at_a_time_and_knows_how_sure_it_may_be(fitted: Reader) -> None:
    texts, clean = release(150, 2)
    one_at_a_time = Reader(MADE, kind="population", select="all", once=False).fit(texts)
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
    loaded, copied = Reader.load(tmp_path / "reader.npz", space=SPACE), pickle.loads(pickle.dumps(fitted))  # noqa: S301
    for again in (loaded, copied):
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


def test_an_output_that_none_of_the_words_considered_gives_leaves_the_prior() -> None:
    made = mechanism("custext", SPACE, epsilon=2.0, k=3)
    alone = np.flatnonzero(made.law().rows(np.arange(WORDS))[0] == 0.0)  # outputs of other groups than that of word 0
    reader = Reader(made, kind="context", select="all").tune(steps=0, candidates=1, fresh=True)
    text = " ".join(NAMES[word] for word in alone)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        places = reader.fit([text]).posterior(text, top=2)
    assert all(np.isfinite(place.probabilities).all() for place in places)
    assert np.isfinite(reader.transform([text])).all()


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


def test_a_network_that_has_learnt_nothing_leaves_the_posterior_of_the_population() -> None:
    texts, _ = release(40, 7)
    fresh = Reader(MADE, kind="context", select="all").tune(steps=1, fresh=True).fit(texts)
    one_at_a_time = Reader(MADE, kind="population", select="all").fit(texts)
    for place, alone in zip(fresh.posterior(texts[0]), one_at_a_time.posterior(texts[0]), strict=True):
        assert place.probabilities == pytest.approx(alone.probabilities, abs=0.02)


def test_reading_tells_how_far_it_is_before_the_law_has_been_asked_everything() -> None:
    told: list[float] = []
    texts, _ = release(10, 5)
    made = mechanism("exponential", make_space(WORDS), epsilon=2.0)
    fresh = Reader(made, kind="context", select="all").tune(steps=1, fresh=True).fit(texts)
    fresh.posterior("A " + " ".join(names(WORDS)), watch=lambda _, share: told.append(share))
    assert told == sorted(told)
    assert 0 < told[0] <= 0.5 < told[-1] == 1


def test_weights_that_come_with_the_package_read_without_a_fit(sample_csv: Path) -> None:
    with sample_csv.open(encoding="utf-8", newline="") as file:
        clean = [row["text"] for row in csv.DictReader(file)][:60]
    made = mechanism("graph", load_space("glove-50k"), epsilon=6.0)
    veiled = [release.text for release in Veil(made, seed=1).many(clean)]
    found = {}
    for kind in ("table", "context"):
        reader = Reader(made, kind=kind)
        cut = reader._cutter.cut
        places, originals = cut(veiled), cut(clean).ids
        found[kind] = np.mean(reader._kind.best(places) == originals[places.veiled])
    assert found["context"] > 1.2 * found["table"]
    # Equal outputs of a text are one draw of one word, with what stands around both places; drawn each time, two.
    text = "The doctor spoke to the patient. Later the river rose, and the doctor left."
    shared, apart = (Reader(made, kind="context", once=once).posterior(text) for once in (True, False))
    assert shared[0].probabilities == pytest.approx(shared[-2].probabilities)
    assert apart[0].probabilities != pytest.approx(apart[-2].probabilities)
    assert shared[1].probabilities == pytest.approx(apart[1].probabilities, rel=1e-3)


def test_a_few_texts_leave_the_weights_that_come_with_the_package() -> None:
    space = load_space("glove-50k")
    made = mechanism("graph", space, epsilon=5.0)
    veiled = [release.text for release in Veil(made, seed=2).many(["the river rose over the fields"] * 10)]
    guesses = []
    for steps in (None, 0):
        reader = Reader(made, kind="context").tune(steps=steps, candidates=2000)
        places = reader.cut(veiled)
        guesses.append(reader.fit_places(places).guesses(places))
    as_fitted, as_it_comes = guesses
    assert np.array_equal(as_fitted, as_it_comes)


def test_public_texts_are_learnt_from_before_any_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context.Context, "size", SMALL)
    monkeypatch.setattr(context.Context, "schedule", QUICK._replace(least=200, most=200))
    sentences = np.random.default_rng(0).integers(0, WORDS, (6, 8))
    public = [" ".join(NAMES[word] for word in sentences[number % 6]) for number in range(300)]
    reader = Reader(MADE, kind="context", select="all").pretrain(public)
    veiled, clean = release(100, 8)
    right = [
        place.words[0] == NAMES[word]
        for text, words in zip(veiled, clean.tolist(), strict=True)
        for place, word in zip(reader.posterior(text, top=1), words, strict=True)
    ]
    alone = MADE.law().best_guess(np.ones(WORDS)).success.value
    assert np.mean(right) > alone + 0.15
    with pytest.raises(OptionError):
        Reader(MADE, select="all").pretrain(public)
