"""From counts of noisy words back to counts of words, through the known channel.

Counts of noisy n-grams have the mean ``x·C`` along every axis, where ``x`` are the true counts and ``C`` the channel.

- `invert` solves for ``x``: unbiased, and so negative here and there. Its variance is exact up to the use of the
  observed frequencies: a noisy n-gram ``y`` moves the estimate of ``w`` by ``A(y,w)``, ``A`` the inverse, so the
  variance is ``Σ_y counts(y)·A(y,w)² - estimate(w)²/n``.
- `update` is the iterative Bayesian update, which climbs to the maximum likelihood among true histograms: never
  negative, biased where data is scarce. Its error bars come from a bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.lac.estimate import Estimate
from wordveil.noise import Entropy
from wordveil.parallel import blocks

__all__ = ["invert", "update"]

Floats = NDArray[np.floating[Any]]

_TOGETHER = 1 << 22  # entries of bootstrap histograms that climb at once: 32 MiB


def invert(counts: Floats, channel: Floats) -> Estimate:
    """Estimate true counts without bias, by the inverse of the channel.

    Parameters
    ----------
    counts : array
        The counts of noisy words, or of noisy n-grams with an axis for each word.
    channel : array of shape (words, words)
        ``Pr[M(w)=u]``, a row for each input word.
    """
    _check(counts, channel)
    try:
        inverse = np.linalg.inv(np.asarray(channel, dtype=np.float64))
    except np.linalg.LinAlgError:
        raise WordveilError("this channel cannot be inverted; recover by the Bayesian update.") from None
    values = _along(counts[None], inverse)[0]
    total = float(counts.sum())
    variance = _along(counts[None], inverse**2)[0] - (values**2 / total if total else 0.0)
    return Estimate(values, np.sqrt(np.maximum(variance, 0.0)))


def update(
    counts: Floats,
    channel: Floats,
    *,
    steps: int = 1000,
    tolerance: float = 1e-5,
    replicates: int = 0,
    entropy: Entropy | None = None,
    each: Callable[[int], None] | None = None,
) -> Estimate:
    """Estimate true counts by maximum likelihood, with the iterative Bayesian update.

    Parameters
    ----------
    counts : array
        The counts of noisy words, or of noisy n-grams with an axis for each word.
    channel : array of shape (words, words)
        ``Pr[M(w)=u]``, a row for each input word.
    steps : int
        How many updates at most.
    tolerance : float
        It stops when an update moves less than this share of the records.
    replicates : int
        How many bootstrap samples the error bars come from; none are given with fewer than 2.
    entropy : Entropy, optional
        Where the bootstrap's randomness comes from.
    each : callable, optional
        Called with the number of every update.
    """
    _check(counts, channel)
    total = float(counts.sum())
    shares = _climb(counts[None], channel, steps, tolerance, each)[0]
    if replicates < 2 or total == 0.0:
        return Estimate(total * shares, None)
    generator = (entropy or Entropy()).generator
    again = []
    # the samples climb together, in one product a step, as many of them as memory is meant for
    for part in blocks(replicates, max(1, _TOGETHER // counts.size)):
        drawn = generator.multinomial(round(total), counts.ravel() / total, size=part.stop - part.start)
        again.append(_climb(drawn.reshape(-1, *counts.shape).astype(np.float64), channel, steps, tolerance, None))
    return Estimate(total * shares, total * np.std(np.concatenate(again), axis=0, ddof=1))


def _climb(counts: Floats, channel: Floats, steps: int, tolerance: float, each: Callable[[int], None] | None) -> Floats:
    """Update the shares of several histograms, one along the first axis each, until none moves any more."""
    axes = tuple(range(1, counts.ndim))
    shares = np.full(counts.shape, 1.0 / counts[0].size)
    observed = counts / np.maximum(counts.sum(axis=axes, keepdims=True), 1.0)
    if not observed.any():
        return shares
    for step in range(steps):
        seen = _along(shares, channel)
        moved = shares * _along(np.divide(observed, seen, out=np.zeros_like(seen), where=seen > 0.0), channel.T)
        change = float(np.abs(moved - shares).sum(axis=axes).max())
        shares = moved
        if each is not None:
            each(step + 1)
        if change < tolerance:
            break
    return shares


def _along(values: Floats, matrix: Floats) -> Floats:
    """Multiply every axis of each histogram by the matrix."""
    for _ in range(values.ndim - 1):
        # the first axis of a histogram goes to the end, so that after all of them the order is as it was
        values = np.tensordot(values.astype(matrix.dtype, copy=False), matrix, axes=([1], [0]))
    return values.astype(np.float64, copy=False)


def _check(counts: Floats, channel: Floats) -> None:
    if channel.ndim != 2 or channel.shape[0] != channel.shape[1] or set(counts.shape) != {channel.shape[0]}:
        raise WordveilError("the counts and the channel are of different vocabularies.")
