"""Tests of the draws themselves: that they follow the law the mechanism states, and that none is repeated.

A guarantee with room to spare hides noise that is somewhat too small; the law does not. And the right law is worth
nothing when the same random numbers come again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.audit.verdict import Evidence
from wordveil.noise import Entropy
from wordveil.stats import upper_bound

__all__ = ["draws_follow_law", "fresh_draws", "noise_follows_law"]

_WORDS = 8
_DRAWS = 256


def draws_follow_law(
    made: Mechanism[Any], ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that draws follow the exact probabilities, for several words.

    Exact binomial tests of the likeliest outputs, one by one and summed up from the likeliest; the smallest p-value
    times their number is reported.
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
    """Test that noise has the stated length and, where that is known, no direction of its own (Kolmogorov-Smirnov).

    Its parts are looked at along a few fixed directions.
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
    """Draw for the same words twice, with the entropy given and with none, and compare place by place.

    Two runs that agree everywhere are an accident with at most the probability that is reported: that of the likeliest
    output of each word, bounded from above with confidence, to the power of the number of draws.
    """
    chosen = ids[:: max(1, len(ids) // _WORDS)][:_WORDS]
    place = np.repeat(chosen, _DRAWS)
    ways: dict[str, Callable[[], NDArray[np.int64]]] = {
        "drawn twice from one stream": lambda: made.draw(place, entropy),
        "drawn twice without a stream": lambda: made.draw(place),
    }
    found = []
    for about, draw in ways.items():
        first, second = draw(), draw()
        chance = 1.0
        if np.array_equal(first, second):
            counts = [np.unique(row, return_counts=True)[1].max() for row in first.reshape(len(chosen), _DRAWS)]
            likeliest = upper_bound(counts, _DRAWS, error / (4 * len(chosen)))
            chance = min(1.0, float(np.prod(likeliest**_DRAWS)) + error / 4)
        found.append(Evidence.of_test(about, made.space.vocabulary[int(chosen[0])], error / 2, chance))
    return found
