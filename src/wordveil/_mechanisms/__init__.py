"""Random maps from words to words, one small file each, with its proof and its guarantee."""

from wordveil._mechanisms.base import ExponentialMechanism, Mechanism, NoiseMechanism, RadialMechanism
from wordveil._mechanisms.blocking import block, blocked_words
from wordveil._mechanisms.density import Density
from wordveil._mechanisms.elastic import Elastic
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.gaussian import Gaussian
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil._mechanisms.jaccard import Jaccard
from wordveil._mechanisms.knn_truncated import KnnTruncated
from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.laws import Effort, Law
from wordveil._mechanisms.mahalanobis import Mahalanobis
from wordveil._mechanisms.nadp import Nadp
from wordveil._mechanisms.registry import DEFAULT, MECHANISMS, mechanism, option_names, register
from wordveil._mechanisms.remapped import Remapped
from wordveil._mechanisms.ring import Ring
from wordveil._mechanisms.truncated import Truncated
from wordveil._mechanisms.vickrey import Vickrey

__all__ = [
    "DEFAULT",
    "MECHANISMS",
    "Density",
    "Effort",
    "Elastic",
    "Exponential",
    "ExponentialMechanism",
    "Gaussian",
    "Graph",
    "Hyperbolic",
    "HyperbolicIcdm19",
    "Jaccard",
    "KnnTruncated",
    "Laplace",
    "Law",
    "Mahalanobis",
    "Mechanism",
    "Nadp",
    "NoiseMechanism",
    "RadialMechanism",
    "Remapped",
    "Ring",
    "Truncated",
    "Vickrey",
    "block",
    "blocked_words",
    "mechanism",
    "option_names",
    "register",
]
