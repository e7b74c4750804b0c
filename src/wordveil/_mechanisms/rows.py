"""Draws words from rows of weights.

A row is cut into blocks. A draw finds a block by the blocks' sums, then a word in it. The sums are the expensive part:
they are computed once per distinct word of a batch, and cached for the next batch, up to a number of bytes.
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

#: Weights are kept above e^-600 times the largest, so that none becomes zero: see docs/guarantees.md, "Numbers".
LOG_FLOOR = -600.0

#: The same where weights may be computed in single precision: e^-80.
ROW_FLOOR = -80.0

_ENTRIES = 1 << 21  # entries of rows of sums per thread
_WORDS = 1024
_STRIP = 64
_TOKENS = 1 << 15  # draws finished inside their blocks at once
_PANEL = 16  # blocks of a whole table per thread
_DEFAULT = 256  # MiB: enough for all rows of the bundled space
_SWITCH = "WORDVEIL_ROW_CACHE"
_IDLE = 60.0  # seconds unused after which a mechanism's rows may be dropped for those of another


class LazyTable:
    """Figures about words, computed on first use; thread-safe.

    `compute` returns one row of figures per word.
    """

    def __init__(self, words: int, compute: Callable[[Ids], Rows]) -> None:
        self._words, self._compute = words, compute
        self._found: dict[int, Rows] = {}  # one table, under its number of columns
        self._known = np.zeros(words, dtype=np.bool_)

    def __call__(self, ids: Ids) -> NDArray[np.float64]:
        """Return the figures of these words, one row per word."""
        words = np.unique(ids)
        missing = words[~self._known[words]]
        # Two threads that miss the same words compute the same figures, so neither waits for the other.
        parts = list(blocks(len(missing), max(1, _ENTRIES // self._words)))
        # Copies, because a column of a part would hold the whole part until all are done.
        for part, figures in zip(parts, run(lambda part: self._compute(missing[part]).copy(), parts), strict=True):
            # `setdefault` is atomic: if two threads create the table, both write into the same one.
            table = self._found.setdefault(figures.shape[1], np.empty((self._words, figures.shape[1])))
            table[missing[part]] = figures
        self._known[missing] = True
        tables = list(self._found.values())
        return np.asarray(tables[0][ids]) if tables else np.empty((0, 0))


class RowSource(ABC):
    """Rows of weights, given as sums over blocks of words."""

    def __init__(self, words: int, places: int, dtype: type[np.floating]) -> None:
        self.words = words
        self.places = places
        self.dtype = dtype

    @property
    @abstractmethod
    def caveat(self) -> str:
        """How close the draws are to the stated law, in a sentence."""

    @abstractmethod
    def sums(self, ids: Ids) -> Rows:
        """Return the sums of the weights over each block, one row per word."""

    @abstractmethod
    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Draw an output for each word from the given block, by the weights in it."""

    def whole(self) -> Callable[[Rows], None] | None:
        """Return a function that fills a table with the sums of all words faster than one by one; None without one."""
        return None


