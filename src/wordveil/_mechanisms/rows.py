"""The one place where words are drawn from rows of weights.

A row is cut into blocks. A draw finds a block by the blocks' sums, then a word in it. The sums are what costs: they are
computed once for all places of a word in a batch, and kept for the next batch, up to a number of bytes.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError
from wordveil.kernels import Falls, choose
from wordveil.noise import Entropy
from wordveil.parallel import blocks, cores, renew_after_fork, run
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace
from wordveil.spaces.space import Ids, Rows

#: Weights are kept above e^-600 of the largest, so that none becomes zero: see docs/guarantees.md, "Numbers".
LOG_FLOOR = -600.0

#: Where they may be computed in single precision, above e^-80.
ROW_FLOOR = -80.0

_ENTRIES = 1 << 21  # of the rows of sums that one thread works on
_WORDS = 1024
_STRIP = 64
_TOKENS = 1 << 15  # that are finished inside their blocks at once
_PANEL = 16  # blocks of a whole table that one thread works on
_DEFAULT = 256  # MiB: all rows of the bundled space
_SWITCH = "WORDVEIL_ROW_CACHE"
_IDLE = 60.0  # seconds after which the rows of a mechanism may go for those of another


class Lazily:
    """Figures of words, each computed when it is first asked for; safe to use from several threads.

    `compute` returns a row of figures for each word.
    """

    def __init__(self, words: int, compute: Callable[[Ids], Rows]) -> None:
        self._words, self._compute = words, compute
        self._found: dict[int, Rows] = {}  # by their number for each word: one table
        self._known = np.zeros(words, dtype=np.bool_)

    def __call__(self, ids: Ids) -> NDArray[np.float64]:
        """Return the figures of these words, a row for each."""
        words = np.unique(ids)
        missing = words[~self._known[words]]
        # Two threads that miss the same words compute the same figures, so neither has to wait for the other.
        parts = list(blocks(len(missing), max(1, _ENTRIES // self._words)))
        for part, figures in zip(parts, run(lambda part: self._compute(missing[part]), parts), strict=True):
            # One step, so that of two threads that come first neither loses what the other has written.
            table = self._found.setdefault(figures.shape[1], np.empty((self._words, figures.shape[1])))
            table[missing[part]] = figures
        self._known[missing] = True
        tables = list(self._found.values())
        return np.asarray(tables[0][ids]) if tables else np.empty((0, 0))


class RowSource(ABC):
    """Rows of weights, known by their sums over blocks of words."""

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

    `error` is how far a logarithm of a weight may be from the true one.
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
    """Rows that fall as ``e^(-rate·d)`` with a straight-line distance, measured in single precision.

    Beyond `reach` weights fall no further; `reaches` gives for some ids a reach of their own, no longer than that.
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


class Batch:
    """Ids with equal ones brought together, the rarest first."""

    def __init__(self, ids: Ids, limit: int) -> None:
        ids = np.asarray(ids, dtype=np.int64)
        counts = np.bincount(ids, minlength=limit)
        words = np.flatnonzero(counts)
        self.words = words[np.argsort(counts[words], kind="stable")]
        self.counts = counts[self.words]
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        turn = np.empty(limit, dtype=np.uint16 if len(words) <= 1 << 16 else np.uint32)
        turn[self.words] = np.arange(len(words))
        self._order = np.argsort(turn[ids], kind="stable")  # integers of 16 bits are sorted by radix
        self.ids = np.repeat(self.words, self.counts)

    def __len__(self) -> int:
        return len(self.ids)

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put values, one for each id in the order in which the ids came, into the order of the batch."""
        return values[self._order]

    def restore(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put values, one for each id in the order of the batch, into the order in which the ids came."""
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored


def row_memory() -> int:
    """Return how many bytes of rows a process keeps: ``$WORDVEIL_ROW_CACHE``, in MiB, or the default."""
    chosen = os.environ.get(_SWITCH) or str(_DEFAULT)
    if not (chosen.isascii() and chosen.isdigit()):
        raise OptionError(f"{_SWITCH} must be a whole number of MiB; 0 keeps nothing.")
    return int(chosen) << 20


