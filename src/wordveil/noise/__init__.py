"""Exact samplers and the entropy source."""

from wordveil.noise.entropy import Entropy, directions, log_gamma_draws
from wordveil.noise.gaussian import delta_between, sigma_for
from wordveil.noise.hyperbolic import hyperbolic_radii, icdm19_lengths, icdm19_radius_distribution, metropolis_points

__all__ = [
    "Entropy",
    "delta_between",
    "directions",
    "hyperbolic_radii",
    "icdm19_lengths",
    "icdm19_radius_distribution",
    "log_gamma_draws",
    "metropolis_points",
    "sigma_for",
]
