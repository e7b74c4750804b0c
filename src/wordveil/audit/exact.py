"""Audits of mechanisms whose law is known: no sampling error in the loss, and a test that the draws follow the law."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Mechanism, NoiseMechanism
from wordveil._mechanisms.gaussian_noise import GaussianNoise
from wordveil.audit.verdict import Evidence
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run

__all__ = ["exact_deltas", "exact_losses", "law_of_draws", "law_of_noise", "law_of_radius"]


def exact_losses(mechanism: ExponentialMechanism[Any], ids: NDArray[np.int64]) -> list[Evidence]:
    """Compare all pairs of these words on every output and return the worst."""
    if len(ids) < 2:
        return []
    with np.errstate(divide="ignore"):
        logs = np.log(mechanism.probability_rows(ids))
    loss = _largest_gaps(logs)
    everyone = np.arange(len(ids))
    # both rows of weights and the distance that is promised by are computed, each off by the space's precision
    rounding = 3.0 * mechanism.epsilon * mechanism.space.precision
    allowed = np.array([mechanism.allowed_loss(np.full(len(ids), word), ids) for word in ids]) + rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        share = loss / allowed
    share[np.isnan(share)] = np.inf  # a probability that is none is told, not passed over
    share[((loss == 0.0) & (allowed == 0.0)) | np.isposinf(allowed)] = 0.0
    share[everyone, everyone] = -1.0
    left, right = np.unravel_index(share.argmax(), share.shape)
    output = int(np.nan_to_num(np.abs(_apart(logs[left], logs[right])), posinf=np.inf).argmax())
    words = mechanism.space.vocabulary
    return [
        Evidence(
            f"all {len(ids) * (len(ids) - 1) // 2:,} pairs of {len(ids)} words, every output",
            words[int(ids[left])],
            words[int(ids[right])],
            float(mechanism.space.distances(ids[[left]])[0, ids[right]]),
            float(allowed[left, right]),
            float(loss[left, right]),
            output=words[output],
            exact=True,
        )
    ]


def _apart(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences of logarithms; an output that neither word has tells nothing."""
    with np.errstate(invalid="ignore"):
        apart = left - right
    apart[np.isneginf(left) & np.isneginf(right)] = 0.0
    return apart


def _largest_gaps(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every two rows the largest difference of their entries."""

    def part_of(part: slice) -> NDArray[np.float64]:
        block = np.ascontiguousarray(logs[:, part])  # small enough to stay in the processor's cache
        return np.array([_apart(row, block).max(axis=1) for row in block])

    one_way = np.max(run(part_of, blocks(logs.shape[1], 512)), axis=0)
    return np.maximum(one_way, one_way.T)


def law_of_draws(
    mechanism: ExponentialMechanism[Any], ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that draws follow the stated probabilities, for several words.

    Exact binomial tests of the likeliest outputs, one by one and summed up from the likeliest; the smallest p-value
    times their number is reported.
    """
    found = []
    for word in ids.tolist():
        chances = mechanism.probabilities(word)
        counts = np.bincount(mechanism.draw(np.full(draws, word), entropy), minlength=len(chances))
        order = np.argsort(-chances, kind="stable")[:200]
        stated = np.concatenate([chances[order], np.cumsum(chances[order])]).clip(0.0, 1.0)
        seen = np.concatenate([counts[order], np.cumsum(counts[order])])
        tails = np.minimum(scipy.stats.binom.cdf(seen, draws, stated), scipy.stats.binom.sf(seen - 1, draws, stated))
        chance = float(min(1.0, 2.0 * tails.min() * len(tails)))
        name = mechanism.space.vocabulary[word]
        about = "draws against the stated law"
        found.append(Evidence(about, name, name, 0.0, error / len(ids), chance, quantity="p-value"))
    return found


def exact_deltas(mechanism: GaussianNoise, pairs: list[tuple[int, int]], held: Guarantee, about: str) -> list[Evidence]:
    """Compute the exact δ of these pairs and hold it against a promise."""
    if held.notion is not Notion.APPROXIMATE:
        return []
    words = mechanism.space.vocabulary
    found = [
        Evidence(
            about,
            words[left],
            words[right],
            float(mechanism.space.apart(mechanism.space.points(np.array([left])), np.array([right]))[0]),
            held.delta,
            mechanism.true_delta(left, right),
            quantity="delta",
            output=f"the set where the ratio is above e^{held.epsilon:g}",
            exact=True,
        )
        for left, right in pairs
    ]
    return sorted(found, key=lambda evidence: -evidence.share)[:1]


def law_of_noise(
    mechanism: GaussianNoise, ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that the noise has the stated size and no direction of its own (Kolmogorov-Smirnov).

    Its squared length is held against χ², its parts along a few fixed directions against the normal law.
    """
    dimension = mechanism.space.dimension
    axes = np.random.default_rng(0).normal(size=(dimension, 3))
    axes = np.concatenate([axes / np.linalg.norm(axes, axis=0), np.eye(dimension)[:, :1]], axis=1)
    noisy = ids[mechanism.deviations[ids] > 0][:3]
    found = []
    for word in noisy.tolist():
        place = np.full(draws, word)
        offsets = mechanism.perturb(place, entropy).astype(np.float64) - mechanism.space.points(place)
        offsets /= float(mechanism.deviations[word])
        chances = [scipy.stats.kstest((offsets**2).sum(axis=1), scipy.stats.chi2(dimension).cdf).pvalue]
        chances += [scipy.stats.kstest(offsets @ axis, "norm").pvalue for axis in axes.T]
        name = mechanism.space.vocabulary[word]
        adjusted = float(min(1.0, min(chances) * len(chances)))
        about = "noise against the stated law"
        found.append(Evidence(about, name, name, 0.0, error / len(noisy), adjusted, quantity="p-value"))
    return found


def law_of_radius(
    mechanism: Mechanism[Any], ids: NDArray[np.int64], draws: int, error: float, entropy: Entropy
) -> list[Evidence]:
    """Test that noisy points are as far from their words as the mechanism states (Kolmogorov-Smirnov).

    A promise with room to spare hides noise that is somewhat too small; its law does not.
    """
    if not isinstance(mechanism, NoiseMechanism):
        return []
    chosen = ids[:: max(1, len(ids) // 3)][:3]
    found = []
    for word in chosen.tolist():
        law = mechanism.radius_law(word)
        if law is not None:
            place = np.full(draws, word)
            radii = mechanism.space.apart(mechanism.perturb(place, entropy), place)
            chance = float(scipy.stats.kstest(np.asarray(radii, dtype=np.float64), law).pvalue)
            name = mechanism.space.vocabulary[word]
            about = "how far the noise goes, against the stated law"
            found.append(Evidence(about, name, name, 0.0, error / len(chosen), chance, quantity="p-value"))
    return found
