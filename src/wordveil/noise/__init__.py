"""Exact samplers and the entropy source."""

from wordveil.noise.entropy import Entropy
from wordveil.noise.gaussian import delta_between, sigma_for
from wordveil.noise.laplace import directions, laplace_noise

__all__ = ["Entropy", "delta_between", "directions", "laplace_noise", "sigma_for"]
