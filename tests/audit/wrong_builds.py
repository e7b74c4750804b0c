"""The same few mistakes made in every mechanism they can be made in, for the audit to convict.

Where `doubles` holds mistakes that only one mechanism can have, here each is written once and applied to all: a cell of
the table of mechanisms and mistakes is a class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.audit.doubles import DensityWithoutHalf, HyperbolicShapeOffByOne, Mutant
from wordveil._mechanisms import MECHANISMS, ExponentialMechanism, Mechanism
from wordveil._mechanisms.bayes_remap import BayesRemap
from wordveil.noise import Entropy
from wordveil.spaces import PoincareSpace
from wordveil.spaces.hyperbolic_geometry import exp_map, from_hyperboloid, log_map, to_hyperboloid
from wordveil.spaces.space import Ids, Points

__all__ = ["MISTAKES", "WRONG_BUILDS"]

Kind = type[Mechanism[Any]]

_SCALE = 0.8  # of the noise
_FAR = 0.05  # the share of words that are not far
_SEED = 7


def noise_scaled(kind: Kind) -> Kind | None:
    """Make the noise smaller than the stated law has it."""
    if issubclass(kind, (ExponentialMechanism, BayesRemap)):
        return _drawn_at(kind, 1.0 / _SCALE)

    def perturb(self: Any, ids: Ids, entropy: Entropy) -> Points:
        noisy = kind.perturb(self, ids, entropy)
        start = self.space.points(ids)
        if isinstance(self.space, PoincareSpace):
            word, point = from_hyperboloid(start), from_hyperboloid(noisy)
            return to_hyperboloid(exp_map(word, _SCALE * log_map(word, point)))
        return start + np.float32(_SCALE) * (noisy - start)

    return _built(kind, perturb=perturb)


def half_missing(kind: Kind) -> Kind | None:
    """Forget to pay for a normaliser that depends on the word."""
    if kind.name == "density":
        return DensityWithoutHalf
    # on a ring or a list it is the same for all
    is_uneven = issubclass(kind, ExponentialMechanism) and kind.name not in ("ring", "diffractor")
    return _drawn_at(kind, 2.0) if is_uneven else None


def shape_off_by_one(kind: Kind) -> Kind | None:
    """Draw from a Beta law whose shape is one off."""
    return HyperbolicShapeOffByOne if kind.name == "hyperbolic" else None


def seed_fixed(kind: Kind) -> Kind | None:
    """Draw with the same random numbers every time."""

    def draw(self: Any, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        return np.asarray(kind.draw(self, ids, Entropy(_SEED)))

    return _built(kind, draw=draw)


def clipped_after(kind: Kind) -> Kind | None:
    """Look at the word again after the draw, and give it back where the draw went far."""

    def draw(self: Any, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        drawn = kind.draw(self, ids, entropy)
        words, row = np.unique(ids, return_inverse=True)
        rows = self.space.distances(words)
        far = rows[row, drawn] > np.quantile(rows, _FAR, axis=1)[row]
        return np.where(far, ids, drawn)

    return _built(kind, draw=draw)


MISTAKES: dict[str, Callable[[Kind], Kind | None]] = {
    "noise scaled by 0.8": noise_scaled,
    "½ missing": half_missing,
    "Beta shape off by one": shape_off_by_one,
    "seed fixed": seed_fixed,
    "clipped after the draw": clipped_after,
}


def _drawn_at(kind: Kind, factor: float) -> Kind:
    """Draw with another ε than the one that is stated."""

    @lru_cache(maxsize=4)
    def other(made: Any) -> Mechanism[Any]:
        options = {name: value for name, value in made.options().items() if value is not None}
        return kind(getattr(made, "embedding", made.space), factor * made.epsilon, **options)

    def draw(self: Any, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        return other(self).draw(ids, entropy)

    return _built(kind, draw=draw)


def _built(kind: Kind, **changed: Any) -> Kind:
    return type(kind.__name__, (kind,), changed)


_SPACES = {"graph": "graph", "ring": "ring", "hyperbolic": "disk", "hyperbolic-icdm19": "disk"}
_EPSILONS = {"ring": 0.5, "gaussian": 0.5, "nadp": 0.5, "hyperbolic": 3.0, "custext": 4.0}
_PROMISE_WITH: dict[str, dict[str, Any]] = {"hyperbolic-icdm19": {"translate": "mobius"}}

#: Every mechanism that promises something, with every mistake that can be made in it.
WRONG_BUILDS: dict[tuple[str, str], Mutant] = {
    (name, mistake): Mutant(wrong, _SPACES.get(name, "vectors"), _EPSILONS.get(name, 1.0), _PROMISE_WITH.get(name, {}))
    for name, kind in MECHANISMS.items()
    for mistake, make in MISTAKES.items()
    if (kind.in_brief != "none" or name in _PROMISE_WITH) and (wrong := make(kind)) is not None
}
