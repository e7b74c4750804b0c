"""The one place where words are drawn from rows of weights.

A row is cut into blocks. A draw finds a block by the blocks' sums, then a word in it. The sums are what costs: they are
computed once for all places of a word in a batch, and kept for the next batch, up to a number of bytes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.batch import Batch
from wordveil._mechanisms.row_cache import RowCache
from wordveil.kernels import Falls, choose
from wordveil.noise import Entropy
from wordveil.parallel import blocks, cores, run
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace
from wordveil.spaces.space import Ids, Rows

__all__ = [
    "LOG_FLOOR",
    "ROW_FLOOR",
    "FallingRows",
    "RowDraws",
    "RowSource",
    "WholeRows",
    "drawn_closely",
    "rate_of",
    "weights_of",
]

#: Weights are kept above e^-600 of the largest, so that none becomes zero: see docs/guarantees.md, "Numbers".
LOG_FLOOR = -600.0

#: Where they may be computed in single precision, above e^-80.
ROW_FLOOR = -80.0

_ENTRIES = 1 << 21  # of the rows of sums that one thread works on
_WORDS = 1024
_STRIP = 64
_TOKENS = 1 << 15  # that are finished inside their blocks at once
_PANEL = 16  # blocks of a whole table that one thread works on


class RowSource(ABC):
    """Rows of weights, known by their sums over blocks of words.

    Parameters
    ----------
    words : int
        How many words there are.
    places : int
        How many blocks a row has.
    dtype : type
        What the sums are stored as.
    """

    def __init__(self, words: int, places: int, dtype: type[np.floating]) -> None:
        self.words = words
        self.places = places
        self.dtype = dtype

    @property
    @abstractmethod
    def caveat(self) -> str:
        """How near a draw comes to the stated law, in a sentence."""

    @abstractmethod
    def sums(self, ids: Ids) -> Rows:
        """Return the sums of the weights over each block, a row for each word."""

    @abstractmethod
    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Return for each word an output of the given block, drawn with the weights there."""

    def whole(self) -> Callable[[Rows], None] | None:
        """Return what writes all words' sums into a table for less than they cost one by one, if anything does."""
        return None


class WholeRows(RowSource):
    """Rows whose blocks are single words, for any law.

    Parameters
    ----------
    words : int
        How many words there are.
    log_weights : callable
        Gives the logarithms of the weights for some ids, a row each.
    error : float
        How far such a logarithm may be from the true one.
    """

    def __init__(self, words: int, log_weights: Callable[[Ids], Rows], error: float = 0.0) -> None:
        super().__init__(words, words, np.float64)
        self._log_weights = log_weights
        self._error = error

    @property
    def caveat(self) -> str:
        """How near a draw comes to the stated law, in a sentence."""
        # of each of two laws a weight and the sum of all
        return drawn_closely(self.words, 4.0 * self._error)

    def sums(self, ids: Ids) -> Rows:
        """Return the weights, a row for each word."""
        return weights_of(self._log_weights(ids))

    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the blocks, which are words."""
        return of_block


class FallingRows(RowSource):
    """Rows that fall exponentially with a straight-line distance, measured in single precision.

    Parameters
    ----------
    space : EuclideanSpace
        The words as points.
    log_prior : array of float
        The logarithm of what each output's weight is multiplied by.
    rate : float
        The weight at distance ``d`` is ``e^(-rate·d)``.
    reach : float
        The distance beyond which weights fall no further.
    reaches : callable, optional
        Gives for some ids a reach of their own, no longer than `reach`.
    """

    def __init__(
        self,
        space: EuclideanSpace,
        log_prior: NDArray[np.float64],
        rate: float,
        reach: float,
        reaches: Callable[[Ids], Rows] | None = None,
    ) -> None:
        prior = np.exp(log_prior).astype(np.float32)
        self._falls = Falls(space.matrix, space.squares, prior, rate)
        super().__init__(len(space), self._falls.blocks, np.float32)
        self._space = space
        self._rate = rate
        self._reach = reach
        self._reaches = reaches

    @property
    def caveat(self) -> str:
        """How near a draw comes to the stated law, in a sentence."""
        # docs/guarantees.md, "Numbers": each of two laws has distances twice off by `precision`, and 2^-17 of roundings
        slack = 8.0 * self._rate * self._space.precision + 2.0**-16
        near = math.ceil(math.log2(self.places + 64) - 52.0)
        return (
            f"Drawn in single precision: within 2^{near} in total variation of a law that keeps the promise "
            f"but for {round_up(slack, 2):g} in the exponent."
        )

    def _reach_of(self, ids: Ids) -> NDArray[np.float32]:
        if self._reaches is None:
            return np.full(len(ids), self._reach, dtype=np.float32)
        return np.minimum(self._reaches(ids), self._reach).astype(np.float32)

    def sums(self, ids: Ids) -> Rows:
        """Return the sums of the weights over each block, a row for each word."""
        return self._falls.sums(ids, self._reach_of(ids))

    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Return for each word an output of the given block, drawn with the weights there."""
        aims = entropy.uniform(len(ids))
        reach = self._reach_of(ids)
        small = of_block.astype(np.uint16 if self.places <= 1 << 16 else np.uint32)
        turn = np.argsort(small, kind="stable")  # a block is fetched once; small integers are sorted by radix
        found = np.empty(len(ids), dtype=np.int64)

        def finish(part: slice) -> None:
            some = turn[part]
            found[some] = self._falls.pick(ids[some], of_block[some], reach[some], aims[some])

        run(finish, blocks(len(ids), _TOKENS))
        return found

    def whole(self) -> Callable[[Rows], None] | None:
        """Return what writes all words' sums, measuring each pair of words once, if they have one reach."""
        if self._reaches is not None:
            return None

        def fill(table: Rows) -> None:
            parts = list(blocks(self.places, _PANEL))[::-1]  # the last take longest
            run(lambda part: self._falls.table(part.start, part.stop, self._reach, table), parts)

        return fill


