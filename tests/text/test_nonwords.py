"""Nothing of an identifier survives, whatever is done with it; placeholders stay what they are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tests.text.test_identifiers import FOUND
from wordveil import Veil, load_space
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.priors import log_prior
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.text import Document, NgramTree, RareWords, tokenise
from wordveil.text.identifiers import KINDS, VALUES, find_identifiers, placeholder
from wordveil.text.replacing import OutsideWords
from wordveil.text.selection import stop_words

GRAPH = Graph(load_space("glove-50k").restrict(np.arange(3000)), 4.0)
IDENTIFIERS = [(kind, one) for kind, all_ in FOUND.items() for one in all_ if kind not in (*VALUES, "MARKUP")]


@pytest.mark.parametrize(("kind", "written"), IDENTIFIERS)
def test_a_placeholder_is_all_that_is_left(kind: str, written: str) -> None:
    text = f"Then {written} was."
    assert Veil(GRAPH)(text).text == f"Then {placeholder(kind)} was."
    assert Veil(GRAPH, identifiers="drop")(text).text == "Then was."
    assert Veil(GRAPH, numbered=True)(f"{text} {text}").text.count(placeholder(kind, 1)) == 2
    assert Veil(GRAPH)(text).counts.identifiers == 1


@pytest.mark.parametrize(
    "text", ["will.may@over.com", "@will", "https://who.us/all?me=it", "/me/all/will", "me_all", "it.all.pdf"]
)
@pytest.mark.parametrize("select", ["content", "all", "words", "rare"])
def test_no_word_of_an_identifier_is_left_alone_when_it_is_veiled(text: str, select: str) -> None:
    listed = ["will", "me"] if select == "words" else None
    common = NgramTree(GRAPH.space.vocabulary, epsilon=1.0).grow(["it was will may over com who us all me it"] * 3000)
    rare = RareWords(common, below=1e-9) if select == "rare" else None
    veil = Veil(GRAPH, identifiers="veil", select=select, words=listed, rare=rare)
    if select != "words" or {"will", "me"} & set(tokenise(text, apart=()).keys):
        assert veil(f"it was {text}").counts.left_alone == (0 if select == "all" else 2)


@given(st.text(max_size=60) | st.from_regex(r"([<>@/._:0-9 &;#$+-]|will|me|EMAIL|DATE){0,20}", fullmatch=True))
@settings(max_examples=200)
def test_placeholders_are_idempotent(text: str) -> None:
    veil = Veil(GRAPH, oov="drop")
    once = veil(text).text
    kept = [(one.kind, once[one.start : one.end]) for one in find_identifiers(once) if one.kind != "MARKUP"]
    written = [part for kind, part in kept if part == placeholder(kind)]
    again = veil(once).text
    assert [
        part for part in (again[one.start : one.end] for one in find_identifiers(again)) if part in written
    ] == written


@given(st.sampled_from(IDENTIFIERS), st.sampled_from(IDENTIFIERS))
def test_two_identifiers_of_a_kind_cannot_be_told_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    veil = Veil(GRAPH)
    if one[0] == other[0]:
        assert veil.shape(f"it is {one[1]}.") == veil.shape(f"it is {other[1]}.")


@pytest.mark.parametrize("gap", ["'s", "n't"])
@pytest.mark.parametrize("oov", ["replace", "drop"])
def test_no_space_tells_how_an_unknown_word_ended(gap: str, oov: str) -> None:
    """A clitic that is veiled gets a space before it: also behind a word whose last letter has an accent of its own."""
    texts = [f"{word}{gap} ship" for word in ("zqxe", "zqxe\u0301", "zqx\u0915\u094d", "zqx\u200d")]
    releases = [Veil(GRAPH, select="all", oov=oov, seed=3)(text).text for text in texts]
    assert releases == [releases[0]] * len(texts)


def test_numbers_within_a_text() -> None:
    text = "a@b.cd, c@d.ef and A@b.cd; +44 20 7946 0958 or +442079460958"
    assert Veil(GRAPH, numbered=True)(text).text == "<EMAIL_1>, <EMAIL_2> and <EMAIL_1>; <PHONE_1> or <PHONE_1>"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "MARKUP"])
@pytest.mark.parametrize("how", [{}, {"numbers": "metric", "numbers_epsilon": 1}, {"identifiers": "veil"}])
def test_placeholders_stay(kind: str, how: dict[str, Any]) -> None:
    assert Veil(GRAPH, **how)(f"It is {placeholder(kind)}.").text == f"It is {placeholder(kind)}."


def test_markup_is_kept_by_name_or_dropped() -> None:
    text = '<p title="Ann">The <b>sea</b><br>&amp; &#65;<ann></p>'
    kept = Veil(GRAPH)(text).text
    assert kept.startswith("<p>The <b>")
    assert kept.endswith("</b><br>&amp; <MARKUP><MARKUP></p>")
    dropped = Veil(GRAPH, markup="drop")(text).text
    assert "<" not in dropped
    assert "&" not in dropped


def test_selected_spans_and_words_reach_into_identifiers() -> None:
    text = "Ask ann@home.net or bob@home.net"
    some: dict[str, Any] = {"identifiers": "selected"}
    assert Veil(GRAPH, select="words", words=["ann"], **some)(text).text == "Ask <EMAIL> or bob@home.net"
    assert Veil(GRAPH, select="spans", **some)(text, spans=((5, 6),)).text == "Ask <EMAIL> or bob@home.net"
    assert Veil(GRAPH, select="marked", **some)("Ask [[ann]]@home.net").text == "Ask <EMAIL>"
    with pytest.raises(OptionError):
        Veil(GRAPH, select="content", **some)


NEW_DIGITS = "".join(
    map(chr, range(0x1CCF0, 0x1CCFA))
)  # of Unicode 16: expressions may know them where Python does not


@pytest.mark.parametrize("how", [{}, {"numbers": "metric", "numbers_epsilon": 1.0}, {"identifiers": "veil"}])
@pytest.mark.parametrize(
    "form",
    ["12 men", "123456789", "123-456-7890", "$123.45", "12:34", "1 May 1990", "3,456", "GB12 abcd efgh", "2021-03-04"],
)
def test_digits_that_python_does_not_know_are_digits(form: str, how: dict[str, Any]) -> None:
    written = form.translate({ord(str(digit)): new for digit, new in enumerate(NEW_DIGITS)})
    veiled = Veil(GRAPH, **how)(f"It was {written} then").text
    assert not set(NEW_DIGITS) & set(veiled)


@pytest.mark.parametrize("how", [{"select": "words", "words": ["nobody"]}, {"select": "marked"}, {"select": "spans"}])
def test_identifiers_are_replaced_wherever_they_stand(how: dict[str, Any]) -> None:
    text, spans = "Ask ann@home.net on 3 May 2021", () if how["select"] == "spans" else None
    assert Veil(GRAPH, **how)(text, spans=spans).text == "Ask <EMAIL> on 3 May 2021"
    assert Veil(GRAPH, identifiers="drop", **how)(text, spans=spans).text == "Ask on 3 May 2021"
    veiled = {Veil(GRAPH, identifiers="veil", seed=seed, **how)(text, spans=spans).text for seed in range(10)}
    assert len(veiled) > 5  # it is drawn each time, and may stay


def test_identifiers_are_numbered_within_the_scope() -> None:
    """In a record they are counted, over its texts; of a person or a file each has a number of its own, anywhere."""
    texts = ["a@b.net c@d.net", "c@d.net", "a@b.net"]

    def numbers(once: str | None, scopes: list[str | None], veil: Veil | None = None) -> list[list[str]]:
        made = veil or Veil(GRAPH, numbered=True, once=once)
        documents = [Document(text, scope=scope) for text, scope in zip(texts, scopes, strict=True)]
        return [release.text.split() for release in made.many(documents)]

    assert numbers("record", ["x", "x", "y"]) == [["<EMAIL_1>", "<EMAIL_2>"], ["<EMAIL_2>"], ["<EMAIL_1>"]]
    assert numbers(None, [None] * 3) == [["<EMAIL_1>", "<EMAIL_2>"], ["<EMAIL_1>"], ["<EMAIL_1>"]]
    veil = Veil(GRAPH, numbered=True, once="person")
    (first, second), (again,), (other,) = numbers("person", ["x", "x", "y"], veil)
    assert len({first, second, other}) == 3
    assert again == second
    assert numbers("person", ["y", "x", "x"], veil)[2] == [first]  # in any order, and in another batch
    resumed = Veil(GRAPH, numbered=True, once="person")
    assert resumed.once is not None
    assert veil.once is not None
    resumed.once.go_on_with(veil.once.secret)  # as a worker, a task of Spark or a resumed job does
    assert numbers("person", ["x", "x", "y"], resumed) == [[first, second], [second], [other]]
    (first, _), _, (again,) = numbers("file", [None] * 3)
    assert again == first
    assert first not in numbers("file", [None] * 3)[0]  # another job, another secret


def test_options_that_contradict_are_refused() -> None:
    for wrong in (
        {"identifiers": "x"},
        {"numbers": "x"},
        {"markup": "x"},
        {"numbers": "metric"},
        {"numbers_epsilon": 1.0},
        {"numbered": True, "identifiers": "drop"},
        {"numbers": "metric", "numbers_epsilon": 0.0},
        {"numbers": "metric", "numbers_epsilon": 1.0, "date_order": "ymd"},
    ):
        with pytest.raises(OptionError):
            Veil(GRAPH, **wrong)


def test_unknown_words_are_replaced_like_known_ones() -> None:
    """An attacker who knows all laws tells from one output whether its word was known: how well, as an AUC."""
    space = load_space("glove-50k")
    graph = Graph(space, 4.0)
    stop = np.array([word in stop_words() for word in space.vocabulary])
    prior = np.where(stop, 0.0, np.exp(log_prior(space, "frequency")))
    known = graph.draw(np.random.default_rng(1).choice(len(space), 20_000, p=prior / prior.sum()), Entropy(1))
    drawn = OutsideWords(space).draw(20_000, Entropy(2))

    def auc(unknown: NDArray[np.int64]) -> float:
        # ranked by how frequent the output is, which is what gave the old way away
        return float(stats.mannwhitneyu(known, unknown).statistic / 20_000**2)

    assert auc(drawn) > 0.65  # a draw from the prior, as it was
    assert abs(auc(graph.draw(drawn, Entropy(3))) - 0.5) < 0.01
    veil = Veil(graph, once=None, seed=4)
    words = veil("qzxv " * 20_000).text.lower().split()
    assert abs(auc(np.array([space.vocabulary.id(word) for word in words])) - 0.5) < 0.01
