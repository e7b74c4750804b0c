"""No random number comes twice, however the streams are made; and the search would see it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.streams import WAYS, numbers, repeats

from wordveil.noise import Entropy


def test_no_number_comes_twice() -> None:
    found = [part for name, way in WAYS.items() for part in way(2 if name == "new processes" else 12)]
    everything = np.concatenate(found)
    assert len(everything) >= 700_000
    assert repeats(everything) == 0


@pytest.mark.parametrize("overlap", [10, 10_000])
def test_a_stream_that_is_used_twice_is_found(overlap: int) -> None:
    once, again = numbers(Entropy(5)), numbers(Entropy(5), overlap)
    assert repeats(np.concatenate([once, numbers(Entropy()), again])) == overlap
