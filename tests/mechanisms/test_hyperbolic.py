"""The hyperbolic mechanisms: their laws around a word, and their promises on what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from tests.conftest import ALPHA, make_poincare, make_space, names
from wordveil._mechanisms import mechanism
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy, icdm19_lengths
from wordveil.spaces import PoincareSpace, Vocabulary


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 1.2), (2, 5.0), (5, 4.5), (20, 25.0)])
def test_noise_around_any_word_has_the_same_exact_law(dimension: int, epsilon: float) -> None:
    space = make_poincare(40, dimension, reach=6.0)
    made = Hyperbolic(space, epsilon)
    shape = 0.5 * (epsilon - dimension + 1)
    for word in (int(space.radii.argmin()), int(space.radii.argmax())):
        ids = np.full(10_000, word)
        away = space.apart(made.perturb(ids, Entropy(word)), ids)
        away = away[away < 300]
        law = lambda rho: 1 - special.betainc(shape, dimension, np.exp(-2 * rho))  # noqa: E731
        assert stats.kstest(away, law).pvalue > ALPHA


def test_directions_around_a_word_are_uniform() -> None:
    space = make_poincare(40, 2, reach=4.0)
    word = int(space.radii.argmax())
    noisy = Hyperbolic(space, 8.0).perturb(np.full(20_000, word), Entropy(3))
    from wordveil.spaces.hyperbolic_geometry import BallPoints, from_hyperboloid, log_map

    base = space.ball(np.full(20_000, word))
    seen = log_map(BallPoints(base.x, base.gap), from_hyperboloid(noisy))
    angle = np.arctan2(seen[:, 1], seen[:, 0])
    assert stats.kstest((angle + np.pi) / (2 * np.pi), "uniform").pvalue > ALPHA


def cell_masses(places: np.ndarray, word: int, epsilon: float) -> np.ndarray:
    """Return the mass of each word's cell on a line, where hyperbolic noise is Laplace noise."""
    edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    return np.diff(stats.laplace(loc=places[word], scale=1 / epsilon).cdf(edges))


def test_in_one_dimension_the_channel_is_known() -> None:
    places = np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
    space = PoincareSpace("line", Vocabulary(names(5)), np.sinh(places)[:, None])
    made = Hyperbolic(space, 0.8)
    for word in range(5):
        counts = np.bincount(made.draw(np.full(40_000, word), Entropy(word)), minlength=5)
        assert stats.chisquare(counts, cell_masses(places, word, 0.8) * 40_000).pvalue > ALPHA


@pytest.mark.parametrize("least", [1, 4, 9])
def test_a_small_epsilon_is_refused_with_the_reason_and_the_least_value(least: int) -> None:
    space = make_poincare(20, least + 1)
    for epsilon in (least, 0.5 * least):
        with pytest.raises(OptionError, match=rf"epsilon .*{least}.*exponential"):
            Hyperbolic(space, epsilon)
    assert Hyperbolic(space, least + 1e-9).draw(np.arange(20), Entropy(0)).shape == (20,)


def test_generalising_moves_outputs_towards_the_centre_and_costs_nothing() -> None:
    space = make_poincare(400, 3, reach=6.0, seed=2)
    ids = np.tile(np.arange(400), 20)
    plain, pulled = Hyperbolic(space, 3.0), Hyperbolic(space, 3.0, generalise=2.0)
    assert pulled.guarantee.epsilon == plain.guarantee.epsilon
    assert np.array_equal(plain.perturb(ids, Entropy(1)), pulled.perturb(ids, Entropy(1)))
    inner = space.radii[pulled.draw(ids, Entropy(1))].mean()
    assert inner < space.radii[plain.draw(ids, Entropy(1))].mean() - 0.5
    assert pulled.options() == {"generalise": 2.0}
    for bad in (-1.0, np.nan):
        with pytest.raises(OptionError, match="generalise"):
            Hyperbolic(space, 3.0, generalise=bad)


def losses(made: Hyperbolic | HyperbolicIcdm19, left: int, right: int, seed: int, draws: int = 200_000) -> float:
    """Return a lower bound on the log-ratio of some output, by exact binomial bounds with all outputs allowed for."""
    words = len(made.space)
    ours = np.bincount(made.draw(np.full(draws, left), Entropy(seed)), minlength=words)
    theirs = np.bincount(made.draw(np.full(draws, right), Entropy(seed + 1)), minlength=words)
    error = ALPHA / (2 * words)
    low = stats.beta.ppf(error, ours, draws - ours + 1)
    high = stats.beta.ppf(1 - error, theirs + 1, np.maximum(draws - theirs, 1e-9))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.log(low / high)))


@pytest.mark.parametrize("epsilon", [1.1, 2.0])
def test_the_promise_of_hyperbolic_is_kept(epsilon: float) -> None:
    space = make_poincare(30, 2, reach=3.0, seed=3)
    made = Hyperbolic(space, epsilon)
    assert made.guarantee.notion is Notion.METRIC
    for left, right in ((0, 1), (5, 17), (int(space.radii.argmax()), int(space.radii.argmin()))):
        assert losses(made, left, right, 10) <= made.allowed_loss(np.array([left]), np.array([right]))[0]


