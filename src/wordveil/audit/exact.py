"""Audits of mechanisms whose law is known: the loss, or δ, of pairs of words without sampling error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.audit.verdict import Evidence
from wordveil.guarantee import Guarantee
from wordveil.parallel import blocks, run
from wordveil.spaces.space import Ids

__all__ = ["allowed_loss", "exact_deltas", "exact_losses"]

_MOST_PAIRS = 500  # whose δ is computed


def allowed_loss(made: Mechanism[Any], held: Guarantee, left: Ids, right: Ids) -> NDArray[np.float64]:
    """Return the largest loss that the guarantee, or a claim, allows between the words of each pair."""
    if held == made.guarantee:
        return made.allowed_loss(left, right)
    words, row = np.unique(left, return_inverse=True)
    return np.array([held.loss(distance) for distance in made.space.distances(words)[row, right].tolist()])


def exact_losses(made: Mechanism[Any], held: Guarantee, ids: NDArray[np.int64]) -> list[Evidence]:
    """Compare all pairs of these words on every output and return the worst."""
    if len(ids) < 2:
        return []
    with np.errstate(divide="ignore"):
        logs = np.log(made.law().rows(ids))
    loss = _largest_gaps(logs)
    # both rows of weights and the distance in the guarantee are computed, each off by the space's precision
    rounding = 3.0 * made.epsilon * made.space.precision
    allowed = np.array([allowed_loss(made, held, np.full(len(ids), word), ids) for word in ids]) + rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        share = loss / allowed
    share[np.isnan(share)] = np.inf  # a probability that is not a number is reported, not passed over
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


def exact_deltas(made: Mechanism[Any], held: Guarantee, pairs: NDArray[np.int64]) -> list[Evidence]:
    """Return the pair with the largest exact δ, and the δ at the largest distance covered, where the mechanism has it.

    `held` is the (ε, δ) guarantee or claim to test, and `pairs`, a row each, are words that it covers.
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
