"""The attack by a reader of the whole release: what it counts, and that its probabilities are to be believed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.attacks.doubles import Table, random_rows, texts_of
from tests.conftest import make_space, names
from wordveil import Document, Entropy, InputError, OptionError, Veil, mechanism
from wordveil._mechanisms import Effort
from wordveil.attacks import ContextAttack, attack_context
from wordveil.spaces import EuclideanSpace, Vocabulary

WORDS = 60
SPACE = make_space(WORDS, 4, seed=5)
FREQUENT = np.arange(WORDS, 0, -1.0) ** 2
PRIOR = FREQUENT / FREQUENT.sum()


def channel(stay: float = 0.5) -> Table:
    """Make a channel with an exact law, under which some words are found and some are not."""
    return Table(SPACE, stay * np.eye(WORDS) + (1.0 - stay) * random_rows(WORDS, 1))


def attack(count: int = 300, seed: int = 3, stay: float = 0.5, **options: object) -> ContextAttack:
    texts = texts_of(names(WORDS), count, 10, seed, PRIOR)
    given = {"kind": "table", "select": "all", "prior": PRIOR, "entropy": Entropy(seed), **options}
    return attack_context(channel(stay), texts, **given)


def test_the_figures_are_those_of_the_exact_posterior() -> None:
    found = attack(tokens=100_000)
    law = np.exp(channel().log_weights(np.arange(WORDS)))
    joint = PRIOR[:, None] * law / law.sum(axis=1, keepdims=True)
    best = joint.max(axis=0).sum()
    assert found.in_context.low < best < found.in_context.high
    assert found.alone == found.in_context
    assert found.kept.low < (PRIOR * np.diag(law)).sum() < found.kept.high
    top = np.sort(joint, axis=0)[-5:].sum()
    assert found.top_five.low < top < found.top_five.high
    assert (found.texts, found.fitted, found.left_out, found.exact) == (300, 300, 0, True)
    assert (found.kept.n, found.missed.value, found.outside.value) == (3000, 0.0, 0.0)
    json.dumps(found.to_dict())


@pytest.mark.parametrize("kind", ["table", "population"])
@pytest.mark.parametrize("stay", [0.2, 0.5, 0.8])
def test_a_stated_probability_is_one(kind: str, stay: float) -> None:
    found = attack(800, 7, stay, kind=kind, tokens=100_000)
    tested = [part for part in found.reliability if part.right.n >= 100]
    assert len(tested) >= 3
    for part in tested:
        # four intervals in a hundred may miss by themselves; three times their width is never missed by chance
        reach = 1.5 * (part.right.high - part.right.low)
        assert abs(part.stated - part.right.value) < max(reach, 0.02), part
        assert part.low <= part.stated <= part.high


def test_an_output_of_a_small_release_does_not_explain_itself(sample_csv: Path) -> None:
    with sample_csv.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][:150]
    found = attack_context(Veil(epsilon=4).mechanism, texts, kind="population", tokens=100_000, entropy=Entropy(2))
    sure = [part for part in found.reliability if part.low >= 0.2 and part.right.n]
    places = sum(part.right.n for part in sure)
    stated, right = (
        sum(part.right.n * (part.stated if is_stated else part.right.value) for part in sure) / max(1, places)
        for is_stated in (True, False)
    )
    assert stated - right < 3 * (stated * (1 - stated) / max(1, places)) ** 0.5


def test_attacks_that_are_given_one_law_learn_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = mechanism("laplace", SPACE, epsilon=3.0)
    law, texts = made.law(Effort(column_draws=3000)), texts_of(list(SPACE.vocabulary), 30, 6, seed=3)
    veil = Veil(made, select="all", seed=1, unproven=True)
    release = [veil(text).text for text in texts]

    def attack() -> ContextAttack:
        return attack_context(made, texts, release, kind="table", select="all", law=law, entropy=Entropy(2))

    first = attack()

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(type(made), "draw", refuse)  # what follows draws nothing
    assert attack().to_dict() == first.to_dict()
    with pytest.raises(OptionError):
        attack_context(mechanism("laplace", SPACE, epsilon=4.0), texts, release, law=law)


def test_a_network_may_read_as_it_comes() -> None:
    pytest.importorskip("torch")
    found = attack(40, kind="context", fitted=False)
    assert found.reader == "context"
    assert found.alone == attack(40, kind="population").alone
    with pytest.raises(OptionError):
        attack(40, kind="table", fitted=False)


def test_a_fit_on_some_texts_stops_before_it_knows_them_by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from wordveil.reading.context import Context, Schedule
    from wordveil.reading.network import Size

    monkeypatch.setattr(Context, "size", Size(width=48, heads=2, towers=1, questions=1, words=48))
    monkeypatch.setattr(Context, "schedule", Schedule(least=200, most=200, batch=256, rate=5e-3, dropout=0.0))
    found = attack(80, kind="context", tokens=100_000)  # words that have nothing to do with each other
    assert found.in_context.value > 0.97 * found.alone.value


def test_a_fitted_network_is_held_to_its_reliability(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from wordveil.reading.context import Context, Schedule
    from wordveil.reading.network import Size

    monkeypatch.setattr(Context, "size", Size(width=48, heads=2, towers=1, questions=1, words=48))
    monkeypatch.setattr(Context, "schedule", Schedule(least=300, most=300, batch=256, rate=3e-3))
    sentences = texts_of(names(WORDS), 5, 8, 0)  # as forms and tickets are: few sentences, often repeated
    texts = [sentences[one] for one in np.random.default_rng(1).integers(0, 5, 300)]
    found = attack_context(channel(0.5), texts, kind="context", select="all", tokens=100_000, entropy=Entropy(1))
    assert found.in_context.low > found.alone.high
    for part in found.reliability:
        if part.right.n >= 100 and part.low >= 0.5:
            assert part.right.low - 0.1 < part.stated < part.right.high + 0.1, part


def test_what_is_rare_sure_and_has_stayed() -> None:
    found = attack(frequent=30, stay=0.9, tokens=1000)
    assert found.frequent == 30
    assert 0 < found.rare.n < found.kept.n
    assert found.sure.value > 0.3
    assert found.right_when_sure.low > 0.85
    assert found.stayed.value > 0.7
    assert attack(frequent=WORDS).rare.n == 0
    blind = attack_context(
        Table(SPACE, np.full((WORDS, WORDS), 1 / WORDS)), texts_of(names(WORDS), 200, 10, 2), kind="table",
        select="all", prior="uniform", entropy=Entropy(2),
    )  # fmt: skip
    assert blind.stayed.low < 0.5 < blind.stayed.high  # nothing is told of any word
    assert blind.in_context.high < 0.06
    assert blind.sure.value == 0.0


def test_a_text_released_again_gives_more_away() -> None:
    once, often = (attack(releases=times) for times in (1, 4))
    assert often.releases == 4
    assert often.in_context.low > once.in_context.high
    assert often.sure.low > once.sure.high


def test_function_words_that_are_drawn_and_unknown_words_count_as_the_attacker_sees_them() -> None:
    vocabulary = Vocabulary(["the", "of", *names(10)])
    space = EuclideanSpace("with stop words", vocabulary, make_space(12, 3, seed=1).matrix)
    uniform = Table(space, np.full((12, 12), 1 / 12))
    texts = [f"the {a} of the unknownish {b}" for a in names(10) for b in names(10)] * 4
    found = attack_context(uniform, texts, kind="table", entropy=Entropy(4))
    assert found.kept.n == 800
    assert found.outside.value == pytest.approx(1 / 3)
    assert found.missed.low < 1 / 6 < found.missed.high
    assert found.sure.n == pytest.approx(1200 * 5 / 6, rel=0.1)  # what looks veiled, whatever is behind it


def test_an_own_release_is_compared_place_by_place() -> None:
    made, texts = channel(), texts_of(names(WORDS), 100, 10, 8)
    veiled = [one.text for one in Veil(made, select="all", seed=1, unproven=True).many(texts)]
    settings = {"kind": "table", "select": "all", "entropy": Entropy(1)}
    found = attack_context(made, texts, veiled, **settings)  # type: ignore[arg-type]
    words = [" ".join(some).replace(".", "").lower().split() for some in (texts, veiled)]
    same = np.mean([a == b for a, b in zip(*words, strict=True)])
    assert found.kept.value == pytest.approx(same)
    shortened = [*veiled[:-1], veiled[-1].partition(" ")[2]]
    assert attack_context(made, texts, shortened, **settings).left_out == 1  # type: ignore[arg-type]
    for wrong in (veiled[:-1], texts, [one.partition(" ")[2] for one in veiled], ["unknown " * 10] * 100):
        with pytest.raises(InputError):
            attack_context(made, texts, wrong, **settings)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        attack_context(made, texts, veiled, releases=2, **settings)  # type: ignore[arg-type]


def test_a_release_that_left_function_words_alone_is_not_read_as_one_of_all_words() -> None:
    vocabulary = Vocabulary(["the", "of", *names(10)])
    space = EuclideanSpace("with stop words", vocabulary, make_space(12, 3, seed=1).matrix)
    made = Table(space, np.full((12, 12), 1 / 12))
    texts = [f"the {a} of the {b}" for a in names(10) for b in names(10)]
    veiled = [one.text for one in Veil(made, seed=1, unproven=True).many(texts)]
    assert attack_context(made, texts, veiled, kind="table").left_out == 0
    with pytest.raises(InputError):
        attack_context(made, texts, veiled, kind="table", select="all")


def test_listed_words_and_spans_are_known_by_their_places() -> None:
    listed = names(WORDS)[:20]
    found = attack(select="words", words=listed, tokens=100_000)
    assert found.kept.n < 3000
    spans = [Document("zqa zqb zqc", ((0, 3),))] * 50
    found = attack_context(channel(), spans, kind="table", select="spans", entropy=Entropy(1))
    assert found.kept.n == 50


def test_what_cannot_be_attacked_is_refused(tmp_path: Path) -> None:
    for texts in ([], ["nothing known here"], "one text"):
        with pytest.raises(InputError):
            attack_context(channel(), texts, kind="table", select="all")
    for options in ({"kind": "none"}, {"tokens": 0}, {"frequent": -1}, {"releases": 0}, {"select": "rare"}):
        with pytest.raises(OptionError):
            attack(**options)
