"""What noise is made of: directions uniform on the sphere, Laplace lengths, and Gamma variables as logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy

__all__ = ["directions", "laplace_lengths", "log_gamma_draws"]


def laplace_lengths(count: int, dimension: int, epsilon: float, entropy: Entropy) -> NDArray[np.float64]:
    """Draw the lengths of vectors with density ∝ ``exp(-epsilon * length)``: Gamma(dimension, 1/epsilon).

    Times `directions`, they are multivariate Laplace noise.

    Examples
    --------
    >>> laplace_lengths(2, 3, 1.0, Entropy(0)).shape
    (2,)
    """
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


def log_gamma_draws(shape: float, count: int, entropy: Entropy) -> NDArray[np.float64]:
    """Draw logarithms of Gamma variables of scale 1, for shapes whose draws are often below the smallest double.

    If ``G ~ Gamma(a+1)`` and U is uniform, ``G·U^{1/a} ~ Gamma(a)``.

    Examples
    --------
    >>> bool(log_gamma_draws(1e-3, 5, Entropy(0)).min() < -700)
    True
    """
    return np.asarray(
        np.log(entropy.generator.standard_gamma(shape + 1.0, count)) + np.log(entropy.uniform(count)) / shape
    )
