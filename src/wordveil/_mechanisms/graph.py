"""The default mechanism: exponential draws on the hops of a neighbour graph.

Proof. As for `exponential`, with ``d`` the number of hops, a metric because the graph is undirected and connected, and
the cost ``c = d - 1 + first`` for words that differ, 0 for the word itself. As a function of ``d`` it grows by
`first` and then by 1 a hop, never by more than 1, so ``|c(w,u) - c(w',u)| <= |d(w,u) - d(w',u)| <= d(w,w')``.
The word is drawn in two steps: first the number of hops ``h`` with probability ∝ ``n_h·e^{-εc/2}``, where ``n_h``
words lie ``h`` hops away at the cost ``c``, then one of those words uniformly. Each of them thus has probability ∝
``e^{-εc/2}``, the same law. ∎
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, drawn_finely
from wordveil._mechanisms.laws import HopFall, ShellLaw
from wordveil._mechanisms.rows import Batch, rate_of
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee
from wordveil.kernels import choose, compiled
from wordveil.noise import Entropy, KeyedEntropy, uniform_from
from wordveil.parallel import blocks
from wordveil.spaces import GraphSpace, PointSpace, Space
from wordveil.spaces.hops import SOURCES
from wordveil.spaces.space import Ids, Rows

_NEIGHBOURS = 10
_FIRST = 0.5
_TOKENS = 1 << 20
_GUESSES = 4  # at once for a word that is far away
_SEED_USED = 24  # bytes of a seed: which shell, and the first word that is tried
_TRIES = 100  # where it would take more guesses on average, none are made


class Graph(ExponentialMechanism[GraphSpace]):
    """Draws a word with probability falling exponentially with its hops on the neighbour graph.

    Parameters
    ----------
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
        log_totals = self._log_totals(np.arange(len(self.space)))
        indptr, indices = self.space.indptr, self.space.indices
        apart = np.abs(np.repeat(log_totals, np.diff(indptr)) - log_totals[indices])
        return rate_of(self.epsilon) + float(apart.max(initial=0.0))

    def without(self, blocked: NDArray[np.int64]) -> Graph:
        """Return the same mechanism on fewer outputs: it draws from all words but these."""
        fewer = copy.copy(self)
        for follows in ("blocked_sizes", "is_blocked", "largest_loss"):
            vars(fewer).pop(follows, None)
        fewer.blocked = np.asarray(blocked, dtype=np.int64)
        return fewer

    @cached_property
    def is_blocked(self) -> NDArray[np.bool_]:
        """Which words are never drawn."""
        is_blocked = np.zeros(len(self.space), dtype=np.bool_)
        is_blocked[self.blocked] = True
        return is_blocked

    @cached_property
    def blocked_sizes(self) -> NDArray[np.int32]:
        """How many blocked words lie at each number of hops, a row for each word of the space."""
        found = np.zeros((len(self.space), self.space.shells), dtype=np.int32)
        everywhere = np.arange(len(self.space))
        for part in blocks(len(self.blocked), SOURCES):
            for hops in self.space.hops(self.blocked[part]):
                found[everywhere, hops] += 1
        return found

    def allowed_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many words that may be drawn lie at each number of hops, a row for each word."""
        return self._allowed(ids, self.space.shell_sizes(ids))

    def _allowed(self, ids: Ids, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        return sizes - self.blocked_sizes[ids, : sizes.shape[1]] if len(self.blocked) else sizes

    @cached_property
    def largest_loss(self) -> float:
        """The largest log-ratio between any two words for any output, computed from the shells where these are known.

        Between two words it is half of ε times what their costs differ by, at most the cost of the farthest word, and
        what the logarithms of their normalisers differ by. Where the shells of all words are not known, normalisers
        are at most what they would be if every other word were a neighbour, and at least 1, or, for a word that is
        never drawn itself, what its own shells say; see docs/guarantees.md.
        """
        diameter, rate = self.space.diameter, rate_of(self.epsilon)
        costs = max(0.0, diameter - 1.0 + self.first)
        if self.space.knows_shells:
            log_totals = self._log_totals(np.arange(len(self.space)))
            apart = float(log_totals.max() - log_totals.min())
        else:
            least = float(self._log_totals(self.blocked).min(initial=0.0)) if len(self.blocked) else 0.0
            apart = math.log1p((len(self.space) - 1) * math.exp(-rate * self.first)) - least
        # The margin covers what rounding does to sums of that many terms.
        return min(self.epsilon * diameter, (rate * costs + apart) * (1.0 + 1e-9))

    def _log_totals(self, ids: Ids) -> NDArray[np.float64]:
        """Return the logarithms of these words' normalisers, over the words that may be drawn."""
        sizes = self.allowed_sizes(ids)
        return np.asarray(np.log(sizes @ np.exp(self.fall.logs(sizes.shape[1]))))

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

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by one that follows from its seed, all of them together."""
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), _TOKENS):
            batch = Batch(ids[part], len(self.space))
            own = np.frombuffer(b"".join(seeds[part]), dtype=np.uint8).reshape(len(batch), -1)
            drawn[part] = batch.restore(self._draw_keyed(batch, batch.arrange(own)))
        return drawn

    def _draw_keyed(self, batch: Batch, seeds: NDArray[np.uint8]) -> NDArray[np.int64]:
        bits = np.ascontiguousarray(seeds[:, :_SEED_USED]).view("<u8")
        sizes, row, hops = self._hops(batch, uniform_from(bits[:, 0], bits[:, 1]))
        # The 64 bits times the size of the shell, without the last 64 of the product: each word of the shell has
        # its probability up to a factor of 1 + 2^-64 times that size, far less than what rounding does to it.
        high, low = bits[:, 2] >> np.uint64(32), bits[:, 2] & np.uint64(0xFFFFFFFF)
        of_shell = sizes[row, hops].astype(np.uint64)
        ranks = (high * of_shell + ((low * of_shell) >> np.uint64(32))) >> np.uint64(32)
        drawn = self._at_ranks(batch.words, row, hops, ranks.astype(np.int64))
        again = self._not_allowed(drawn)
        # The rest of a seed, which had no part in the shell or the first word, keys a stream of further words.
        streams = {place: KeyedEntropy(seeds[place, _SEED_USED:].tobytes()) for place in again.tolist()}
        while again.size:
            tried = [streams[place].below(sizes[row[place], hops[place], None]) for place in again.tolist()]
            drawn[again] = self._at_ranks(batch.words, row[again], hops[again], np.concatenate(tried))
            again = again[self._not_allowed(drawn[again])]
        return drawn

    def _draw_batch(self, batch: Batch, entropy: Entropy) -> NDArray[np.int64]:
        sizes, row, hops = self._hops(batch, entropy.uniform(len(batch)))
        drawn = self._words_at(batch.words, sizes, row, hops, entropy)
        # A shell that was chosen has allowed words, which are equally likely: drawn again until it is one of them.
        while (again := self._not_allowed(drawn)).size:
            drawn[again] = self._words_at(batch.words, sizes, row[again], hops[again], entropy)
        return drawn

    def _hops(
        self, batch: Batch, aims: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the shells of a batch's words, which of these rows is each draw's, and how many hops it goes.

        The shells have their blocked words, too; which one is gone to is drawn by the others alone.
        """
        # Summed from the far end, where the weights are smallest: each shell then has its probability to a relative
        # error of about 1e-10, however rare it is (docs/guarantees.md, "Numbers").
        sizes = self.space.shell_sizes(batch.words)
        weights = self._allowed(batch.words, sizes).astype(np.float64) * np.exp(self.fall.logs(sizes.shape[1]))
        falling = choose(weights[:, ::-1], batch.starts, aims)
        return sizes, np.repeat(np.arange(len(sizes)), batch.counts), sizes.shape[1] - 1 - falling

    def _not_allowed(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of these draws are words that are never drawn."""
        return np.flatnonzero(self.is_blocked[drawn]) if len(self.blocked) else np.empty(0, dtype=np.int64)

    def _words_at(
        self,
        words: NDArray[np.int64],
        sizes: NDArray[np.int64],
        row: NDArray[np.int64],
        hops: NDArray[np.int64],
        entropy: Entropy,
    ) -> NDArray[np.int64]:
        """Return for each draw, in the order of its word's rows, any word so many hops away."""
        drawn = np.empty(len(row), dtype=np.int64)
        far = _better_guessed(sizes)[row, hops] if compiled() else np.zeros(len(row), dtype=np.bool_)
        drawn[far] = self._guess(words[row[far]], hops[far], entropy)
        row, hops = row[~far], hops[~far]
        drawn[~far] = self._at_ranks(words, row, hops, entropy.below(sizes[row, hops]))
        return drawn

    def _at_ranks(
        self, words: NDArray[np.int64], row: NDArray[np.int64], hops: NDArray[np.int64], ranks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return for each draw, in the order of its word's rows, the word of this rank so many hops away."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(words)))])
        return self.space.search.at_hops(words, starts, hops, ranks)

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
