"""Breadth-first search from hundreds of words at once.

Whether a word has been reached is one bit per source, so one pass over the edges, with plain bitwise operations on
whole arrays, moves every search one hop further. Words are kept in order of falling degree: then "the j-th neighbour of
every word that has one" is a block at the beginning, and a pass takes as many array operations as the largest degree.

Most draws stay near, where a compiled search from each word by itself is cheaper still.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels import compiled, plain
from wordveil.parallel import blocks, run

__all__ = ["SOURCES", "HopSearch", "checked_rows"]

Bits = NDArray[np.uint64]
Ints = NDArray[np.int64]

#: How many sources to search from at once: 256 bits per word keep the arrays in the processor's cache.
SOURCES = 256

_ALONE = 512  # sources that a thread searches from one after the other
_MOST = 2**31 - 2  # words, and edges: compiled code counts them, and one more, in 32 bits


def checked_rows(indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a graph in compressed sparse rows as read-only int32; refuse what would lead out of the arrays.

    Compiled code trusts the arrays from then on, so they are copies, unless they came from here already.
    """
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    if not all(numbers.ndim == 1 and numbers.dtype.kind in "iu" for numbers in (indptr, indices)):
        raise ValueError("a graph must be two rows of integers")
    if not 0 < len(indptr) <= _MOST + 1 or len(indices) > _MOST:
        raise ValueError("a graph must have the beginning of each row, and fit into 32 bits")
    # In the file's own type differences would wrap, and 60000 above 4000 be a small step.
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
        self._native_form = (indptr, indices, len(degrees), len(indices))
        self.order = np.argsort(-degrees, kind="stable")
        self.place = np.empty(len(degrees), dtype=np.int64)
        self.place[self.order] = np.arange(len(degrees))
        starts = np.asarray(indptr[:-1], dtype=np.int64)[self.order]
        falling = degrees[self.order]
        neighbours = self.place[indices]
        # diagonal j holds the j-th neighbour of every word that has more than j
        self._diagonals = [
            neighbours[starts[: np.searchsorted(-falling, -j)] + j] for j in range(int(falling.max(initial=0)))
        ]

    def __len__(self) -> int:
        return len(self.order)

    def shells(self, sources: NDArray[Any]) -> Iterator[Bits]:
        """Yield for 0, 1, 2, … hops which words are exactly that far from which sources.

        Bit ``j % 64`` of entry ``[place[u], j // 64]`` says whether word ``u`` has that distance from source ``j``.
        Each array is overwritten by the next.
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
        """Return the hops from each source to every word, one row each; -1 where there is no path."""
        native = compiled()
        if native is None or not len(sources):
            return self._distances_by_shells(sources)
        words, found = plain(sources, np.int64), np.empty((len(sources), len(self)), dtype=np.int16)

        def search(part: slice) -> None:
            native.all_hops(self._native_form, words[part], part.stop - part.start, found[part])

        try:
            run(search, blocks(len(words), SOURCES))
        except OverflowError:  # a chain of more words than 16 bits can count
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
        """Return the hops from each source to the words in its row of `targets`; -1 where there is no path.

        A search ends when the last target is found and lists no other word: to near words it takes a fraction of the
        time of `distances`.
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

    def at_hops(self, sources: Ints, starts: Ints, hops: Ints, ranks: Ints) -> Ints:
        """Return for each draw the word of the given rank among those at the given number of hops from its source.

        The draws of source ``s`` are those from ``starts[s]`` to ``starts[s + 1]``; ranks count from 0. Which word has
        which rank is the same every time, but not the same with and without compiled code.
        """
        sources, starts, hops, ranks = (plain(numbers, np.int64) for numbers in (sources, starts, hops, ranks))
        if len(starts) != len(sources) + 1 or starts[0] != 0 or not starts[-1] == len(hops) == len(ranks):
            raise ValueError("the draws of each source must begin where those of the one before end")
        found = np.empty(len(hops), dtype=np.int64)
        native = compiled()
        if not native:
            self._at_hops_together(sources, starts, hops, ranks, found)
            return found

        def search(part: slice) -> None:
            own = slice(starts[part.start], starts[part.stop])
            some, begins = sources[part], starts[part.start : part.stop + 1] - own.start
            there = hops[own], ranks[own], own.stop - own.start, found[own]
            native.at_hops(self._native_form, some, len(some), begins, *there)

        run(search, blocks(len(sources), _ALONE))
        return found

    def _at_hops_together(self, sources: Ints, starts: Ints, hops: Ints, ranks: Ints, found: Ints) -> None:
        source = np.repeat(np.arange(len(sources)), np.diff(starts))
        deepest = np.zeros(len(sources), dtype=np.int64)
        np.maximum.at(deepest, source, hops)
        # Words whose draws stop at the same depth are searched together, so that shallow searches stay shallow.
        turn = np.argsort(deepest, kind="stable")
        column = np.empty(len(sources), dtype=np.int64)
        column[turn] = np.arange(len(sources))
        column = column[source]
        in_turn = np.argsort(column, kind="stable")
        ends = np.searchsorted(column[in_turn], np.arange(0, len(sources) + SOURCES, SOURCES))

        def search(job: tuple[int, slice]) -> None:
            number, part = job
            wanted = in_turn[ends[number] : ends[number + 1]]
            last = hops[wanted].max(initial=-1)
            reached = -1
            for hop, shell in enumerate(self.shells(sources[turn[part]])):
                if hop > last:
                    break
                reached = hop
                here = wanted[hops[wanted] == hop]
                if here.size:
                    found[here] = self.order[_ranked(shell, column[here] - part.start, ranks[here])]
            if reached < last or hops[wanted].min(initial=0) < 0:
                raise IndexError("there are not so many words at so many hops")

        run(search, enumerate(blocks(len(sources), SOURCES)))

    def first_at(self, sources: Ints, hops: Ints, guesses: Ints) -> Ints:
        """Return for each draw the first in its row of guesses that is so many hops from its source; -1 if none is.

        Far away there are many words, so a random one is soon right, and two short searches, one from either end, are
        enough to see it. Needs compiled code; fastest where the draws of one source follow one another.
        """
        native = compiled()
        if not native:
            raise RuntimeError("there is no compiled code here")
        sources, hops, guesses = (plain(one, np.int64) for one in (sources, hops, guesses))
        if not len(sources) == len(hops) == len(guesses):
            raise ValueError("there must be a source, a number of hops and guesses for each draw")
        found = np.empty(len(sources), dtype=np.int64)

        def search(part: slice) -> None:
            own = sources[part], hops[part], part.stop - part.start, guesses[part], guesses.shape[1], found[part]
            native.first_at(self._native_form, *own)

        run(search, blocks(len(sources), _ALONE))
        return found

    def sizes(self, sources: NDArray[Any]) -> list[Ints]:
        """Return for each source how many words there are at 0, 1, 2, … hops."""

        def count(part: slice) -> Ints:
            chosen = sources[part]
            return np.array([_column_sums(shell)[: len(chosen)] for shell in self.shells(chosen)]).T

        return [row for block in run(count, blocks(len(sources), SOURCES)) for row in block]


