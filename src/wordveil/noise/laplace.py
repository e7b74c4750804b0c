"""Multivariate Laplace noise, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy

__all__ = ["laplace_noise"]


def laplace_noise(count: int, dimension: int, epsilon: float, entropy: Entropy) -> NDArray[np.float32]:
    """Draw vectors with density ∝ ``exp(-epsilon * length)``.

    Parameters
    ----------
    count, dimension : int
        How many vectors of how many coordinates.
    epsilon : float
        The rate.
    entropy : Entropy
        Where the randomness comes from.

    Notes
    -----
    Direction uniform on the sphere, radius Gamma(dimension, 1/epsilon).

    Examples
    --------
    >>> laplace_noise(2, 3, 1.0, Entropy(0)).shape
    (2, 3)
    """
    generator = entropy.generator
    noise = generator.standard_normal((count, dimension), dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", noise, noise, dtype=np.float64))
    lengths[lengths == 0.0] = 1.0  # a vector of float zeros, which never happens, must not become NaN
    radius = generator.standard_gamma(dimension, count) / epsilon
    noise *= (radius / lengths)[:, None].astype(np.float32)
    return noise
