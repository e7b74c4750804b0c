"""The whole way of a text."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import ALPHA, make_space, names
from wordveil import Document, InputError, OptionError, Veil, mechanism
from wordveil._mechanisms.graph import Graph
from wordveil.guarantee import Notion
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.text import Counts, Report, stop_words, tokenise
from wordveil.text.identifiers import find_identifiers


@pytest.fixture(scope="module")
def graph(glove: EuclideanSpace) -> Graph:
    return Graph(glove, 2.0)


def replaced_everywhere(space: EuclideanSpace) -> Graph:
    """Make a mechanism that practically never keeps a word."""
    return Graph(space, 1e-3)


def test_what_is_not_a_selected_word_survives_byte_for_byte(graph: Graph) -> None:
    text = "  The\tship,\r\nleft — the «harbour» 🚢👩‍👩‍👧!!\n\n(Of course; it was not the one.)  "
    release = Veil(graph, seed=1)(text)
    assert tokenise(release.text).pieces[::2] == tokenise(text).pieces[::2]
    left = [
        word for word, key in zip(tokenise(text).pieces[1::2], tokenise(text).keys, strict=True) if key in stop_words()
    ]
    assert [word for word in release.text.split() if word in ("The", "the", "it", "was", "not", "the")][:2] == left[:2]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_offsets_and_gaps_of_any_text(text: str) -> None:
    space = make_space(30, 3)
    for oov, case in itertools.product(("replace", "keep"), ("sentence", "lower", "copy")):
        assume(all(one.kind != "MARKUP" for one in find_identifiers(text)))  # which is kept in a form of its own
        release = Veil(Graph(space, 1.0), select="all", oov=oov, case=case, seed=2)(text)
        pieces = tokenise(text).pieces
        place = new_place = 0
        old, new = [], []
        for spot in release.replacements:
            old.append(text[place : spot.start])
            new.append(release.text[new_place : spot.new_start])
            place, new_place = spot.end, spot.new_end
        assert old == new
        assert text[place:] == release.text[new_place:]
        if oov == "replace":
            assert len(release.replacements) == len(pieces) // 2


def test_selected_words_never_pass_raw_by_any_route() -> None:
    space = make_space(200, 4)
    known = " ".join(space.vocabulary.words[:50])
    text = f"{known} Zyxxy's qwertzish 4711 don't"
    release = Veil(replaced_everywhere(space), select="all", seed=0)(text)
    before = set(text.lower().split())
    after = release.text.lower().split()
    assert len(before & set(after)) < 25  # of the known ones, about a quarter is drawn by chance
    assert not {"zyxxy", "qwertzish", "4711"} & set(after)
    assert release.counts.words == release.counts.veiled == 56


def test_outside_words_are_replaced_by_draws_that_do_not_depend_on_them() -> None:
    space = make_space(40, 3)
    veil = Veil(Graph(space, 1.0), select="all", seed=5)
    first = [release.text.lower() for release in veil.many(["xylophone"] * 20_000)]
    second = [release.text.lower() for release in veil.many(["Quetzalcoatl"] * 20_000)]
    counts = np.array([[texts.count(word) for word in space.vocabulary] for texts in (first, second)])
    assert counts.sum() == 40_000
    assert stats.chi2_contingency(counts).pvalue > ALPHA


def test_numbers_become_random_digits_of_the_same_length(graph: Graph) -> None:
    veil = Veil(graph, numbers="digits", seed=3)
    drawn = [veil("12345").text for _ in range(4000)]
    assert all(len(text) == 5 and text.isdigit() for text in drawn)
    digits = np.bincount([int(digit) for text in drawn for digit in text], minlength=10)
    assert stats.chisquare(digits).pvalue > ALPHA


def test_drop_and_keep(graph: Graph) -> None:
    text = "The Zyxxyplugh of 4711 stands."
    dropped = Veil(graph, oov="drop", numbers="digits")(text)
    assert dropped.text.startswith("The of ")
    assert dropped.counts.dropped == 2
    assert dropped.guarantee.notion is Notion.METRIC
    kept = Veil(graph, oov="keep", numbers="digits")(text)
    assert "Zyxxyplugh" in kept.text
    assert "4711" in kept.text
    assert kept.counts.kept_raw == 2
    assert kept.guarantee.notion is Notion.NONE


def test_selections(graph: Graph) -> None:
    text = "The ship left the harbour."
    assert Veil(graph)(text).counts == Counts(words=5, left_alone=2, drawn=3)
    assert Veil(graph, select="all")(text).counts == Counts(words=5, drawn=5, repeated=1)
    assert Veil(graph, select="words", words=["HARBOUR"])(text).counts == Counts(words=5, left_alone=4, drawn=1)
    spans = Veil(graph, select="spans")(text, spans=((5, 6), (22, 23)))
    assert spans.counts == Counts(words=5, left_alone=3, drawn=2)
    assert [(r.start, r.end) for r in spans.replacements] == [(4, 8), (18, 25)]
    marked = Veil(graph, select="marked")("The [[ship]] left the [[har]]bour.")
    assert marked.counts == Counts(words=5, left_alone=3, drawn=2)
    assert "[" not in marked.text
    assert marked.text.split()[2:4] == ["left", "the"]


def test_listed_phrases_are_veiled_whole(graph: Graph) -> None:
    names_ = ["O'Brien", "Jean-Luc", "New York", "U.S.", "alice@example.com", "Smith"]
    veil = Veil(graph, select="words", words=names_)
    text = (
        "Smith and O’Brien of new york met Jean-Luc (U.S.) at alice@example.com in a new house in York, said O and Luc."
    )
    release = veil(text)
    veiled = [text[spot.start : spot.end] for spot in release.replacements]
    assert veiled == ["Smith", "O", "Brien", "new", "york", "Jean", "Luc", "U", "S", "alice@example.com"]
    with pytest.raises(OptionError):
        Veil(graph, select="words", words=["!!"])


def test_the_fingerprint_tells_lists_apart_and_the_description_does_not_hold_them(graph: Graph) -> None:
    first = Veil(graph, select="words", words=["canary"])
    second = Veil(graph, select="words", words=["other"])
    assert first.fingerprint != second.fingerprint
    assert first.describe() == second.describe()
    assert "canary" not in json.dumps(first.report())


def test_hidden_text_does_not_ride_on_function_words(graph: Graph) -> None:
    hidden = "a\U000e0073\U000e0065\U000e0063 of\u200bx ⠎⠑⠉⠗⠑⠞"
    release = Veil(graph)(hidden)
    assert not any(character in release.text for character in "\U000e0073\u200b⠎")


def test_halves_of_contractions_are_names_too(graph: Graph) -> None:
    assert Veil(graph)("Don won.").counts.drawn == 2


def test_copied_case_is_a_caveat(graph: Graph) -> None:
    assert any("Capital" in caveat for caveat in Veil(graph, case="copy").guarantee.caveats)


def test_the_report_of_an_approximate_promise(glove: EuclideanSpace) -> None:
    veil = Veil(mechanism("gaussian", glove.restrict(np.arange(300)), epsilon=0.5, delta=1e-6), select="all")
    facts = Report.of(veil, Counts(words=5, drawn=5), 5)
    assert facts["document"]["loss_if_every_word_differs_by_a_covered_pair"] == 2.5
    assert facts["document"]["delta_if_every_word_differs_by_a_covered_pair"] == pytest.approx(5e-6)
    assert facts["document"]["worst_case_loss"] is None
    assert facts.sentences()[0] == veil.guarantee.sentence()


@pytest.mark.parametrize("text", ["[[a", "a]]", "[[a [[b]]", "]]a[["])
def test_unpaired_marks_are_refused_without_quoting(graph: Graph, text: str) -> None:
    with pytest.raises(InputError) as caught:
        Veil(graph, select="marked")(text + "canary")
    assert "canary" not in str(caught.value)


def test_wrong_spans_and_options(graph: Graph) -> None:
    with pytest.raises(InputError):
        Veil(graph, select="spans")("text")
    for span in ((-1, 2), (3, 2), (0, 9)):
        with pytest.raises(InputError):
            Veil(graph, select="spans")("text", spans=(span,))
    for select in ("content", "all"):
        with pytest.raises(InputError):  # they would be ignored, and what they mark released
            Veil(graph, select=select)("text", spans=((0, 4),))
    for options in ({"select": "x"}, {"oov": "x"}, {"case": "x"}):
        with pytest.raises(OptionError):
            Veil(graph, **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        Veil(graph, select="words")
    with pytest.raises(OptionError):
        Veil(graph, words=["x"])


def test_case_by_position_does_not_copy_the_input(glove: EuclideanSpace) -> None:
    text = "Sail on. SAIL on! paris, “sail.” (Sail) sail\n\nsail"
    for variant in (text, text.lower(), text.upper()):
        after = tokenise(Veil(Graph(glove, 2.0), select="words", words=["sail", "paris"], seed=1)(variant).text).pieces[
            1::2
        ]
        capitals = [word[0].isupper() for word, key in zip(after, tokenise(variant).keys, strict=True) if key != "on"]
        assert capitals == [True, True, True, False, True, False, True]


def test_other_cases(glove: EuclideanSpace) -> None:
    veil = Veil(Graph(glove, 2.0), case="lower", select="all")
    assert veil("Ship SHIP ship").text.islower()
    copied = Veil(Graph(glove, 2.0), case="copy", select="all")("ship Ship SHIP").text.split()
    assert copied[0].islower()
    assert copied[1].istitle()
    assert copied[2].isupper()


def test_clitics_do_not_stick_to_their_words(graph: Graph) -> None:
    release = Veil(graph, select="all", seed=4)("We don't know.")
    assert len(release.text.split()) == 4
    assert Veil(graph)("We don't know.").text.startswith("We don't ")


def test_a_cased_vocabulary_is_looked_up_as_written_first() -> None:
    space = EuclideanSpace("cased", Vocabulary(["paris", "Paris"]), np.eye(2, dtype=np.float32))
    veil = Veil(Graph(space, 1e4), select="all", case="lower", unproven=True)
    assert veil("Paris paris PARIS").text == "Paris paris paris"


def test_many_gives_what_single_calls_give_in_order_and_lazily(graph: Graph) -> None:
    taken = 0

    def source() -> Iterator[str]:
        nonlocal taken
        for number in range(3000):
            taken += 1
            yield f"number {number} ship harbour sail"

    stream = Veil(graph, select="words", words=["ship", "harbour", "sail"]).many(source(), batch_words=500)
    first = next(stream)
    assert first.text.startswith("number 0 ")
    assert taken < 1000
    rest = [release.text.split()[1] for release in stream]
    assert rest == [str(number) for number in range(1, 3000)]


def test_many_takes_documents(graph: Graph) -> None:
    veil = Veil(graph, select="spans")
    documents = [Document("ship one", ((0, 4),)), Document("two ship", ((4, 8),))]
    first, second = veil.many(documents)
    assert first.text.endswith(" one")
    assert second.text.startswith("two ")


def test_a_seed_repeats_and_leaves_no_guarantee(graph: Graph) -> None:
    texts = ["The ship left the harbour."] * 50
    first = [release.text for release in Veil(graph, seed=9).many(texts)]
    assert first == [release.text for release in Veil(graph, seed=9).many(texts)]
    assert first != [release.text for release in Veil(graph).many(texts)]
    assert Veil(graph, seed=9).guarantee.notion is Notion.NONE
    assert Veil(graph).guarantee.notion is Notion.METRIC


def test_a_release_holds_nothing_of_the_original(graph: Graph) -> None:
    release = Veil(graph, select="all")("canaryword Zyxxy 4711")
    held = [getattr(release, slot) for slot in release.__slots__]
    assert "canaryword" not in repr(held)
    assert "Zyxxy" not in repr(held)


def test_report(graph: Graph) -> None:
    veil = Veil(graph, case="copy")
    release = veil("The Ship left 12 Zyxxyplughs in the harbour.")
    facts = veil.report(release)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["counts"] == {
        **Counts().to_dict(),
        "words": 8,
        "left_alone": 3,
        "drawn": 3,
        "outside": 1,
        "numbers": 1,
    }
    assert facts["document"]["worst_case_loss"] == 5 * graph.largest_loss
    assert facts["document"]["loss_if_every_word_differs_by_one_hop"] == 10.0
    assert facts["guarantee"]["epsilon"] == 2.0
    assert facts["space"]["checksum"] == graph.space.checksum
    assert any("Capital" in sentence for sentence in facts["not_protected"])
    assert any("Function words" in sentence for sentence in facts["not_protected"])
    assert any("is drawn n times" in sentence for sentence in facts["not_protected"])
    assert facts.sentences()[0] == veil.guarantee.sentence()
    none = Report.of(Veil(graph, seed=1), release.counts, 5)
    assert none["guarantee"]["epsilon"] is None
    assert none["document"]["worst_case_loss"] is None
    assert none.sentences()[0] == "No privacy is promised."


def test_counts_add_up() -> None:
    total = Counts(words=3, drawn=2, left_alone=1) + Counts(words=1, outside=1)
    assert total == Counts(words=4, drawn=2, left_alone=1, outside=1)
    assert total.veiled == 3
    assert Counts(**total.to_dict()) == total


def test_a_long_line(graph: Graph) -> None:
    generator = random.Random(0)
    text = " ".join(generator.choice(["ship", "Zyxxy", "17", "the", "don't"]) for _ in range(200_000))
    release = Veil(graph)(text)
    assert release.counts.words == len(tokenise(text).keys)


def test_mechanisms_and_names_meet() -> None:
    space = make_space(30, 3)
    for name in ("graph", "ring", "exponential", "laplace"):
        release = Veil(mechanism(name, space, epsilon=1.0), select="all")(" ".join(names(30)))
        assert set(release.text.lower().split()) <= set(space.vocabulary)


def test_a_hidden_character_hides_no_word_from_a_list_and_none_from_the_vocabulary(graph: Graph) -> None:
    veil = Veil(graph, select="words", words=["Har\u00adbour", "zyxcanary"])
    release = veil("A har\u200bbour, HARBOUR, zyx\u00adcanary and ship.")
    assert release.counts == Counts(words=6, left_alone=3, drawn=2, outside=1, repeated=1)
    assert Veil(graph, select="all")("har\u00adbour").counts == Counts(words=1, drawn=1)
