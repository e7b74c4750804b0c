"""How deep words lie in a hyperbolic hierarchy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces import PoincareSpace, Space

__all__ = ["depths"]


def depths(space: Space) -> NDArray[np.float64] | None:
    """Return the distance of every word from the centre of a hyperbolic space, None for other spaces.

    A hyperbolic embedding of a hierarchy has its roots at the centre: the farther out, the more special a word.
    """
    return space.radii if isinstance(space, PoincareSpace) else None