def members(shell: Bits) -> tuple[Ints, Ints]:
    """List the set bits of a shell by place and column."""
    flat = shell.ravel()
    held = np.flatnonzero(flat != 0)  # one-dimensional searches for ones are many times faster than others
    octets = flat[held].astype("<u8").view(np.uint8)
    one = np.flatnonzero(np.unpackbits(octets, bitorder="little").view(np.bool_))
    place, word = np.divmod(held[one // 64], shell.shape[1])
    return place, word * 64 + one % 64


def _ranked(shell: Bits, column: Ints, ranks: Ints) -> Ints:
    """Return the places of given ranks among the members of these columns."""
    mask = np.zeros(shell.shape[1] * 64, dtype=np.uint8)
    mask[column] = 1
    wanted = np.packbits(mask, bitorder="little").view("<u8").astype(np.uint64)
    place, of = members(shell & wanted)
    order = np.argsort(of.astype(np.uint16), kind="stable")  # small integers are sorted by radix
    starts = np.searchsorted(of[order], np.arange(shell.shape[1] * 64 + 1))
    if ranks.min() < 0 or (ranks >= starts[column + 1] - starts[column]).any():
        raise IndexError("there are not so many words at so many hops")
    return np.asarray(place[order[starts[column] + ranks]])


def _column_sums(bits: Bits) -> Ints:
    # Counters of many bits held as planes, added in pairs of rows by a ripple-carry adder: about
    # seven bitwise operations a row instead of unpacking 64 bits a word.
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
