"""The mechanisms of the NADP paper, which releases noisy vectors and not words."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordveil._mechanisms import NoiseMechanism, mechanism
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace

__all__ = ["DELTA", "MECHANISMS", "noise_mechanism", "noisy"]

#: The paper's δ: one in its 73,404 words.
DELTA = 1 / 73_404

#: The mechanisms that it compares, with their options.
MECHANISMS: dict[str, dict[str, Any]] = {
    "nadp": {"delta": DELTA},
    "jaccard": {"delta": DELTA},
    "gaussian": {"delta": DELTA},
    "laplace": {},
    "mahalanobis": {"lam": 1.0},
}


def noise_mechanism(name: str, space: EuclideanSpace, epsilon: float, **options: Any) -> NoiseMechanism[Any]:
    """Make one of the mechanisms with the paper's options."""
    made = mechanism(name, space, epsilon=epsilon, **{**MECHANISMS[name], **options})
    if not isinstance(made, NoiseMechanism):
        raise TypeError("only mechanisms with noise release vectors")
    return made


def noisy(made: NoiseMechanism[Any], space: EuclideanSpace, entropy: Entropy) -> EuclideanSpace:
    """Return the space with every vector released once, noise and all.

    Parameters
    ----------
    made : NoiseMechanism
        What adds the noise.
    space : EuclideanSpace
        The words.
    entropy : Entropy
        Where the noise comes from.
    """
    vectors = made.perturb(np.arange(len(space)), entropy)
    if vectors.shape[1] != space.dimension:
        raise TypeError("the noisy points must have the coordinates of the space")
    return EuclideanSpace(f"{space.name} released by {made.name}", space.vocabulary, vectors)
