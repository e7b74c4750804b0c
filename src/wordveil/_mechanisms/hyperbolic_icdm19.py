"""The hyperbolic noise of Feyisetan, Diethe & Drake (ICDM 2019), as printed, and what it really guarantees.

The paper's Eq. 7 is the density ``e^{-ε·d(x,0)}`` with respect to *Euclidean* volume on the ball, but its proof needs
hyperbolic volume. Algorithm 1 then adds the noise to the word's vector and clips the sum into the ball.

*Adding* (``translate="add"``). A straight translation is not an isometry of the ball: a small step near the origin is a
long way near the boundary, and much of the noise is clipped onto it. No bound of the form ``c·d`` with a moderate c
holds; the audit refutes the claim ``ε·d``.

*Möbius addition* (``translate="mobius"``). Proof. One unit of hyperbolic volume at radius ρ is
``((1-r²)/2)^n = (2·cosh²(ρ/2))^{-n}`` units of Euclidean volume. So the noisy point at distance ρ from its word has
density ∝ ``e^{-ερ}·cosh^{-2n}(ρ/2)`` per unit of hyperbolic volume, with one normaliser for all words, since Möbius
addition is an isometry. The logarithm of the density falls by ``ε + n·tanh(ρ/2) <= ε+n`` per unit, so the densities of
``w`` and ``w'`` differ by a factor of at most ``e^{(ε+n)|ρ-ρ'|} <= e^{(ε+n)·d(w,w')}``. ∎
"""

from __future__ import annotations

import numpy as np

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, NoiseMechanism, RadiusLaw
from wordveil._mechanisms.hyperbolic import needs_poincare
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, directions, icdm19_lengths, icdm19_radius_distribution, metropolis_points
from wordveil.spaces import PoincareSpace, Space
from wordveil.spaces.hyperbolic_geometry import BallPoints, ball_points, mobius_add, to_hyperboloid
from wordveil.spaces.space import Ids, Points

SAMPLERS = ("exact", "metropolis")
TRANSLATIONS = ("add", "mobius")

# The paper's λ. It prints θ/‖θ‖·(1+λ), which leaves the ball; it must mean (1-λ).
_CLIP = 10e-5


class HyperbolicIcdm19(NoiseMechanism[PoincareSpace]):
    """Adds the noise of the ICDM 2019 paper to the word's point and takes the nearest word.

    Parameters
    ----------
    epsilon : float
        The paper's ε.
    translate : {"add", "mobius"}
        "add" adds the noise as a vector and clips, as the paper does, and guarantees nothing. "mobius" uses Möbius
        addition, which guarantees ``epsilon + dimension`` per unit of distance.
    sampler : {"exact", "metropolis"}
        Draw the noise exactly from Eq. 7, or run the paper's Markov chain, whose actual law is unknown.
    steps : int
        The number of steps of each chain.
    """

    name = "hyperbolic-icdm19"
    summary = "the ICDM 2019 paper's hyperbolic noise, as printed or carried by Möbius addition"
    in_brief = "none"
    source = "Feyisetan, Diethe & Drake 2019"

    def __init__(
        self, space: Space, epsilon: float, *, translate: str = "add", sampler: str = "exact", steps: int = 1000
    ) -> None:
        super().__init__(needs_poincare(self.name, space), epsilon)
        if translate not in TRANSLATIONS:
            raise OptionError(f"translate must be one of {', '.join(TRANSLATIONS)}.")
        if sampler not in SAMPLERS:
            raise OptionError(f"sampler must be one of {', '.join(SAMPLERS)}.")
        if steps < 1:
            raise OptionError("steps must be 1 or more.")
        self.translate, self.sampler, self.steps = translate, sampler, int(steps)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        promise = Guarantee(
            Notion.METRIC,
            self.epsilon + self.space.dimension,
            self.space.metric,
            self.space.unit,
            caveats=(DRAWN_IN_FLOATS,),
            claim="ε·d (Feyisetan et al. 2019)",
        )
        if self.translate == "add":
            return promise.void("Noise added as a vector in the ball gives no guarantee in hyperbolic distance.")
        if self.sampler == "metropolis":
            return promise.void("The law of the paper's Markov chain is not known.")
        return promise

    @property
    def claim(self) -> Guarantee | None:
        """The paper's claim: ε per unit of hyperbolic distance, with ``translate="add"``."""
        return None if self.translate == "mobius" else self.make_guarantee()

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word, as its space-like coordinates on the hyperboloid."""
        noise = self._noise(len(ids), entropy)
        words = self.space.ball(ids)
        if self.translate == "mobius":
            return to_hyperboloid(mobius_add(words, noise))
        moved = words.x + noise.x
        lengths = np.linalg.norm(moved, axis=1)
        moved *= np.where(lengths >= 1.0, (1.0 - _CLIP) / np.maximum(lengths, 1.0), 1.0)[:, None]
        return to_hyperboloid(ball_points(moved))

    def radius_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the same for every word
        """Return the CDF of the distance between a word and its noisy point, or None if it is unknown."""
        if self.translate == "add" or self.sampler == "metropolis":
            return None
        return lambda radii: icdm19_radius_distribution(radii, self.space.dimension, self.epsilon)

    def _noise(self, count: int, entropy: Entropy) -> BallPoints:
        dimension = self.space.dimension
        if self.sampler == "metropolis":
            return ball_points(metropolis_points(count, dimension, self.epsilon, entropy, steps=self.steps))
        lengths = icdm19_lengths(count, dimension, self.epsilon, entropy)
        vectors = directions(count, dimension, entropy, np.float64) * lengths[:, None]
        return BallPoints(vectors, (1.0 - lengths) * (1.0 + lengths))
