"""Amplification bounds: against brute force on small cases, published figures, and their laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom

from tests.conftest import make_space
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.nadp import Nadp
from wordveil.errors import OptionError
from wordveil.lac import bounds

Matrix = NDArray[np.float64]


def histogram_law(rows: Matrix) -> dict[tuple[int, ...], float]:
    """Return the law of the histogram of one draw from each row: what a shuffler lets through."""
    law = {(0,) * rows.shape[1]: 1.0}
    for row in rows:
        after: dict[tuple[int, ...], float] = {}
        for seen, chance in law.items():
            for output, more in enumerate(row.tolist()):
                key = (*seen[:output], seen[output] + 1, *seen[output + 1 :])
                after[key] = after.get(key, 0.0) + chance * more
        law = after
    return law


def true_delta(channel: Matrix, records: int, epsilon: float, pair: tuple[int, int] | None = None) -> float:
    """Return δ of shuffling, over every pair of inputs and all that the other records may hold."""
    inputs = range(len(channel))
    worst = 0.0
    for one, other in [pair, pair[::-1]] if pair else itertools.permutations(inputs, 2):
        for rest in itertools.combinations_with_replacement(inputs, records - 1):
            left, right = histogram_law(channel[[one, *rest]]), histogram_law(channel[[other, *rest]])
            worst = max(worst, sum(max(0.0, left[key] - math.exp(epsilon) * right[key]) for key in left))
    return worst


def randomised_response(values: int, epsilon: float) -> Matrix:
    channel = np.ones((values, values)) + np.eye(values) * math.expm1(epsilon)
    return channel / channel.sum(axis=1, keepdims=True)


SMALL = [randomised_response(2, 1.0), randomised_response(3, 2.0), randomised_response(2, 3.0)] + [
    np.random.default_rng(seed).dirichlet(np.full(3, 2.0), size=3) for seed in range(4)
]


@pytest.mark.parametrize("channel", SMALL)
@pytest.mark.parametrize("records", [1, 2, 5])
def test_shuffling_never_promises_more_than_is_true(channel: Matrix, records: int) -> None:
    local = float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())
    for share in (0.02, 0.3, 0.7):
        central = share * local
        truth = true_delta(channel, records, central)
        assert bounds.clones_delta(local, records, central) >= truth - 1e-12
        assert bounds.blanket_delta(local, records, central) >= truth - 1e-12
        of_pairs = [
            bounds.blanket_of_rows(channel[one], channel[other], channel.min(axis=0), records, central)
            for one, other in itertools.combinations(range(len(channel)), 2)
        ]
        assert max(of_pairs) >= truth - 1e-12


def test_the_blanket_of_one_pair_holds_for_that_pair() -> None:
    channel = np.random.default_rng(9).dirichlet(np.full(3, 2.0), size=3)
    for pair in itertools.combinations(range(3), 2):
        for central in (0.05, 0.4):
            bound = bounds.blanket_of_rows(channel[pair[0]], channel[pair[1]], channel.min(axis=0), 4, central)
            assert bound >= true_delta(channel, 4, central, pair) - 1e-12


def test_without_a_blanket_both_directions_count() -> None:
    """Where no output is common to all words, the others may all hold one that leaves the record alone."""
    channel = np.array([[0.1, 0.9, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    truth = true_delta(channel, 4, 0.5, (0, 1))
    for one, other in ((0, 1), (1, 0)):
        found = bounds.blanket_of_rows(channel[one], channel[other], channel.min(axis=0), 4, 0.5)
        assert found == pytest.approx(truth)


@pytest.mark.parametrize(("local", "records"), [(1.0, 3000), (4.0, 20_000)])
def test_clones_are_computed_exactly(local: float, records: int) -> None:
    """The definition, summed term by term: all numbers of clones, all counts."""
    stays, central = 1.0 / (1.0 + math.exp(-local)), bounds.clones(local, records, 1e-5)
    total = 0.0
    for count in range(int(binom.ppf(1e-12, records - 1, math.exp(-local))), records):
        weight = binom.pmf(count, records - 1, math.exp(-local))
        if weight < 1e-14 and count > records * math.exp(-local):
            break
        first = np.arange(count + 2)
        low, high = binom.pmf(first, count, 0.5), binom.pmf(first - 1, count, 0.5)
        left, right = stays * high + (1 - stays) * low, (1 - stays) * high + stays * low
        total += weight * np.maximum(left - math.exp(central) * right, 0.0).sum()
    assert total == pytest.approx(1e-5, rel=5e-3)
    assert total <= 1e-5


#: ε₀, records, δ, and what the authors' published program (apple/ml-shuffling-amplification) computes for them: its
#: closed form, and its lower and upper ends of the numerical bound, with 2,000 steps and 14 halvings.
CLONES = [
    (4.0, 100_000, 1e-6, 0.53780402, 0.16858896, 0.17118213),
    (1.0, 10_000, 1e-6, 0.23326560, 0.05299161, 0.05529807),
    (2.0, 10_000, 1e-6, 0.52355098, 0.15494987, 0.16086155),
    (2.0, 100_000, 1e-8, 0.21531926, 0.05871866, 0.05937576),
    (4.0, 1_000_000, 1e-7, 0.21486674, 0.05679857, 0.05763790),
]


@pytest.mark.parametrize(("local", "records", "delta", "closed", "least", "most"), CLONES)
def test_published_figures_of_the_clones(
    local: float, records: int, delta: float, closed: float, least: float, most: float
) -> None:
    assert bounds.closed_form(local, records, delta) == pytest.approx(closed, rel=1e-7)
    assert least < bounds.clones(local, records, delta) < most


def test_the_closed_form_has_its_limit() -> None:
    """Theorem 3.1 needs e^ε₀ to be at most n / (16·ln(4/δ))."""
    assert bounds.closed_form(7.0, 100_000, 1e-6) == 7.0
    assert bounds.closed_form_limit(100_000, 1e-6) == pytest.approx(math.log(1e5 / (16 * 15.201805)), rel=1e-6)


#: ε₀, records, values of randomised response (None: any randomiser), and what the published program of Balle et al.
#: (BorjaBalle/amplification-by-shuffling) computes at δ = 1e-6 by Hoeffding's and by Bennett's inequality.
BLANKETS = [
    (0.5, 10_000, 2, 0.021552, 0.021744),
    (0.5, 10_000, 10, 0.024203, 0.010423),
    (0.5, 10_000, None, 0.053996, 0.090653),
    (1.0, 1_000_000, 2, 0.004331, 0.004335),
    (1.0, 1_000_000, 10, 0.005553, 0.002332),
    (1.0, 1_000_000, None, 0.014451, 0.014205),
    (3.0, 1_000_000, 2, 0.022533, 0.022586),
    (3.0, 1_000_000, 10, 0.044664, 0.019037),
    (3.0, 1_000_000, None, 0.409767, 0.121314),
]


@pytest.mark.parametrize(("local", "records", "values", "hoeffding", "bennett"), BLANKETS)
def test_published_figures_of_the_blanket(
    local: float, records: int, values: int | None, hoeffding: float, bennett: float
) -> None:
    """Our way of bounding the same expectation (the best exponential moment) is a little tighter than theirs."""
    if values is None:
        found = bounds.blanket(local, records, 1e-6)
        assert found < min(hoeffding, bennett)
        assert found == pytest.approx(_blanket_of_response(2, local, records), rel=1e-6)  # the worst randomiser
    else:
        found = _blanket_of_response(values, local, records)
        assert 0.85 * min(hoeffding, bennett) < found < min(hoeffding, bennett)


def _blanket_of_response(values: int, local: float, records: int) -> float:
    """Return where the bound for a pair of values crosses δ = 1e-6."""
    channel = randomised_response(values, local)
    floor = channel.min(axis=0)
    return float(
        brentq(lambda tried: bounds.blanket_of_rows(channel[0], channel[1], floor, records, tried) - 1e-6, 1e-4, local)
    )


LOCAL = st.floats(0.1, 6.0)
RECORDS = st.integers(100, 10**6)
DELTA = st.floats(1e-10, 1e-3)


@pytest.mark.parametrize("bound", [bounds.closed_form, bounds.clones, bounds.blanket])
@settings(max_examples=12, deadline=None, derandomize=True)
@given(local=LOCAL, records=RECORDS, delta=DELTA, more=st.floats(1.05, 3.0))
def test_shuffling_is_monotone(bound: object, local: float, records: int, delta: float, more: float) -> None:
    assert callable(bound)
    found = bound(local, records, delta)
    assert 0.0 <= found <= local
    slack = 1.0 + 1e-3  # the numerical bounds group terms, and search
    assert bound(local, int(records * more), delta) <= found * slack
    assert bound(local, records, min(delta * more, 0.5)) <= found * slack
    assert bound(local * more, records, delta) >= found / slack


@pytest.mark.parametrize("local", [12.0, 30.0, 45.0, 99.0, 500.0])
def test_too_large_a_local_epsilon_is_not_amplified(local: float) -> None:
    for bound in (bounds.closed_form, bounds.clones, bounds.blanket):
        assert bound(local, 1000, 1e-9) == pytest.approx(local, rel=1e-4)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(epsilon=st.floats(0.01, 40.0), rate=st.floats(0.01, 1.0), delta=DELTA)
def test_subsampling_helps_and_is_monotone(epsilon: float, rate: float, delta: float) -> None:
    found, slack = bounds.subsampled(epsilon, delta, rate)
    assert 0.0 < found <= epsilon * (1 + 1e-12)
    assert slack == rate * delta
    assert found == pytest.approx(math.log(1 + rate * (math.exp(epsilon) - 1)), rel=1e-9)
    assert bounds.subsampled(epsilon, delta, rate / 2)[0] < found


def test_subsampling_against_all_samples() -> None:
    """Two of four records are sampled and counted after randomised response: the exact loss of what comes out."""
    channel = randomised_response(2, 1.5)

    def law(values: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        samples = list(itertools.combinations(values, 2))
        total: dict[tuple[int, ...], float] = {}
        for sample in samples:
            for key, chance in histogram_law(channel[list(sample)]).items():
                total[key] = total.get(key, 0.0) + chance / len(samples)
        return total

    allowed = bounds.subsampled(1.5, 0.0, 0.5)[0]
    for rest in itertools.product((0, 1), repeat=3):
        left, right = law((0, *rest)), law((1, *rest))
        assert max(abs(math.log(left[key] / right[key])) for key in left) <= allowed + 1e-12


@pytest.mark.parametrize(("k", "rate"), [(3, 0.2), (8, 0.3), (20, 0.5)])
@pytest.mark.parametrize("epsilon", [0.8, 1.5, 2.5])
def test_thresholds_against_brute_force(k: int, rate: float, epsilon: float) -> None:
    """One value, held by so many records or by one more; what is seen is its sampled count if that reaches k."""

    def seen(copies: int) -> Matrix:
        law = binom.pmf(np.arange(400), copies, rate)
        law[0] += law[1:k].sum()
        law[1:k] = 0.0
        return law

    worst = 0.0
    for copies in range(300):
        for left, right in ((seen(copies), seen(copies + 1)), (seen(copies + 1), seen(copies))):
            worst = max(worst, float(np.maximum(left - math.exp(epsilon) * right, 0.0).sum()))
    assert bounds.thresholded_delta(k, rate, epsilon) >= worst * (1 - 1e-9)


def test_thresholds_by_their_formula() -> None:
    cut = 1 - 0.9 * math.exp(-1.0)
    start = math.ceil(20 / cut - 1)
    by_hand = max(float(binom.sf(math.floor(cut * n), n, 0.1)) for n in range(start, 2000))
    assert bounds.thresholded_delta(20, 0.1, 1.0) == pytest.approx(by_hand, rel=1e-9)
    assert bounds.thresholded_delta(20, 0.1, 0.05) == 1.0  # below -ln(1-β) the theorem is silent
    epsilon = bounds.thresholded(20, 0.1, 1e-6)
    assert bounds.thresholded_delta(20, 0.1, epsilon) <= 1e-6
    assert bounds.thresholded(40, 0.1, 1e-6) <= epsilon <= bounds.thresholded(20, 0.2, 1e-6)
    assert bounds.thresholded(5, 0.1, 1e-6) == math.inf  # five records are all sampled with probability 1e-5


#: ε, δ, and the k that the published program of SafePub (Bild, Kuhn & Prasser 2018; in ARX) asks for at the largest
#: rate that the theorem allows, β = 1 - e^-ε; it stops one past the k that is enough.
THRESHOLDS = [(2.0, 1e-6, 132), (1.0, 1e-5, 62), (1.0, 1e-6, 75), (0.5, 1e-4, 40)]


@pytest.mark.parametrize(("epsilon", "delta", "k"), THRESHOLDS)
def test_published_figures_of_thresholds(epsilon: float, delta: float, k: int) -> None:
    rate = -math.expm1(-epsilon)
    assert bounds.thresholded_delta(k - 1, rate, epsilon) <= delta < bounds.thresholded_delta(k - 2, rate, epsilon)


def test_sampling_by_the_published_formula() -> None:
    """Balle, Barthe & Gaboardi 2018, Theorem 9: ln(1 + q(e^ε - 1)), worked out by hand for q = 0.1 and ε = 1."""
    assert bounds.subsampled(1.0, 1e-6, 0.1) == pytest.approx((math.log(1.1718281828), 1e-7), rel=1e-9)
    # with the rates multiplied, sampling twice is sampling once
    once = bounds.subsampled(2.0, 1e-6, 0.06)
    assert bounds.subsampled(*bounds.subsampled(2.0, 1e-6, 0.3), 0.2) == pytest.approx(once)


def test_pairs_near_each_other_are_hidden_better() -> None:
    space = make_space(40, 4)
    made = Exponential(space, 1.0, clip=2.0)
    assert bounds.local_epsilon(made) == 2.0
    order = np.argsort(space.distances(np.array([0]))[0])
    near, far = int(order[1]), int(order[-1])
    found = {word: bounds.pairwise(made, 0, word, 100_000, 1e-6) for word in (near, far)}
    assert found[near] < found[far] < bounds.blanket(2.0, 100_000, 1e-6)
    assert bounds.pairwise(made, 0, far, 1_000_000, 1e-6) < found[far]


def test_pairs_need_exact_probabilities() -> None:
    made = Laplace(make_space(10, 2), 1.0)
    with pytest.raises(OptionError):
        bounds.pairwise(made, 0, 1, 10, 1e-6)


def test_local_epsilon_is_finite_only_where_it_is_promised() -> None:
    space = make_space(30, 3)
    assert bounds.local_epsilon(Graph(space, 1.5)) == Graph(space, 1.5).largest_loss
    assert bounds.local_epsilon(Laplace(space, 1.5)) == pytest.approx(1.5 * space.diameter)
    assert bounds.local_epsilon(Nadp(space, 1.5)) == math.inf
    clip = bounds.clip_that_amplifies(Graph(space, 1.5), 10**6, 1e-6)
    assert clip is not None
    assert bounds.closed_form(1.5 * clip, 10**6, 1e-6) < 1.5 * clip
    assert bounds.clip_that_amplifies(Graph(space, 1.5), 10, 1e-6) is None


def test_composition() -> None:
    assert bounds.basic(0.1, 1e-7, 10) == pytest.approx((1.0, 1e-6))
    assert bounds.grouped(0.1, 1e-7, 3)[0] == pytest.approx(0.3)
    assert bounds.grouped(0.1, 1e-7, 3)[1] == pytest.approx(1e-7 * (1 + math.exp(0.1) + math.exp(0.2)))
    many = bounds.advanced(0.01, 0.0, 10_000, 1e-6)
    assert many[0] < 10_000 * 0.01


def test_group_privacy_against_brute_force() -> None:
    """Two records of one user in a shuffle of five."""
    channel = randomised_response(2, 1.0)
    epsilon = 0.5
    one = true_delta(channel, 5, epsilon)
    allowed = bounds.grouped(epsilon, one, 2)
    worst = 0.0
    for rest in itertools.product((0, 1), repeat=3):
        left, right = histogram_law(channel[[0, 0, *rest]]), histogram_law(channel[[1, 1, *rest]])
        worst = max(worst, sum(max(0.0, left[key] - math.exp(allowed[0]) * right[key]) for key in left))
    assert worst <= allowed[1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bounds.clones(math.inf, 10, 1e-6),
        lambda: bounds.clones(1.0, 0, 1e-6),
        lambda: bounds.blanket(1.0, 10, 0.0),
        lambda: bounds.blanket(math.inf, 10, 0.1),
        lambda: bounds.subsampled(1.0, 0.0, 0.0),
        lambda: bounds.thresholded(0, 0.5, 1e-6),
        lambda: bounds.thresholded(5, 1.0, 1e-6),
        lambda: bounds.basic(1.0, 0.0, 0),
        lambda: bounds.advanced(1.0, 0.0, 2, 0.0),
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(OptionError):
        wrong()
