"""Gamma variables as their logarithms, for shapes whose draws are often below the smallest double."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy

__all__ = ["log_gamma_draws"]


def log_gamma_draws(shape: float, count: int, entropy: Entropy) -> NDArray[np.float64]:
    """Draw logarithms of Gamma variables.

    Parameters
    ----------
    shape : float
        Of the Gamma law; its scale is 1.
    count : int
        How many.
    entropy : Entropy
        Where the randomness comes from.

    Notes
    -----
    If ``G ~ Gamma(a+1)`` and U is uniform, ``G·U^{1/a} ~ Gamma(a)``.

    Examples
    --------
    >>> bool(log_gamma_draws(1e-3, 5, Entropy(0)).min() < -700)
    True
    """
    return np.asarray(
        np.log(entropy.generator.standard_gamma(shape + 1.0, count)) + np.log(entropy.uniform(count)) / shape
    )