class RowDraws:
    """Draws words from rows.

    Parameters
    ----------
    source : RowSource
        The rows.
    memory : int, optional
        How many bytes of rows to keep between batches; if not given, what other mechanisms leave of
        ``$WORDVEIL_ROW_CACHE`` MiB, which are 256 if that is not set.
    """

    def __init__(self, source: RowSource, memory: int | None = None) -> None:
        self.source = source
        self.cache = RowCache(source.words, source.places, source.dtype, memory)

    def draw(self, ids: Ids, entropy: Entropy) -> NDArray[np.int64]:
        """Return a word drawn for each of these words.

        Parameters
        ----------
        ids : array of int
            The words to draw for.
        entropy : Entropy
            Where the randomness comes from.
        """
        # Rare words come first, so that the rows of frequent ones are those used last, which stay.
        batch = Batch(ids, self.source.words)
        words, starts = batch.words, batch.starts
        aims = entropy.uniform(len(batch))
        self._prepare(words)
        chosen = np.empty(len(batch), dtype=np.int64)

        def find(part: slice) -> None:
            own = slice(starts[part.start], starts[part.stop])
            begins = starts[part.start : part.stop + 1] - own.start
            chosen[own] = choose(self._rows(words[part]), begins, aims[own])

        share = -(-len(words) // (_STRIP * cores())) * _STRIP  # no core idle, and no half-filled vectors
        run(find, blocks(len(words), max(1, min(_WORDS, share, _ENTRIES // self.source.places))))
        return batch.restore(self.source.finish(batch.ids, chosen, entropy))

    def _rows(self, words: NDArray[np.int64]) -> Rows:
        rows, missing = self.cache.look_up(words)
        if missing.size:
            rows[missing] = self.source.sums(words[missing])
            self.cache.keep(words[missing], rows[missing])
        return rows

    def _prepare(self, words: NDArray[np.int64]) -> None:
        # All pairs of words, each measured once, cost as much as the rows of half the words.
        fill = self.source.whole()
        if fill and self.cache.fits_all and 2 * self.cache.count_missing(words) > self.source.words:
            self.cache.fill(fill)


def rate_of(epsilon: float) -> float:
    """Return how fast the weights of the exponential mechanism fall: the half of ε."""
    return 0.5 * epsilon


def weights_of(logs: Rows) -> NDArray[np.float64]:
    """Return the weights whose logarithms these are, each row scaled to a largest of 1, and none of them 0."""
    weights = np.subtract(logs, logs.max(axis=1, keepdims=True), dtype=np.float64)
    np.maximum(weights, LOG_FLOOR, out=weights)
    return np.exp(weights, out=weights)


def drawn_closely(words: int, slack: float = 0.0) -> str:
    """Say how near a draw from a row of so many weights comes to the stated law.

    Parameters
    ----------
    words : int
        How many weights there are.
    slack : float
        By how much the weights themselves may break the promise, in the exponent.
    """
    near = math.ceil(math.log2(words) - 52)
    if not slack:
        return f"Drawn in double precision: within 2^{near} of the stated law in total variation."
    return (
        f"Drawn within 2^{near} in total variation of a law that keeps the promise but for {round_up(slack, 2):g} in "
        "the exponent."
    )
