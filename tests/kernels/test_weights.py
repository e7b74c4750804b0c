"""Draws from rows of weights, and from weights that fall with the distance, against double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist

from tests.conftest import ALPHA
from wordveil.errors import OptionError
from wordveil.kernels import Falls, choose, compiled, kinds

BLOCK = 64


def make(words: int, dimension: int, rate: float, seed: int = 0, copies: int = 0) -> Falls:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(words, dimension)).astype(np.float32)
    matrix[words - copies :] = matrix[0]
    squares = np.einsum("ij,ij->i", matrix, matrix)
    return Falls(matrix, squares, np.exp(-3 * generator.uniform(size=words)).astype(np.float32), rate)


def exact(falls: Falls, ids: np.ndarray, reach: np.ndarray) -> np.ndarray:
    points = falls.matrix.astype(np.float64)
    distances = np.minimum(cdist(points[ids], points), reach.astype(np.float64)[:, None])
    return falls.prior.astype(np.float64) * np.exp(-falls.rate * distances)


def in_blocks(weights: np.ndarray) -> np.ndarray:
    return np.add.reduceat(weights, np.arange(0, weights.shape[1], BLOCK), axis=1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.one_of(st.sampled_from([1, 2, 15, 16, 17, 63, 64, 65, 128, 129]), st.integers(1, 400)),
    dimension=st.integers(1, 37),
    wanted=st.integers(0, 150),
    rate=st.sampled_from([1e-3, 0.7, 3.0, 40.0, 1e30]),
    copies=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_sums_are_right(
    code: str, words: int, dimension: int, wanted: int, rate: float, copies: int, seed: int
) -> None:
    falls = make(words, dimension, rate, seed, min(copies, words - 1))
    generator = np.random.default_rng(seed)
    ids = generator.integers(0, words, wanted)
    reach = (generator.uniform(0.2, 1.0, wanted) * 77.0 / rate).astype(np.float32)
    sums = falls.sums(ids, reach)
    assert sums.shape == (wanted, -(-words // BLOCK))
    assert (sums > 0).all()
    # float32 distances are off by parts of 1e-6, which the rate multiplies, up to the reach
    longest = float(np.sqrt(falls.squares.max()))
    allowed = 2.0**-18 + min(rate, 77.0 / 1e-3) * 8e-6 * longest
    if rate < 1e6:
        assert np.abs(np.log(sums / in_blocks(exact(falls, ids, reach)))).max(initial=0) < allowed
    table = np.full((words, falls.blocks), np.nan, dtype=np.float32)
    everyone = np.full(words, 77.0 / rate, dtype=np.float32)
    for begin in range(0, falls.blocks, 2):
        falls.table(begin, min(begin + 2, falls.blocks), 77.0 / rate, table)
    assert np.allclose(table, falls.sums(np.arange(words), everyone), rtol=2.0**-18 if rate < 1e6 else 0.5)


def test_equal_words_are_at_distance_nought(code: str) -> None:
    falls = make(70, 9, 1e3, copies=5)
    sums = falls.sums(np.array([0]), np.array([70.0 / 1e3], dtype=np.float32))
    equal = falls.prior[[0, *range(65, 70)]]
    assert sums[0, 0] == pytest.approx(equal[0], rel=1e-6)
    assert sums[0, 1] == pytest.approx(equal[1:].sum(), rel=1e-6)


def test_picks_follow_the_weights(code: str) -> None:
    falls = make(150, 6, 1.5)
    draws = 20_000
    for word, block in ((3, 0), (140, 1), (7, 2)):
        reach = np.full(draws, 50.0, dtype=np.float32)
        aims = np.random.default_rng(block).uniform(size=draws)
        picked = falls.pick(np.full(draws, word), np.full(draws, block), reach, aims)
        inside = np.arange(block * BLOCK, min(150, (block + 1) * BLOCK))
        weights = exact(falls, np.array([word]), reach[:1])[0, inside]
        expected = draws * weights / weights.sum()
        common = expected > 10
        counts = np.bincount(picked - inside[0], minlength=len(inside))
        assert len(counts) == len(inside)
        observed = np.append(counts[common], counts[~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
        assert stats.chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > ALPHA


def test_all_code_picks_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    falls = make(1000, 33, 1.0)
    generator = np.random.default_rng(2)
    ids, of_block = generator.integers(0, 1000, 4000), np.sort(generator.integers(0, falls.blocks, 4000))
    aims, reach = generator.uniform(size=4000), np.full(4000, 60.0, dtype=np.float32)
    answers = []
    for code in [*kinds(), "off"]:
        monkeypatch.setenv("WORDVEIL_KERNELS", code)
        answers.append(falls.pick(ids, of_block, reach, aims))
    for answer in answers[1:]:
        assert (answer != answers[0]).mean() < 1e-3  # an aim on the edge between two words, to the last bit


def test_bad_arguments_are_refused(code: str) -> None:
    falls = make(100, 3, 1.0)
    one = np.ones(1, dtype=np.float32)
    for word in (-1, 100):
        with pytest.raises(IndexError):
            falls.sums(np.array([word]), one)
    with pytest.raises(IndexError):
        falls.pick(np.array([0]), np.array([2]), one, np.array([0.5]))
    with pytest.raises(ValueError, match="reach"):
        falls.sums(np.array([0, 1]), one)
    with pytest.raises(ValueError, match="shape"):
        falls.table(0, 1, 1.0, np.empty((99, 2), dtype=np.float32))
    tables: list[Any] = [np.zeros((100, 2)), np.zeros((100, 2), np.float32, order="F"), np.zeros((100, 2), dtype=">f4")]
    for table in tables:
        with pytest.raises(ValueError, match="float32"):
            falls.table(0, 2, 1.0, table)
        assert not table.any()
    with pytest.raises(ValueError, match="squares"):
        Falls(falls.matrix, falls.squares[:-1], falls.prior, 1.0)


def odd(numbers: np.ndarray) -> np.ndarray:
    """Return a copy that begins one byte beside where its kind may lie, as one mapped from a file can."""
    room = np.empty(numbers.nbytes + 1, dtype=np.uint8)[1:]
    copy = np.frombuffer(room.data, dtype=numbers.dtype).reshape(numbers.shape)
    copy[...] = numbers
    assert not copy.flags.aligned
    return copy


def test_arrays_that_begin_at_odd_places(code: str) -> None:
    falls = make(150, 7, 1.0)
    again = Falls(odd(falls.matrix), odd(falls.squares), odd(falls.prior), 1.0)
    assert again.matrix.flags.aligned
    ids, of_block = np.arange(0, 150, 2), np.repeat([0, 1, 2], 25)
    reach, aims = np.full(75, 60.0, dtype=np.float32), np.linspace(0.01, 0.99, 75)
    assert np.array_equal(again.sums(odd(ids), odd(reach)), falls.sums(ids, reach))
    picked = again.pick(odd(ids), odd(of_block), odd(reach), odd(aims))
    assert np.array_equal(picked, falls.pick(ids, of_block, reach, aims))
    starts = np.array([0, 75])
    assert np.array_equal(choose(odd(reach[None]), odd(starts), odd(aims)), choose(reach[None], starts, aims))


@pytest.mark.skipif(compiled() is None, reason="there is no compiled code")
def test_compiled_code_refuses_counts_that_its_arrays_do_not_have() -> None:
    native = compiled()
    assert native
    kind, large = kinds()[0], 2**62
    single, ids, draws = np.ones(8, dtype=np.float32), np.zeros(8, dtype=np.int64), np.full(8, 0.5)
    found, starts, keys = np.zeros(8, dtype=np.int64), np.array([0, 8]), np.zeros(8, dtype=np.uint32)
    cloud, graph = (
        (single, single, single, 8, 1, -1.0),
        (np.zeros(9, dtype=np.int32), np.zeros(0, dtype=np.int32), 8, 0),
    )
    # 2^62 times 4 is 0 in 64 bits: as if there were nothing to read
    calls: list[Callable[[], Any]] = [
        lambda: native.block_sums(kind, (single, single, single, large, 4, -1.0), ids, single, 1, single),
        lambda: native.block_sums(kind, (single, single, single, 8, large, -1.0), ids, single, 1, single),
        lambda: native.block_sums(kind, cloud, ids, single, large, single),
        lambda: native.block_table(kind, (single, single, single, large, 4, -1.0), 0, 1, 1.0, single),
        lambda: native.choose(draws, True, large, 4, starts, draws, 8, found),
        lambda: native.choose(draws, True, -1, 4, starts, draws, 8, found),
        lambda: native.draw_hops(graph, None, draws, 8, ids, 1, starts, keys, True, 0, large, found),
        lambda: native.draw_hops(graph, None, draws, 8, ids, 1, starts, keys, False, 0, 8, found),
        lambda: native.draw_hops(graph, None, draws, large, ids, 1, starts, keys, True, 0, 8, found),
        lambda: native.draw_hops(graph, ids[:0], draws, 8, ids, 1, starts, keys, True, 0, 8, found),
        lambda: native.draw_hops((*graph[:2], 2**63 - 1, 0), None, draws, 8, ids, 1, starts, keys, True, 0, 8, found),
        lambda: native.draw_hops((*graph[:2], -1, 0), None, draws, 8, ids, 0, starts, keys, True, 0, 0, found),
        lambda: native.draw_hops(graph, None, draws, 8, odd(ids), 1, starts, keys, True, 0, 8, found),
        lambda: native.draw_hops(graph, None, draws, 8, ids, 1, starts, keys, True, 0, 8, found, None, ids),
        lambda: native.scratch_of_hops(-1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"array|cloud|graph"):
            call()


def test_a_kind_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", "abacus")
    if compiled():
        with pytest.raises(OptionError, match="WORDVEIL_KERNELS"):
            make(10, 2, 1.0).sums(np.array([0]), np.ones(1, dtype=np.float32))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 20), max_size=12),
    width=st.integers(1, 70),
    wide=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_first_place_past_the_aim(code: str, counts: list[int], width: int, wide: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.uniform(size=(len(counts), width)) * (generator.uniform(size=(len(counts), width)) < 0.5)
    rows[:, -1] = 1.0
    rows = rows.astype(np.float64 if wide else np.float32)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    aims = generator.uniform(size=int(starts[-1]))
    found = choose(rows, starts, aims)
    for row, start, stop in zip(rows, starts[:-1], starts[1:], strict=True):
        sums = np.cumsum(row.astype(np.float64))
        for place, aim in zip(found[start:stop], aims[start:stop] * sums[-1], strict=True):
            assert row[place] > 0  # what has no weight is never chosen
            assert sums[place] > aim
            assert place == 0 or sums[place - 1] <= aim


def test_aims_at_both_ends(code: str) -> None:
    rows = np.array([[0.0, 1.0, 0.0, 3.0]])
    ends = np.array([5e-324, 2.0**-128, 1 - 2.0**-53])
    assert choose(rows, np.array([0, 3]), ends).tolist() == [1, 1, 3]
    assert choose(np.empty((0, 3)), np.array([0]), np.empty(0)).shape == (0,)


def test_draws_must_belong_to_rows(code: str) -> None:
    for starts in ([0, 1], [0, 2, 1], [1, 1, 3], [0, 1, 2]):
        with pytest.raises(ValueError, match="starts"):
            choose(np.ones((2, 2)), np.array(starts), np.full(3, 0.5))
