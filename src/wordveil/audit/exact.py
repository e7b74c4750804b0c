"""Audits of what a mechanism states: the loss or δ of pairs of words, without sampling error, and tests of its draws.

A guarantee with room to spare can hide noise that is somewhat too small; the law cannot. So draws are tested against
the law that the mechanism states. And the right law is worth nothing if the same random numbers come again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.audit.verdict import Evidence
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run
from wordveil.spaces.space import Ids
from wordveil.stats import upper_bound

__all__ = [
    "allowed_loss",
    "draws_follow_law",
    "exact_deltas",
    "exact_losses",
    "fresh_draws",
    "noise_follows_law",
]

_MOST_PAIRS = 500  # for which to compute δ
_FRESH_WORDS = 8
_FRESH_DRAWS = 256  # of each word, compared place by place


def allowed_loss(made: Mechanism[Any], held: Guarantee, left: Ids, right: Ids) -> NDArray[np.float64]:
    """Return the largest loss that the guarantee, or a claim, allows between the words of each pair."""
    if held == made.guarantee:
        return made.allowed_loss(left, right)
    words, row = np.unique(left, return_inverse=True)
    return np.array([held.loss(distance) for distance in made.space.distances(words)[row, right].tolist()])


def exact_losses(made: Mechanism[Any], held: Guarantee, ids: NDArray[np.int64]) -> list[Evidence]:
    """Compare all pairs of these words on every output, and return the worst."""
    if len(ids) < 2:
        return []
    with np.errstate(divide="ignore"):
        logs = np.log(made.law().rows(ids))
    loss = _largest_gaps(logs)
    # the two rows of weights and the distance in the guarantee are computed, each to the space's precision
    rounding = 3.0 * made.epsilon * made.space.precision
    allowed = np.array([allowed_loss(made, held, np.full(len(ids), word), ids) for word in ids]) + rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        share = loss / allowed
    share[np.isnan(share)] = np.inf  # report a probability that is not a number
    share[((loss == 0.0) & (allowed == 0.0)) | np.isposinf(allowed)] = 0.0
    np.fill_diagonal(share, -1.0)
    left, right = np.unravel_index(share.argmax(), share.shape)
    output = int(np.nan_to_num(np.abs(_apart(logs[left], logs[right])), posinf=np.inf).argmax())
    words = made.space.vocabulary
    return [
        Evidence(
            f"all {len(ids) * (len(ids) - 1) // 2:,} pairs of {len(ids)} words, every output",
            words[int(ids[left])],
            words[int(ids[right])],
            float(made.space.distances(ids[[left]])[0, ids[right]]),
            float(allowed[left, right]),
            float(loss[left, right]),
            output=words[output],
            exact=True,
        )
    ]


def _apart(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences of logarithms. An output that neither word can give shows nothing."""
    with np.errstate(invalid="ignore"):
        apart = left - right
    apart[np.isneginf(left) & np.isneginf(right)] = 0.0
    return apart


