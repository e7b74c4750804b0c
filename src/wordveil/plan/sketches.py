"""Counts and samples of inputs of any length, in bounded memory."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hasher", "Recurring", "Reservoir"]

Item = TypeVar("Item")
Hashes = NDArray[np.uint64]

_ALL = 1 << 64
_REMEMBERED = 1 << 17  # words whose hashes are cached
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Hasher:
    """A keyed 64-bit hash of values, so that no count holds a word; `seed` is the key."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "little", signed=True)
        self._known: dict[str, int] = {}

    def __call__(self, value: str) -> int:
        """Return the hash of a value."""
        content = value.encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=self._key).digest(), "little")

    def words(self, words: list[str]) -> Hashes:
        """Return the hashes of words, with a cache."""
        known, found = self._known, []
        for word in words:
            number = known.get(word)
            if number is None:
                number = self(word)
                if len(known) < _REMEMBERED:
                    known[word] = number
            found.append(number)
        return np.array(found, dtype=np.uint64)

    @staticmethod
    def runs(words: Hashes, length: int) -> Hashes:
        """Return a hash for every run of `length` words, from the hashes of the words."""
        count = len(words) - length + 1
        if count <= 0:
            return np.empty(0, dtype=np.uint64)
        with np.errstate(over="ignore"):
            mixed = np.zeros(count, dtype=np.uint64)
            for place in range(length):
                mixed = (mixed + words[place : place + count]) * _STEP + np.uint64(place)
                mixed ^= mixed >> np.uint64(29)
            for factor in _MIX:
                mixed = (mixed ^ (mixed >> np.uint64(30))) * factor
            return np.asarray(mixed ^ (mixed >> np.uint64(31)))


class Recurring:
    """Counts how often values occur; if there are more than `room` distinct values, those of a fair sample.

    A value is in the sample if its hash is below a limit, which is halved whenever there are too many values. So all
    occurrences of a sampled value are counted, and shares over values or occurrences are unbiased.

    Examples
    --------
    >>> counts = Recurring(room=100)
    >>> for value in (5, 6, 5):
    ...     counts.add(value)
    >>> counts.distinct, counts.values(most=1), counts.is_exact
    (2, 1, True)
    """

    def __init__(self, room: int = 1 << 17) -> None:
        self._room, self._limit = room, _ALL
        self._counts: dict[int, int] = {}

    def add(self, value: int, times: int = 1) -> None:
        """Count a value by its hash."""
        if value >= self._limit:
            return
        self._counts[value] = self._counts.get(value, 0) + times
        while len(self._counts) > self._room:
            self._limit //= 2
            self._counts = {one: count for one, count in self._counts.items() if one < self._limit}

    @property
    def is_exact(self) -> bool:
        """Whether all values were counted."""
        return self._limit == _ALL

    @property
    def distinct(self) -> int:
        """The number of distinct values, estimated unless `is_exact`."""
        return round(len(self._counts) * (_ALL / self._limit))

    def values(self, *, most: int) -> int:
        """Return the number of values that occur at most this often, estimated unless `is_exact`."""
        return round(sum(count <= most for count in self._counts.values()) * (_ALL / self._limit))

    def share_of_occurrences(self, *, least: int) -> float:
        """Return the share of all occurrences that belong to values occurring at least this often."""
        return sum(count for count in self._counts.values() if count >= least) / max(1, sum(self._counts.values()))


class Reservoir(Generic[Item]):
    """Keeps a uniform sample of `room` items of a stream."""

    def __init__(self, room: int, seed: int) -> None:
        self._room, self._random = room, random.Random(seed)  # noqa: S311 - a sample, no secret
        self._items: list[Item] = []
        self.seen = 0

    def place(self) -> int | None:
        """Count an item and return its place in the sample; None if it is not kept, and need not be made."""
        self.seen += 1
        if self.seen <= self._room:
            return self.seen - 1
        place = self._random.randrange(self.seen)
        return place if place < self._room else None

    def put(self, place: int, item: Item) -> None:
        """Store an item at a place returned by `place`."""
        if place == len(self._items):
            self._items.append(item)
        else:
            self._items[place] = item

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
