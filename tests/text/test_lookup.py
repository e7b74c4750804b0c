"""Base forms, and inflected words that reach a space through them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordveil import Veil
from wordveil._mechanisms.exponential import Exponential
from wordveil.errors import SpaceError
from wordveil.spaces import PoincareSpace, Vocabulary, load_space
from wordveil.text.lookup import BaseForms, Lookup

WORDS = ["child", "city", "leaf", "run", "see", "box", "woman", "make", "plan", "watch", "die", "bus"]


@pytest.fixture
def forms(tmp_path: Path) -> Path:
    (tmp_path / "noun.exc").write_text("children child\nleaves leaf\nwomen woman\n", encoding="utf-8")
    (tmp_path / "verb.exc").write_text("ran run\nrunning run\nsaw see\nseen see\nplanned plan\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("children", "child"),
        ("cities", "city"),
        ("leaves", "leaf"),
        ("running", "run"),
        ("ran", "run"),
        ("saw", "see"),
        ("boxes", "box"),
        ("women", "woman"),
        ("making", "make"),
        ("makes", "make"),
        ("watched", "watch"),
        ("watches", "watch"),
        ("planned", "plan"),
        ("died", "die"),
        ("buses", "bus"),
        ("nothing", None),
        ("s", None),
        ("ing", None),
    ],
)
def test_forms(form: str, base: str | None, forms: Path) -> None:
    found = Lookup(Vocabulary(WORDS, forms=forms)).id(form, form)
    assert (None if found is None else WORDS[found]) == base


def test_irregular_forms_come_first(forms: Path) -> None:
    assert next(BaseForms(forms).of("leaves")) == ("noun", "leaf")
    assert [base for _, base in BaseForms(forms).of("leaves")] == ["leaf", "leave", "leave", "leave", "leav"]


def test_missing_lists_are_told(tmp_path: Path) -> None:
    with pytest.raises(SpaceError):
        BaseForms(tmp_path)
    assert Lookup(Vocabulary(WORDS)).id("cities", "cities") is None


def test_a_veil_on_a_space_of_base_forms(forms: Path) -> None:
    points = np.random.default_rng(0).normal(size=(len(WORDS), 2))
    space = PoincareSpace("base", Vocabulary(WORDS, forms=forms), points)
    veil = Veil(Exponential(space, 1e4), oov="drop", numbers="digits", select="all", unproven=True)
    release = veil("Children saw cities; beautiful women ran.")
    assert release.text == "Child see city; woman run."
    facts = veil.report(release)
    assert facts["counts"]["drawn"] == 5
    assert facts["coverage"] == pytest.approx(5 / 6)
    without = PoincareSpace("full", Vocabulary(WORDS), points)
    plain = Veil(Exponential(without, 1e4), oov="drop", numbers="digits", select="all", unproven=True)
    assert plain("children child").counts.drawn == 1


def test_inflected_words_reach_the_bundled_space() -> None:
    space = load_space("wordnet-poincare")
    veil = Veil(Exponential(space, 1e3), oov="drop", numbers="digits", select="all", unproven=True)
    release = veil("Mice ran past 3 geese.")
    assert release.text == "Mouse run past goose."
    assert release.counts.coverage == pytest.approx(4 / 5)
