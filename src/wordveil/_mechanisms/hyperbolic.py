"""Hyperbolic Laplace noise, then the nearest word: what the ICDM 2019 paper intended, sampled exactly.

Proof. The noisy point has density ``e^{-ε·d(z,φ(w))} / Z`` with respect to hyperbolic volume, where ``d`` is the
hyperbolic distance. It is the noise around the origin, translated to ``φ(w)`` by Möbius addition. This is an isometry
and keeps volume, so ``Z`` is the same for every word and cancels. The densities of ``w`` and ``w'`` at ``z`` then
differ by a factor of ``e^{ε(d(z,φ(w'))-d(z,φ(w)))} <= e^{ε·d(φ(w),φ(w'))}`` by the triangle inequality. Moving the
noisy point towards the origin and finding the nearest word use ``z`` alone. ∎

``Z = ∫ e^{-ερ}·sinh^{n-1}ρ dρ`` (times the area of the sphere) is finite only for ``ε > n-1``: the volume of a ball in
hyperbolic space grows like ``e^{(n-1)ρ}``, and a density that falls more slowly has no finite mass. The only remedies
are fewer dimensions, or drawing words directly (`exponential`), which works for every ε.
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
    """Return the space if it is hyperbolic; raise a SpaceError that names the mechanism if it is not."""
    if not isinstance(space, PoincareSpace):
        raise SpaceError(f"the mechanism {name} needs a Poincaré space, such as the bundled wordnet-poincare.")
    return space


class Hyperbolic(NoiseMechanism[PoincareSpace]):
    """Adds hyperbolic Laplace noise to the word's point and takes the nearest word.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of hyperbolic distance. Must exceed the dimension minus 1.
    generalise : float
        How far the noisy point is moved towards the origin, near which the general words lie, before the nearest word
        is taken. It costs no privacy, since it uses only the noisy point.
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
                f"finite mass; give an epsilon above {least:g}, use a space with fewer dimensions, or use exponential, "
                "which works for any epsilon."
            )
        if not (math.isfinite(generalise) and generalise >= 0):
            raise OptionError("generalise must be a distance of 0 or more.")
        self.generalise = float(generalise)

    @classmethod
    def least_epsilon(cls, space: Space) -> float:
        """Return the bound that epsilon must exceed on this space: its dimension minus 1."""
        return float(needs_poincare(cls.name, space).dimension - 1)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            caveats=(
                f"In this space no epsilon of {self.space.dimension - 1} or less is possible: volume grows too fast.",
                DRAWN_IN_FLOATS,
            ),
            claim="ε·d for every ε > 0 (Feyisetan et al. 2019), whose algorithm is hyperbolic-icdm19",
        )

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word, as its space-like coordinates on the hyperboloid."""
        dimension = self.space.dimension
        radii = hyperbolic_radii(len(ids), dimension, self.epsilon, entropy)
        noise = at_radius(directions(len(ids), dimension, entropy, np.float64), radii)
        return to_hyperboloid(mobius_add(self.space.ball(ids), noise))

    def radius_law(self, word: int) -> RadiusLaw:  # noqa: ARG002 - the same for every word
        """Return the CDF of the distance between a word and its noisy point."""
        dimension = self.space.dimension
        shape = 0.5 * (self.epsilon - dimension + 1.0)
        return lambda radii: np.asarray(scipy.special.betaincc(shape, dimension, np.exp(-2.0 * radii)))

    def choose(self, points: Points, entropy: Entropy) -> NDArray[np.int64]:
        """Return the word nearest to each noisy point, after moving it towards the origin by `generalise`."""
        if self.generalise > 0:
            lengths = np.linalg.norm(points, axis=1)
            inner = np.sinh(np.maximum(np.arcsinh(lengths) - self.generalise, 0.0))
            points = points * (inner / np.where(lengths > 0, lengths, 1.0))[:, None]
        return super().choose(points, entropy)
