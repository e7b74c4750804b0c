"""The law of mechanisms that look around a point on a ray, estimated from draws that share directions.

What matters of such a point is the direction from its word, which does not depend on ε, and how far it lies there. So a
block of words and all ε share the directions, whose products with all words cost most (see `rays`), and everything else
is drawn for each word. A draw has the mechanism's own law. The words of a block are not independent; standard errors
and intervals count them as such, and the block is small enough for them to stay narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws.figures import Effort
from wordveil._mechanisms.laws.law import Ids, Law
from wordveil._mechanisms.laws.rays import Rays
from wordveil._mechanisms.laws.sampled import KEPT_BYTES, Drawn, Kept, SampledLaw
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism

_WORDS = 32  # words that share directions
_DRAWS = 512  # directions drawn at once, by one thread
_BLOCKS = 8  # blocks drawn together, on all cores


class Directed(Protocol):
    """A mechanism whose draws can share directions."""

    def draw_along(
        self, epsilons: Sequence[float], rays: Rays, ids: Ids, draws: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Draw from each word at each ε, along directions that all share; of shape (words, epsilons, draws)."""


class _Shared(Kept):
    """What the laws at all ε share."""

    def __init__(self, mechanism: Mechanism[Any]) -> None:
        super().__init__()
        self._space = mechanism.space

    @cached_property
    def rays(self) -> Rays:
        return Rays(self._space.points(np.arange(len(self._space))))


class DirectedLaw(SampledLaw):
    """The law of vickrey, polar and remapped, from draws that share directions."""

    how = "Estimated: from draws of the mechanism itself; words share directions of noise by the dozen, and all ε do."
    batch = 7

    def __init__(self, mechanism: Mechanism[Any], effort: Effort | None = None, watch: Watch = ignore) -> None:
        super().__init__(mechanism, effort, watch)
        self._kept: _Shared = _Shared(mechanism)
        self._epsilons: tuple[float, ...] = (mechanism.epsilon,)

    def at(self, mechanisms: Sequence[Mechanism[Any]]) -> list[Law]:
        """Return the laws of the same mechanism at other ε, which share the directions."""
        laws = super().at(mechanisms)
        for law in laws:
            cast("DirectedLaw", law)._epsilons = tuple(mechanism.epsilon for mechanism in mechanisms)
        return laws

    @property
    def _is_quick(self) -> bool:
        """Whether directions are shared: not on a device, where a plain search is faster."""
        return self.mechanism.space.device is None and len(self) > 2

    @property
    def block(self) -> int:
        """The number of consecutive words that share directions."""
        return _WORDS if self._is_quick else 1

    def _draw(
        self, ids: Ids, draws: int, purpose: int, what: str = "drawing", watch: Watch = ignore
    ) -> Iterator[tuple[slice, Drawn]]:
        """Draw for blocks of words, at all ε at once as far as their draws can be kept."""
        if not self._is_quick:
            yield from super()._draw(ids, draws, purpose, what, watch)
            return
        dtype = np.min_scalar_type(len(self) - 1)
        fits = len(ids) * draws * dtype.itemsize * len(self._epsilons) <= KEPT_BYTES
        asked = self._epsilons if fits else (self.mechanism.epsilon,)

        def fill(job: tuple[slice, slice]) -> tuple[list[float], NDArray[Any]]:
            part, some = job
            missing = [epsilon for epsilon in asked if self._key(epsilon, purpose, draws, ids[part]) not in known]
            entropy, mechanism = self._entropy(ids[part], purpose, some.start), cast("Directed", self.mechanism)
            count = some.stop - some.start
            return missing, mechanism.draw_along(missing, self._kept.rays, ids[part], count, entropy).astype(dtype)

        known, times = self._kept.drawn, list(blocks(draws, _DRAWS))
        parts = list(blocks(len(ids), self.block))
        for first in blocks(len(parts), _BLOCKS):
            watch(what, first.start / len(parts))
            keys = [self._key(self.mechanism.epsilon, purpose, draws, ids[part]) for part in parts[first]]
            drawn = {key: known[key] for key in keys if key in known}
            new = [part for key, part in zip(keys, parts[first], strict=True) if key not in drawn]
            found = run(fill, [(part, some) for part in new for some in times])
            for place, part in enumerate(new):
                pieces = found[place * len(times) : (place + 1) * len(times)]
                for number, epsilon in enumerate(pieces[0][0]):
                    key = self._key(epsilon, purpose, draws, ids[part])
                    drawn[key] = np.concatenate([piece[:, number] for _, piece in pieces], axis=1)
                    self._kept.keep(key, drawn[key])
            yield from zip(parts[first], (drawn[key] for key in keys), strict=True)
        watch(what, 1.0)