class WholeRows(RowSource):
    """Rows whose blocks are single words, for any law.

    `error` bounds the error of a log weight.
    """

    def __init__(self, words: int, log_weights: Callable[[Ids], Rows], error: float = 0.0) -> None:
        super().__init__(words, words, np.float64)
        self._log_weights = log_weights
        self._error = error

    @property
    def caveat(self) -> str:
        """How close the draws are to the stated law, in a sentence."""
        # 4 times: a weight and a sum, for each of two words
        return drawn_closely(self.words, 4.0 * self._error)

    def sums(self, ids: Ids) -> Rows:
        """Return the weights, one row per word."""
        return weights_of(self._log_weights(ids))

    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the blocks, which are words already."""
        return of_block


class FallingRows(RowSource):
    """Rows that fall as ``e^(-rate·d)`` with Euclidean distance, computed in single precision.

    Beyond `reach` weights fall no further. `reaches`, if given, returns a shorter reach for each word.
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
        """How close the draws are to the stated law, in a sentence."""
        # docs/guarantees.md, "Numbers": for each of two words, two distances off by `precision`, and 2^-17 of rounding
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
        """Return the sums of the weights over each block, one row per word."""
        return self._falls.sums(ids, self._reach_of(ids))

    def finish(self, ids: Ids, of_block: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Draw an output for each word from the given block, by the weights in it."""
        aims = entropy.uniform(len(ids))
        reach = self._reach_of(ids)
        small = of_block.astype(np.uint16 if self.places <= 1 << 16 else np.uint32)
        turn = np.argsort(small, kind="stable")  # so that each block is read once; small integers use a radix sort
        found = np.empty(len(ids), dtype=np.int64)

        def finish(part: slice) -> None:
            some = turn[part]
            found[some] = self._falls.pick(ids[some], of_block[some], reach[some], aims[some])

        run(finish, blocks(len(ids), _TOKENS))
        return found

    def whole(self) -> Callable[[Rows], None] | None:
        """Return a function that fills a table with all sums, measuring each pair once; None if reaches differ."""
        if self._reaches is not None:
            return None

        def fill(table: Rows) -> None:
            parts = list(blocks(self.places, _PANEL))[::-1]  # the last take longest, so they start first
            run(lambda part: self._falls.table(part.start, part.stop, self._reach, table), parts)

        return fill


class Batch:
    """Ids grouped by word, the rarest word first."""

    def __init__(self, ids: Ids, limit: int) -> None:
        ids = np.asarray(ids, dtype=np.int64)
        counts = np.bincount(ids, minlength=limit)
        words = np.flatnonzero(counts)
        self.words = words[np.argsort(counts[words], kind="stable")]
        self.counts = counts[self.words]
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        turn = np.empty(limit, dtype=np.uint16 if len(words) <= 1 << 16 else np.uint32)
        turn[self.words] = np.arange(len(words))
        self._order = np.argsort(turn[ids], kind="stable")  # a radix sort for 16-bit integers
        self.ids = np.repeat(self.words, self.counts)

    def __len__(self) -> int:
        return len(self.ids)

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder values, one per id in their original order, to the order of the batch."""
        return values[self._order]

    def restore(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Reorder values, one per id in the order of the batch, to the original order."""
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored


def row_memory() -> int:
    """Return how many bytes of rows a process caches: ``$WORDVEIL_ROW_CACHE`` in MiB, or the default."""
    chosen = os.environ.get(_SWITCH) or str(_DEFAULT)
    if not (chosen.isascii() and chosen.isdigit()):
        raise OptionError(f"{_SWITCH} must be a whole number of MiB; 0 turns the cache off.")
    return int(chosen) << 20


class _Budget:
    """The memory that the caches of a process share.

    A cache takes memory as it grows. If none is left, idle caches give up everything, and if the growing cache has less
    than an equal share, the others give up what they have above that share. So old caches do not lock out new ones, and
    caches in use do not keep evicting one another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: weakref.WeakSet[RowCache] = weakref.WeakSet()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock and the set, which another thread may have held or been iterating over."""
        self._lock, self._caches = threading.Lock(), weakref.WeakSet(list(self._caches))

    def join(self, cache: RowCache) -> None:
        """Register a cache."""
        with self._lock:
            self._caches.add(cache)

    def lend(self, cache: RowCache, rows: int) -> None:
        """Give a cache memory for this many more rows, or as much as there is. The caller holds the cache's lock."""
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
    """An LRU cache of the rows of one mechanism; thread-safe."""

    def __init__(self, words: int, places: int, dtype: type[np.floating], memory: int | None = None) -> None:
        if memory is not None and memory < 0:
            raise OptionError("memory must be a number of bytes; 0 turns the cache off.")
        self._made_with = (words, places, dtype, memory)
        self._dtype = np.dtype(dtype)
        self._shares = memory is None
        self.size = places * self._dtype.itemsize  # bytes of a row
        self.total = row_memory() if memory is None else memory
        self._room = min(words, self.total // self.size)
        self.open = 0 if self._shares else self._room  # slots that have been given memory
        self.last = time.monotonic()
        self._lock = threading.Lock()
        self._slot = np.full(words, -1, dtype=np.int64)  # the slot of each word; -1 if it has none
        self._word = np.full(self._room, -1, dtype=np.int64)  # the word in each slot; -1 if it is empty
        self._used = np.zeros(self._room, dtype=np.int64)  # when each slot was last used
        self._now = 0
        self._rows = np.empty((self._room, places), dtype=dtype)  # the system commits memory only as it is written
        renew_after_fork(self)
        if self._shares:
            _BUDGET.join(self)

    @property
    def taken(self) -> int:
        """The bytes that this cache may fill."""
        return self.open * self.size

    def after_fork(self) -> None:
        """Drop everything: the fork may have copied a held lock and half-written rows."""
        self._lock = threading.Lock()
        self._slot[:], self._word[:], self._used[:] = -1, -1, 0
        if self._shares:
            self._shrink(0)

    def give_up(self, memory: int) -> int:
        """Shrink to at most this many bytes, unless in use right now; return how many bytes that frees."""
        if not self._lock.acquire(blocking=False):  # waiting could deadlock, since the caller holds another lock
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
        rows = np.empty_like(self._rows)  # returns the memory of the old array to the system
        rows[:slots] = self._rows[:slots]
        self.open, self._rows = slots, rows

    def _grow(self, slots: int) -> None:
        """Ask for memory for this many slots."""
        if slots > self.open and self._shares:
            _BUDGET.lend(self, min(slots, self._room) - self.open)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCache, self._made_with  # a copy in another process starts empty

    def __len__(self) -> int:
        return int((self._word >= 0).sum())

    @property
    def fits_all(self) -> bool:
        """Whether there is room for the rows of all words."""
        return self._room == len(self._slot)

    def count_missing(self, words: NDArray[np.int64]) -> int:
        """Return how many of these words are not cached."""
        with self._lock:
            return int((self._slot[words] < 0).sum())

    def look_up(self, words: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
        """Return an array with the cached rows of these words filled in, and the indices of the missing ones."""
        rows = np.empty((len(words), self._rows.shape[1]), dtype=self._dtype)
        with self._lock:
            slots = self._slot[words]
            here = np.flatnonzero(slots >= 0)
            rows[here] = self._rows[slots[here]]
            self._now, self.last = self._now + 1, time.monotonic()
            self._used[slots[here]] = self._now
        return rows, np.flatnonzero(slots < 0)

    def keep(self, words: NDArray[np.int64], rows: Rows) -> None:
        """Cache the rows of these words; if there is not enough room, the last of them."""
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
        """Write the rows of all words, if there is memory for them; other threads wait."""
        with self._lock:
            self._grow(self._room)
            if self.open < len(self._slot):
                return
            self._slot[:] = -1  # so that the cache is empty if writing fails
            self._word[:] = -1
            write(self._rows)
            self._word[:] = self._slot[:] = np.arange(len(self._slot))
            self._now += 1
            self._used[:] = self._now


class RowDraws:
    """Draws words from rows, and caches rows between batches."""

    def __init__(self, source: RowSource, memory: int | None = None) -> None:
        self.source = source
        self.cache = RowCache(source.words, source.places, source.dtype, memory)

    def draw(self, ids: Ids, entropy: Entropy) -> NDArray[np.int64]:
        """Draw an output for each of these words."""
        # Rare words come first, so the rows of frequent words are the most recently used and stay in the cache.
        batch = Batch(ids, self.source.words)
        words, starts = batch.words, batch.starts
        aims = entropy.uniform(len(batch))
        self._prepare(words)
        chosen = np.empty(len(batch), dtype=np.int64)

        def find(part: slice) -> None:
            own = slice(starts[part.start], starts[part.stop])
            begins = starts[part.start : part.stop + 1] - own.start
            chosen[own] = choose(self._rows(words[part]), begins, aims[own])

        share = -(-len(words) // (_STRIP * cores())) * _STRIP  # keeps all cores busy and vectors full
        run(find, blocks(len(words), max(1, min(_WORDS, share, _ENTRIES // self.source.places))))
        return batch.restore(self.source.finish(batch.ids, chosen, entropy))

    def _rows(self, words: NDArray[np.int64]) -> Rows:
        rows, missing = self.cache.look_up(words)
        if missing.size:
            rows[missing] = self.source.sums(words[missing])
            self.cache.keep(words[missing], rows[missing])
        return rows

    def _prepare(self, words: NDArray[np.int64]) -> None:
        # The whole table measures each pair once, so it costs as much as the rows of half the words.
        fill = self.source.whole()
        if fill and self.cache.fits_all and 2 * self.cache.count_missing(words) > self.source.words:
            self.cache.fill(fill)


def rate_of(epsilon: float) -> float:
    """Return the rate at which the weights of the exponential mechanism fall: ε/2."""
    return 0.5 * epsilon


def weights_of(logs: Rows) -> NDArray[np.float64]:
    """Return the exponentials of log weights, each row scaled to a maximum of 1, and none of them 0."""
    weights = np.subtract(logs, logs.max(axis=1, keepdims=True), dtype=np.float64)
    np.maximum(weights, LOG_FLOOR, out=weights)
    return np.exp(weights, out=weights)


def drawn_closely(words: int, slack: float = 0.0) -> str:
    """Return the caveat of draws from rows of `words` weights.

    `slack` is by how much the weights themselves may exceed the guarantee, in the exponent.
    """
    near = math.ceil(math.log2(words) - 52)
    if not slack:
        return f"Drawn in double precision: within 2^{near} of the stated law in total variation."
    return (
        f"Drawn within 2^{near} in total variation of a law that keeps the promise but for {round_up(slack, 2):g} in "
        "the exponent."
    )
