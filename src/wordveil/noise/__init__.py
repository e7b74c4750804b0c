"""Exact samplers and the entropy source."""

from wordveil.noise.entropy import Entropy

__all__ = ["Entropy"]
