"""Von Mises-Fisher noise on the unit sphere, then the word of largest cosine (after Weggenmann & Kerschbaum 2021).

Proof. Each word has a unit vector ``u``. The noisy direction ``z`` has density ``C·e^{ε⟨u,z⟩}`` on the sphere, and
``C`` is the same for all words, since a rotation takes any unit vector to any other and keeps the sphere's measure. So
the densities of ``w`` and ``w'`` at ``z`` differ by a factor of ``e^{ε⟨u-u',z⟩} <= e^{ε‖u-u'‖}``, because ``z`` has
length 1. The nearest word is computed from ``z`` alone. ∎ The bound is tight: it is reached at ``z = (u-u')/‖u-u'‖``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, NoiseMechanism, RadiusLaw, needs_vectors
from wordveil._mechanisms.laws import DirectedLaw
from wordveil._mechanisms.laws.rays import Rays
from wordveil.errors import SpaceError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy, around_on_sphere, directions, sphere_radius_distribution
from wordveil.noise.sphere import versines
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Ids, Points

_LEAST = 0.01  # nearest words are looked for along a direction up to 1 over this from the word


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
    law_kind = DirectedLaw
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

    def draw_along(
        self, epsilons: Sequence[float], rays: Rays, ids: Ids, draws: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Draw from each word at each ε, along directions that all share; see `wordveil._mechanisms.laws.directed`.

        The part of a uniform direction ``v`` that is orthogonal to the word ``u`` is uniform among those directions.
        With it the noisy direction is ``a·u + b·v``, and the word of largest cosine is the one nearest to
        ``u + (b/a)·v``. If a is not above 0, which is rare unless the noise is large, it is searched for as in a draw.
        """
        words, shared = self.space.matrix[ids], directions(draws, self.space.dimension, entropy)
        along = words.astype(np.float64) @ shared.T
        aside = np.sqrt(np.maximum(1.0 - along * along, np.finfo(np.float64).tiny))
        size = len(ids) * draws
        versine = np.stack([versines(size, self.space.dimension, kappa, entropy) for kappa in epsilons])
        versine = versine.reshape(len(epsilons), len(ids), draws).transpose(1, 0, 2)
        b = np.sqrt(versine * (2.0 - versine)) / aside[:, None]
        a = (1.0 - versine) - b * along[:, None]
        behind = a <= _LEAST * b
        found = rays.nearest_two(ids, shared, np.where(behind, 1.0, b / np.where(behind, 1.0, a))).words[..., 0]
        word, _, draw = np.nonzero(behind)
        points = a[behind, None] * words[word] + b[behind, None] * shared[draw]
        found[behind] = self.space.nearest(points.astype(np.float32))
        return found

    def radius_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the same for all words
        """Return the CDF of the distance between a word and its noisy direction."""
        if self.space.dimension == 1:
            return None
        return lambda radii: sphere_radius_distribution(np.asarray(radii), self.space.dimension, self.epsilon)
