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
from wordveil.mechanisms.mechanism import DRAWN_FINELY, LOG_FLOOR, ExponentialMechanism
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run
from wordveil.spaces import GraphSpace, PointSpace, Space
from wordveil.spaces.hops import SOURCES, Bits, members
from wordveil.spaces.space import Ids, Rows

__all__ = ["Graph"]

_NEIGHBOURS = 3
_TOKENS = 1 << 16
# A shell that holds more than one in so many words is drawn from by guessing words until one lies in it.
_GUESSES = 48


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
        hops = self._draw_hops(ids, entropy)
        drawn = np.array(ids, dtype=np.int64)
        near = np.flatnonzero(hops == 1)
        start, stop = self.space.indptr[ids[near]], self.space.indptr[ids[near] + 1]
        drawn[near] = self.space.indices[start + entropy.below(stop - start)]
        far = np.flatnonzero(hops > 1)
        drawn[far] = self._draw_far(ids[far], hops[far], entropy)
        return drawn

    def _draw_hops(self, ids: Ids, entropy: Entropy) -> NDArray[np.int64]:
        # Summed from the far end, where the weights are smallest: each shell then has its probability to a relative
        # error of about 1e-10, however rare it is (docs/guarantees.md, "Numbers").
        words, place = np.unique(ids, return_inverse=True)
        sizes = self.space.shell_sizes(words)
        weights = sizes * np.exp(self._log_falls(sizes.shape[1]))
        sums = np.cumsum(weights[:, ::-1], axis=1)
        hops = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), _TOKENS):
            rows = sums[place[part]]
            aim = entropy.uniform(len(rows)) * rows[:, -1]
            # a word without so far a shell has zeros there, which no aim above 0 stops at
            hops[part] = sums.shape[1] - 1 - (rows < aim[:, None]).sum(axis=1)
        return hops

    def _draw_far(self, ids: Ids, hops: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        words, place = np.unique(ids, return_inverse=True)
        deepest = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(deepest, place, hops)
        # Words whose draws stop at the same depth are searched together, so that shallow searches stay shallow.
        turn = np.argsort(deepest, kind="stable")
        rank = np.empty(len(words), dtype=np.int64)
        rank[turn] = np.arange(len(words))
        of_block = np.argsort(rank[place], kind="stable")
        ends = np.searchsorted(rank[place][of_block], np.arange(0, len(words) + SOURCES, SOURCES))
        sizes = self.space.shell_sizes(words)[place, hops]
        parts = list(blocks(len(words), SOURCES))
        drawn = np.empty(len(ids), dtype=np.int64)

        def search(job: tuple[int, slice, Entropy]) -> None:
            number, part, source = job
            wanted = of_block[ends[number] : ends[number + 1]]
            column = rank[place[wanted]] - part.start
            drawn[wanted] = self._draw_block(words[turn[part]], column, hops[wanted], sizes[wanted], source)

        run(search, zip(range(len(parts)), parts, entropy.spawn(len(parts)), strict=True))
        return drawn

    def _draw_block(
        self,
        sources: Ids,
        column: NDArray[np.int64],
        hops: NDArray[np.int64],
        sizes: NDArray[np.int64],
        entropy: Entropy,
    ) -> NDArray[np.int64]:
        search = self.space.search
        drawn = np.empty(len(column), dtype=np.int64)
        crowded = sizes * _GUESSES > len(search)
        last = hops.max(initial=0)
        for hop, shell in enumerate(search.shells(sources)):
            here = hops == hop
            listed, guessed = np.flatnonzero(here & ~crowded), np.flatnonzero(here & crowded)
            if listed.size:
                drawn[listed] = _pick(shell, column[listed], entropy)
            if guessed.size:
                drawn[guessed] = _guess(shell, column[guessed], entropy)
            if hop == last:
                break
        return np.asarray(search.order[drawn])


def _pick(shell: Bits, column: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Draw a member of each of these columns by listing them."""
    mask = np.zeros(shell.shape[1] * 64, dtype=np.uint8)
    mask[column] = 1
    wanted = np.packbits(mask, bitorder="little").view("<u8").astype(np.uint64)
    place, of = members(shell & wanted)
    order = np.argsort(of.astype(np.uint16), kind="stable")  # small integers are sorted by radix
    starts = np.searchsorted(of[order], np.arange(shell.shape[1] * 64 + 1))
    chosen = starts[column] + entropy.below(starts[column + 1] - starts[column])
    return np.asarray(place[order[chosen]])


def _guess(shell: Bits, column: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Draw a member of each of these columns by guessing until one is hit."""
    drawn = np.empty(len(column), dtype=np.int64)
    open_ = np.arange(len(column))
    while open_.size:
        guess = entropy.generator.integers(0, len(shell), len(open_), dtype=np.int32)
        of = column[open_]
        hit = (shell[guess, of // 64] >> (of % 64).astype(np.uint64)) & np.uint64(1) == 1
        drawn[open_[hit]] = guess[hit]
        open_ = open_[~hit]
    return drawn
