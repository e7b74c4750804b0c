"""Blocked words are never drawn, and what is promised stays."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA
from wordveil import load_space, mechanism
from wordveil._mechanisms import Mechanism, block, blocked_words, graph
from wordveil._mechanisms.laws import Effort
from wordveil.calibration import maker, meter_for
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.reading import Reader

SPACE = load_space("glove-50k").restrict(np.arange(60))
WORDS = list(SPACE.vocabulary)
BLOCKED = [WORDS[3], WORDS[17], WORDS[18], WORDS[40], "nosuchword"]
EXACT = ["graph", "exponential", "ring", "knn-truncated", "truncated"]


def _both(name: str, epsilon: float = 3.0) -> tuple[Mechanism[Any], Mechanism[Any]]:
    made = mechanism(name, SPACE, epsilon=epsilon)
    return made, block(made, BLOCKED)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("epsilon", [0.7, 6.0])
def test_the_promise_holds_for_every_pair_and_output(name: str, epsilon: float) -> None:
    made, polite = _both(name, epsilon)
    rows = polite.law().rows(np.arange(60))
    assert rows.sum(axis=1) == pytest.approx(np.ones(60))
    assert (rows[:, polite.blocked] == 0.0).all()
    assert {WORDS[place] for place in polite.blocked} >= set(BLOCKED[:-1])
    allowed = np.delete(np.arange(60), polite.blocked)
    logs = np.log(rows[:, allowed])
    loss = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    left, right = (side.ravel() for side in np.meshgrid(np.arange(60), np.arange(60), indexing="ij"))
    assert (loss.ravel() <= polite.allowed_loss(left, right) + 1e-5).all()
    assert (polite.guarantee.epsilon, polite.guarantee.notion) == (made.guarantee.epsilon, made.guarantee.notion)


@pytest.mark.parametrize("name", [*EXACT, "laplace", "vickrey"])
@pytest.mark.parametrize("word", [3, 5])
def test_draws_follow_the_law(name: str, word: int) -> None:
    _, polite = _both(name)
    drawn = polite.draw(np.full(20_000, word), Entropy(11))
    counts = np.bincount(drawn, minlength=60)
    assert not counts[polite.blocked].any()
    if name in EXACT:
        law = polite.law().rows(np.array([word]))[0]
        seen = law * 20_000 >= 5
        counts, expected = np.append(counts[seen], counts[~seen].sum()), np.append(law[seen], law[~seen].sum()) * 20_000
        counts, expected = counts[expected > 0], expected[expected > 0]
        assert stats.chisquare(counts, expected).pvalue > ALPHA


def test_all_figures_of_the_graph_agree_with_its_rows() -> None:
    _, polite = _both("graph")
    law, ids, prior = polite.law(), np.arange(60), np.linspace(1.0, 2.0, 60) / 90.0
    rows = law.rows(ids)
    with np.errstate(divide="ignore"):
        assert law.log_columns(ids) == pytest.approx(np.log(rows).T)
    assert law.stays(ids).values == pytest.approx(np.diag(rows))
    assert law.chances(ids, np.tile(ids, (60, 1))) == pytest.approx(rows)
    assert law.best_guess(prior).success.value == pytest.approx((rows * prior[:, None]).max(axis=0).sum())
    mixed = prior @ rows
    bits = stats.entropy(mixed, base=2) - prior @ [stats.entropy(row, base=2) for row in rows]
    assert law.information(prior).value == pytest.approx(bits, abs=1e-5)
    expected = (1 - (1 - rows) ** Effort().draws).sum(axis=1)
    assert law.distinct(ids).values == pytest.approx(expected)


def test_what_is_counted_around_blocked_words_is_kept_for_the_next_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = load_space("glove-50k")
    listed = [place for place, word in enumerate(whole.vocabulary) if word in blocked_words()]
    made, ids = mechanism("graph", whole.restrict(np.r_[:60, listed]), epsilon=3.0), np.arange(60)
    counted = block(made, blocked_words()).law().stays(ids).values
    monkeypatch.setattr(graph, "_WORTH_CACHING", 0)
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    for _ in range(2):  # counted and written, then read
        assert (block(made, blocked_words()).law().stays(ids).values == counted).all()
    assert len(list(tmp_path.glob("blocked-*"))) == 1


def test_a_list_of_ones_own_cannot_be_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(graph, "_WORTH_CACHING", 0)
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    _, polite = _both("graph")
    polite.law().stays(np.arange(60))
    Reader(polite, select="all").transform([" ".join(WORDS)])
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(("blocked-", "reading-"))]


def test_figures_are_those_of_what_is_blocked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    whole = load_space("glove-50k")
    listed = [place for place, word in enumerate(whole.vocabulary) if word in blocked_words()]
    space = whole.restrict(np.r_[:60, listed])
    make = maker("graph", space)

    def kept(block_list: Collection[str]) -> float:
        measured = meter_for(lambda epsilon: block(make(epsilon), block_list), space).measure([3.0])[0]
        return float(measured.to_arrays()["kept.value"])

    for words in ([], blocked_words(), BLOCKED):
        stays = block(make(3.0), words).law().stays(np.arange(len(space))).values
        assert [kept(words), kept(words)] == pytest.approx([stays.mean()] * 2)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("epsilon", [3.0, 1e3])
def test_an_output_that_is_never_drawn_says_nothing(name: str, epsilon: float) -> None:
    _, polite = _both(name, epsilon)
    law, prior, vectors = polite.law(), np.linspace(1.0, 2.0, 60) / 90.0, SPACE.matrix
    assert law.posterior(polite.blocked, prior) == pytest.approx(np.tile(prior, (len(polite.blocked), 1)), abs=1e-6)
    assert np.isfinite(law.posterior_mean(vectors, prior)).all()


def test_nothing_changes_without_blocked_words() -> None:
    made = mechanism("graph", SPACE, epsilon=3.0)
    assert block(made, ["nosuchword"]) is made
    assert (
        made.draw(np.arange(60), Entropy(1)) == mechanism("graph", SPACE, epsilon=3.0).draw(np.arange(60), Entropy(1))
    ).all()


def test_inflections_are_blocked_too_and_not_all_words_can_be() -> None:
    space = load_space("glove-50k")
    made = block(mechanism("graph", space, epsilon=4.0), ["harbour", "sail"])
    found = {space.vocabulary[place] for place in made.blocked}
    assert {"harbour", "harbours", "sail", "sails", "sailing"} <= found
    assert not {"said", "harbor"} & found
    for wrong in (WORDS, "damn"):
        with pytest.raises(OptionError):
            block(mechanism("graph", SPACE, epsilon=1.0), wrong)


def test_the_bundled_list_is_of_single_words() -> None:
    assert 200 < len(blocked_words()) < 1000
    assert all(word.isalpha() and word == word.lower() for word in blocked_words())
