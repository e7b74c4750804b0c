"""The mechanisms of other papers: each keeps what is proved of it, and no more is said of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space, names
from wordveil import Veil
from wordveil._mechanisms import ALIASES, Effort, kind_named, mechanism
from wordveil._mechanisms.priors import informing_least
from wordveil.audit import Auditor
from wordveil.errors import OptionError, SpaceError, UnprovenError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary

SPACE = make_space(60, 4, seed=3)
WORDS = np.arange(60)


def losses(rows: np.ndarray) -> np.ndarray:
    """Return the largest log-ratio of every two rows; an output that neither has tells nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        apart = np.abs(logs[:, None, :] - logs[None, :, :])
    return np.nan_to_num(apart, nan=0.0, posinf=np.inf).max(axis=2)


def assert_follows(made: object, word: int, rows: np.ndarray, seed: int = 5) -> None:
    """Test that draws of a word follow its row."""
    drawn = made.draw(np.full(40_000, word), Entropy(seed))  # type: ignore[attr-defined]
    counts, expected = np.bincount(drawn, minlength=len(rows[word])), rows[word] * len(drawn)
    assert not counts[expected == 0.0].any()
    often = expected >= 10
    seen, wanted = counts[often], expected[often]
    if expected[~often].sum() > 1:
        seen, wanted = np.append(seen, counts[~often].sum()), np.append(wanted, expected[~often].sum())
    if len(seen) > 1:
        assert stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue > ALPHA


class TestPolar:
    def test_two_words_on_a_circle_have_known_probabilities(self) -> None:
        # Four directions on a circle: each cell is the quarter around its word.
        corners = np.array([[1.0, 0], [0, 2.0], [-3.0, 0], [0, -1.0]])
        made = mechanism("polar", EuclideanSpace("square", Vocabulary(names(4)), corners), epsilon=1.3)
        angles = np.linspace(-np.pi, np.pi, 200_001)[:-1]
        density = np.exp(1.3 * np.cos(angles))
        cell = np.round(angles / (np.pi / 2)).astype(int) % 4
        mass = np.bincount(cell, density) / density.sum()
        counts = np.bincount(made.draw(np.zeros(40_000, dtype=int), Entropy(1)), minlength=4)
        assert stats.chisquare(counts, mass * 40_000).pvalue > ALPHA
        assert abs(math.log(mass[0] / mass[2])) <= made.guarantee.loss(2.0)

    def test_the_audit_finds_nothing_and_finds_noise_that_is_too_small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        auditor = Auditor(words=12, draws=6000, repeat=True)
        assert auditor.audit("polar", SPACE, epsilon=2.0).verdict == "holds"
        kind = kind_named("polar")
        right = kind.perturb

        def stingy(self: object, ids: np.ndarray, entropy: Entropy) -> np.ndarray:
            self.epsilon *= 2.0  # type: ignore[attr-defined]
            points = right(self, ids, entropy)  # type: ignore[arg-type]
            self.epsilon /= 2.0  # type: ignore[attr-defined]
            return np.asarray(points)

        monkeypatch.setattr(kind, "perturb", stingy)
        assert auditor.audit("polar", SPACE, epsilon=2.0).verdict == "broken"

    def test_lengths_play_no_part_and_a_word_without_direction_is_refused(self) -> None:
        longer = EuclideanSpace("longer", SPACE.vocabulary, SPACE.vectors * np.linspace(1, 9, 60)[:, None])
        first, second = (mechanism("polar", one, epsilon=5.0).draw(WORDS, Entropy(2)) for one in (SPACE, longer))
        assert np.array_equal(first, second)
        nowhere = EuclideanSpace("zero", Vocabulary(["a", "b"]), np.array([[0.0, 0], [1, 0]]))
        with pytest.raises(SpaceError):
            mechanism("polar", nowhere, epsilon=1.0)


