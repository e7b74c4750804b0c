"""The default mechanism: exponential draws by hops on a neighbour graph.

Proof. As for `exponential`. Here ``d`` is the number of hops, a metric because the graph is undirected and connected.
The cost is ``c = d - 1 + first`` for another word and 0 for the word itself. As a function of ``d`` it grows by `first`
for the first hop and by 1 for every further one, never by more than 1, so
``|c(w,u) - c(w',u)| <= |d(w,u) - d(w',u)| <= d(w,w')``. A word is drawn by rejection, with probability ∝ ``e^{-εc/2}``
(`HopSearch.draw`). ∎
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, drawn_finely
from wordveil._mechanisms.laws import HopFall, ShellLaw
from wordveil._mechanisms.rows import rate_of
from wordveil.errors import OptionError, SpaceError
from wordveil.files import cached_arrays, digest_of
from wordveil.guarantee import Guarantee
from wordveil.kernels import compiled
from wordveil.kernels.hop_draws import Grouped, HopDraws
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import GraphSpace, PointSpace, Space
from wordveil.spaces.hops import SOURCES
from wordveil.spaces.space import Ids, Rows

_NEIGHBOURS = 10
_FIRST = 0.5
_TOKENS = 1 << 20
_KEY = 8  # 32-bit words of a seed that make the key of its draw
_WORTH_CACHING = 1 << 22  # hops to count: from here on counting takes 0.1 s or more, at every start of the command


class Graph(ExponentialMechanism[GraphSpace]):
    """Draws a word with a probability that falls exponentially with its hops on the neighbour graph.

    Parameters
    ----------
    epsilon : float
        The privacy loss per hop.
    k : int, optional
        Join each word to this many most similar words; 0 for a spanning tree. Default: 10.
    first : float
        The cost of the first hop, from 0 to 1; every further hop costs 1. A value below 1 moves probability from the
        word itself to its neighbours, at no cost in privacy; 1 is the plain exponential mechanism.
    """

    name = "graph"
    summary = "draws a word by its hops on a graph of nearest words; the default"
    in_brief = "ε per hop, for any two words"
    source = "McSherry & Talwar 2007, on a graph"
    law_kind = ShellLaw
    joins_words = True

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
        #: How the weight of an output falls with its hops.
        self.fall = HopFall(rate_of(self.epsilon), first)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        # docs/guarantees.md, "Numbers"
        error = (2 * len(self.space) + len(self.space.indices)) * (self.space.shells + 1) * 2.0**-52
        return self.make_guarantee(caveats=(drawn_finely(error),))

    def loss_per_hop(self) -> float:
        """Return the largest loss per hop on this graph: at most ε, and less if neighbours have similar shell sizes.

        The guarantee also holds with this number in place of ε; see docs/guarantees.md. It needs the shell sizes of
        all words, which take a while to count on a graph that is not bundled.

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

    @property
    def draws_in_threads(self) -> bool:  # type: ignore[override] # here it depends on the compiled code
        """Whether drawing scales over threads as well as over processes."""
        return compiled() is not None

    def without(self, blocked: NDArray[np.int64]) -> Graph:
        """Return a copy of the mechanism that never draws these words."""
        fewer = copy.copy(self)
        for follows in ("blocked_sizes", "is_blocked", "largest_loss", "_draws"):
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
        """How many blocked words lie at each number of hops, one row per word; cached for the bundled list."""
        if not self.blocks_bundled or len(self.blocked) * len(self.space) < _WORTH_CACHING:
            return self._count_blocked()

        def fill(folder: Path) -> None:
            np.save(folder / "sizes.npy", self._count_blocked())

        key = f"blocked-{self.space.checksum}-{digest_of(self.blocked.tolist())}"
        return cached_arrays(key, fill, "sizes")[0]

    def _count_blocked(self) -> NDArray[np.int32]:
        found = np.zeros((len(self.space), self.space.shells), dtype=np.int32)
        everywhere = np.arange(len(self.space))
        for part in blocks(len(self.blocked), SOURCES):
            for hops in self.space.hops(self.blocked[part]):
                found[everywhere, hops] += 1
        return found

    def allowed_sizes(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many words that are not blocked lie at each number of hops, one row per word."""
        sizes = self.space.shell_sizes(ids)
        return sizes - self.blocked_sizes[ids, : sizes.shape[1]] if len(self.blocked) else sizes

    @cached_property
    def largest_loss(self) -> float:
        """A bound on the log-ratio between any two words for any output, from the shell sizes if they are known.

        The log-ratio of two words has two parts. One is ε/2 times the difference of their costs, at most the cost of
        the farthest word. The other is the difference of their log normalisers. If the shell sizes of all words are not
        known, a normaliser is at most its value if every other word were a neighbour. It is at least 1, or for a
        blocked word, whatever its own shells give; see docs/guarantees.md.
        """
        diameter, rate = self.space.diameter, rate_of(self.epsilon)
        costs = max(0.0, diameter - 1.0 + self.first)
        if self.space.knows_shells:
            log_totals = self._log_totals(np.arange(len(self.space)))
            apart = float(log_totals.max() - log_totals.min())
        else:
            least = float(self._log_totals(self.blocked).min(initial=0.0)) if len(self.blocked) else 0.0
            apart = math.log1p((len(self.space) - 1) * math.exp(-rate * self.first)) - least
        # The margin covers the rounding of sums with this many terms.
        return min(self.epsilon * diameter, (rate * costs + apart) * (1.0 + 1e-9))

    def _log_totals(self, ids: Ids) -> NDArray[np.float64]:
        """Return the logarithms of these words' normalisers, over the words that are not blocked."""
        sizes = self.allowed_sizes(ids)
        return np.asarray(np.log(sizes @ np.exp(self.fall.logs(sizes.shape[1]))))

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""
        hops = self.space.hops(ids)
        return self.fall.logs(int(hops.max()) + 1)[hops]

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by a random word."""
        entropy = entropy or Entropy()
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), _TOKENS):
            native = compiled()
            batch = self._grouped(ids[part], native)
            drawn[part] = self._draw_batch(batch, entropy.key(), native)
        return drawn

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by a word that depends only on the word and its seed, all in one batch."""
        drawn = np.empty(len(ids), dtype=np.int64)
        for part in blocks(len(ids), _TOKENS):
            native = compiled()
            batch = self._grouped(ids[part], native)
            own = np.frombuffer(b"".join(seeds[part]), dtype="<u4").reshape(part.stop - part.start, -1)
            drawn[part] = self._draw_batch(batch, own[batch.places, :_KEY], native)
        return drawn

    def _grouped(self, ids: Ids, native: ModuleType | None) -> Grouped:
        places = self.space.laid.places
        return Grouped(ids if places is None else places[ids], len(self.space), native)

    def _draw_batch(self, batch: Grouped, keys: NDArray[np.uint32], native: ModuleType | None) -> NDArray[np.int64]:
        laid = self.space.laid
        if native is not None:
            drawn = self._draws.draw(native, batch.words, batch.starts, keys, batch.places)
        else:
            drawn = np.empty(len(batch.places), dtype=np.int64)
            found = laid.search.draw(batch.words, batch.starts, self._weights, keys, self._are_blocked)
            drawn[batch.places] = found
        return drawn if laid.order is None else laid.order[drawn]

    def __getstate__(self) -> dict[str, Any]:
        # they are made again from what the graph lays out, which is left behind as well
        return {name: value for name, value in vars(self).items() if name != "_draws"}

    @cached_property
    def _draws(self) -> HopDraws:
        laid = self.space.laid
        return HopDraws(laid.search.native_form, self._weights, self._are_blocked, laid.around)

    @property
    def _weights(self) -> NDArray[np.float64]:
        return np.exp(self.fall.logs(self.space.shells))

    @property
    def _are_blocked(self) -> NDArray[np.bool_] | None:
        """By their places, as draws see the graph."""
        order = self.space.laid.order
        return None if not len(self.blocked) else self.is_blocked if order is None else self.is_blocked[order]
