"""The inner loops of the draws: compiled where that was possible, in numpy elsewhere, with the same answers.

The compiled code holds a version for each kind of processor and takes the best that the machine runs. A wordveil that
was installed without a C compiler has none of it and is only slower; ``WORDVEIL_KERNELS=off`` chooses that too, and
``WORDVEIL_KERNELS=avx512``, ``avx2`` or ``plain`` a kind. All randomness is drawn outside and handed in.
"""

from __future__ import annotations

from wordveil.kernels.choosing import choose
from wordveil.kernels.falls import Falls
from wordveil.kernels.loading import compiled, kinds, plain
from wordveil.kernels.straight import squared_distances, straight_distances, worst_error

__all__ = ["Falls", "choose", "compiled", "kinds", "plain", "squared_distances", "straight_distances", "worst_error"]