def test_the_paper_carried_by_mobius_addition_keeps_epsilon_plus_n_and_not_epsilon() -> None:
    # words on a ray: the far outputs of the near word tell it from the far word
    places = np.linspace(0.0, 3.0, 13)
    space = PoincareSpace("ray", Vocabulary(names(13)), np.stack([np.sinh(places), np.zeros(13)], axis=1))
    made = HyperbolicIcdm19(space, 0.5, translate="mobius")
    assert made.guarantee.epsilon == pytest.approx(2.5)
    assert made.claim is None
    found = losses(made, 12, 8, 3)
    distance = float(space.distances(np.array([12]))[0, 8])
    assert 0.5 * distance < found <= 2.5 * distance


def test_the_paper_as_printed_breaks_its_claim() -> None:
    # The noise is shorter than 1, so that a word on one side of the disk never comes out on the far side of the other.
    space = make_poincare(60, 2, reach=3.0, seed=1)
    made = HyperbolicIcdm19(space, 0.125)
    assert made.guarantee.notion is Notion.NONE
    assert made.claim is not None
    ball = space.ball(np.arange(60)).x
    left, right = (int(ball[:, 0].argmax()), int(ball[:, 0].argmin()))
    allowed = made.claim.loss(float(space.distances(np.array([left]))[0, right]))
    assert losses(made, left, right, 5, 50_000) > 3 * allowed
    # the very same noise, carried by Möbius addition, keeps its own promise there
    carried = HyperbolicIcdm19(space, 0.125, translate="mobius")
    assert losses(carried, left, right, 5, 50_000) <= carried.allowed_loss(np.array([left]), np.array([right]))[0]


@pytest.mark.parametrize("translate", ["add", "mobius"])
@pytest.mark.parametrize("sampler", ["exact", "metropolis"])
def test_both_samplers_and_translations_draw_words(translate: str, sampler: str) -> None:
    space = make_poincare(30, 3, reach=4.0)
    made = HyperbolicIcdm19(space, 1.0, translate=translate, sampler=sampler, steps=50)
    drawn = made.draw(np.arange(30), Entropy(1))
    assert ((drawn >= 0) & (drawn < 30)).all()
    assert made.options() == {"translate": translate, "sampler": sampler, "steps": 50}
    proved = translate == "mobius" and sampler == "exact"
    assert (made.guarantee.notion is Notion.METRIC) == proved


def test_noise_of_the_paper_at_the_origin_follows_eq_7() -> None:
    space = PoincareSpace("origin", Vocabulary(names(2)), np.array([[0.0, 0.0], [1.0, 0.0]]))
    ids = np.zeros(5000, dtype=np.int64)
    for translate in ("add", "mobius"):
        away = space.apart(HyperbolicIcdm19(space, 1.0, translate=translate).perturb(ids, Entropy(1)), ids)
        wanted = 2 * np.arctanh(icdm19_lengths(5000, 2, 1.0, Entropy(9)))
        assert stats.ks_2samp(away, wanted).pvalue > ALPHA


def test_what_is_refused() -> None:
    flat, ball = make_space(20, 3), make_poincare(20, 3)
    for name in ("hyperbolic", "hyperbolic-icdm19"):
        with pytest.raises(SpaceError):
            mechanism(name, flat, epsilon=9.0)
    with pytest.raises(OptionError, match="translate"):
        HyperbolicIcdm19(ball, 1.0, translate="x")
    with pytest.raises(OptionError, match="sampler"):
        HyperbolicIcdm19(ball, 1.0, sampler="x")
    with pytest.raises(OptionError, match="steps"):
        HyperbolicIcdm19(ball, 1.0, steps=0)
    with pytest.raises(SpaceError):
        mechanism("laplace", ball, epsilon=1.0)


@pytest.mark.parametrize("prior", ["uniform", "general", "frequency", "density"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 1e4])
def test_exponential_on_a_poincare_space_keeps_its_promise(prior: str, epsilon: float) -> None:
    space = make_poincare(80, 3, reach=8.0, seed=6)
    made = Exponential(space, epsilon, prior=prior)
    logs = np.log(made.probability_rows(np.arange(80)))
    loss = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert (loss <= epsilon * space.distances(np.arange(80)) * (1 + 1e-9) + 1e-9).all()


def test_the_prior_general_favours_general_words() -> None:
    space = make_poincare(300, 3, reach=6.0)
    ids = np.arange(300)
    plain = Exponential(space, 1.0).probability_rows(ids) @ space.radii
    general = Exponential(space, 1.0, prior="general").probability_rows(ids) @ space.radii
    assert (general < plain).all()
    with pytest.raises(SpaceError, match="general"):
        Exponential(make_space(), 1.0, prior="general")


def test_graph_on_a_poincare_space() -> None:
    space = make_poincare(120, 3, reach=6.0)
    made = Graph(space, 2.0)
    assert made.space.unit == "hop"
    drawn = made.draw(np.tile(np.arange(120), 10), Entropy(1))
    near = space.distances(np.arange(120))[np.tile(np.arange(120), 10), drawn].mean()
    assert near < space.distances(np.arange(120)).mean()
