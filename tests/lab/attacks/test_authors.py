from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.attacks.doubles import Blank, texts_of
from tests.conftest import make_space, names
from wordveil import Veil
from wordveil.errors import InputError, OptionError
from wordveil.lab.attacks import CharacterSvm, Corpus, Koppel, attack_authors, attribute
from wordveil.lab.attacks.authors import Attributor, space_free_ngrams

METHODS: list[Callable[[], Attributor]] = [lambda: Koppel(times=20), CharacterSvm]


def corpus(texts: int = 40, seed: int = 0) -> Corpus:
    """Make three authors who like different words."""
    generator = np.random.default_rng(seed)
    words = names(60)
    found: list[str] = []
    for author in range(3):
        weights = np.full(60, 1.0)
        weights[author::3] = 6.0
        found += texts_of(words, texts, 30, int(generator.integers(1 << 30)), weights / weights.sum())
    return Corpus(found, [f"author {number}" for number in range(3) for _ in range(texts)])


BLANK = Veil(Blank(make_space(60, 3)), select="all", seed=1, unproven=True)


def blanked(texts: Sequence[str]) -> list[str]:
    return [release.text for release in BLANK.many(texts)]


def test_ngrams_do_not_cross_spaces() -> None:
    assert space_free_ngrams("I saw Shipwrecks") == ["i", "saw", *["shipwrecks"[i : i + 4] for i in range(7)]]


def test_a_corpus_is_split_author_by_author() -> None:
    whole = Corpus([f"text {number}" for number in range(21)], ["a"] * 12 + ["b"] * 8 + ["c"])
    known, unknown = whole.split(0.25, seed=3)
    assert sorted([*known.texts, *unknown.texts]) == sorted(whole.texts)
    assert [list(unknown.authors).count(author) for author in "abc"] == [3, 2, 0]
    assert whole.split(0.25, seed=3)[1].texts == unknown.texts
    with pytest.raises(InputError):
        Corpus(["one", "two"], ["a", "b"]).split(0.5)
    with pytest.raises(OptionError):
        whole.split(1.0)
    with pytest.raises(InputError):
        Corpus(["one"], [])


@pytest.mark.parametrize("method", METHODS)
def test_clean_texts_give_their_authors_away_and_blind_ones_do_not(method: Callable[[], Attributor]) -> None:
    known, unknown = corpus().split(0.5)
    clean, static, adaptive = attack_authors(method(), known, unknown, blanked)
    assert [(one.trained_on, one.tested_on) for one in (clean, static, adaptive)] == [
        ("clean", "clean"), ("clean", "veiled"), ("veiled", "veiled")
    ]  # fmt: skip
    assert clean.right.low > 0.9
    assert static.right.low < 1 / 3 < static.right.high
    assert adaptive.right.low < 1 / 3 < adaptive.right.high
    assert clean.blind.value == pytest.approx(1 / 3)
    assert clean.authors == 3
    assert clean.to_dict()["right"]["n"] == 60
    assert [one.kind for one in (clean, static, adaptive)] == ["clean", "static", "adaptive"]
    (alone,) = attack_authors(method(), known, unknown, lambda _: pytest.fail("nothing to veil"), kinds=["clean"])
    assert alone == clean
    with pytest.raises(OptionError):
        attack_authors(method(), known, unknown, blanked, kinds=["lazy"])


@pytest.mark.parametrize("method", METHODS)
def test_an_adversary_who_veils_his_own_texts_undoes_a_fixed_spelling(method: Callable[[], Attributor]) -> None:
    known, unknown = corpus().split(0.5)
    letters = str.maketrans("abcdefghijqz", "lkjihgfedcba")

    def spelt(texts: Sequence[str]) -> list[str]:
        return [text.translate(letters) for text in texts]

    _, static, adaptive = attack_authors(method(), known, unknown, spelt)
    assert adaptive.right.low > 0.9
    assert static.right.high < 0.7


def test_koppels_scores_are_the_shares_of_rounds_won() -> None:
    known, unknown = corpus().split(0.5)
    method = Koppel(times=1, share=1.0).fit(known.texts, known.authors)
    scores = method.scores(unknown.texts)
    assert set(np.unique(scores)) == {0.0, 1.0}
    # with all features, a round is plain cosine to the authors' joined texts
    place = {gram: i for i, gram in enumerate(sorted({g for text in known.texts for g in space_free_ngrams(text)}))}

    def vector(texts: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found = np.zeros(len(place))
        for text in texts:
            for gram in space_free_ngrams(text):
                if gram in place:
                    found[place[gram]] += 1
        return found / np.linalg.norm(found)

    authors = [
        vector([t for t, a in zip(known.texts, known.authors, strict=True) if a == one]) for one in method.authors
    ]
    nearest = [int(np.argmax([vector([text]) @ author for author in authors])) for text in unknown.texts]
    assert scores.argmax(axis=1).tolist() == nearest
    assert Koppel(times=8).fit(known.texts, known.authors).scores(unknown.texts).sum(axis=1) == pytest.approx(1.0)


def test_a_threshold_trades_answers_for_precision() -> None:
    known, unknown = corpus(seed=5).split(0.5)
    words = [" ".join(text.split()[:4]) for text in unknown.texts]  # too short to be sure
    always = attribute(Koppel(times=40), known, unknown.with_texts(words))
    careful = attribute(Koppel(times=40, threshold=0.9), known, unknown.with_texts(words))
    assert careful.precision.n < always.precision.n == 60
    assert careful.precision.value > always.precision.value
    assert careful.right.value <= always.right.value


def test_texts_that_share_nothing_with_the_known_ones_are_attributed_by_chance() -> None:
    known, _ = corpus().split(0.5)
    strange = Koppel(times=60).fit(known.texts, known.authors).scores(["ψψψψ ωωωω"] * 3)
    assert (strange > 0.1).all()


def test_what_cannot_be_attributed_is_refused() -> None:
    single = Corpus(["text one", "text two"], ["a", "a"])
    for make in METHODS:
        with pytest.raises(InputError):
            attribute(make(), single, single)
    with pytest.raises(InputError):
        attribute(Koppel(), corpus(), Corpus([], []))
    with pytest.raises(InputError):
        attribute(Koppel(), Corpus([" ", ""], ["a", "b"]), single)
    with pytest.raises(OptionError):
        Koppel(share=0.0)