class TestCustext:
    @pytest.mark.parametrize("k", [1, 7, 20, 100])
    def test_groups_share_their_words_and_lose_epsilon_at_most(self, k: int) -> None:
        made = mechanism("custext", SPACE, epsilon=1.5, k=k)
        sizes = np.bincount(made.groups)  # type: ignore[attr-defined]
        assert (sizes[:-1] == min(k, 60)).all()
        assert sizes.sum() == 60
        rows = made.law().rows(WORDS)
        assert rows.sum(axis=1) == pytest.approx(1.0)
        together = made.groups[:, None] == made.groups  # type: ignore[attr-defined]
        assert np.array_equal(rows > 0, together)
        apart = losses(rows)
        assert (apart[together] <= 1.5 + 1e-9).all()
        assert np.isinf(apart[~together]).all()
        assert_follows(made, 17, rows)

    def test_a_release_is_refused_since_the_output_tells_the_group(self) -> None:
        with pytest.raises(UnprovenError):
            Veil(mechanism("custext", SPACE, epsilon=1.0))
        verdict = Auditor(words=40, draws=5000, repeat=True).audit("custext", SPACE, epsilon=1.0)
        assert (verdict.verdict, verdict.claim_verdict) == ("holds", "broken")

    def test_sets_of_their_own_promise_nothing(self) -> None:
        made = mechanism("custext", SPACE, epsilon=1.0, k=5, mapping="aggressive")
        rows = made.law().rows(WORDS)
        assert ((rows > 0).sum(axis=1) == 5).all()
        assert np.isinf(losses(rows)[WORDS, SPACE.neighbours(WORDS, 1)[0][:, 0]]).any()
        assert made.guarantee.notion is Notion.NONE
        with pytest.raises(OptionError):
            mechanism("custext", SPACE, epsilon=1.0, mapping="brave")


class TestSantextPlus:
    def test_rare_words_keep_the_promise_and_the_others_have_none(self) -> None:
        made = mechanism("santext-plus", SPACE, epsilon=0.8, p=0.3, share=0.4)
        rows = made.law().rows(WORDS)
        rare = WORDS >= 36
        assert rows.diagonal()[~rare] == pytest.approx(0.7)
        assert rows.sum(axis=1) == pytest.approx(1.0)
        apart, allowed = losses(rows), np.array([made.allowed_loss(np.full(60, word), WORDS) for word in WORDS])
        assert (apart <= allowed * (1 + 1e-6) + 1e-9).all()
        assert np.isfinite(allowed[np.ix_(rare, rare)]).all()
        assert np.isinf(apart[np.ix_(~rare, rare)]).all()
        # for sensitive outputs alone
        within = losses(rows[:, rare])[np.ix_(~rare, rare)]
        assert (within <= 0.8 * SPACE.distances(WORDS)[np.ix_(~rare, rare)] + math.log(1 / 0.3) + 1e-5).all()
        assert_follows(made, 3, rows)
        assert_follows(made, 50, rows)
        assert math.isinf(made.largest_loss)
        with pytest.raises(UnprovenError):
            Veil(made)

    def test_if_all_words_are_sensitive_it_is_santext(self) -> None:
        every = mechanism("santext-plus", SPACE, epsilon=2.0, share=1.0)
        assert every.law().rows(WORDS) == pytest.approx(mechanism("santext", SPACE, epsilon=2.0).law().rows(WORDS))
        assert not every.shortfall
        assert math.isfinite(every.largest_loss)

    @pytest.mark.parametrize("options", [{"p": 1.1}, {"share": 0.0}])
    def test_what_makes_no_sense_is_refused(self, options: dict[str, float]) -> None:
        with pytest.raises(OptionError):
            mechanism("santext-plus", SPACE, epsilon=1.0, **options)


class TestDiffractor:
    @pytest.mark.parametrize("lists", [1, 3])
    @pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
    def test_the_largest_number_of_steps_counts(self, epsilon: float, lists: int) -> None:
        made = mechanism("diffractor", SPACE, epsilon=epsilon, lists=lists)
        rows = made.law().rows(WORDS)
        assert np.exp(made.log_weights(WORDS)).sum(axis=1) == pytest.approx(1.0)  # type: ignore[attr-defined]
        allowed = np.array([made.allowed_loss(np.full(60, word), WORDS) for word in WORDS])
        assert (losses(rows) <= allowed + 1e-9).all()
        assert_follows(made, 8, rows)

    def test_the_smallest_number_of_steps_would_not_do(self) -> None:
        made = mechanism("diffractor", SPACE, epsilon=1.0)
        places = made.places  # type: ignore[attr-defined]
        least = np.abs(places[:, :, None] - places[:, None, :]).min(axis=0)
        assert (losses(made.law().rows(WORDS)) > least + 0.5).any()

    def test_lists_have_every_word_once_and_go_from_near_to_near(self) -> None:
        made = mechanism("diffractor", SPACE, epsilon=1.0)
        orders = made.orders  # type: ignore[attr-defined]
        assert (np.sort(orders, axis=1) == WORDS).all()
        assert len({row[0] for row in orders.tolist()}) == 5
        step = SPACE.distances(orders[0])[np.arange(59), orders[0][1:]]
        assert step.mean() < 0.7 * SPACE.distances(WORDS).mean()

    @pytest.mark.parametrize("words", [1, 2, 3])
    def test_tiny_vocabularies(self, words: int) -> None:
        made = mechanism("diffractor", make_space(words, 2, seed=1), epsilon=200.0)
        assert set(made.draw(np.zeros(20, dtype=int), Entropy(0))) <= set(range(words))
        assert made.law().rows(np.arange(words)).sum(axis=1) == pytest.approx(1.0)