def _largest_gaps(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest difference between the entries of any two rows."""

    def part_of(part: slice) -> NDArray[np.float64]:
        block = np.ascontiguousarray(logs[:, part])  # small enough for the processor's cache
        return np.array([_apart(row, block).max(axis=1) for row in block])

    one_way = np.max(run(part_of, blocks(logs.shape[1], 512)), axis=0)
    return np.maximum(one_way, one_way.T)


def exact_deltas(made: Mechanism[Any], held: Guarantee, pairs: NDArray[np.int64]) -> list[Evidence]:
    """Return the pair with the largest exact δ, and the δ at the largest covered distance if the mechanism knows it.

    `held` is the (ε, δ) guarantee or claim to test. Each row of `pairs` is two words that it covers.
    """
    space, words = made.space, made.space.vocabulary
    found = []
    for left, right in pairs[:: max(1, len(pairs) // _MOST_PAIRS)].tolist():
        delta = made.true_delta(left, right)
        if delta is not None:
            apart = float(space.apart(space.points(np.array([left])), np.array([right]))[0])
            output = f"the set where the ratio is above e^{held.epsilon:g}"
            found.append(
                Evidence(held.pairs, words[left], words[right], apart, held.delta, delta, "delta", output, exact=True)
            )
    found = sorted(found, key=lambda evidence: -evidence.share)[:1]
    edge = made.delta_at_reach() if held == made.guarantee else None
    if edge is not None:
        about = "two words as far apart as is covered"
        found.append(
            Evidence(about, words[0], words[0], edge[0], held.delta, edge[1], "delta", "a half-space", exact=True)
        )
    return found


def draws_follow_law(
    made: Mechanism[Any], ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that draws follow the exact probabilities, for several words.

    Makes exact binomial tests of the likeliest outputs, singly and cumulated, and reports the smallest p-value times
    their number.
    """
    found = []
    for word, chances in zip(ids.tolist(), made.law().rows(ids), strict=True):
        counts = np.bincount(made.draw(np.full(draws, word), entropy), minlength=len(chances))
        order = np.argsort(-chances, kind="stable")[:200]
        stated = np.concatenate([chances[order], np.cumsum(chances[order])]).clip(0.0, 1.0)
        seen = np.concatenate([counts[order], np.cumsum(counts[order])])
        tails = np.minimum(scipy.stats.binom.cdf(seen, draws, stated), scipy.stats.binom.sf(seen - 1, draws, stated))
        chance = float(min(1.0, 2.0 * tails.min() * len(tails)))
        name = made.space.vocabulary[word]
        found.append(Evidence.of_test("draws against the stated law", name, error / len(ids), chance))
    return found


def noise_follows_law(
    made: Mechanism[Any], ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that noise has the stated length and, if its law is known, no preferred direction (Kolmogorov-Smirnov).

    The components along a few fixed directions are tested.
    """
    noisy = np.array([word for word in ids.tolist() if made.radius_law(word) is not None], dtype=np.int64)
    chosen = noisy[:: max(1, len(noisy) // 3)][:3]
    found = []
    for word in chosen.tolist():
        place = np.full(draws, word)
        points, radius, projection = made.perturb(place, entropy), made.radius_law(word), made.projection_law(word)
        chances = [scipy.stats.kstest(np.asarray(made.space.apart(points, place), dtype=np.float64), radius).pvalue]
        if projection is not None:
            offsets = np.asarray(points, dtype=np.float64) - made.space.points(place)
            axes = np.random.default_rng(0).normal(size=(offsets.shape[1], 3))
            axes = np.concatenate([axes / np.linalg.norm(axes, axis=0), np.eye(len(axes))[:, :1]], axis=1)
            chances += [scipy.stats.kstest(offsets @ axis, projection).pvalue for axis in axes.T]
        chance = float(min(1.0, min(chances) * len(chances)))
        name = made.space.vocabulary[word]
        found.append(Evidence.of_test("noise against the stated law", name, error / len(chosen), chance))
    return found


def fresh_draws(made: Mechanism[Any], ids: NDArray[np.int64], error: float, entropy: Entropy) -> list[Evidence]:
    """Draw for the same words twice, from one stream and without a stream, and compare place by place.

    The reported figure bounds the probability that two runs agree everywhere by accident: the probability of each
    word's likeliest output, bounded from above with confidence, to the power of the number of draws.
    """
    chosen = ids[:: max(1, len(ids) // _FRESH_WORDS)][:_FRESH_WORDS]
    place = np.repeat(chosen, _FRESH_DRAWS)
    ways: dict[str, Callable[[], NDArray[np.int64]]] = {
        "drawn twice from one stream": lambda: made.draw(place, entropy),
        "drawn twice without a stream": lambda: made.draw(place),
    }
    found = []
    for about, draw in ways.items():
        first, second = draw(), draw()
        chance = 1.0
        if np.array_equal(first, second):
            counts = [np.unique(row, return_counts=True)[1].max() for row in first.reshape(len(chosen), _FRESH_DRAWS)]
            likeliest = upper_bound(counts, _FRESH_DRAWS, error / (4 * len(chosen)))
            chance = min(1.0, float(np.prod(likeliest**_FRESH_DRAWS)) + error / 4)
        found.append(Evidence.of_test(about, made.space.vocabulary[int(chosen[0])], error / 2, chance))
    return found
