"""Sub-sampling: an observer does not know whose record was taken.

Proof (Balle, Barthe & Gaboardi 2018, for samples of fixed size and one record replaced). With probability ``1-q`` the
record that differs is not in the sample, and the two outputs have one law. Otherwise they differ by the ε of what is
done with the sample. The mixture of the two cases differs by ``ln(1 + q(e^ε - 1))``, with ``q·δ``. It needs that the
output does not tell which records were sampled: neither names nor the order may be kept. It also compares the record
with every other one that may be sampled in its place, so all records must be ones that the ε is promised for: where
some of them are of another shape, it is seen whether one of its shape was sampled. ∎
"""

from __future__ import annotations

import math

from wordveil.errors import WordveilError

__all__ = ["sample_size", "subsampled"]


def subsampled(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Return (ε, δ) of an (ε, δ)-private step that sees a random share of the records.

    Examples
    --------
    >>> epsilon, delta = subsampled(1.0, 1e-6, 0.1)
    >>> round(epsilon, 4), delta
    (0.1586, 1e-07)
    """
    if not 0.0 < rate <= 1.0:
        raise WordveilError("the rate of a sample must lie above 0 and be at most 1.")
    # ln(1 + q(e^ε - 1)) in a form that does not overflow
    if epsilon > 30.0:
        return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon)), rate * delta
    return math.log1p(rate * math.expm1(epsilon)), rate * delta


def sample_size(rate: float, records: int) -> int:
    """Return how many records a sample of a share of them has.

    Examples
    --------
    >>> sample_size(0.1, 1234)
    123
    """
    return max(1, round(rate * records))
