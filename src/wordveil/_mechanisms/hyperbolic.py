"""Hyperbolic Laplace noise, then the nearest word: what the ICDM 2019 paper meant, exactly.

Proof. The noisy point has density ``e^{-ε·d(z,φ(w))} / Z`` with respect to hyperbolic volume, where ``d`` is the
hyperbolic distance. It is the noise around the origin carried to ``φ(w)`` by Möbius addition, an isometry, which
keeps volume; so ``Z`` is the same for every word and cancels. The densities of ``w`` and ``w'`` at ``z`` then differ
by ``e^{ε(d(z,φ(w'))-d(z,φ(w)))} <= e^{ε·d(φ(w),φ(w'))}`` by the triangle inequality. The nearest word, and a move of
the noisy point towards the origin before that, look at ``z`` alone. ∎

``Z = ∫ e^{-ερ}·sinh^{n-1}ρ dρ`` (times the area of the sphere) is finite only for ``ε > n-1``: the volume of a ball in
hyperbolic space grows like ``e^{(n-1)ρ}``, and a density that falls more slowly than that has no finite mass. Nothing
can be done about it but to use fewer dimensions, or to draw words directly (`exponential`), which works for every ε.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, NoiseMechanism, RadiusLaw
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy, directions, hyperbolic_radii
from wordveil.spaces import PoincareSpace, Space
from wordveil.spaces.hyperbolic_geometry import at_radius, mobius_add, to_hyperboloid
from wordveil.spaces.space import Ids, Points


def needs_poincare(name: str, space: Space) -> PoincareSpace:
    """Return the space if it is hyperbolic, or refuse it in the name of a mechanism."""
    if not isinstance(space, PoincareSpace):
        raise SpaceError(f"the mechanism {name} needs a Poincaré space, such as the bundled wordnet-poincare.")
    return space


class Hyperbolic(NoiseMechanism[PoincareSpace]):
    """Adds hyperbolic Laplace noise to the word's point and takes the nearest word.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of hyperbolic distance; above the dimension less one.
    generalise : float
        So far the noisy point is moved towards the origin, where the general words are, before the nearest word is
        taken. Costs no privacy, since it looks at the noisy point alone.
    """

    name = "hyperbolic"
    summary = "adds exact hyperbolic Laplace noise, then takes the nearest word"
    in_brief = "ε per unit of hyperbolic distance, for any two words; needs ε above the dimension minus one"
    source = "this project, for Feyisetan et al. 2019"

    def __init__(self, space: Space, epsilon: float, *, generalise: float = 0.0) -> None:
        super().__init__(needs_poincare(self.name, space), epsilon)
        least = self.least_epsilon(space)
        if self.epsilon <= least:
            raise OptionError(
                f"in {self.space.dimension} dimensions the mechanism {self.name} needs an epsilon above {least:g}, "
                f"because hyperbolic volume grows like e^({least:g}·distance) and noise that falls more slowly has no "
                f"finite mass; give more than {least:g}, take a space of fewer dimensions, or use exponential, which "
                "takes any epsilon."
            )
        if not (math.isfinite(generalise) and generalise >= 0):
            raise OptionError("generalise must be a distance of 0 or more.")
        self.generalise = float(generalise)

    @classmethod
    def least_epsilon(cls, space: Space) -> float:
        """Return what every epsilon must be above on this space: one less than its dimension."""
        return float(needs_poincare(cls.name, space).dimension - 1)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""
        return self.make_guarantee(
            caveats=(
                f"In this space no epsilon of {self.space.dimension - 1} or less is possible: volume grows too fast.",
                DRAWN_IN_FLOATS,
            ),
            claim="ε·d for every ε > 0 (Feyisetan et al. 2019), whose algorithm is hyperbolic-icdm19",
        )

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word, by its space-like coordinates."""
        dimension = self.space.dimension
        radii = hyperbolic_radii(len(ids), dimension, self.epsilon, entropy)
        noise = at_radius(directions(len(ids), dimension, entropy, np.float64), radii)
        return to_hyperboloid(mobius_add(self.space.ball(ids), noise))

    def radius_law(self, word: int) -> RadiusLaw:  # noqa: ARG002 - the same for every word
        """Return the distribution function of the distance between a word and its noisy point."""
        dimension = self.space.dimension
        shape = 0.5 * (self.epsilon - dimension + 1.0)
        return lambda radii: np.asarray(scipy.special.betaincc(shape, dimension, np.exp(-2.0 * radii)))

    def choose(self, points: Points, entropy: Entropy) -> NDArray[np.int64]:
        """Return the word nearest to each noisy point, moved towards the origin where that was asked for."""
        if self.generalise > 0:
            lengths = np.linalg.norm(points, axis=1)
            inner = np.sinh(np.maximum(np.arcsinh(lengths) - self.generalise, 0.0))
            points = points * (inner / np.where(lengths > 0, lengths, 1.0))[:, None]
        return super().choose(points, entropy)
