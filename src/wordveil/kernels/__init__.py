"""The inner loops of the draws: compiled where that was possible, in numpy elsewhere, with the same answers.

The compiled code has a version for each kind of processor and uses the best one the machine can run. Without a C
compiler at installation there is none, and everything is only slower. ``WORDVEIL_KERNELS=off`` turns it off, and
``WORDVEIL_KERNELS=avx512``, ``avx2`` or ``plain`` chooses a version. All randomness is drawn outside and handed in.
"""

from __future__ import annotations

from wordveil.kernels.distances import squared_distances, straight_distances, worst_error
from wordveil.kernels.native import compiled, kind, kinds, plain
from wordveil.kernels.weights import Falls, choose

__all__ = [
    "Falls",
    "choose",
    "compiled",
    "kind",
    "kinds",
    "plain",
    "squared_distances",
    "straight_distances",
    "worst_error",
]
