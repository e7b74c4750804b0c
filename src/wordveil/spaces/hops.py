"""Breadth-first search from hundreds of words at once.

Whether a word has been reached is one bit per source, so one pass over the edges, with bitwise operations on whole
arrays, advances all searches by one hop. Words are sorted by falling degree: then the words that have a j-th neighbour
are a block at the start, and a pass takes as many array operations as the largest degree.

Draws do not need a full search: `HopSearch.draw` lists the words near a word, and tests random guesses of far words.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels import compiled, plain
from wordveil.noise import key_blocks, uniform_from
from wordveil.parallel import blocks, run

__all__ = ["SOURCES", "HopSearch", "checked_rows"]

Bits = NDArray[np.uint64]
Ints = NDArray[np.int64]

#: The number of sources to search from at once: with 256 bits per word, arrays stay in the processor's cache.
SOURCES = 256

_ALONE = 512  # sources per thread and block in compiled code
_SMALLEST_BALL, _BALL_SHARE, _LARGER, _PATIENCE, _RARE, _EARNS = 128, 8192, 4, 16, 4, 48  # as in around.h
_QUARTERS = 4  # a block of random bits has a quarter per attempt, as in random_bits.h
_FINER = 1 << 63  # added to the number of an attempt, it is the counter of the block that refines a number near 0
_COARSE = np.uint64(1) << np.uint64(53)  # numbers below this are refined
_MOST = 2**31 - 2  # words or edges: compiled code counts them, plus one, in 32 bits


def checked_rows(indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a graph in compressed sparse rows as read-only int32; raise a ValueError if an index is out of bounds.

    Compiled code trusts the arrays from then on, so they are copies, unless this function made them.
    """
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    if not all(numbers.ndim == 1 and numbers.dtype.kind in "iu" for numbers in (indptr, indices)):
        raise ValueError("a graph must be two rows of integers")
    if not 0 < len(indptr) <= _MOST + 1 or len(indices) > _MOST:
        raise ValueError("a graph must have the beginning of each row, and fit into 32 bits")
    # In a small unsigned type, differences would wrap around.
    starts = indptr.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(indices) or (starts[1:] < starts[:-1]).any():
        raise ValueError("the rows of the graph must follow one another")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < len(starts) - 1:
        raise ValueError("an edge of the graph leads to no word")
    return _kept(indptr), _kept(indices)


def _kept(numbers: NDArray[Any]) -> NDArray[np.int32]:
    flags = numbers.flags
    if numbers.dtype == np.int32 and flags.owndata and flags.c_contiguous and flags.aligned and not flags.writeable:
        return numbers
    kept = numbers.astype(np.int32, order="C")
    kept.setflags(write=False)
    return kept


