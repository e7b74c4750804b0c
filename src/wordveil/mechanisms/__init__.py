"""Random maps from words to words, one small file each, with its proof and its guarantee."""

from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.graph import Graph
from wordveil.mechanisms.laplace import Laplace
from wordveil.mechanisms.mechanism import ExponentialMechanism, Mechanism, NoiseMechanism
from wordveil.mechanisms.registry import DEFAULT, MECHANISMS, mechanism, option_names
from wordveil.mechanisms.ring import Ring

__all__ = [
    "DEFAULT",
    "MECHANISMS",
    "Exponential",
    "ExponentialMechanism",
    "Graph",
    "Laplace",
    "Mechanism",
    "NoiseMechanism",
    "Ring",
    "mechanism",
    "option_names",
]
