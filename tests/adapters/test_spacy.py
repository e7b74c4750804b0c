"""Spans of a document, and where they are once it is veiled."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import make_space, names
from wordveil import InputError, OptionError, Veil, mechanism
from wordveil.adapters.spacy import privatize

TEXT = "On Monday Mary Jones didn't write to Peter."
MADE = mechanism("exponential", make_space(60), epsilon=0.1)


def test_entities_of_a_document() -> None:
    spacy = pytest.importorskip("spacy", reason="documents of spaCy are not tested: spaCy is not installed")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "PERSON", "pattern": "Mary Jones"}, {"label": "PERSON", "pattern": "Peter"}]
    )
    veiled = privatize(nlp(TEXT), Veil(MADE, select="spans", case="lower"))
    assert re.fullmatch(r"On Monday \w+ \w+ didn't write to \w+\.", veiled.text)
    first, second = (veiled.text[start:end] for start, end, _ in veiled.spans)
    assert veiled.text == TEXT.replace("Mary Jones", first).replace("Peter", second)
    assert [label for _, _, label in veiled.spans] == ["PERSON", "PERSON"]
    new = nlp.make_doc(veiled.text)
    assert all(new.char_span(start, end, label=label) is not None for start, end, label in veiled.spans)
    assert veiled.release.counts.veiled == 3


def test_anything_with_the_same_attributes() -> None:
    span = SimpleNamespace(start_char=10, end_char=20, label_="PERSON")
    veiled = privatize(SimpleNamespace(text=TEXT, ents=[span]), Veil(MADE, select="spans"))
    assert veiled.text[: veiled.spans[0][0]] == "On Monday "
    assert veiled.text[veiled.spans[0][1] :] == " didn't write to Peter."


def test_spans_move_along_where_other_words_are_veiled() -> None:
    veil = Veil(MADE, select="words", words=["monday", "jones", "n't"], case="lower")
    spans = [(10, 20, "PERSON"), (21, 27, "VERB"), (24, 27, "NOT"), (37, 42, "PERSON"), (0, len(TEXT)), (12, 17, "CUT")]
    veiled = privatize(TEXT, veil, spans)
    person, verb, _, peter, whole, cut = (veiled.text[start:end] for start, end, _ in veiled.spans)
    assert re.fullmatch(r"Mary \w+", person)
    assert verb.startswith("did")
    assert (peter, whole) == ("Peter", veiled.text)
    assert cut == person.removeprefix("Ma")  # it cut through a word that was replaced, and takes all of it
    assert veiled.spans[4][2] == ""


def test_a_clitic_and_words_that_are_dropped() -> None:
    veil = Veil(MADE, select="all", oov="drop", case="lower")
    veiled = privatize("we zqa do zqxx.", veil, [(0, 2, "A"), (3, 6, "B"), (10, 14, "C"), (7, 14, "D")])
    texts = [veiled.text[start:end] for start, end, _ in veiled.spans]
    assert texts[0] == texts[2] == texts[3] == ""
    assert texts[1] in names(60)
    replaced = privatize("don't", Veil(MADE, select="all", case="lower"), [(2, 5, "NOT")])
    assert replaced.text[slice(*replaced.spans[0][:2])] == replaced.text.split()[1]


@given(st.text("ab zq'.\n", max_size=30), st.data(), st.sampled_from(["replace", "drop", "keep"]))
def test_spans_stay_inside_and_in_order(text: str, data: st.DataObject, oov: str) -> None:
    ends = st.integers(0, len(text))
    spans = data.draw(st.lists(st.tuples(ends, ends).map(lambda pair: tuple(sorted(pair))), max_size=4))
    for select in ("spans", "all"):
        veiled = privatize(text, Veil(MADE, select=select, oov=oov, seed=1), spans)
        assert len(veiled.spans) == len(spans)
        assert all(0 <= start <= end <= len(veiled.text) for start, end, _ in veiled.spans)
    untouched = privatize(text, Veil(MADE, select="words", words=["nothing"]), spans)
    assert [(start, end) for start, end, _ in untouched.spans] == spans


def test_what_is_refused() -> None:
    with pytest.raises(InputError):
        privatize(TEXT, Veil(MADE))
    for span in ((-1, 2), (3, 2), (0, 99)):
        with pytest.raises(InputError):
            privatize(TEXT, Veil(MADE), [span])
    wrong: Any
    for wrong in (4, [None], [(0,)], [(0, "a")], [(float("nan"), 1)], [(0, float("inf"))]):
        with pytest.raises(InputError):
            privatize(TEXT, Veil(MADE), wrong)
    with pytest.raises(OptionError):
        privatize(TEXT, Veil(MADE, select="marked"), [])
    no_veil: Any = 4
    with pytest.raises(OptionError):
        privatize(TEXT, no_veil, [])
    with pytest.raises(InputError):  # neither text nor a document
        privatize(4, Veil(MADE))
