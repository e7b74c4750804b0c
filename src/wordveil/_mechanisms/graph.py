"""The default mechanism: exponential draws on the hops of a neighbour graph.

Proof. As for `exponential`, with ``d`` the number of hops, a metric because the graph is undirected and connected, and
the cost ``c = d - 1 + first`` for words that differ, 0 for the word itself. As a function of ``d`` it grows by
`first` and then by 1 a hop, never by more than 1, so ``|c(w,u) - c(w',u)| <= |d(w,u) - d(w',u)| <= d(w,w')``.
The word is drawn in two steps: first the number of hops ``h`` with probability ∝ ``n_h·e^{-εc/2}``, where ``n_h``
words lie ``h`` hops away at the cost ``c``, then one of those words uniformly. Each of them thus has probability ∝
``e^{-εc/2}``, the same law. ∎
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, drawn_finely
from wordveil._mechanisms.laws import HopFall, ShellLaw
from wordveil._mechanisms.rows import Batch, rate_of
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee
from wordveil.kernels import choose, compiled
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import GraphSpace, PointSpace, Space
from wordveil.spaces.space import Ids, Rows

__all__ = ["Graph"]

_NEIGHBOURS = 10
_FIRST = 0.5
_TOKENS = 1 << 20
_GUESSES = 4  # at once for a word that is far away
_TRIES = 100  # where it would take more guesses on average, none are made


class Graph(ExponentialMechanism[GraphSpace]):
    """Draws a word with probability falling exponentially with its hops on the neighbour graph.

    Parameters
    ----------
    space : PointSpace or GraphSpace
        The words; of an embedding the neighbour graph is built and cached.
    epsilon : float
        The privacy loss per hop.
    k : int, optional
        To how many most similar words each word is joined (10 if not given); 0 for a spanning tree alone.
    first : float
        What the first hop costs, from 0 to 1 where every further hop costs 1. Less than 1 moves probability from the
        word itself to its neighbours, at no cost in privacy; 1 is the plain exponential mechanism.
    """

    name = "graph"
    summary = "draws a word by its hops on a graph of nearest words; the default"
    in_brief = "ε per hop, for any two words"
    source = "McSherry & Talwar 2007, on a graph"
    law_kind = ShellLaw

    def __init__(self, space: Space, epsilon: float, *, k: int | None = None, first: float = _FIRST) -> None:
        if isinstance(space, GraphSpace):
            if k is not None:
                raise OptionError("this space already is a graph, so k cannot be chosen; leave it out.")
            graph = space
        elif isinstance(space, PointSpace):
            k = _NEIGHBOURS if k is None else k
            graph = GraphSpace.of(space, k)
        else:
            raise SpaceError(f"the mechanism {self.name} needs a space of vectors or a neighbour graph.")
        if not 0.0 <= first <= 1.0:
            raise OptionError("first, the cost of the first hop, must be between 0 and 1.")
        super().__init__(graph, epsilon)
        self.k = k
        self.first = first
        #: How the weights of outputs fall with their hops.
        self.fall = HopFall(rate_of(self.epsilon), first)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""
        # docs/guarantees.md, "Numbers"
        error = len(self.space) * self.space.shells * 2.0**-52
        return self.make_guarantee(caveats=(drawn_finely(error),))

    def loss_per_hop(self) -> float:
        """Return what one hop costs at most on this graph, computed: ε, or less where neighbours have like shells.

        It holds for the same draws in the place of ε; see docs/guarantees.md. The shells of all words are looked up,
        which takes a while on a graph that is not shipped.

        Examples
        --------
        >>> import wordveil
        >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=6.0)
        >>> round(graph.loss_per_hop(), 2)
        4.81
        """
        sizes = self.space.shell_sizes(np.arange(len(self.space)))
        log_totals = np.log(sizes @ np.exp(self.fall.logs(sizes.shape[1])))
        indptr, indices = self.space.indptr, self.space.indices
        apart = np.abs(np.repeat(log_totals, np.diff(indptr)) - log_totals[indices])
        return rate_of(self.epsilon) + float(apart.max(initial=0.0))

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, a row for each word."""
        hops = self.space.hops(ids)
        return self.fall.logs(int(hops.max()) + 1)[hops]

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
        weights = sizes.astype(np.float64) * np.exp(self.fall.logs(sizes.shape[1]))
        falling = choose(weights[:, ::-1], batch.starts, entropy.uniform(len(batch)))
        hops = sizes.shape[1] - 1 - falling
        row = np.repeat(np.arange(len(sizes)), batch.counts)
        drawn = np.empty(len(batch), dtype=np.int64)
        far = _better_guessed(sizes)[row, hops] if compiled() else np.zeros(len(batch), dtype=np.bool_)
        drawn[far] = self._guess(batch.ids[far], hops[far], entropy)
        row, hops = row[~far], hops[~far]
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(sizes)))])
        drawn[~far] = self.space.search.at_hops(batch.words, starts, hops, entropy.below(sizes[row, hops]))
        return drawn

    def _guess(self, ids: NDArray[np.int64], hops: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Return for each word one so many hops away, by drawing from all words until one is."""
        found = np.full(len(ids), -1, dtype=np.int64)
        left = np.lexsort((hops, ids))
        while left.size:
            guesses = entropy.below(np.full((len(left), _GUESSES), len(self.space)))
            found[left] = self.space.search.first_at(ids[left], hops[left], guesses)
            left = left[found[left] < 0]
        return found


def _better_guessed(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return from which words it costs less to guess a word so many hops away than to list those on the way.

    Listing looks at the neighbours of every nearer word. A guess looks at those within half of the way, at both ends;
    what lies around a guess is taken to be as much as lies around the word.
    """
    nearer = np.cumsum(sizes, axis=1) - sizes  # words at fewer hops
    hops = np.arange(sizes.shape[1])
    tries = sizes.sum(axis=1, keepdims=True) / np.maximum(sizes, 1)
    guessing = nearer[:, hops // 2] + tries * nearer[:, hops - hops // 2]
    return (sizes > 0) & (tries <= _TRIES) & (guessing < 0.5 * nearer)
