"""Which mechanisms go with which kinds of space."""

from __future__ import annotations

from functools import cache

import numpy as np

from wordveil._mechanisms import mechanism
from wordveil.errors import WordveilError
from wordveil.spaces import EuclideanSpace, PoincareSpace, Space, Vocabulary

__all__ = ["kind_of", "kinds_for"]

_EPSILON = 1000.0  # some mechanisms refuse a small one


def kind_of(space: Space) -> str:
    """Return the kind of a space, as the API names it."""
    return "hyperbolic" if isinstance(space, PoincareSpace) else "vectors"


@cache
def kinds_for(name: str) -> list[str]:
    """Return the kinds of space that a mechanism takes: it is asked, on the smallest of each."""
    words, points = Vocabulary(["one", "two", "three"]), np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.7]])
    taken = []
    for space in (EuclideanSpace("plane", words, points), PoincareSpace("disk", words, points)):
        try:
            mechanism(name, space, epsilon=_EPSILON)
        except WordveilError:
            continue
        taken.append(kind_of(space))
    return taken
