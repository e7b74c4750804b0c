from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordveil.plan.sketches import Hasher, Recurring, Reservoir


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=50))
def test_what_fits_is_counted_exactly(values: list[int]) -> None:
    counts = Recurring(room=50)
    for value in values:
        counts.add(value)
    true = Counter(values)
    assert counts.is_exact
    assert counts.distinct == len(true)
    assert counts.values(most=1) == sum(count == 1 for count in true.values())
    assert counts.share_of_occurrences(least=2) * len(values) == sum(count for count in true.values() if count > 1)


def test_what_does_not_fit_is_estimated_in_bounded_memory() -> None:
    hasher, counts = Hasher(1), Recurring(room=2000)
    for number in range(40_000):  # every fourth value comes twice
        value = hasher(str(number))
        counts.add(value)
        if number % 4 == 0:
            counts.add(value)
    assert not counts.is_exact
    assert len(counts._counts) <= 2000
    assert abs(counts.distinct / 40_000 - 1) < 0.15
    assert abs(counts.share_of_occurrences(least=2) - 0.4) < 0.05  # 20,000 of 50,000
    assert abs(counts.values(most=1) / 30_000 - 1) < 0.2


def test_runs_are_those_of_words() -> None:
    hasher = Hasher(0)
    first, again = (hasher.runs(hasher.words(text.split()), 3) for text in ("a b c d", "x a b c"))
    assert len(first) == len(again) == 2
    assert set(first.tolist()) & set(again.tolist()) == {int(first[0])}
    assert int(again[1]) == int(first[0])
    assert not len(hasher.runs(hasher.words(["a"]), 3))


def test_hashes_have_a_key() -> None:
    assert Hasher(1)("word") != Hasher(2)("word")


def test_a_reservoir_is_fair() -> None:
    seen = np.zeros(50)
    for seed in range(400):
        kept: Reservoir[int] = Reservoir(10, seed)
        for item in range(50):
            place = kept.place()
            if place is not None:
                kept.put(place, item)
        assert len(kept) == 10
        seen[list(kept)] += 1
    assert abs(seen / 400 - 0.2).max() < 0.09  # 4.5 standard errors
