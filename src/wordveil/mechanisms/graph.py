"""The default mechanism: exponential draws on the hops of a neighbour graph.

Proof. As for `exponential`, with ``d`` the number of hops, a metric because the graph is undirected and connected.
The word is drawn in two steps: first the number of hops ``h`` with probability ∝ ``n_h·e^{-εh/2}``, where ``n_h``
words lie ``h`` hops away, then one of those words uniformly. Each of them thus has probability ∝ ``e^{-εh/2}``, the
same law. ∎
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee
from wordveil.kernels import choose
from wordveil.mechanisms.batch import Batch
from wordveil.mechanisms.mechanism import DRAWN_FINELY, LOG_FLOOR, ExponentialMechanism
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import GraphSpace, PointSpace, Space
from wordveil.spaces.space import Ids, Rows

__all__ = ["Graph"]

_NEIGHBOURS = 3
_TOKENS = 1 << 20


class Graph(ExponentialMechanism[GraphSpace]):
    """Draws a word with probability falling exponentially with its hops on the neighbour graph.

    Parameters
    ----------
    space : PointSpace or GraphSpace
        The words; of an embedding the neighbour graph is built and cached.
    epsilon : float
        The privacy loss per hop.
    k : int, optional
        To how many most similar words each word is joined (3 if not given); 0 for a spanning tree alone.
    """

    name = "graph"
    summary = "draws a word by hops on the graph of nearest words; the default"
    promises = "ε per hop, for every two words"
    source = "McSherry & Talwar 2007, on a graph"

    def __init__(self, space: Space, epsilon: float, *, k: int | None = None) -> None:
        if isinstance(space, GraphSpace):
            if k is not None:
                raise WordveilError("this space is a graph already, so k cannot be chosen.")
            graph = space
        elif isinstance(space, PointSpace):
            k = _NEIGHBOURS if k is None else k
            graph = GraphSpace.of(space, k)
        else:
            raise WordveilError(f"the mechanism {self.name} needs a space of vectors or a neighbour graph.")
        super().__init__(graph, epsilon)
        self.k = k

    def options(self) -> dict[str, Any]:
        """Return the options beside epsilon that this mechanism was made with."""
        return {"k": self.k}

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""
        return self.promise(caveats=(DRAWN_FINELY,))

    def _log_falls(self, hops: int) -> NDArray[np.float64]:
        return np.maximum(-0.5 * self.epsilon * np.arange(hops), LOG_FLOOR)

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, a row for each word."""
        hops = self.space.distances(ids).astype(np.int64)
        return self._log_falls(int(hops.max()) + 1)[hops]

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by one drawn with its probabilities."""
        entropy = entropy or Entropy()
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), _TOKENS):
            batch = Batch(ids[part], len(self.space))
            drawn[part] = batch.restore(self._draw_batch(batch, entropy))
        return drawn

    def _draw_batch(self, batch: Batch, entropy: Entropy) -> NDArray[np.int64]:
        # Summed from the far end, where the weights are smallest: each shell then has its probability to a relative
        # error of about 1e-10, however rare it is (docs/guarantees.md, "Numbers").
        sizes = self.space.shell_sizes(batch.words)
        weights = sizes.astype(np.float64) * np.exp(self._log_falls(sizes.shape[1]))
        falling = choose(weights[:, ::-1], batch.starts, entropy.uniform(len(batch)))
        hops = sizes.shape[1] - 1 - falling
        ranks = entropy.below(sizes[np.repeat(np.arange(len(sizes)), batch.counts), hops])
        return self.space.search.at_hops(batch.words, batch.starts, hops, ranks)
