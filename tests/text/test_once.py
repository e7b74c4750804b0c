"""Equal words of one scope are drawn once, with the law of a fresh draw, and nobody else shares the draw."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import ALPHA, make_space, names
from wordveil import Veil, mechanism
from wordveil._mechanisms import MECHANISMS, Mechanism, block
from wordveil._mechanisms.graph import Graph
from wordveil.errors import InputError, OptionError
from wordveil.guarantee import Notion
from wordveil.lac import Localizer
from wordveil.noise import Entropy, KeyedEntropy
from wordveil.text import SCOPES, Document, Once

SPACE = make_space(120, 5)
GRAPH = mechanism("graph", SPACE, epsilon=1.0)
WORDS = names(120)
TEXTS = st.lists(st.sampled_from([*WORDS[:6], "unheard", "Unheard", "4711", "12", "the"]), max_size=12).map(" ".join)


def pairs(text: str, veiled: str) -> set[tuple[str, str]]:
    """Return which word became which, but for capitals."""
    return set(zip(text.lower().split(), veiled.lower().split(), strict=True))


@given(texts=st.lists(TEXTS, max_size=5), scope=st.sampled_from(SCOPES), whose=st.lists(st.sampled_from("ab")))
def test_equal_words_of_a_scope_become_equal(texts: list[str], scope: str, whose: list[str]) -> None:
    people = (whose + ["a"] * len(texts))[: len(texts)] if scope == "person" else [None] * len(texts)
    veil = Veil(GRAPH, once=scope, select="all", identifiers="veil", numbers="digits")
    releases = veil.together([Document(text, scope=person) for text, person in zip(texts, people, strict=True)])
    scopes: dict[Any, set[tuple[str, str]]] = {}
    for number, (text, release, person) in enumerate(zip(texts, releases, people, strict=True)):
        key = {"record": number, "person": person, "file": 0}[scope]
        scopes.setdefault(key, set()).update(pairs(text, release.text))
        assert release.counts.draws <= len(set(text.lower().split()))
    for shared in scopes.values():
        assert len(dict(shared)) == len(shared)


@pytest.mark.parametrize("scope", ["person", "file"])
def test_draws_beyond_a_record_are_the_same_in_another_batch_or_process(scope: str) -> None:
    how: dict[str, Any] = {"once": scope, "select": "all", "numbers": "metric", "numbers_epsilon": 0.1}
    text, veil = "zqa unheard 4711 zqb", Veil(GRAPH, **how)
    who = "ann" if scope == "person" else None
    first = veil(text, scope=who).text
    again = pickle.loads(pickle.dumps(veil))  # noqa: S301 - our own
    assert [veil(text, scope=who).text, again(text, scope=who).text] == [first, first]
    assert next(veil.many([Document(f"zqc {text}", scope=who)])).text.endswith(first[3:])
    others = {Veil(GRAPH, **how)(text, scope=who).text for _ in range(20)}
    assert len(others) > 10  # another job has another secret
    if scope == "person":
        assert len({veil(text, scope=f"bob {number}").text for number in range(20)}) > 10


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"hyperbolic", "hyperbolic-icdm19"}))
def test_seeded_draws_have_the_law_of_fresh_ones_and_follow_from_their_seeds(name: str) -> None:
    space = make_space(30, 3)
    made: Mechanism[Any] = mechanism(name, space, epsilon=2.0)
    generator, count = np.random.default_rng(4), 2000 if made.searches_points else 4000
    seeds = [generator.bytes(64) for _ in range(count)]
    ids = np.full(count, 7)
    drawn = made.draw_each(ids, seeds)
    fresh = made.draw(ids, None)
    table = np.stack([np.bincount(some, minlength=30) for some in (drawn, fresh)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > ALPHA
    # alone, and in other company
    assert made.draw_each(ids[:1], seeds[:1]).tolist() == drawn[:1].tolist()
    mixed = np.concatenate([[3, 7], np.arange(20)])
    assert made.draw_each(mixed, seeds[:1] + seeds[1:2] + seeds[10:30])[1] == drawn[1]


def test_the_draws_of_a_graph_from_seeds_follow_its_probabilities() -> None:
    generator, count = np.random.default_rng(5), 60_000
    seeds = [generator.bytes(64) for _ in range(count)]
    drawn = GRAPH.draw_each(np.full(count, 11), seeds)
    expected = GRAPH.probabilities(11) * count  # type: ignore[attr-defined]
    assert stats.chisquare(np.bincount(drawn, minlength=120), expected).pvalue > ALPHA


BLOCKED = np.array([0, 3, 11, 40, 41, 42])


@pytest.fixture(scope="module", params=["graph", "exponential", "laplace"])
def polite(request: pytest.FixtureRequest) -> Mechanism[Any]:
    return block(mechanism(request.param, SPACE, epsilon=3.0), [WORDS[place] for place in BLOCKED])


@pytest.mark.parametrize("word", [11, 12, int(GRAPH.space.neighbours(np.array([11]), 1)[0][0, 0])])
def test_seeded_draws_leave_blocked_words_out_and_keep_the_law_of_the_others(polite: Mechanism[Any], word: int) -> None:
    assert sorted(polite.blocked.tolist()) == BLOCKED.tolist()
    generator, count = np.random.default_rng(word), {"laplace": 4000, "exponential": 8000, "graph": 30_000}[polite.name]
    seeds, ids = [generator.bytes(64) for _ in range(count)], np.full(count, word)
    drawn = polite.draw_each(ids, seeds)
    assert not np.isin(drawn, BLOCKED).any()
    # alone, in another order and in other company
    assert polite.draw_each(ids[:200][::-1], seeds[:200][::-1])[::-1].tolist() == drawn[:200].tolist()
    mixed = polite.draw_each(np.concatenate([ids[:50], np.arange(120)]), seeds[:170])
    assert mixed[:50].tolist() == drawn[:50].tolist()
    fresh = polite.draw(ids, Entropy(word))
    for some in (drawn, fresh):
        found = np.bincount(some, minlength=120)
        if polite.name == "laplace":
            table = np.stack([found, np.bincount(fresh, minlength=120)])
            assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > ALPHA
        else:
            expected = polite.law().rows(np.array([word]))[0] * count
            assert found[expected == 0.0].sum() == 0
            likely = expected > 5.0
            rest = [found[~likely].sum()], [expected[~likely].sum()]
            seen, stated = (np.concatenate(pair) for pair in ((found[likely], rest[0]), (expected[likely], rest[1])))
            assert stats.chisquare(seen[stated > 0], stated[stated > 0]).pvalue > ALPHA


def test_a_shell_with_one_allowed_word_is_drawn_from_all_the_same() -> None:
    near = GRAPH.space.neighbours(np.array([11]), 1)[0][0, 0]
    allowed = np.array([near, 90])
    graph = Graph(SPACE, 1.0).without(np.setdiff1d(np.arange(120), allowed))
    generator, count = np.random.default_rng(8), 5000
    drawn = graph.draw_each(np.full(count, 11), [generator.bytes(64) for _ in range(count)])
    expected = graph.probabilities(11) * count
    assert set(drawn.tolist()) <= set(allowed.tolist())
    assert stats.chisquare(np.bincount(drawn, minlength=120)[allowed], expected[allowed]).pvalue > ALPHA


@pytest.mark.parametrize("scope", ["record", "person"])
def test_words_outside_and_values_are_drawn_once_and_like_others(scope: str) -> None:
    polite = block(mechanism("graph", SPACE, epsilon=1.0), [WORDS[place] for place in BLOCKED])
    how: dict[str, Any] = {"select": "all", "numbers": "metric", "numbers_epsilon": 0.5}
    count, tables = 4000, []
    for once in (scope, None):
        veil = Veil(polite, once=once, **how)
        scopes = [str(number) if once == "person" else None for number in range(count)]
        texts = [Document("unheard 500 unheard 500 other", scope=scope) for scope in scopes]
        words = [release.text.lower().split() for release in veil.together(texts)]
        if once:
            assert all(one[0] == one[2] and one[1] == one[3] for one in words)
        outs = np.array([[WORDS.index(one[0]), WORDS.index(one[4])] for one in words])
        assert not np.isin(outs, BLOCKED).any()
        assert len(set(zip(*outs.T.tolist(), strict=True))) > 1000  # two words, two draws
        moved = np.searchsorted([300, 400, 490, 510, 600, 800], [int(one[1]) for one in words])
        tables.append([np.bincount(outs[:, 0] // 10, minlength=12), np.bincount(moved, minlength=7)])
    for part in (0, 1):
        table = np.stack([both[part] for both in tables])
        assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > ALPHA


def test_words_outside_and_numbers_are_drawn_as_without_a_scope() -> None:
    plain, once = (Veil(GRAPH, select="all", once=once, numbers="digits") for once in (None, "person"))
    count = 3000
    table = []
    for veil, scopes in ((plain, [None] * count), (once, [str(number) for number in range(count)])):
        releases = veil.together([Document("unheard 7", scope=scope) for scope in scopes])
        words = [release.text.lower().split() for release in releases]
        seen = np.array([WORDS.index(word) for word, _ in words]) // 12
        digits = np.array([int(digit) for _, digit in words])
        table.append(np.concatenate([np.bincount(seen, minlength=10), np.bincount(digits, minlength=10)]))
    for part in (slice(0, 10), slice(10, 20)):
        assert stats.chi2_contingency(np.array(table)[:, part]).pvalue > ALPHA


def test_different_words_and_persons_have_independent_draws() -> None:
    veil = Veil(GRAPH, once="person", select="all")
    texts = [Document("zqa zqb", scope=str(number)) for number in range(4000)]
    drawn = [release.text.lower().split() for release in veil.together(texts)]
    place = {word: number % 4 for number, word in enumerate(WORDS)}
    left, right = (np.array([place[pair[side]] for pair in drawn]) for side in (0, 1))
    for one, other in ((left, right), (left[:-1], left[1:])):
        assert stats.chi2_contingency(np.histogram2d(one, other, 4)[0]).pvalue > ALPHA


def test_a_seed_makes_it_reproducible_and_voids_the_promise() -> None:
    text = "zqa zqb zqa unheard 12"
    for scope in SCOPES:
        who = "ann" if scope == "person" else None
        veils = [Veil(GRAPH, once=scope, select="all", seed=3) for _ in range(2)]
        assert len({veil(text, scope=who).text for veil in veils}) == 1
        assert veils[0].guarantee.notion is Notion.NONE
    assert Veil(GRAPH, once=Once("file", seed=1)).guarantee.notion is Notion.NONE


def test_what_is_promised_says_what_is_released() -> None:
    plain = Veil(GRAPH, once=None)
    assert Veil(GRAPH).describe()["once"] == "record"
    for scope in SCOPES:
        veil = Veil(GRAPH, once=scope)
        said = veil.guarantee.caveats[len(plain.guarantee.caveats) :]
        assert len(said) == (scope != "record")
        assert any("which places" in one for one in veil.report(veil("zqa", scope="ann"))["not_protected"])
        assert veil.guarantee.epsilon == plain.guarantee.epsilon
        assert veil.describe()["once"] == scope
        assert scope in repr(veil)
        assert veil.fingerprint != plain.fingerprint
        assert veil.once is not None
        assert veil.once.secret.hex() not in repr(veil) + repr(veil.once) + str(veil.describe())
    assert plain.describe()["once"] is None


def test_the_losses_of_a_record_count_each_word_once() -> None:
    text = "zqa zqb zqa zqa unheard"
    for scope, losing in ((None, 5), ("record", 3), ("file", 3)):
        veil = Veil(GRAPH, once=scope, select="all")
        release = veil(text)
        facts = veil.report(release)["document"]
        assert release.counts.draws == losing - 1
        assert facts["veiled_words_in_the_longest"] == losing
        assert facts["worst_case_loss"] == pytest.approx(losing * GRAPH.largest_loss)


@pytest.mark.parametrize("scope", ["person", "file"])
def test_a_record_has_the_loss_of_all_its_words_whatever_was_drawn_before(scope: str) -> None:
    veil = Veil(GRAPH, once=scope, select="all")
    texts = [Document(text, scope="ann") for text in ("zqa zqb", "zqc zqd", "zqa zqb zqc zqd zqa")]
    assert [release.counts.draws for release in veil.together(texts)] == [2, 2, 4]
    assert veil.report(*veil.together(texts))["document"]["veiled_words_in_the_longest"] == 4


def test_texts_hide_only_among_those_with_the_same_repetitions() -> None:
    veil = Veil(GRAPH, once="record", select="all", numbers="digits")
    assert veil.shape("zqa zqb zqa").drawn == 2
    assert veil.shape("zqa zqb zqa") == veil.shape("zqc zqa zqc")
    for other in ("zqa zqb zqb", "zqa zqa zqa", "zqa zqb zqc"):
        assert veil.shape(other) != veil.shape("zqa zqb zqa")
    assert veil.shape("unheard other") != veil.shape("unheard unheard")
    assert veil.shape("12 13") != veil.shape("12 12")
    moving = Veil(GRAPH, once="record", select="all", numbers="metric", numbers_epsilon=1.0)
    assert moving.shape("12 12") == moving.shape("13 13") != moving.shape("12 13")
    assert Localizer(veil, words=2).veil is veil
    with pytest.raises(OptionError):
        Localizer(Veil(GRAPH, once="person"))


def test_scopes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(OptionError):
        Veil(GRAPH, once="sentence")
    with pytest.raises(InputError):
        Veil(GRAPH, once="person")("zqa")
    with pytest.raises(InputError):
        Veil(GRAPH, once=None)("zqa", scope="ann")


@pytest.mark.parametrize("batch_words", [1, 3, 1000])
def test_texts_of_a_record_are_veiled_together(batch_words: int) -> None:
    veil = Veil(GRAPH, once="record", select="all")
    texts = [Document("zqa zqb", scope=number // 3) for number in range(30)]
    veiled = [release.text for release in veil.many(texts, batch_words=batch_words)]
    assert [len(set(veiled[start : start + 3])) for start in range(0, 30, 3)] == [1] * 10
    assert len(set(veiled)) > 3


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.text.once._REMEMBERED", 5)
    veil = Veil(GRAPH, once="file", select="all")
    text = " ".join(WORDS)
    first = veil(text).text
    assert veil.once is not None
    assert len(veil.once._remembered) <= 5
    assert veil(text).text == first


def test_a_keyed_stream_follows_from_its_key_and_goes_nowhere() -> None:
    key = bytes(range(64))
    assert KeyedEntropy(key).uniform(3).tolist() == KeyedEntropy(key).uniform(3).tolist()
    assert [one.uniform(1)[0] for one in KeyedEntropy(key).spawn(2)] == [
        one.uniform(1)[0] for one in KeyedEntropy(key).spawn(2)
    ]
    with pytest.raises(TypeError):
        pickle.dumps(KeyedEntropy(key))


def test_draws_of_one_secret_at_two_epsilons_have_nothing_in_common() -> None:
    once, space = Once("file"), make_space(200, 6)
    text = " ".join(space.vocabulary)

    def veiled(epsilon: float) -> list[str]:
        made = mechanism("graph", space, epsilon=epsilon)
        return Veil(made, once=once, select="all", unproven=True)(text).text.lower().split()

    kept = veiled(20.0)
    assert kept == veiled(20.0)  # the same way of veiling
    # of 200; the memory of the other ε would give all of them
    assert sum(one == two for one, two in zip(veiled(0.5), kept, strict=True)) < 20
