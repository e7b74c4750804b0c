"""Two-sided geometric steps along a closed tour of the words.

Proof. ``Pr[M(w)=u] = e^{-ε·d(w,u)} / Z``, where ``d`` counts steps round the circle. Every word sees the same number of
words at each distance: one at 0, two at every other, and one at the far side if the number of words is even. So ``Z =
Σ_h n_h·e^{-εh}`` is the same for all words and cancels from the ratio, which is ``e^{-ε(d(w,u)-d(w',u))} <=
e^{ε·d(w,w')}`` by the triangle inequality. No factor ½ is needed. ∎
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, drawn_finely
from wordveil._mechanisms.laws import HopFall, ShellLaw
from wordveil.errors import SpaceError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, RingSpace, Space
from wordveil.spaces.space import Ids, Rows


class Ring(ExponentialMechanism[RingSpace]):
    """Moves a random number of steps along a short closed tour through all words.

    Parameters
    ----------
    epsilon : float
        The privacy loss per step.
    """

    name = "ring"
    summary = "moves a two-sided geometric number of steps along a closed tour of the words"
    in_brief = "ε per step along the tour, for any two words"
    source = "this project"
    law_kind = ShellLaw

    def __init__(self, space: Space, epsilon: float) -> None:
        if isinstance(space, EuclideanSpace):
            space = RingSpace.of(space)
        if not isinstance(space, RingSpace):
            raise SpaceError(f"the mechanism {self.name} needs a space of vectors or a ring.")
        super().__init__(space, epsilon)
        #: How the weight of an output falls with the steps to it.
        self.fall = HopFall(self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            caveats=(
                "Many similar words are far apart along the tour, where the promise is weak.",
                drawn_finely(len(self.space) * 2.0**-52),  # docs/guarantees.md, "Numbers"
            )
        )

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""
        return self.fall.logs(self.space.shells)[self.space.hops(ids)]

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        sizes = self.space.shell_sizes(np.array([0]))[0]
        return np.cumsum((sizes * np.exp(self.fall.logs(len(sizes))))[::-1])  # rarest first, as in `graph`

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the word a random number of steps away."""
        entropy = entropy or Entropy()
        aim = entropy.uniform(len(ids)) * self._sums[-1]
        steps = len(self._sums) - 1 - np.searchsorted(self._sums, aim)
        back = entropy.below(np.full(len(ids), 2)) == 1
        place = self.space.place[ids] + np.where(back, -steps, steps)
        return np.asarray(self.space.tour[place % len(self.space)])
