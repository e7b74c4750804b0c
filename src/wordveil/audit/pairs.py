"""Which pairs of words an audit looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces import Space

__all__ = ["interesting_pairs", "sub_vocabulary"]

Pairs = dict[str, list[tuple[int, int]]]


def sub_vocabulary(space: Space, words: int, seed: int = 0) -> NDArray[np.int64]:
    """Choose words to audit: half of them at random, half the nearest words of those, so that close pairs occur."""
    if len(space) <= words:
        return np.arange(len(space))
    generator = np.random.default_rng(seed)
    chosen = generator.choice(len(space), size=words // 2, replace=False)
    near = space.neighbours(np.sort(chosen), 1)[0][:, 0]
    ids = np.unique(np.concatenate([chosen, near]))
    missing = words - len(ids)
    rest = np.setdiff1d(np.arange(len(space)), ids)
    return np.sort(np.concatenate([ids, generator.choice(rest, size=missing, replace=False)]))


def interesting_pairs(space: Space, each: int, seed: int = 0) -> Pairs:
    """Choose pairs of a small space: nearest words, random words, crowded against lonely words, and the loneliest."""
    words = len(space)
    if words < 2:
        return {}
    generator = np.random.default_rng(seed)
    rows = space.distances(np.arange(words)).astype(np.float64)
    np.fill_diagonal(rows, np.inf)
    nearest, gap = rows.argmin(axis=1), rows.min(axis=1)
    closest = np.argsort(gap, kind="stable")
    sparse = gap >= np.median(gap)
    across = np.where(sparse[:, None] != sparse[None, :], rows, np.inf)
    crossing = np.argsort(across.min(axis=1), kind="stable")
    crossing = crossing[np.isfinite(across.min(axis=1)[crossing])]
    return {
        "nearest words": [(int(word), int(nearest[word])) for word in closest[: 2 * each : 2]],
        "random words": [_two(generator, words) for _ in range(each)],
        "across densities": [(int(word), int(across[word].argmin())) for word in crossing[: 2 * each : 2]],
        "loneliest words": [(int(word), int(nearest[word])) for word in closest[::-1][:each]],
    }


def _two(generator: np.random.Generator, words: int) -> tuple[int, int]:
    left, right = generator.choice(words, 2, replace=False).tolist()
    return left, right