class TestBayesRemap:
    @pytest.mark.parametrize("of", ["graph", "ring", "exponential"])
    def test_each_output_becomes_the_word_of_least_expected_loss(self, of: str) -> None:
        made = mechanism("bayes-remap", SPACE, epsilon=2.0, of=of, prior="frequency")
        prior = 1.0 / (WORDS + 2.7)
        behind = prior[:, None] * made.inner.law().rows(WORDS)  # type: ignore[attr-defined]
        expected = (behind / behind.sum(axis=0)).T @ SPACE.distances(WORDS).astype(np.float64) ** 2
        said = made.instead  # type: ignore[attr-defined]
        assert expected[WORDS, said] == pytest.approx(expected.min(axis=1), rel=1e-4)
        assert len(set(said.tolist())) < 60
        rows = made.law().rows(WORDS)
        assert_follows(made, 11, rows)
        allowed = np.array([made.allowed_loss(np.full(60, word), WORDS) for word in WORDS])
        assert (losses(rows) <= allowed * (1 + 1e-6) + 1e-9).all()

    def test_it_can_be_used_like_any_other(self) -> None:
        made = mechanism("bayes-remap", SPACE, epsilon=2.0)
        assert (made.name, made.options()) == ("bayes-remap", {"of": "graph", "prior": "frequency"})
        assert Veil(made, select="all")(" ".join(names(5))).counts.drawn == 5
        with pytest.raises(OptionError):
            mechanism("bayes-remap", SPACE, epsilon=2.0, of="laplace")


class TestTem:
    def test_a_quotient_for_the_number_of_far_words_breaks_the_claim(self) -> None:
        made = mechanism("tem-quotient", SPACE, epsilon=2.0, clip=3.0)
        rows = made.law().rows(WORDS)
        assert (losses(rows) > 2.0 * SPACE.distances(WORDS) + 0.1).any()
        assert_follows(made, 4, rows)
        auditor = Auditor(words=40, draws=5000, repeat=True)
        verdict = auditor.audit("tem-quotient", SPACE, epsilon=2.0, clip=3.0)
        assert (verdict.verdict, verdict.claim_verdict) == ("no promise", "broken")
        assert auditor.audit("tem", SPACE, epsilon=2.0, clip=3.0).verdict == "holds"

    def test_drawing_a_symbol_for_the_rest_with_their_number_is_our_law(self) -> None:
        epsilon, clip = 2.0, 3.0
        distances = SPACE.distances(WORDS).astype(np.float64)
        far = distances > clip
        weights = np.where(far, 0.0, np.exp(-0.5 * epsilon * distances))
        bottom = far.sum(axis=1) * math.exp(-0.5 * epsilon * clip)
        rows = (weights + far * (bottom / np.maximum(far.sum(axis=1), 1))[:, None]) / (weights.sum(1) + bottom)[:, None]
        assert mechanism("tem", SPACE, epsilon=epsilon, clip=clip).law().rows(WORDS) == pytest.approx(rows, rel=1e-4)