class _Budget:
    """The memory that caches share.

    Each takes of it as it grows. Where nothing is left, those that were not used for a while give up what they have,
    and for a cache that has less than an equal share those that have more give up what is above it. So no cache is kept
    out by those before it, and those in use do not drive one another out again and again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: weakref.WeakSet[RowCache] = weakref.WeakSet()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a lock that nobody holds, and a set that nobody goes through."""
        self._lock, self._caches = threading.Lock(), weakref.WeakSet(list(self._caches))

    def join(self, cache: RowCache) -> None:
        """Let a cache take part."""
        with self._lock:
            self._caches.add(cache)

    def lend(self, cache: RowCache, rows: int) -> None:
        """Give a cache, whose lock the caller holds, memory for this many more rows, or as much as there is."""
        with self._lock:
            idle_since = time.monotonic() - _IDLE
            others = sorted((one for one in self._caches if one is not cache), key=lambda one: one.last)
            free = cache.total - cache.taken - sum(one.taken for one in others)
            share = cache.total // (1 + sum(one.last >= idle_since for one in others))
            wanted = rows * cache.size
            for one in others:
                if one.last < idle_since and free < wanted:
                    free += one.give_up(0)
                elif one.taken > share and free < min(wanted, share - cache.taken):
                    free += one.give_up(share)
            cache.open += max(0, min(rows, free // cache.size))


_BUDGET = _Budget()


class RowCache:
    """The rows of some words; where there is no room, those not used for longest go.

    It belongs to one mechanism and lives no longer. Safe to use from several threads.
    """

    def __init__(self, words: int, places: int, dtype: type[np.floating], memory: int | None = None) -> None:
        if memory is not None and memory < 0:
            raise OptionError("memory must be a number of bytes; 0 keeps nothing.")
        self._made_with = (words, places, dtype, memory)
        self._dtype = np.dtype(dtype)
        self._shares = memory is None
        self.size = places * self._dtype.itemsize  # of a row
        self.total = row_memory() if memory is None else memory
        self._room = min(words, self.total // self.size)
        self.open = 0 if self._shares else self._room  # how many slots have their memory
        self.last = time.monotonic()
        self._lock = threading.Lock()
        self._slot = np.full(words, -1, dtype=np.int64)  # of each word; -1 where it is not held
        self._word = np.full(self._room, -1, dtype=np.int64)  # of each slot
        self._used = np.zeros(self._room, dtype=np.int64)  # when
        self._now = 0
        self._rows = np.empty((self._room, places), dtype=dtype)  # takes memory only as it is written
        renew_after_fork(self)
        if self._shares:
            _BUDGET.join(self)

    @property
    def taken(self) -> int:
        """How many bytes this may fill."""
        return self.open * self.size

    def after_fork(self) -> None:
        """Forget everything: a fork copies the lock as it was, perhaps held, and rows half written."""
        self._lock = threading.Lock()
        self._slot[:], self._word[:], self._used[:] = -1, -1, 0
        if self._shares:
            self._shrink(0)

    def give_up(self, memory: int) -> int:
        """Keep at most this many bytes, unless in use right now; return how many that frees."""
        if not self._lock.acquire(blocking=False):  # never waits, since the other holds its own lock
            return 0
        try:
            before = self.taken
            self._shrink(memory // self.size)
            return before - self.taken
        finally:
            self._lock.release()

    def _shrink(self, slots: int) -> None:
        leaving = self._word[slots:]
        self._slot[leaving[leaving >= 0]] = -1
        self._word[slots:], self._used[slots:] = -1, 0
        rows = np.empty_like(self._rows)  # the old ones go back to the system
        rows[:slots] = self._rows[:slots]
        self.open, self._rows = slots, rows

    def _grow(self, slots: int) -> None:
        """Take the memory for this many slots, if there is enough."""
        if slots > self.open and self._shares:
            _BUDGET.lend(self, min(slots, self._room) - self.open)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCache, self._made_with  # a copy in another process fills its own

    def __len__(self) -> int:
        return int((self._word >= 0).sum())

    @property
    def fits_all(self) -> bool:
        """Whether there is room for the rows of all words."""
        return self._room == len(self._slot)

    def count_missing(self, words: NDArray[np.int64]) -> int:
        """Return how many of these words have no row here."""
        with self._lock:
            return int((self._slot[words] < 0).sum())

    def look_up(self, words: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
        """Return an array for the rows of these words, those that are here filled in, and the places of the others."""
        rows = np.empty((len(words), self._rows.shape[1]), dtype=self._dtype)
        with self._lock:
            slots = self._slot[words]
            here = np.flatnonzero(slots >= 0)
            rows[here] = self._rows[slots[here]]
            self._now, self.last = self._now + 1, time.monotonic()
            self._used[slots[here]] = self._now
        return rows, np.flatnonzero(slots < 0)

    def keep(self, words: NDArray[np.int64], rows: Rows) -> None:
        """Keep the rows of these words, as many as there is room for, the last first."""
        with self._lock:
            new = np.flatnonzero(self._slot[words] < 0)  # another thread may have been quicker
            if len(new) and self.open < self._room:
                self._grow(len(self) + len(new))
            new = new[len(new) - min(len(new), self.open) :]
            if not new.size:
                return
            slots = np.argpartition(self._used[: self.open], len(new) - 1)[: len(new)]
            leaving = self._word[slots]
            self._slot[leaving[leaving >= 0]] = -1
            self._rows[slots] = rows[new]
            self._word[slots] = words[new]
            self._slot[words[new]] = slots
            self._now += 1
            self._used[slots] = self._now

    def fill(self, write: Callable[[Rows], None]) -> None:
        """Write the rows of all words, if there is memory for them, while others wait."""
        with self._lock:
            self._grow(self._room)
            if self.open < len(self._slot):
                return
            self._slot[:] = -1  # should writing fail, nothing is held
            self._word[:] = -1
            write(self._rows)
            self._word[:] = self._slot[:] = np.arange(len(self._slot))
            self._now += 1
            self._used[:] = self._now


class RowDraws:
    """Draws words from rows, and keeps rows between batches; see `RowCache` for in how much memory."""

    def __init__(self, source: RowSource, memory: int | None = None) -> None:
        self.source = source
        self.cache = RowCache(source.words, source.places, source.dtype, memory)

    def draw(self, ids: Ids, entropy: Entropy) -> NDArray[np.int64]:
        """Return a word drawn for each of these words."""
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
    """Say how near a draw from a row of `words` weights comes to the stated law.

    `slack` is by how much the weights themselves may break the promise, in the exponent.
    """
    near = math.ceil(math.log2(words) - 52)
    if not slack:
        return f"Drawn in double precision: within 2^{near} of the stated law in total variation."
    return (
        f"Drawn within 2^{near} in total variation of a law that keeps the promise but for {round_up(slack, 2):g} in "
        "the exponent."
    )
