"""Laplace noise stretched by the covariance of the word vectors (Xu et al. 2020).

Proof. The noise is ``S^{1/2}L`` with ``L`` Laplace noise, so the noisy point has density ∝
``e^{-ε‖S^{-1/2}(z-φ(w))‖}``, with a normaliser that does not depend on ``w``. The proof of `laplace` applies in the
coordinates ``S^{-1/2}φ``, whose Euclidean distance is the Mahalanobis distance ``d``: the bound is ``ε·d(w,w')``. In
Euclidean distance it is at most ``ε/√λ·‖φ(w)-φ(w')‖``, with λ the smallest eigenvalue of S. ∎

The noise must not be scaled again after the multiplication by ``S^{1/2}``: that would change its law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ScaledMechanism, needs_vectors
from wordveil.guarantee import Guarantee
from wordveil.rounding import round_up
from wordveil.spaces import MahalanobisSpace, Space


class Mahalanobis(ScaledMechanism[MahalanobisSpace]):
    """Adds Laplace noise stretched along the directions in which words vary most, and takes the nearest word.

    Parameters
    ----------
    lam : float
        From 0 (isotropic noise) to 1 (the full covariance of the words).
    """

    name = "mahalanobis"
    summary = "adds Laplace noise shaped like the cloud of words, then takes the nearest word"
    in_brief = "ε per unit of Mahalanobis distance, for any two words"
    source = "Xu et al. 2020"

    def __init__(self, space: Space, epsilon: float, *, lam: float = 1.0) -> None:
        if not isinstance(space, MahalanobisSpace):
            space = MahalanobisSpace(needs_vectors(self.name, space), lam)
        super().__init__(space, epsilon)
        self.lam = space.lam

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        stretched = self.epsilon / np.sqrt(self.space.smallest_variance)
        return self.make_guarantee(
            caveats=(f"In Euclidean distance the promise is {round_up(stretched, 4):g} per unit.",),
            claim="ε·d with d the regularised Mahalanobis distance (Xu et al. 2020)",
        )

    @property
    def stretch(self) -> NDArray[np.float32]:
        """The square root of S."""
        return self.space.stretch
