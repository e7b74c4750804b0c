"""The noise mechanisms against the laws they state."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from tests.conftest import ALPHA, FLAT, make_space, names
from wordveil._mechanisms import MECHANISMS, NoiseMechanism, mechanism
from wordveil._mechanisms.density import Density, MixingLaw
from wordveil._mechanisms.elastic import Elastic
from wordveil._mechanisms.gaussian import Gaussian
from wordveil._mechanisms.jaccard import Jaccard
from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.mahalanobis import Mahalanobis
from wordveil._mechanisms.nadp import Nadp, neighbouring_pairs
from wordveil._mechanisms.remapped import Remapped
from wordveil._mechanisms.vickrey import Vickrey
from wordveil.errors import OptionError, SpaceError, WordveilError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, GraphSpace, MahalanobisSpace, Vocabulary


def line(*places: float) -> EuclideanSpace:
    return EuclideanSpace("line", Vocabulary(names(len(places))), np.array(places, dtype=np.float32)[:, None])


def test_mahalanobis_noise_is_laplace_in_its_own_metric() -> None:
    space = make_space(500, 6, seed=3)
    for lam in (0.0, 0.4, 1.0):
        made = Mahalanobis(space, 1.7, lam=lam)
        ids = np.full(20_000, 5)
        radius = made.space.apart(made.perturb(ids, Entropy(1)), ids)
        assert stats.kstest(radius, stats.gamma(6, scale=1 / 1.7).cdf).pvalue > ALPHA


def test_mahalanobis_distance_against_its_definition() -> None:
    space = make_space(300, 5, seed=4)
    made = MahalanobisSpace(space, 0.7)
    covariance = np.cov(space.vectors.T, bias=True)
    shape = 0.7 * covariance * 5 / np.trace(covariance) + 0.3 * np.eye(5)
    offsets = space.vectors[3].astype(np.float64) - space.vectors
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", offsets, np.linalg.inv(shape), offsets))
    assert np.allclose(made.distances(np.array([3]))[0], wanted, atol=1e-3)
    assert made.smallest_variance == pytest.approx(np.linalg.eigvalsh(shape)[0])
    assert np.array_equal(made.nearest(space.points(np.arange(9)) + 0.01), np.arange(9))
    # the stated rate in the Euclidean distance really bounds the Mahalanobis distance
    euclid = space.distances(np.arange(300))
    assert (made.distances(np.arange(300)) <= euclid / math.sqrt(made.smallest_variance) + 1e-3).all()


def test_mahalanobis_refuses_a_flat_cloud() -> None:
    flat = EuclideanSpace("flat", Vocabulary(names(9)), np.arange(18.0).reshape(9, 2))
    with pytest.raises(SpaceError, match="lam"):
        Mahalanobis(flat, 1.0)
    assert Mahalanobis(flat, 1.0, lam=0.9).draw(np.arange(9)).shape == (9,)


@pytest.mark.parametrize(("epsilon", "bandwidth"), [(1.6, 0.5), (0.2, 2.0), (8.0, 0.3)])
def test_density_in_one_dimension(epsilon: float, bandwidth: float) -> None:
    places = np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
    made = Density(line(*places), epsilon, bandwidth=bandwidth)
    grid = np.linspace(-60, 60, 600_001)
    kernels = np.exp(-((grid[:, None] - places) ** 2) / 2 / bandwidth**2).sum(axis=1)
    for word in (0, 3):
        height = kernels * np.exp(-epsilon / 2 * np.abs(grid - places[word]))
        law = np.cumsum(height) / height.sum()
        points = made.perturb(np.full(20_000, word), Entropy(word))[:, 0]
        assert stats.kstest(points, lambda x, law=law: np.interp(x, grid, law)).pvalue > ALPHA


def test_density_in_three_dimensions() -> None:
    space = EuclideanSpace("pair", Vocabulary(names(2)), np.array([[0.0, 0, 0], [2, 0, 0]]))
    points = Density(space, 2.0, bandwidth=0.7).perturb(np.zeros(20_000, dtype=np.int64), Entropy(5)).astype(np.float64)
    along = np.linspace(-9, 10, 1901)
    across = np.linspace(0.005, 9.995, 1000)
    x, r = np.meshgrid(along, across, indexing="ij")
    kernels = np.exp(-(x**2 + r**2) / 0.98) + np.exp(-((x - 2) ** 2 + r**2) / 0.98)
    mass = kernels * np.exp(-np.sqrt(x**2 + r**2)) * r
    for values, edges, weights in (
        (points[:, 0], along, mass.sum(axis=1)),
        (np.linalg.norm(points[:, 1:], axis=1), across, mass.sum(axis=0)),
    ):
        law = (np.cumsum(weights) - weights / 2) / weights.sum()
        assert stats.kstest(values, lambda v, e=edges, c=law: np.interp(v, e, c)).pvalue > ALPHA


@pytest.mark.parametrize(("epsilon", "bandwidth"), [(2.0, 0.004), (40.0, 0.05), (0.1, 0.001)])
def test_density_of_a_narrow_kernel_is_drawn_and_its_masses_are_right(epsilon: float, bandwidth: float) -> None:
    law = MixingLaw(2, epsilon / 2, bandwidth, 30.0)
    distances = np.array([0.0, bandwidth / 3, bandwidth, 5 * bandwidth, 0.5, 3.0, 29.0])
    log_tau = np.linspace(-80, 80, 400_001)
    wanted = [logsumexp(law.log_density(log_tau, np.array(distance))) for distance in distances]
    assert np.allclose(np.diff(law.log_mass(distances)), np.diff(wanted), atol=1e-6)
    for distance, log_z in zip(distances, wanted, strict=True):
        drawn = np.log(law.draw(np.full(4000, distance), Entropy(1)))
        cumulated = np.cumsum(np.exp(law.log_density(log_tau, np.array(distance)) - log_z))
        assert stats.kstest(drawn, lambda t, c=cumulated: np.interp(t, log_tau, c)).pvalue > ALPHA


def test_elastic_radius_and_sizes() -> None:
    space = make_space(80, 4, seed=2)
    made = Elastic(space, 1.5, k=3, share=0.4, tail=0.5)
    ids = np.full(20_000, 11)
    radius = space.apart(made.perturb(ids, Entropy(7)), ids)
    ratio = radius / (radius + made.sizes[11])
    assert stats.kstest(ratio, stats.beta(4, 2).cdf).pvalue > ALPHA
    # the sizes are smooth, and the promise at the smallest of them is epsilon
    distance = space.distances(np.arange(80)).astype(np.float64)
    gap = np.abs(np.log(made.sizes)[:, None] - np.log(made.sizes))
    assert (gap <= made.smoothness * distance + 1e-6).all()
    assert made.promised_rate(float(made.sizes.min())) == pytest.approx(1.5)
    left, right = np.array([0, 1]), np.array([2, 3])
    assert (made.allowed_loss(left, right) <= 1.5 * distance[left, right] + 1e-6).all()
    assert np.ptp(Elastic(space, 1.5, share=0.0).sizes) < 1e-9


def test_elastic_loss_by_its_densities() -> None:
    # The densities are known: the largest ratio over a fine grid of points must stay below the promise.
    space = line(0.0, 0.3, 1.0, 6.0, 9.0)
    made = Elastic(space, 2.0, k=1, share=0.5, tail=1.0)
    grid = np.linspace(-60, 60, 240_001)
    logs = [
        -np.log(made.sizes[word]) - 2.0 * np.log1p(np.abs(grid - space.matrix[word, 0]) / made.sizes[word])
        for word in range(5)
    ]
    for left in range(5):
        for right in range(5):
            promised = float(made.allowed_loss(np.array([left]), np.array([right]))[0])
            assert np.abs(logs[left] - logs[right]).max() <= promised + 1e-9


def test_gaussian_is_calibrated_to_its_reach() -> None:
    space = make_space(60, 5, seed=1)
    made = Gaussian(space, 1.2, delta=1e-4)
    assert made.reach == pytest.approx(float(space.neighbours(np.arange(60), 1)[1].max()))
    distance = space.distances(np.arange(60)).astype(np.float64)
    for left, right in [(0, 1), (3, 9), (20, 40)]:
        assert (made.true_delta(left, right) <= 1e-4 * (1 + 1e-6)) == (distance[left, right] <= made.reach)
    pair = line(0.0, 2.0)
    assert Gaussian(pair, 1.2, delta=1e-4).true_delta(0, 1) == pytest.approx(1e-4, rel=1e-6)
    ids = np.full(20_000, 3)
    squares = (space.apart(made.perturb(ids, Entropy(2)), ids) / made.deviations[3]) ** 2
    assert stats.kstest(squares, stats.chi2(5).cdf).pvalue > ALPHA


def test_nadp_pairs_against_the_definition() -> None:
    space = make_space(120, 3, seed=9)
    distance = space.distances(np.arange(120)).astype(np.float64)
    for m, tau, count_self in [(2, 0.5, True), (3, 0.4, True), (4, 0.3, False), (2, 0.5, False)]:
        hidden = distance.copy()
        if not count_self:
            np.fill_diagonal(hidden, np.inf)
        sets = [set(np.argsort(row, kind="stable")[:m].tolist()) for row in hidden]
        wanted = {
            (x, y)
            for x in range(120)
            for y in range(x + 1, 120)
            if (x in sets[y] or y in sets[x]) and len(sets[x] & sets[y]) >= tau * len(sets[x] | sets[y])
        }
        found = {(int(x), int(y)) for x, y in neighbouring_pairs(space, m, tau, count_self=count_self)}
        assert found == wanted
    assert not len(neighbouring_pairs(space, 2, 0.5, count_self=False))  # as the paper's m=2 would have it: nobody


def test_nadp_noise_and_lone_words() -> None:
    space = make_space(120, 3, seed=9)
    made = Nadp(space, 1.0)
    assert 0 < len(made.alone) < 120
    assert np.array_equal(made.draw(made.alone, Entropy(0)), made.alone)  # no noise: released as they are
    assert str(len(made.alone)) in " ".join(made.guarantee.caveats)
    for left, right in made.pairs[:10].tolist():
        assert made.deviations[left] == made.deviations[right]
        assert made.true_delta(left, right) <= made.delta * (1 + 1e-6)
    assert made.true_delta(int(made.alone[0]), 0 if made.alone[0] else 1) == 1.0
    joined = Nadp(space, 1.0, join=True)
    assert not len(joined.alone)
    assert all(joined.true_delta(left, right) <= joined.delta * (1 + 1e-6) for left, right in joined.pairs.tolist())


def test_jaccard_breaks_across_classes_and_not_inside() -> None:
    space = make_space(200, 20, seed=5)
    made = Jaccard(space, 0.5)
    near = space.neighbours(np.arange(200), 1)[0][:, 0]
    across = [(w, int(u)) for w, u in enumerate(near) if made.is_sparse[w] != made.is_sparse[u]]
    assert across
    assert all(made.true_delta(*pair) > 0.5 for pair in across)
    assert 60 < made.is_sparse.sum() < 140


def test_vickrey_takes_the_second_word_as_often_as_it_says() -> None:
    space = line(0.0, 1.0, 5.0)
    points = np.full((40_000, 1), 0.25, dtype=np.float32)
    for t in (0.0, 0.3, 0.5, 1.0):
        drawn = Vickrey(space, 1.0, t=t).choose(points, Entropy(1))
        second = t * 0.25 / (t * 0.25 + (1 - t) * 0.75)
        assert set(drawn.tolist()) <= {0, 1}
        assert stats.binomtest(int((drawn == 1).sum()), 40_000, second).pvalue > ALPHA
    same = Laplace(space, 1.0).draw(np.zeros(500, dtype=np.int64), Entropy(3))
    points = Laplace(space, 1.0).perturb(np.zeros(500, dtype=np.int64), Entropy(3))
    assert np.array_equal(Vickrey(space, 1.0, t=0.0).choose(points, Entropy(4)), same)


def test_remapped_stays_within_its_radius(toy: EuclideanSpace) -> None:
    made = Remapped(toy, 0.1, radius=2.0)
    ids = np.repeat(np.arange(60), 50)
    distance = toy.distances(np.arange(60))[ids, made.draw(ids, Entropy(1))]
    assert (distance <= 2.0).all()
    assert made.guarantee.notion is Notion.NONE


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("epsilon", [1e-3, 1e4])
@pytest.mark.parametrize(("words", "dimension"), [(1, 1), (2, 1), (3, 2), (40, 1000)])
def test_extremes(name: str, epsilon: float, words: int, dimension: int) -> None:
    options: dict[str, Any] = {"lam": 0.9} if name == "mahalanobis" and words < dimension else {}
    space = make_space(words, dimension, seed=words)
    made = mechanism(name, space, epsilon=epsilon, **options)
    ids = np.repeat(np.arange(words), 5)
    drawn = made.draw(ids, Entropy(1))
    assert ((drawn >= 0) & (drawn < words)).all()
    if isinstance(made, NoiseMechanism):
        assert np.isfinite(made.perturb(ids, Entropy(1))).all()
    assert made.guarantee.sentence()


@pytest.mark.parametrize("name", FLAT)
def test_words_at_one_place_are_refused_or_drawn_but_never_nan(name: str) -> None:
    space = EuclideanSpace("heap", Vocabulary(names(6)), np.ones((6, 3), dtype=np.float32))
    try:
        made = mechanism(name, space, epsilon=1.0)
        drawn = made.draw(np.arange(6), Entropy(0))
    except WordveilError as error:
        assert str(error).endswith(".")  # noqa: PT017
    else:
        assert ((drawn >= 0) & (drawn < 6)).all()


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if issubclass(kind, NoiseMechanism)])
def test_noise_needs_vectors(name: str, toy: EuclideanSpace) -> None:
    with pytest.raises(SpaceError):
        mechanism(name, GraphSpace.of(toy, 2), epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mahalanobis", {"lam": 1.5}),
        ("gaussian", {"delta": 0.0}),
        ("gaussian", {"reach": -1.0}),
        ("nadp", {"m": 0}),
        ("nadp", {"tau": 2.0}),
        ("jaccard", {"m": 0}),
        ("jaccard", {"dense": 0.0}),
        ("density", {"bandwidth": 0.0}),
        ("elastic", {"k": 0}),
        ("elastic", {"share": 1.0}),
        ("elastic", {"tail": 0.0}),
        ("truncated", {"beta": 1.0}),
        ("truncated", {"clip": -1.0}),
        ("knn-truncated", {"k": 0}),
        ("vickrey", {"t": 2.0}),
        ("remapped", {"radius": 0.0}),
    ],
)
def test_senseless_options_get_one_sentence(name: str, options: dict[str, Any], toy: EuclideanSpace) -> None:
    with pytest.raises(WordveilError) as caught:
        mechanism(name, toy, epsilon=1.0, **options)
    assert str(caught.value).count(".") >= 1
    assert "\n" not in str(caught.value)


def test_elastic_tails_that_are_heavy_are_drawn_to_their_law() -> None:
    """The heaviest tail that is allowed: the length over the size is B/(1-B) with B a Beta variable."""
    made = Elastic(make_space(20, 2), 1.0, tail=0.3)
    lengths = made.lengths(np.zeros(20_000, dtype=np.int64), Entropy(5)) / made.sizes[0]
    law = stats.betaprime(2, made.exponent - 2)
    assert stats.kstest(lengths, law.cdf).pvalue > ALPHA
    with pytest.raises(OptionError, match=r"0\.3"):
        Elastic(make_space(20, 2), 1.0, tail=0.1)


def test_a_density_that_has_drawn_can_be_sent_to_another_process() -> None:
    made = Density(make_space(20, 2), 1.0)
    made.draw(np.array([0, 1]))
    assert pickle.loads(pickle.dumps(made)).draw(np.array([0])).shape == (1,)  # noqa: S301


@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize("name", ["exponential", "laplace"])
def test_vectors_out_of_the_range_of_floats_are_refused(name: str, scale: float) -> None:
    space = make_space(20, 3)
    far = EuclideanSpace("far", space.vocabulary, space.matrix * np.float32(scale))
    with pytest.raises(SpaceError):
        mechanism(name, far, epsilon=1.0).draw(np.array([0]))


@pytest.mark.parametrize("epsilon", [1e-10, 1e10])
@pytest.mark.parametrize("name", FLAT)
def test_an_epsilon_that_floats_cannot_hold_is_refused(name: str, epsilon: float, toy: EuclideanSpace) -> None:
    with pytest.raises(OptionError):
        mechanism(name, toy, epsilon=epsilon)
