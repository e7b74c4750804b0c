"""Sub-sampling: an observer does not know whose record was taken.

Proof (Balle, Barthe & Gaboardi 2018, for samples of fixed size and one record replaced). With probability ``1-q`` the
record that differs is not in the sample, and the two outputs have one law. Otherwise they differ by the ε of what is
done with the sample. The mixture of the two cases differs by ``ln(1 + q(e^ε - 1))``, with ``q·δ``. It needs that the
output does not tell which records were sampled: neither names nor the order may be kept. ∎
"""

from __future__ import annotations

import math

from wordveil.errors import WordveilError

__all__ = ["subsampled"]


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
