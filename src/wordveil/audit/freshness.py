"""A test that draws are not repeated: the right law is worth nothing when the same random numbers come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.audit.bounds import upper
from wordveil.audit.verdict import Evidence
from wordveil.noise import Entropy

__all__ = ["fresh_draws"]

_WORDS = 8
_DRAWS = 256


def fresh_draws(mechanism: Mechanism[Any], ids: NDArray[np.int64], error: float, entropy: Entropy) -> list[Evidence]:
    """Draw for the same words twice, with the entropy given and with none, and compare place by place.

    Two runs that agree everywhere are an accident with at most the probability that is reported: that of the likeliest
    output of each word, bounded from above with confidence, to the power of the number of draws.
    """
    chosen = ids[:: max(1, len(ids) // _WORDS)][:_WORDS]
    place = np.repeat(chosen, _DRAWS)
    ways: dict[str, Callable[[], NDArray[np.int64]]] = {
        "drawn twice from one stream": lambda: mechanism.draw(place, entropy),
        "drawn twice without a stream": lambda: mechanism.draw(place),
    }
    found = []
    for about, draw in ways.items():
        first, second = draw(), draw()
        chance = 1.0
        if np.array_equal(first, second):
            counts = [np.unique(row, return_counts=True)[1].max() for row in first.reshape(len(chosen), _DRAWS)]
            likeliest = upper(np.array(counts), _DRAWS, error / (4 * len(chosen)))
            chance = min(1.0, float(np.prod(likeliest**_DRAWS)) + error / 4)
        name = mechanism.space.vocabulary[int(chosen[0])]
        found.append(Evidence(about, name, name, 0.0, error / 2, chance, quantity="p-value"))
    return found
