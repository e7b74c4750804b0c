"""Distances in single precision keep their stated error."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from wordveil.kernels import squared_distances, straight_distances, worst_error


@settings(max_examples=60, deadline=None)
@given(
    dimension=st.integers(1, 300),
    spread=st.sampled_from([1e-4, 0.01, 0.3, 0.5, 1.0]),
    scale=st.sampled_from([1e-3, 1.0, 50.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_distance_is_off_by_more_than_the_bound(dimension: int, spread: float, scale: float, seed: int) -> None:
    """Around one point, so that the lengths are large and the distances are not."""
    generator = np.random.default_rng(seed)
    points = scale * (generator.normal(size=dimension) + spread * generator.normal(size=(40, dimension)))
    matrix = points.astype(np.float32)
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    found = straight_distances(matrix, squares.astype(np.float32), np.arange(40))
    exact = cdist(matrix.astype(np.float64), matrix.astype(np.float64))
    square = squared_distances(matrix, squares.astype(np.float32), np.arange(40))
    assert np.array_equal(np.sqrt(square), found)
    assert np.abs(found - exact).max() <= worst_error(dimension, float(np.sqrt(squares.max())))
