"""Channels: written out, saved, and run from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.conftest import ALPHA, make_space
from wordveil import Veil
from wordveil._mechanisms import Channel, Exponential, FromChannel, Graph, Laplace
from wordveil.errors import WordveilError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, GraphSpace


def test_exact_channels_hold_the_probabilities(toy: EuclideanSpace) -> None:
    made = Graph(toy, 1.0)
    channel = made.channel()
    assert channel.exact
    for word in (0, 7, 59):
        assert np.array_equal(channel.row(word), made.probabilities(word))
    assert channel.guarantee == made.guarantee
    low, high, unseen = channel.bounds()
    assert low is channel.matrix
    assert high is channel.matrix
    assert unseen == 0.0


def test_estimated_channels_have_bounds_that_hold() -> None:
    space = make_space(30, 1, seed=3)
    made = Laplace(space, 1.0)
    channel = made.channel(space.vocabulary.words[:6], draws=4000, entropy=Entropy(1))
    assert not channel.exact
    assert channel.matrix.shape == (6, 30)
    assert channel.guarantee.notion is Notion.NONE
    order = np.argsort(space.matrix[:, 0])
    places = space.matrix[order, 0].astype(np.float64)
    edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    low, high, unseen = channel.bounds(0.9999)
    outside = 0
    for row in range(6):
        truth = np.empty(30)
        truth[order] = np.diff(stats.laplace(loc=space.matrix[row, 0], scale=1.0).cdf(edges))
        seen = channel.matrix[[row]].toarray()[0] > 0
        lower, upper = low[[row]].toarray()[0], np.where(seen, high[[row]].toarray()[0], unseen)
        outside += int(((truth < lower) | (truth > upper)).sum())
    assert outside <= 1


@pytest.mark.parametrize("draws", [None, 500])
def test_save_load_and_run(draws: int | None, tmp_path: Path, toy: EuclideanSpace) -> None:
    made = Exponential(toy, 1.0) if draws is None else Laplace(toy, 1.0)
    channel = made.channel(draws=draws or 1, entropy=Entropy(2))
    channel.save(tmp_path / "channel.npz")
    again = Channel.load(tmp_path / "channel.npz")
    assert (again.matrix != channel.matrix).nnz == 0
    assert again.guarantee == channel.guarantee
    assert again.draws == channel.draws
    runner = FromChannel(toy, again)
    for word in (0, 31):
        row = channel.row(word)
        counts = np.bincount(runner.draw(np.full(50_000, word), Entropy(word)), minlength=60)
        assert not counts[row == 0].any()
        common = row * 50_000 > 5
        observed, wanted = counts[common], row[common] * 50_000
        assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > ALPHA
    release = Veil(runner, select="all", unproven=True)(" ".join(toy.vocabulary.words[:20]))
    assert release.counts.drawn == 20


def test_rare_outputs_of_a_late_row_are_not_lost() -> None:
    space = make_space(400, 3, seed=2)
    made = Graph(space, 3.0)
    runner = FromChannel(made.space, made.channel())
    counts = np.bincount(runner.draw(np.full(400_000, 399), Entropy(3)), minlength=400)
    chances = made.probabilities(399)
    often = chances * 400_000 > 30
    assert (counts[often] > 0).all()
    assert any("total variation" in caveat for caveat in runner.guarantee.caveats)


def test_what_does_not_fit_is_refused(tmp_path: Path, toy: EuclideanSpace) -> None:
    channel = Exponential(toy, 1.0).channel(toy.vocabulary.words[:3])
    with pytest.raises(WordveilError, match="another space"):
        FromChannel(make_space(60, 5, seed=8), channel)
    with pytest.raises(WordveilError, match="no row"):
        FromChannel(toy, channel).draw(np.array([5]))
    with pytest.raises(WordveilError, match="no row"):
        channel.row(10)
    (tmp_path / "x").write_bytes(b"garbage")
    with pytest.raises(WordveilError, match="not a channel"):
        Channel.load(tmp_path / "x")
    with pytest.raises(WordveilError, match="not a channel"):
        Channel.load(tmp_path / "missing")
    with pytest.raises(WordveilError, match="at least one draw"):
        Laplace(toy, 1.0).channel(draws=0)


def test_a_channel_too_large_is_refused(glove: EuclideanSpace) -> None:
    with pytest.raises(WordveilError, match="fewer words"):
        Graph(glove, 1.0).channel()
    few = Graph(glove, 1.0).channel(["sea", "ship"])
    assert few.matrix.shape == (2, 50_000)
    assert isinstance(Graph(glove, 1.0).space, GraphSpace)
