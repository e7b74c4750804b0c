"""Nearest words from an approximate index (FAISS), where measurements show that it is good enough.

The index is built from the vocabulary only and queried with the noisy point only, so its answer is post-processing: the
promise holds however wrong it is, and only the nearness of the word suffers. An index is used only on request, and only
if it finds the nearest word with probability at least 0.99 for noisy points of this mechanism at this ε. At small ε,
noisy points lie far from all words, and no index passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil import parallel
from wordveil._mechanisms.base import Mechanism, NoiseMechanism
from wordveil._mechanisms.priors import log_prior
from wordveil.errors import OptionError
from wordveil.extras import needs
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Space
from wordveil.spaces.space import Points
from wordveil.stats import lower_bound

#: How often an index must find the nearest word.
RECALL = 0.99

_CONFIDENCE = 0.99
_TRIALS = 4096
_LEAST_WORDS = 4096  # with fewer, looking at every word takes no longer
#: How many cells to visit and how many candidates to compare exactly, from fast to thorough.
_EFFORTS = ((4, 16), (8, 16), (16, 16), (32, 16), (64, 16), (64, 64), (128, 64))


class IndexedSpace(EuclideanSpace):
    """An embedding whose nearest words come from an approximate index."""

    def __init__(self, base: EuclideanSpace) -> None:
        super().__init__(base.name, base.vocabulary, base.vectors, normalise=base.normalise)
        needs("faiss", "faiss", "an approximate index")
        import faiss  # noqa: PLC0415 - an extra

        self._faiss: Any = faiss
        cells = 1 << math.ceil(math.log2(math.sqrt(len(self))))
        codes = f"PQ{self.dimension // 2}x4fs,RFlat" if self.dimension % 2 == 0 else "Flat"
        self.kind = f"IVF{cells},{codes}"
        self._index = faiss.index_factory(self.dimension, self.kind)
        self._index.train(self.matrix)
        self._index.add(self.matrix)
        self._cells = faiss.extract_index_ivf(self._index)
        self.recall = 0.0

    @property
    def visited(self) -> int:
        """The number of cells of the index that a search visits."""
        return int(self._cells.nprobe)

    def make_effort(self, cells: int, candidates: int) -> None:
        """Set how many cells of the index a search visits, and how many candidates it compares exactly."""
        self._cells.nprobe = cells
        if hasattr(self._index, "k_factor"):
            self._index.k_factor = candidates

    def certify(self, recall: float) -> None:
        """State in every guarantee at least how often the nearest word is found."""
        self.recall = recall
        self.remarks = (
            f"Nearest words come from an approximate index, which finds the word nearest to a noisy point with a "
            f"probability of at least {recall:.4f} (measured, {_CONFIDENCE:.0%} confidence). It sees only the noisy "
            "point, so the promise is the same.",
        )

    def nearest(self, points: Points) -> NDArray[np.int64]:
        """Return the id of a word near each point, nearly always the nearest one."""
        self._faiss.omp_set_num_threads(parallel.cores())
        found = self._index.search(np.ascontiguousarray(points, dtype=np.float32), 1)[1][:, 0].astype(np.int64)
        empty = np.flatnonzero(found < 0)  # the visited cells held no word
        if empty.size:
            found[empty] = super().nearest(points[empty])
        return np.asarray(found)

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values."""
        index = {"kind": self.kind, "cells_visited": self.visited, "recall_at_least": self.recall}
        return {**super().describe(), "index": index}


def approximately(make: Callable[[Space], Mechanism[Any]], space: Space) -> Mechanism[Any]:
    """Make a mechanism with an approximate index that is measured to be good enough for it, or refuse."""
    exact = make(space)
    if not isinstance(space, EuclideanSpace) or not exact.takes_nearest:
        raise OptionError(f"the mechanism {exact.name} does not search for a nearest vector; choose an exact search.")
    if len(space) < _LEAST_WORDS:
        raise OptionError("an index saves nothing with so few words; choose an exact search.")
    indexed = IndexedSpace(space)
    made = make(indexed)
    best = 0.0
    points, nearest = _trial(exact, space, Entropy(0))
    for effort in _EFFORTS:
        indexed.make_effort(*effort)
        best = _least_recall(indexed, points, nearest)
        if best >= RECALL:
            # Chosen on one sample and certified on another, so that choosing the best does not flatter it.
            recall = _least_recall(indexed, *_trial(exact, space, Entropy(1)))
            if recall >= RECALL:
                indexed.certify(recall)
                return made
    raise OptionError(
        f"no index finds the nearest word often enough at this epsilon ({best:.3f} at best, {RECALL:g} is needed), "
        "because noisy points lie far from all words; choose an exact search or a larger epsilon."
    )


def _trial(
    mechanism: Mechanism[Any], space: EuclideanSpace, entropy: Entropy
) -> tuple[list[Points], list[NDArray[np.int64]]]:
    """Draw noisy points for words by their frequency in text and for random words, and search them exactly."""
    assert isinstance(mechanism, NoiseMechanism)  # noqa: S101 - the caller has checked
    weights = np.exp(log_prior(space, "frequency"))
    samples = []
    for chances in (weights / weights.sum(), None):
        ids = entropy.generator.choice(len(space), _TRIALS, p=chances)
        samples.append(mechanism.perturb(ids, entropy))
    return samples, [space.nearest(points) for points in samples]


def _least_recall(space: IndexedSpace, samples: list[Points], nearest: list[NDArray[np.int64]]) -> float:
    """Return a lower confidence bound on the recall, for the kind of words where it is worst."""
    error = (1.0 - _CONFIDENCE) / (2 * len(_EFFORTS))  # both kinds of words, and every effort that may be tried
    hits = [(space.nearest(points) == truth).sum() for points, truth in zip(samples, nearest, strict=True)]
    return float(lower_bound(min(hits), _TRIALS, error))
