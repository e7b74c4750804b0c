"""Exact samplers and the source of randomness."""

from wordveil.noise.discrete import discrete_laplace, exact_rate, laplace_radius
from wordveil.noise.entropy import Entropy, KeyedEntropy, directions, key_blocks, log_gamma_draws, uniform_from
from wordveil.noise.gaussian import delta_between, sigma_for
from wordveil.noise.hyperbolic import hyperbolic_radii, icdm19_lengths, icdm19_radius_distribution, metropolis_points
from wordveil.noise.sphere import around_on_sphere, sphere_radius_distribution

__all__ = [
    "Entropy",
    "KeyedEntropy",
    "around_on_sphere",
    "delta_between",
    "directions",
    "discrete_laplace",
    "exact_rate",
    "hyperbolic_radii",
    "icdm19_lengths",
    "icdm19_radius_distribution",
    "key_blocks",
    "laplace_radius",
    "log_gamma_draws",
    "metropolis_points",
    "sigma_for",
    "sphere_radius_distribution",
    "uniform_from",
]
