"""The largest product, found in compiled code of every kind and in numpy alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordveil.kernels import kinds
from wordveil.spaces.products import BestProduct


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [*kinds(), "off"])
@pytest.mark.parametrize("words", [1, 63, 64, 1300])
@pytest.mark.parametrize("queries", [0, 1, 7, 2050])
def test_the_largest_product_plus_bias_is_found(
    words: int, queries: int, kind: str, dtype: type[np.floating[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDVEIL_KERNELS", kind)
    generator = np.random.default_rng(words)
    # small whole numbers, whose products are exact: what is found must be the first of equals
    vectors, points = (generator.integers(-3, 4, size=(count, 5)).astype(dtype) for count in (words, queries))
    bias = generator.integers(-9, 9, size=words).astype(dtype)
    found, values = BestProduct(vectors, bias).best(points)
    scores = points.astype(np.float64) @ vectors.T.astype(np.float64) + bias  # exact in either precision
    assert found.tolist() == scores.argmax(axis=1).tolist()
    assert values.tolist() == scores.max(axis=1).tolist()
