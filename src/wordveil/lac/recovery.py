"""From counts of noisy words back to counts of words, through the known law of the mechanism.

Counts of noisy n-grams have the mean ``x·C`` along every axis, where ``x`` are the true counts and ``C`` is the matrix
``Pr[M(w)=u]``.

- `invert` solves for ``x``. The estimate is unbiased, and therefore sometimes negative. Its variance is exact except
  that observed frequencies stand for true ones: a noisy n-gram ``y`` moves the estimate of ``w`` by ``A(y,w)``, where
  ``A`` is the inverse, so the variance is ``Σ_y counts(y)·A(y,w)² - estimate(w)²/n``.
- `update` is the iterative Bayesian update, which climbs to the maximum likelihood among true histograms. The estimate
  is never negative, and biased where data is scarce. Its error bars come from a bootstrap.

`Law.explain_counts` takes the same steps for one histogram of words in the largest vocabularies. Here they are taken
along every axis of an n-gram, for all bootstrap samples at once, and in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.laws import Effort
from wordveil.errors import InputError, OptionError, SpaceError
from wordveil.noise import Entropy
from wordveil.parallel import blocks

Floats = NDArray[np.floating[Any]]

_MOST_CELLS = 1 << 28  # of a matrix: 1 GiB in single precision
_TOGETHER = 1 << 22  # entries of bootstrap histograms that climb together: 32 MiB


@dataclass(frozen=True)
class Recovered:
    """Estimated counts of words, or of n-grams with an axis for each word, and their error bars.

    Attributes
    ----------
    values : array of float
        The estimated counts.
    errors : array of float or None
        One standard error of each; None if none were computed.
    """

    values: Floats
    errors: Floats | None

    def top(self, k: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the places and counts of the `k` most frequent entries, most frequent first."""
        flat = self.values.ravel()
        order = np.argsort(-flat, kind="stable")[: max(k, 0)]
        places = zip(*(axis.tolist() for axis in np.unravel_index(order, self.values.shape)), strict=True)
        return list(zip(places, flat[order].tolist(), strict=True))


def dense_law(
    mechanism: Mechanism[Any], *, draws: int | None = None, dtype: type[np.floating[Any]] = np.float64
) -> NDArray[Any]:
    """Return ``Pr[M(w)=u]`` for all words of the vocabulary, with a row for each input word.

    Parameters
    ----------
    dtype : type
        The precision; ``numpy.float32`` halves the memory.
    """
    words = len(mechanism.space)
    if words * words > _MOST_CELLS:
        raise SpaceError(
            f"recovery needs a matrix of {words:,} × {words:,} probabilities, which is too large; use a space of at "
            f"most {int(_MOST_CELLS**0.5):,} words."
        )
    law = mechanism.law(None if draws is None else Effort(draws=draws))
    if draws is None and not law.exact:
        raise OptionError(f"the probabilities of {mechanism.name} are not known exactly; pass draws to count them.")
    matrix = np.empty((words, words), dtype=dtype)
    for part in blocks(words, 256 if law.exact else words):  # if counted, all at once, so that no two rows share draws
        matrix[part] = law.rows(np.arange(part.start, part.stop))
    return matrix


def invert(counts: Floats, law: Floats) -> Recovered:
    """Estimate true counts without bias, with the inverse of the law's matrix."""
    _check(counts, law)
    try:
        inverse = np.linalg.inv(np.asarray(law, dtype=np.float64))
    except np.linalg.LinAlgError:
        raise OptionError("this law cannot be inverted; use the Bayesian update instead.") from None
    values = _along(counts[None], inverse)[0]
    total = float(counts.sum())
    variance = _along(counts[None], inverse**2)[0] - (values**2 / total if total else 0.0)
    return Recovered(values, np.sqrt(np.maximum(variance, 0.0)))


def update(
    counts: Floats,
    law: Floats,
    *,
    steps: int = 1000,
    tolerance: float = 1e-5,
    replicates: int = 0,
    entropy: Entropy | None = None,
    each: Callable[[int], None] | None = None,
) -> Recovered:
    """Estimate true counts by maximum likelihood, with the iterative Bayesian update.

    Parameters
    ----------
    steps : int
        The most updates to make.
    tolerance : float
        Stop when an update moves less than this share of the records.
    replicates : int
        How many bootstrap samples to compute error bars from; fewer than 2 give none.
    each : callable, optional
        Called with the number of every update.
    """
    _check(counts, law)
    total = float(counts.sum())
    shares = _climb(counts[None], law, steps, tolerance, each)[0]
    if replicates < 2 or total == 0.0:
        return Recovered(total * shares, None)
    generator = (entropy or Entropy()).generator
    again = []
    # samples climb together, in one product per step, as many as memory allows
    for part in blocks(replicates, max(1, _TOGETHER // counts.size)):
        drawn = generator.multinomial(round(total), counts.ravel() / total, size=part.stop - part.start)
        again.append(_climb(drawn.reshape(-1, *counts.shape).astype(np.float64), law, steps, tolerance, None))
    return Recovered(total * shares, total * np.std(np.concatenate(again), axis=0, ddof=1))


def _climb(counts: Floats, law: Floats, steps: int, tolerance: float, each: Callable[[int], None] | None) -> Floats:
    """Update the shares of several histograms, stacked along the first axis, until none of them moves any more."""
    axes = tuple(range(1, counts.ndim))
    shares = np.full(counts.shape, 1.0 / counts[0].size)
    observed = counts / np.maximum(counts.sum(axis=axes, keepdims=True), 1.0)
    if not observed.any():
        return shares
    for step in range(steps):
        seen = _along(shares, law)
        moved = shares * _along(np.divide(observed, seen, out=np.zeros_like(seen), where=seen > 0.0), law.T)
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
        # the first axis of each histogram moves to the end, so after all of them the order is as before
        values = np.tensordot(values.astype(matrix.dtype, copy=False), matrix, axes=([1], [0]))
    return values.astype(np.float64, copy=False)


def _check(counts: Floats, law: Floats) -> None:
    if law.ndim != 2 or law.shape[0] != law.shape[1] or set(counts.shape) != {law.shape[0]}:
        raise InputError("the counts and the law have different vocabularies.")