class TestBlahutArimoto:
    def test_outputs_say_less_at_the_same_mean_distance(self) -> None:
        prior = np.asarray(1.0 / (WORDS + 2.7), dtype=np.float64)
        prior = np.asarray(prior / prior.sum(), dtype=np.float64)
        distances = SPACE.distances(WORDS).astype(np.float64)

        def told(name: str, epsilon: float) -> tuple[float, float]:
            law = mechanism("exponential", SPACE, epsilon=epsilon, prior=name).law(Effort())
            return law.information(prior).value, float(prior @ (law.rows(WORDS) * distances).sum(axis=1))

        bits, apart = told("blahut-arimoto", 1.5)
        for name in ("uniform", "frequency", "density"):
            # of the same mean distance, found by its epsilon
            low, high = 0.01, 40.0
            for _ in range(40):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if told(name, middle)[1] > apart else (low, middle)
            assert told(name, low)[0] > bits

    def test_it_is_kept_and_rules_no_word_out(self) -> None:
        found = informing_least(SPACE, 2.0, None)
        assert found.max() == 0.0
        assert found.min() > -math.log(60 / 1e-3) - 1e-9
        assert np.array_equal(found, informing_least(SPACE, 2.0, None))


def _small(kind: str, words: int) -> EuclideanSpace:
    """Return a space of few words: twins, ties, words on a line, or one far from all others."""
    points = np.random.default_rng(words).normal(size=(words, 2)) * 2.0
    if kind == "twins":
        points[words // 2 :] = points[: words - words // 2]
    elif kind == "ties":
        points = np.round(points)
    elif kind == "a line":
        points[:, 1] = 0.0
    elif kind == "one far off":
        points[-1] += 1000.0
    return EuclideanSpace(f"{words} words, {kind}", Vocabulary(names(words)), points)


_OPTIONS: dict[str, list[dict[str, object]]] = {
    "custext": [{"k": 1}, {"k": 3}, {"k": 1000}],
    "santext-plus": [{"p": p, "share": share} for p in (0.0, 0.4, 1.0) for share in (1e-9, 0.5, 1.0)],
    "diffractor": [{"lists": 1}, {"lists": 64}],
    "bayes-remap": [{"of": of, "prior": "density"} for of in ("graph", "ring", "exponential")],
    "truncated": [{}, {"clip": 1.0}],
    "exponential": [{"prior": "blahut-arimoto"}],
}


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 300.0])
@pytest.mark.parametrize(
    ("kind", "words"),
    [("plain", 1), ("plain", 2), ("twins", 2), ("twins", 9), ("ties", 12), ("a line", 7), ("one far off", 8)],
)
@pytest.mark.parametrize("name", _OPTIONS)
def test_every_pair_and_output_of_small_spaces_keeps_what_is_proved(
    name: str, kind: str, words: int, epsilon: float
) -> None:
    space, ids = _small(kind, words), np.arange(words)
    for options in _OPTIONS[name]:
        made = mechanism(name, space, epsilon=epsilon, **options)
        rows = made.law().rows(ids)
        assert rows.sum(axis=1) == pytest.approx(1.0)
        allowed = np.array([made.allowed_loss(np.full(words, word), ids) for word in ids])
        if name == "custext":  # ε for words of one group, whose outputs are the same
            allowed = np.where(made.groups[:, None] == made.groups, epsilon, np.inf)  # type: ignore[attr-defined]
        apart = losses(rows)
        np.fill_diagonal(apart, 0.0)
        assert (apart <= allowed * (1 + 1e-6) + 3 * epsilon * space.precision + 1e-9).all()
        drawn = made.draw(np.repeat(ids, 20), Entropy(3)).reshape(words, 20)
        assert (np.take_along_axis(rows, drawn, axis=1) > 0).all()


@pytest.mark.parametrize("words", [2, 3, 8])
def test_the_arcs_of_words_on_a_circle_lose_no_more_than_is_promised(words: int) -> None:
    epsilon, space = 2.0, _small("plain", words)
    made = mechanism("polar", space, epsilon=epsilon)
    units = made.space.matrix.astype(np.float64)
    angles = np.linspace(-np.pi, np.pi, 100_001)[:-1]
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cells = (circle @ units.T).argmax(axis=1)
    rows = np.stack([np.bincount(cells, np.exp(epsilon * circle @ unit), minlength=words) for unit in units])
    rows = rows / rows.sum(axis=1, keepdims=True)
    between = np.linalg.norm(units[:, None] - units, axis=2)
    assert (losses(rows) <= epsilon * between + 1e-9).all()
    assert_follows(made, 0, rows)


def test_names_of_others_are_ours(toy: EuclideanSpace) -> None:
    assert {alias: mechanism(alias, toy, epsilon=1.0).name for alias in ALIASES} == {
        alias: of for alias, (of, _) in ALIASES.items()
    }
    assert Veil("santext", epsilon=1.0, space=toy).mechanism.name == "exponential"
