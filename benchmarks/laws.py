"""Whether two samples of outputs follow the same law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["same_law"]

_RARE = 20  # outputs seen less often than this in both samples together are counted as one


def same_law(ids: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    """Return the p-value of a χ² test that two samples of outputs have the same law for every input word.

    `ids` holds the input word of each draw; `left` and `right` are the two outputs.
    """
    statistic, freedom = 0.0, 0
    words = int(max(left.max(), right.max())) + 1
    for word in np.unique(ids):
        counts = np.stack([np.bincount(drawn[ids == word], minlength=words) for drawn in (left, right)])
        common = counts.sum(axis=0) >= _RARE
        table = np.concatenate([counts[:, common], counts[:, ~common].sum(axis=1, keepdims=True)], axis=1)
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] > 1:
            found = stats.chi2_contingency(table, correction=False)
            statistic, freedom = statistic + float(found.statistic), freedom + int(found.dof)
    assert freedom, "only one output is common, so there is nothing to compare"
    return float(stats.chi2.sf(statistic, freedom))
