"""Laplace noise in the embedding, then the nearest word (Feyisetan et al., WSDM 2020).

Proof. The noisy point has density ∝ ``e^{-ε‖z-φ(w)‖}``. Translation keeps volume, so the normaliser does not depend on
``w``, and the densities of ``w`` and ``w'`` at ``z`` differ by a factor of ``e^{ε(‖z-φ(w')‖-‖z-φ(w)‖)} <=
e^{ε‖φ(w)-φ(w')‖}`` by the triangle inequality. The nearest word is computed from ``z`` alone. ∎

Sampler. In ``n`` dimensions the volume at radius ``r`` grows like ``r^{n-1}``, so the radius has density ∝
``r^{n-1}e^{-εr}``: Gamma(n, 1/ε). The direction is uniform: a normal vector scaled to length 1.
"""

from __future__ import annotations

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, ScaledMechanism, needs_vectors
from wordveil.guarantee import Guarantee
from wordveil.spaces import EuclideanSpace, Space


class Laplace(ScaledMechanism[EuclideanSpace]):
    """Adds multivariate Laplace noise to the word's vector and takes the nearest word."""

    name = "laplace"
    summary = "adds Laplace noise to the word's vector, then takes the nearest word (WSDM 2020)"
    in_brief = "ε per unit of Euclidean distance, for any two words"
    source = "Feyisetan et al. 2020"

    def __init__(self, space: Space, epsilon: float) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            caveats=(
                "Distances in an embedding are large: between nearest words the loss is often several ε.",
                DRAWN_IN_FLOATS,
            ),
            claim="ε·d with d the Euclidean distance (Feyisetan et al. 2020)",
        )