class HopSearch:
    """Searches on an undirected graph in compressed sparse rows, with every edge in both directions and no loops."""

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        indptr, indices = checked_rows(indptr, indices)
        degrees = np.diff(indptr)
        self.native_form = (indptr, indices, len(degrees), len(indices))
        self.order = np.argsort(-degrees, kind="stable")
        self.place = np.empty(len(degrees), dtype=np.int64)
        self.place[self.order] = np.arange(len(degrees))

    @cached_property
    def _diagonals(self) -> list[Ints]:
        """Diagonal j holds the j-th neighbour of every word that has more than j."""
        indptr, indices = self.native_form[:2]
        starts = np.asarray(indptr[:-1], dtype=np.int64)[self.order]
        falling = np.diff(indptr)[self.order]
        neighbours = self.place[indices]
        return [neighbours[starts[: np.searchsorted(-falling, -j)] + j] for j in range(int(falling.max(initial=0)))]

    def __len__(self) -> int:
        return len(self.order)

    def shells(self, sources: NDArray[Any]) -> Iterator[Bits]:
        """Yield, for 0, 1, 2, … hops, which words are exactly that far from which sources.

        Bit ``j % 64`` of entry ``[place[u], j // 64]`` is set if word ``u`` has that distance from source ``j``. Each
        array is overwritten by the next.
        """
        width = -(-len(sources) // 64)
        column = np.arange(len(sources))
        shell = np.zeros((len(self), width), dtype=np.uint64)
        bits = np.left_shift(np.uint64(1), (column % 64).astype(np.uint64))
        np.bitwise_or.at(shell, (self.place[sources], column // 64), bits)
        unseen = ~shell
        reached, one = np.zeros_like(shell), np.empty_like(shell)
        while shell.any():
            yield shell
            for j, neighbours in enumerate(self._diagonals):
                head = len(neighbours)
                if j == 0:
                    np.take(shell, neighbours, axis=0, out=reached[:head], mode="clip")
                else:
                    np.take(shell, neighbours, axis=0, out=one[:head], mode="clip")
                    np.bitwise_or(reached[:head], one[:head], out=reached[:head])
            np.bitwise_and(reached, unseen, out=shell)
            np.bitwise_and(unseen, ~shell, out=unseen)

    def distances(self, sources: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
        """Return the hops from each source to every word, one row per source; -1 if there is no path."""
        native = compiled()
        if native is None or not len(sources):
            return self._distances_by_shells(sources)
        words, found = plain(sources, np.int64), np.empty((len(sources), len(self)), dtype=np.int16)

        def search(part: slice) -> None:
            native.all_hops(self.native_form, words[part], part.stop - part.start, found[part])

        try:
            run(search, blocks(len(words), SOURCES))
        except OverflowError:  # a path with more hops than 16 bits can count
            return self._distances_by_shells(sources)
        return found

    def _distances_by_shells(self, sources: NDArray[Any]) -> NDArray[np.int32]:
        rows = np.full((len(sources), len(self)), -1, dtype=np.int32)

        def search(part: slice) -> None:
            chosen = sources[part]
            for hop, shell in enumerate(self.shells(chosen)):
                place, column = members(shell)
                rows[part.start + column, self.order[place]] = hop

        run(search, blocks(len(sources), SOURCES))
        return rows

    def distances_to(self, sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.int32]:
        """Return the hops from each source to the words in its row of `targets`; -1 if there is no path.

        A search stops when the last target is found, so for near words it is much faster than `distances`.
        """
        rows = np.full(targets.shape, -1, dtype=np.int32)

        def search(part: slice) -> None:
            column = np.arange(part.stop - part.start)[:, None]
            bit = np.left_shift(np.uint64(1), (column % 64).astype(np.uint64))
            place, found = self.place[targets[part]], rows[part]
            for hop, shell in enumerate(self.shells(sources[part])):
                found[shell[place, column // 64] & bit != 0] = hop
                if (found >= 0).all():
                    break

        run(search, blocks(len(sources), SOURCES))
        return rows

    def draw(
        self,
        sources: Ints,
        starts: Ints,
        weights: NDArray[np.float64],
        keys: NDArray[np.uint32],
        is_blocked: NDArray[np.bool_] | None = None,
    ) -> Ints:
        """Draw words for each source, with probabilities proportional to the weight of their hops.

        The words up to ``R`` hops from the source are listed. An attempt draws one of three things by their weights:

        - a listed word;
        - an edge that starts at ``R`` hops, with the weight of ``R + 1`` hops. The word at its end is accepted if it is
          farther than ``R``, with probability one over its number of neighbours at ``R`` hops: as many of these edges
          lead to it;
        - a guess, any of all words, each with the weight ``v`` of ``R + 2`` hops. It is accepted if it is farther than
          ``R + 1``, with probability ``weights[hops] / v``.

        So for any ``R``, an attempt ends in each word with a probability proportional to its weight. If it ends in
        none, it is repeated, and the accepted word has the law of the weights. ``R`` may grow with the attempts. To
        decide on a guess, the search goes no deeper than the hops at which the guess would be accepted.

        Parameters
        ----------
        sources, starts : array of int64
            The draws of source ``s`` are those from ``starts[s]`` to ``starts[s + 1]``.
        weights : array of float64
            The weights of words at 0, 1, 2, … hops, non-increasing and positive, up to beyond the largest number of
            hops.
        keys : array of uint32
            One key of eight numbers, from which all draws are derived by their index; or a key per draw, one per row.
        is_blocked : array of bool, optional
            Which words are never drawn.
        """
        sources, starts = plain(sources, np.int64), plain(starts, np.int64)
        weights, keys = plain(weights, np.float64), plain(keys, np.uint32)
        count, one_key = int(starts[-1]), keys.ndim == 1
        if len(starts) != len(sources) + 1 or starts[0] != 0 or not (one_key or len(keys) == count):
            raise ValueError("the draws of each source must begin where those of the one before end")
        found, native = np.empty(count, dtype=np.int64), compiled()
        blocked = None if is_blocked is None else plain(is_blocked, np.bool_)

        def search(part: slice) -> None:
            own = slice(int(starts[part.start]), int(starts[part.stop]))
            some, begins = sources[part], starts[part.start : part.stop + 1] - own.start
            its_keys = keys if one_key else keys[own]
            if native:
                how = its_keys, one_key, own.start, own.stop - own.start, found[own]
                law = blocked, weights, len(weights)
                native.draw_hops(self.native_form, *law, some, len(some), begins, *how)
                return
            rows = self._distances_by_shells(some)
            counts = np.diff(begins) if one_key else np.ones(len(some), dtype=np.int64)
            around = [
                _Around(self, int(one), row, weights, blocked, int(draws))
                for one, row, draws in zip(some, rows, counts, strict=True)
            ]
            found[own] = _draw_together(around, begins, its_keys, own.start)

        run(search, blocks(len(sources), _ALONE if native else SOURCES))
        return found

    def sizes(self, sources: NDArray[Any]) -> list[Ints]:
        """Return the number of words at 0, 1, 2, … hops from each source."""

        def count(part: slice) -> Ints:
            chosen = sources[part]
            return np.array([_column_sums(shell)[: len(chosen)] for shell in self.shells(chosen)]).T

        return [row for block in run(count, blocks(len(sources), SOURCES)) for row in block]


def members(shell: Bits) -> tuple[Ints, Ints]:
    """Return the places and columns of the set bits of a shell."""
    flat = shell.ravel()
    held = np.flatnonzero(flat != 0)  # one-dimensional searches are many times faster
    octets = flat[held].astype("<u8").view(np.uint8)
    one = np.flatnonzero(np.unpackbits(octets, bitorder="little").view(np.bool_))
    place, word = np.divmod(held[one // 64], shell.shape[1])
    return place, word * 64 + one % 64


class _Around:
    """The draws of one source without compiled code: the algorithm of around.h, on its hops to every word."""

    def __init__(
        self,
        search: HopSearch,
        source: int,
        row: NDArray[np.int32],
        weights: NDArray[np.float64],
        blocked: NDArray[np.bool_] | None,
        draws: int,
    ) -> None:
        self._search, self._row, self._weights, self._draws = search, row, weights, draws
        self._blocked = np.zeros(len(row), dtype=np.bool_) if blocked is None else blocked
        self._levels = [np.array([source])]
        self.ball = max(_SMALLEST_BALL, len(row) // _BALL_SHARE)
        self.reaching(self.ball)

    def __len__(self) -> int:
        return len(self._row)

    def _level(self, hop: int) -> Ints:
        """Return the words at this number of hops, in the order of the search."""
        indptr, indices = self._search.native_form[:2]
        while len(self._levels) <= hop:
            before = [indices[indptr[word] : indptr[word + 1]] for word in self._levels[-1].tolist()]
            beyond = np.concatenate(before)
            beyond = beyond[self._row[beyond] == len(self._levels)]
            self._levels.append(beyond[np.sort(np.unique(beyond, return_index=True)[1])].astype(np.int64))
        return self._levels[hop]

    def reaching(self, ball: int) -> None:
        """Choose how far to list words, and accumulate the weights: `reach_to` of around.h."""
        words, listed, near, reach, weights = len(self._row), 0, 0.0, -1, self._weights.tolist()
        levels, degrees = list[Ints](), np.diff(self._search.native_form[0])
        while True:
            reach += 1
            level = self._level(reach)
            listed += len(level)
            levels.append(level[~self._blocked[level]])
            near += len(levels[-1]) * weights[reach]
            out, guessed, steps = 0.0, 0.0, False
            if listed >= words or reach + 1 >= len(weights):
                break
            edges, following = float(degrees[level].sum()), words * weights[reach + 1]
            beyond = words * weights[reach + 2] if reach + 2 < len(weights) else 0.0
            steps = edges * weights[reach + 1] + beyond < following
            out, guessed = (edges * weights[reach + 1], beyond) if steps else (0.0, following)
            if listed < ball and not (ball == self.ball and guessed * _RARE <= near + out):
                continue
            if not self._draws * _EARNS * (out + guessed) > edges * (near + out + guessed):
                break
        self._reach, self._steps, self._listed = reach, int(steps), levels[::-1]
        listed_weights = (len(some) * weights[reach - place] for place, some in enumerate(self._listed))
        self._sums = np.cumsum([guessed, out, *listed_weights])
        if not self._sums[-1] > 0.0:
            raise ValueError("every word of the graph is blocked")

    def attempt(self, uniforms: NDArray[np.float64], bits: NDArray[np.uint64]) -> Ints:
        """Make one attempt per uniform number and 64 random bits; return the accepted words, or -1."""
        found, weights = np.full(len(bits), -1, dtype=np.int64), self._weights
        aims = uniforms * self._sums[-1]
        places = np.searchsorted(self._sums, aims, side="right")
        for place, level in enumerate(self._listed, start=2):
            here = np.flatnonzero(places == place)
            if here.size:
                found[here] = level[_one_of(bits[here], len(level))]
        here = np.flatnonzero(places == 1)
        if here.size:
            found[here] = self._step_out(bits[here])
        far = np.flatnonzero(places == 0)
        guesses = _one_of(bits[far], len(self._row))
        hops = self._row[guesses]
        taken = (
            (hops > self._reach + self._steps) & (len(self._row) * weights[hops] > aims[far]) & ~self._blocked[guesses]
        )
        found[far[taken]] = guesses[taken]
        return found

    def _step_out(self, bits: NDArray[np.uint64]) -> Ints:
        indptr, indices = self._search.native_form[:2]
        ends = np.concatenate([indices[indptr[word] : indptr[word + 1]] for word in self._level(self._reach)])
        words = ends[_one_of(bits, len(ends))].astype(np.int64)
        within = np.array(
            [(self._row[indices[indptr[word] : indptr[word + 1]]] == self._reach).sum() for word in words]
        )
        left = bits * np.uint64(len(ends))
        taken = (self._row[words] > self._reach) & ~self._blocked[words] & (_one_of(left, within) == 0)
        return np.where(taken, words, -1)


def _draw_together(around: list[_Around], starts: Ints, keys: NDArray[np.uint32], first_number: int) -> Ints:
    found, ball = np.full(starts[-1], -1, dtype=np.int64), around[0].ball
    left, number, patience = np.arange(starts[-1]), 0, _PATIENCE
    while left.size:
        whose = np.searchsorted(starts, left, side="right") - 1
        if number > patience and (ball == around[0].ball or ball < len(around[0])):
            ball, patience = ball * _LARGER, patience * _LARGER
            for one in np.unique(whose).tolist():
                around[one].reaching(ball)
        uniforms, bits = _random_numbers(keys, left, first_number, number)
        for one in np.unique(whose).tolist():
            found[left[whose == one]] = around[one].attempt(uniforms[whose == one], bits[whose == one])
        left, number = left[found[left] < 0], number + 1
    return found


def _random_numbers(
    keys: NDArray[np.uint32], draws: Ints, first_number: int, number: int
) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
    """Return a uniform number and 64 random bits for attempt `number` of each draw, as in random_bits.h."""
    one_key, rows = keys.ndim == 1, np.arange(len(draws))
    names = (draws + first_number).astype(np.uint64) if one_key else np.zeros(len(draws), dtype=np.uint64)
    own = keys if one_key else keys[draws]
    if number:  # after the first attempt, a block serves four attempts of a draw
        counter, quarter = divmod(number - 1, _QUARTERS)
        quarters = np.full(len(draws), quarter)
        blocks = key_blocks(own, counter + 1, names)
    else:  # in the first attempt, a block serves four draws that share a key
        quarters = (names % np.uint64(_QUARTERS)).astype(np.int64)
        blocks = key_blocks(own, 0, names // np.uint64(_QUARTERS))
    high = blocks[rows, 2 * quarters]

    def low(_: int) -> NDArray[np.uint64]:
        finer = high < _COARSE
        return np.maximum(key_blocks(own if one_key else own[finer], _FINER + number, names[finer])[:, 0], np.uint64(1))

    return uniform_from(high, low), blocks[rows, 2 * quarters + 1]


def _one_of(bits: NDArray[np.uint64], count: int | NDArray[np.int64]) -> Ints:
    """Turn 64 random bits into a number below `count` < 2^31, with probabilities exact up to 2^-64."""
    high, low, several = bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF), np.asarray(count).astype(np.uint64)
    return ((high * several + ((low * several) >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


def _column_sums(bits: Bits) -> Ints:
    # Bit-sliced counters: rows are added in pairs by a ripple-carry adder on bit planes, which takes about seven
    # bitwise operations per row instead of unpacking 64 bits per word.
    planes = [bits]
    while len(planes[0]) > 64:
        half = len(planes[0]) // 2
        odd = [plane[2 * half :] for plane in planes]
        carry = np.zeros_like(planes[0][:half])
        total: list[Bits] = []
        for plane in planes:
            left, right = plane[:half], plane[half : 2 * half]
            both = left ^ right
            total.append(both ^ carry)
            carry = (left & right) | (both & carry)
        total.append(carry)
        if len(odd[0]):
            odd.append(np.zeros_like(odd[0]))
            total = [np.concatenate([plane, rest]) for plane, rest in zip(total, odd, strict=True)]
        planes = total
    sums = np.zeros(bits.shape[1] * 64, dtype=np.int64)
    for power, plane in enumerate(planes):
        octets = np.ascontiguousarray(plane).astype("<u8").view(np.uint8)
        ones = np.unpackbits(octets, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        sums += ones << power
    return sums
