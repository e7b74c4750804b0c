"""Random maps from words to words, one small file each, with its proof and its guarantee."""

from wordveil.mechanisms.channel import Channel, FromChannel
from wordveil.mechanisms.density import Density
from wordveil.mechanisms.elastic import Elastic
from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.gaussian import Gaussian
from wordveil.mechanisms.graph import Graph
from wordveil.mechanisms.hyperbolic import Hyperbolic
from wordveil.mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil.mechanisms.jaccard import Jaccard
from wordveil.mechanisms.knn_truncated import KnnTruncated
from wordveil.mechanisms.laplace import Laplace
from wordveil.mechanisms.mahalanobis import Mahalanobis
from wordveil.mechanisms.mechanism import ExponentialMechanism, Mechanism, NoiseMechanism, RadialMechanism
from wordveil.mechanisms.nadp import Nadp
from wordveil.mechanisms.registry import DEFAULT, MECHANISMS, mechanism, option_names
from wordveil.mechanisms.remapped import Remapped
from wordveil.mechanisms.ring import Ring
from wordveil.mechanisms.truncated import Truncated
from wordveil.mechanisms.vickrey import Vickrey

__all__ = [
    "DEFAULT",
    "MECHANISMS",
    "Channel",
    "Density",
    "Elastic",
    "Exponential",
    "ExponentialMechanism",
    "FromChannel",
    "Gaussian",
    "Graph",
    "Hyperbolic",
    "HyperbolicIcdm19",
    "Jaccard",
    "KnnTruncated",
    "Laplace",
    "Mahalanobis",
    "Mechanism",
    "Nadp",
    "NoiseMechanism",
    "RadialMechanism",
    "Remapped",
    "Ring",
    "Truncated",
    "Vickrey",
    "mechanism",
    "option_names",
]
