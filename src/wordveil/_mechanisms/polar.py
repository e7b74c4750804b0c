"""Von Mises-Fisher noise on the unit sphere, then the word of largest cosine (after Weggenmann & Kerschbaum 2021).

Proof. Each word has a unit vector ``u``. The noisy direction ``z`` has density ``C·e^{ε⟨u,z⟩}`` on the sphere, and
``C`` is the same for all words, since a rotation takes any unit vector to any other and keeps the sphere's measure. So
the densities of ``w`` and ``w'`` at ``z`` differ by a factor of ``e^{ε⟨u-u',z⟩} <= e^{ε‖u-u'‖}``, because ``z`` has
length 1. The nearest word is computed from ``z`` alone. ∎ The bound is tight: it is reached at ``z = (u-u')/‖u-u'‖``.
"""

from __future__ import annotations

import numpy as np

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, NoiseMechanism, RadiusLaw, needs_vectors
from wordveil.errors import SpaceError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy, around_on_sphere, sphere_radius_distribution
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Ids, Points


class Polar(NoiseMechanism[EuclideanSpace]):
    """Turns the word's direction at random and takes the word whose direction is nearest.

    The lengths of the vectors do not matter: the space is normalised if it is not already.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of the distance between unit vectors, which is at most 2; κ in the literature.
    """

    name = "polar"
    summary = "turns the word's vector by von Mises-Fisher noise, then takes the word of largest cosine"
    in_brief = "ε per unit of Euclidean distance between unit vectors, for any two words; e^(2ε) at most"
    source = "Weggenmann & Kerschbaum 2021, for other data"

    def __init__(self, space: Space, epsilon: float) -> None:
        flat = needs_vectors(self.name, space)
        if not flat.normalise:
            flat = EuclideanSpace(flat.name, flat.vocabulary, flat.vectors, normalise=True)
        super().__init__(flat, epsilon)
        if not flat.matrix.any(axis=1).all():
            raise SpaceError(f"the mechanism {self.name} needs vectors other than 0, which has no direction.")

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(caveats=(DRAWN_IN_FLOATS,), claim="κ·d with d the distance of unit vectors")

    @property
    def largest_distance(self) -> float:
        """The distance at which the loss is largest: at most 2, that of opposite directions."""
        return min(2.0, super().largest_distance)

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy direction for each word."""
        return around_on_sphere(self.space.matrix[ids], self.epsilon, entropy)

    def radius_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the same for all words
        """Return the CDF of the distance between a word and its noisy direction."""
        if self.space.dimension == 1:
            return None
        return lambda radii: sphere_radius_distribution(np.asarray(radii), self.space.dimension, self.epsilon)
