"""Which words, and which pairs of them, an audit looks at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.audit.claim import Claim
from wordveil.audit.sampled import choose_pairs, pairs_in_excess
from wordveil.text import function_words

__all__ = ["choose_candidates", "choose_suspects"]

_LOOKED_AT = 1500  # words of a large space, among which to find near, crowded and lonely ones


def choose_suspects(claim: Claim, count: int, seed: int) -> NDArray[np.int64]:
    """Choose words to look at: near words, hubs and lonely words with their nearest words, function words, others."""
    space = claim.space
    if len(space) <= count:
        return np.arange(len(space))
    generator = np.random.default_rng(seed)
    looked_at = np.sort(generator.choice(len(space), min(_LOOKED_AT, len(space)), replace=False))
    nearest, gaps = (found[:, 0] for found in space.neighbours(looked_at, 1))
    each = max(1, count // 10)
    by_gap = np.argsort(gaps, kind="stable")
    by_gap = by_gap[np.isfinite(gaps[by_gap])]
    crowd = np.bincount(nearest, minlength=len(space))[nearest]
    ids = space.vocabulary.ids
    listed = np.array(sorted(ids[word] for word in function_words("en") if word in ids)[: 2 * each], dtype=np.int64)
    around = np.concatenate([by_gap[: 2 * each], np.argsort(-crowd, kind="stable")[:each], by_gap[::-1][:each]])
    chosen = dict.fromkeys([*np.stack([looked_at[around], nearest[around]], axis=1).ravel().tolist(), *listed.tolist()])
    chosen |= dict.fromkeys(generator.permutation(looked_at).tolist())
    return np.sort(np.array(list(chosen)[:count], dtype=np.int64))


def choose_candidates(
    words: list[str], allowed: NDArray[np.float64], explored: NDArray[np.int64], each: int
) -> dict[tuple[int, int], str]:
    """Return pairs worth a closer look, and why.

    `allowed` is the loss claimed for every two words. `explored` is how often each output was seen, with a row for each
    word.
    """
    found: dict[tuple[int, int], str] = {}
    others = np.where(np.eye(len(words), dtype=bool), math.inf, allowed)

    def add(pair: Iterable[Any], about: str) -> None:
        left, right = map(int, pair)
        if left != right and math.isfinite(allowed[left, right]) and (right, left) not in found:
            found.setdefault((left, right), about)

    add(np.unravel_index(others.argmin(), others.shape), "the words that may lose least")
    draws = int(explored.sum(axis=1).max())
    for pair in pairs_in_excess(explored, allowed, 2 * each, max(3, draws // 100)):
        add(pair, "searched for")
    seen = (explored > 0).astype(np.int64)
    shared = np.where(others > np.median(others), math.inf, seen @ seen.T)  # common outputs of words not far apart
    add(np.unravel_index(shared.argmin(), shared.shape), "words of different outputs")
    for about, pairs in choose_pairs(allowed, max(1, each // 2)).items():
        for pair in pairs:
            add(pair, about)
    listed = [place for place, word in enumerate(words) if word in function_words("en")]
    if len(listed) > 1:
        rows = others[np.ix_(listed, listed)]
        add((listed[place] for place in np.unravel_index(rows.argmin(), rows.shape)), "function words")
    stiff = int(explored.max(axis=1).argmax())
    add((stiff, others[stiff].argmin()), "the word with the likeliest output")
    return found
