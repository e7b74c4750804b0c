"""What `import wordveil` offers: exactly what is documented, lazily, and everything says what it is."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import wordveil
from tests.conftest import make_space, names
from wordveil import (
    Document,
    Entropy,
    Guarantee,
    InputError,
    Mechanism,
    Notion,
    OptionError,
    Space,
    UnprovenError,
    Veil,
    load_space,
)
from wordveil._mechanisms import MECHANISMS, mechanism
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.text.identifiers import is_placeholder

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "python.md"
SPACE = make_space(60)
MADE = mechanism("exponential", SPACE, epsilon=0.5)


def test_the_names_are_those_of_the_documentation() -> None:
    described = re.findall(r"^::: wordveil\.(\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted([*described, "__version__"]) == sorted(wordveil.__all__)
    assert dir(wordveil) == wordveil.__all__
    for name in wordveil.__all__:
        assert getattr(wordveil, name) is not None
    with pytest.raises(AttributeError):
        _ = wordveil.nothing


def test_the_public_modules_are_there_and_only_they_are_named() -> None:
    said = (wordveil.__doc__ or "").split("The public API is")[1]
    public = re.findall(r"`(wordveil\.\w+)`", said)
    assert len(public) == 9
    for module in public:
        importlib.import_module(module)
    adapters = importlib.import_module("wordveil.adapters")
    listed = set(re.findall(r"`wordveil\.adapters\.(\w+)`", adapters.__doc__ or ""))
    there = {path.stem for path in Path(adapters.__path__[0]).glob("*.py") if not path.stem.startswith("_")}
    assert listed == there


def test_every_error_is_at_the_root() -> None:
    errors = importlib.import_module("wordveil.errors")
    assert set(errors.__all__) <= set(wordveil.__all__)


def test_the_shortest_program() -> None:
    release = wordveil.Veil(epsilon=4)("The committee met in Paris.")
    assert release.text.startswith("The ")
    assert (release.guarantee.epsilon, release.guarantee.unit) == (4.0, "hop")


def test_ways_to_make_a_veil(tmp_path: Path) -> None:
    assert Veil(MADE).mechanism is MADE
    named = Veil("laplace", epsilon=2, space=SPACE).mechanism
    assert (named.name, named.epsilon, named.space) == ("laplace", 2.0, SPACE)
    assert Veil(epsilon=1, space=SPACE).mechanism.name == "graph"
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("sea 1 2\nship 2 1\n", encoding="utf-8")
    assert Veil("exponential", epsilon=1, space=vectors, select="all")("sea").text.lower() in {"sea", "ship"}
    for wrong in ({"mechanism": MADE, "epsilon": 1.0}, {"mechanism": MADE, "space": SPACE}, {"space": SPACE}, {}):
        with pytest.raises(OptionError):
            Veil(**wrong)
    with pytest.raises(OptionError):
        Veil("nothing", epsilon=1.0, space=SPACE)
    with pytest.raises(OptionError, match="epsilon"):  # the guidance that every first error gives
        Veil("graph")


@pytest.mark.parametrize("name", ["jaccard", "nadp", "remapped"])
def test_what_is_unproven_is_released_only_on_demand(name: str) -> None:
    made = mechanism(name, lonely_space(), epsilon=1.0)
    assert made.shortfall
    with pytest.raises(UnprovenError) as refused:
        Veil(made)
    assert made.shortfall in str(refused.value)
    veil = Veil(made, unproven=True)
    assert veil.shortfall == made.shortfall
    assert veil.shortfall in veil.guarantee.caveats
    report = veil.report(veil("zqa"))
    assert report["shortfall"] == veil.shortfall
    assert any(veil.shortfall in line for line in report.sentences())
    assert veil.shortfall in repr(veil)
    proven = Veil(MADE, unproven=True)
    assert proven.shortfall == ""
    assert "shortfall" not in proven.report()


def lonely_space() -> EuclideanSpace:
    """Make a space in which NADP leaves some words without noise."""
    vectors = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    vectors[:20] *= 100.0
    return EuclideanSpace("lonely", Vocabulary(names(40)), vectors)


class Coin(Mechanism[Space]):
    """Keeps a word or draws any."""

    name, family, summary = "coin", "a coin", "Keeps a word half the time."
    in_brief, source = "none", "a test"

    def __init__(self, space: Space, epsilon: float, *, stay: float = 0.5) -> None:
        super().__init__(space, epsilon)
        self.stay = stay

    @property
    def guarantee(self) -> Guarantee:
        return self.make_guarantee(Notion.NONE)

    def draw(self, ids: NDArray[np.integer], entropy: Entropy | None = None) -> NDArray[np.int64]:
        entropy = entropy or Entropy()
        keeps = entropy.uniform(len(ids)) < self.stay
        return np.where(keeps, ids, entropy.below(np.full(len(ids), len(self.space))))


@pytest.fixture
def _registry() -> Iterator[None]:
    before = dict(MECHANISMS)
    yield
    MECHANISMS.clear()
    MECHANISMS.update(before)


@pytest.mark.usefixtures("_registry")
@pytest.mark.parametrize("annotation", ["float", float, "str | float"])
def test_a_registered_mechanism_is_made_by_name(annotation: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Coin.__init__.__annotations__, "stay", annotation)
    assert wordveil.register(Coin) is Coin
    assert wordveil.register(Coin) is Coin  # the same one again does no harm
    made = wordveil.mechanism("coin", SPACE, epsilon=1.0, stay=1.0)
    assert Veil(made, unproven=True, select="all", case="lower")("zqa zqb").text == "zqa zqb"
    with pytest.raises(OptionError):
        wordveil.mechanism("coin", SPACE, epsilon=1.0, stay=True)


@pytest.mark.usefixtures("_registry")
def test_what_cannot_be_registered() -> None:
    class Taken(Coin):
        name = "graph"

    class Silent(Coin):
        summary = ""

    class Unfinished(Mechanism[Space]):
        name, family, summary, in_brief, source = "unfinished", "x", "x", "x", "x"

    for wrong in (Taken, Silent, Unfinished, int, "graph"):
        with pytest.raises(OptionError):
            wordveil.register(wrong)  # type: ignore[type-var, arg-type]
    assert MECHANISMS["graph"] is not Taken


def test_everything_says_what_it_is() -> None:
    veil = Veil(MADE, select="words", words=["canary"], seed=3)
    assert repr(SPACE) == "<EuclideanSpace 'toy-60-5-0': 60 words, Euclidean distance>"
    assert repr(SPACE.vocabulary) == "<Vocabulary: 60 words>"
    assert repr(MADE) == "<Exponential on 'toy-60-5-0': epsilon=0.5, prior='uniform', clip=None>"
    assert repr(veil) == f"<Veil: {MADE!r}, select='words', oov='replace', case='sentence', once='record', seeded>"
    assert "Law" in repr(MADE.law())
    assert repr(Veil(MADE).guarantee).startswith("<Guarantee: metric differential privacy, ε=0.5 per ")
    assert repr(veil.guarantee).startswith("<Guarantee: no privacy, ")
    near = Guarantee(Notion.APPROXIMATE, 1.0, "distance", "unit", delta=1e-6, caveats=("one",))
    assert repr(near) == "<Guarantee: approximate differential privacy, ε=1, δ=1e-06, 1 caveat>"
    assert str(near) == near.sentence()
    assert repr(Veil(MADE).report()).startswith("<Report: metric differential privacy, ε=0.5 per ")
    assert repr(veil.report()) == "<Report: no privacy, 0 words>"
    assert str(veil.report()).startswith("No privacy is promised.")


def test_a_release_shows_counts_and_what_was_released() -> None:
    release = Veil(MADE, select="all", seed=1)("canary " * 50)
    assert repr(release).startswith("<Release: 50 of 50 words veiled, '")
    assert len(repr(release)) < 120
    for shown in (repr(release), release._repr_html_()):
        assert "canary" not in shown
    assert str(release) == release.text


class Reader(HTMLParser):
    """Reads the text of HTML, and the marked parts of it, and refuses tags that we do not write."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.marked, self._open = "", list[tuple[str, str]](), list[tuple[str, str]]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "mark", "small", "span"}
        assert {name for name, _ in attrs} <= {"style", "title"}
        self._open.append((tag, dict(attrs).get("title") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[0][0] == "div":
            self.text += data
            if self._open[-1][0] == "mark":
                self.marked.append((data, self._open[-1][1]))


@given(
    st.text(st.sampled_from("ab<>&\"'/ 12\n;#x=ñ"), max_size=40),
    st.sampled_from(["replace", "drop", "keep"]),
    st.sampled_from(["all", "content"]),
)
def test_html_shows_the_released_text_and_nothing_else(text: str, oov: str, select: str) -> None:
    release = Veil(MADE, select=select, oov=oov, seed=1)(f"zqa {text} the")
    shown = Reader(release._repr_html_())
    assert shown.text == release.text
    counts = release.counts
    assert len(shown.marked) == counts.drawn + counts.outside + counts.numbers + counts.identifiers
    marked = [release.text[word.new_start : word.new_end] for word in release.replacements]
    assert [part for part, _ in shown.marked] == [part for part in marked if part]
    values = [part for part, kind in shown.marked if kind.startswith("number")]
    assert len(values) == counts.numbers
    assert all(is_placeholder(part) for part in values)
    assert unescape(release._repr_html_()).count("<script") == release.text.count("<script")


def test_mistakes_that_would_release_a_word_are_refused() -> None:
    for wrong in ("harbour", b"harbour"):
        with pytest.raises(OptionError):
            Veil(epsilon=4, select="words", words=wrong)  # type: ignore[arg-type]
    veil = Veil(epsilon=4)
    with pytest.raises(InputError):
        veil("The harbour", spans=((4, 11),))  # which would be ignored
    for nothing in (None, 3, b"harbour", ["harbour"]):
        with pytest.raises(InputError):
            veil(nothing)  # type: ignore[arg-type]
        with pytest.raises(InputError):
            veil.together(["harbour", nothing])  # type: ignore[list-item]
    with pytest.raises(InputError):
        veil.together("harbour")
    assert "harbour" not in repr(Document("harbour"))


def test_what_is_promised_is_never_rounded_down() -> None:
    promise = Guarantee(Notion.APPROXIMATE, 1.23456449, "distance", "unit", delta=1.249e-6)
    for said in (promise.sentence(), promise.formula(), repr(promise)):
        assert "1.23457" in said
        assert "1.3e-06" in said


def test_a_veil_that_leaves_words_bare_promises_nothing() -> None:
    veil = Veil(mechanism("nadp", load_space("glove-50k").restrict(np.arange(300)), epsilon=4), unproven=True)
    assert veil.shortfall
    assert veil.guarantee.notion is Notion.NONE
    assert veil.shortfall in veil.guarantee.caveats
