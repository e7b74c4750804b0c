"""Multivariate Laplace noise, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy

__all__ = ["directions", "laplace_lengths", "laplace_noise"]


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
    noise = directions(count, dimension, entropy)
    noise *= laplace_lengths(count, dimension, epsilon, entropy)[:, None].astype(np.float32)
    return noise


def laplace_lengths(count: int, dimension: int, epsilon: float, entropy: Entropy) -> NDArray[np.float64]:
    """Draw the lengths of vectors with density ∝ ``exp(-epsilon * length)``."""
    return np.asarray(entropy.generator.standard_gamma(dimension, count) / epsilon)


def directions(
    count: int, dimension: int, entropy: Entropy, dtype: type[np.float32] | type[np.float64] = np.float32
) -> NDArray[Any]:
    """Draw vectors of length 1, uniform on the sphere."""
    vectors = entropy.generator.standard_normal((count, dimension), dtype=dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    lengths[lengths == 0.0] = 1.0  # a vector of float zeros, which never happens, must not become NaN
    vectors /= lengths[:, None].astype(dtype)
    return vectors
