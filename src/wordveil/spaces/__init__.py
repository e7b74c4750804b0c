"""Words in a metric space."""

from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.graph import GraphSpace
from wordveil.spaces.mahalanobis import MahalanobisSpace
from wordveil.spaces.neighbourhoods import neighbourhoods
from wordveil.spaces.opening import BUNDLED, load_space
from wordveil.spaces.poincare import PoincareSpace
from wordveil.spaces.ring import RingSpace
from wordveil.spaces.space import HopSpace, PointSpace, Space
from wordveil.spaces.vocabulary import Vocabulary

__all__ = [
    "BUNDLED",
    "EuclideanSpace",
    "GraphSpace",
    "HopSpace",
    "MahalanobisSpace",
    "PoincareSpace",
    "PointSpace",
    "RingSpace",
    "Space",
    "Vocabulary",
    "load_space",
    "neighbourhoods",
]
