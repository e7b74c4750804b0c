"""Exact samplers and the entropy source."""

from wordveil.noise.entropy import Entropy
from wordveil.noise.laplace import laplace_noise

__all__ = ["Entropy", "laplace_noise"]
