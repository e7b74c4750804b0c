"""What the training steps on the processor and on a CUDA device have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from wordveil.lab.training.geometries import Floats, Geometry
from wordveil.lab.training.pairs import Pairs

__all__ = ["Steps", "popular_nodes"]

_TABLE = 1 << 20
_POWER = 0.75


class Steps(ABC):
    """Moves the points, one batch of pairs after the other.

    For each pair the loss is ``-log(e^{-s·d(u,v)} / Σ e^{-s·d(u,v')})``, the sum over the parent ``v`` and random nodes
    ``v'`` that are no parents of ``u``, with s the sharpness. A node's gradients of one batch are summed and divided
    by the square root of how many they are: roots occur in every other pair, and would otherwise be thrown about.

    Parameters
    ----------
    shape : Geometry
        How points are held and moved.
    points : array of shape (nodes, dimension)
        Where they start.
    pairs : Pairs
        What is learnt.
    negatives : int
        How many random nodes a pair.
    sharpness : float
        How much a unit of distance counts. Steps are divided by it, so that the training goes the same way at another
        scale.
    weighted : bool
        Draw pairs in proportion to their counts, instead of each once an epoch.
    """

    def __init__(
        self,
        shape: Geometry,
        points: Floats,
        pairs: Pairs,
        *,
        negatives: int = 50,
        sharpness: float = 1.0,
        weighted: bool = False,
    ) -> None:
        self.shape = shape
        self.negatives = negatives
        self.sharpness = sharpness
        self.weighted = weighted
        self._begin(np.asarray(points, dtype=np.float64), pairs)

    @abstractmethod
    def _begin(self, points: Floats, pairs: Pairs) -> None:
        """Bring everything to where the steps are made."""

    @property
    @abstractmethod
    def points(self) -> Floats:
        """Where the points are now."""

    @abstractmethod
    def epoch(self, rate: float, batch: int, *, popular: bool, seed: list[int]) -> float:
        """Go through as many pairs as there are and return the mean loss.

        Parameters
        ----------
        rate : float
            The length of a step by a gradient of length 1.
        batch : int
            How many pairs make a step.
        popular : bool
            Draw negatives by how many pairs a node is a parent in, to the power 0.75, instead of all alike.
        seed : list of int
            Of all random choices.
        """


def popular_nodes(pairs: Pairs) -> NDArray[np.int64]:
    """Return a table of nodes in which each stands as often as its number of pairs as a parent, to the power 0.75."""
    weights = np.bincount(pairs.parent, minlength=len(pairs.names)) ** _POWER
    return np.repeat(np.arange(len(weights)), np.ceil(weights * (_TABLE / weights.sum())).astype(np.int64))
