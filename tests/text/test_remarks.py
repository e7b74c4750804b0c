"""What protects little is said, and what protects nothing is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space, names
from wordveil import Veil, mechanism
from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError, UnprovenError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.text import Counts, kept_share, told_before
from wordveil.text.remarks import remarks


@pytest.fixture(scope="module")
def words() -> EuclideanSpace:
    return make_space(200, 8)


@pytest.mark.parametrize("name", ["graph", "exponential", "laplace", "mahalanobis"])
def test_the_share_of_words_that_stay_is_that_of_the_draws(words: EuclideanSpace, name: str) -> None:
    made = mechanism(name, words, epsilon=6.0)
    ids = np.repeat(np.arange(200), 50)
    weights = np.repeat(1.0 / (np.arange(200) + 2.7), 50)
    stayed = np.average(made.draw(ids, Entropy(1)) == ids, weights=weights)
    assert kept_share(made) == pytest.approx(stayed, abs=0.1)
    assert kept_share(made) == kept_share(mechanism(name, words, epsilon=6.0))


@pytest.mark.parametrize("name", ["graph", "exponential", "laplace", "gaussian"])
def test_an_epsilon_that_keeps_the_text_is_refused(words: EuclideanSpace, name: str) -> None:
    for epsilon in (1e3, 1e8):
        made: Mechanism[Any] = mechanism(name, words, epsilon=epsilon)
        with pytest.raises(UnprovenError):
            Veil(made)
        loud = Veil(made, unproven=True)
        assert len(told_before(loud)) == 1
        assert len(loud.report(loud("zqa zqb"))["warnings"]) == 1


def test_only_where_most_words_stay_is_anything_said_of_epsilon(words: EuclideanSpace) -> None:
    said = []
    for epsilon in (1.0, 4.0, 12.0, 20.0):
        made = mechanism("graph", words, epsilon=epsilon)
        veil = Veil(made, unproven=True)
        said.append((kept_share(made) > 0.5, bool(told_before(veil))))
        assert (kept_share(made) > 0.5) == any("Warning" in line for line in veil.report(veil("zqa")).sentences())
    assert all(stays == is_said for stays, is_said in said)
    assert {True, False} == {stays for stays, _ in said}


def test_frequent_words_that_stay_are_told_though_most_words_do_not(words: EuclideanSpace) -> None:
    for prior in ("blahut-arimoto", "frequency"):
        made = mechanism("exponential", words, epsilon=1.0, prior=prior)
        assert kept_share(made) < 0.5
        assert len(told_before(Veil(made))) == 1
        assert told_before(Veil(mechanism("exponential", words, epsilon=0.4, prior=prior))) == []
    graph = mechanism("graph", words, epsilon=1.0)
    assert told_before(Veil(graph)) == []


def test_a_space_of_one_word_gives_nothing_away() -> None:
    one = EuclideanSpace("one", Vocabulary(["sea"]), np.zeros((1, 2), dtype=np.float32))
    assert Veil(mechanism("exponential", one, epsilon=1.0))("sea sea").text == "Sea sea"


@pytest.mark.parametrize(
    ("counts", "warnings"),
    [
        (Counts(), 1),
        (Counts(words=3, left_alone=3), 1),
        (Counts(words=2, kept_raw=2), 1),
        (Counts(words=10, drawn=4, outside=6), 1),
        (Counts(words=10, drawn=7, outside=3), 1),
        (Counts(words=10, drawn=8, outside=2), 0),
        (Counts(words=10, left_alone=6, drawn=4), 0),
        (Counts(words=10, numbers=9, identifiers=1), 1),
        (Counts(words=10, left_alone=1, numbers=9), 0),
    ],
)
def test_what_became_of_the_words_is_remarked(words: EuclideanSpace, counts: Counts, warnings: int) -> None:
    assert len(remarks(Veil(mechanism("graph", words, epsilon=2.0)), counts)) == warnings


def test_nothing_can_be_selected_by_accident(words: EuclideanSpace) -> None:
    made = mechanism("graph", words, epsilon=2.0)
    with pytest.raises(OptionError):
        Veil(made, select="words", words=[])
    for select in ("content", "all", "marked"):
        with pytest.raises(InputError):
            Veil(made, select=select)(f"call {names(2)[1]}", spans=((5, 8),))
    with pytest.raises(InputError):
        Veil(made, select="words", words=["call"])("call", spans=((0, 4),))
    veil = Veil(made, select="marked")
    assert len(veil.report(veil("no marks at all"))["warnings"]) == 2


def test_identifiers_outside_the_selection_are_not_said_to_be_replaced(words: EuclideanSpace) -> None:
    made, word = mechanism("graph", words, epsilon=2.0), names(2)[1]
    for how in ({"select": "marked"}, {"select": "words", "words": [word]}):
        veil = Veil(made, identifiers="selected", **how)
        made_of = veil(f"[[{word}]] ann@example.com")
        assert "ann@example.com" in made_of.text
        report = veil.report(made_of)
        assert any("dentifiers" in said and "as they are" in said for said in report["not_protected"])
        assert any("e-mail" in said for said in report["warnings"])
        assert not any("e-mail" in said for said in Veil(made, **how).report()["warnings"])


def test_of_words_outside_the_vocabulary_it_is_said_what_became_of_them(words: EuclideanSpace) -> None:
    made, counts = mechanism("graph", words, epsilon=4.0), Counts(words=10, drawn=2, outside=8)
    said = [remarks(Veil(made, oov=oov, unproven=True), counts)[-1] for oov in ("replace", "drop", "keep")]
    assert len(set(said)) == 3
    assert ["replaced" in one for one in said] == [True, False, False]
