"""The second stage: strengthens a guarantee without more noise.

How to put any number of records into a uniformly random order in bounded memory: put each into one of many piles,
chosen independently and uniformly; put each pile into a uniformly random order; and let the piles follow each other.
Every order is equally likely: given the sizes of the piles, which records are in which pile is uniform, and so is the
order within each. A pile that is too large is treated the same way.
"""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wordveil.errors import OptionError
from wordveil.lac.account import Account
from wordveil.lac.bounds import check_rate, check_threshold, sample_size
from wordveil.lac.records import Record
from wordveil.noise import Entropy

_PILES = 64


class Amplifier(ABC):
    """A step between the localizer and the curator. A pipeline may have several."""

    name: ClassVar[str]

    def __init__(self, seed: int | None = None) -> None:
        self.entropy = Entropy(seed)

    @abstractmethod
    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass records through."""

    def amplify(self, account: Account) -> Account:
        """Return the account after this step."""
        return self._amplify(account) if self.entropy.secure else account.repeatable()

    @abstractmethod
    def _amplify(self, account: Account) -> Account:
        """Return the account after this step, for randomness that nobody can repeat."""


class Shuffle(Amplifier):
    """Removes names and puts the records in a uniformly random order, from a cryptographic stream.

    Labels and whatever the localizer left alone stay, so a record hides only among those that share them. However many
    records there are, only a bounded number is in memory.

    Parameters
    ----------
    in_memory : int
        How many records to hold in memory at once.

    Examples
    --------
    >>> sorted(record.text for record in Shuffle()([Record("sea", "ann"), Record("ship", "bob")]))
    ['sea', 'ship']
    """

    name = "shuffle"

    def __init__(self, *, in_memory: int = 1 << 18, seed: int | None = None) -> None:
        super().__init__(seed)
        if in_memory < 2:  # with one record per pile, the recursion would never end
            raise OptionError("in_memory must be 2 or more.")
        self.in_memory = in_memory

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Shuffle the records. None comes out before the last has gone in."""
        bare = ([record.text, record.label] for record in records)
        for text, label in shuffled(bare, entropy=self.entropy, in_memory=self.in_memory):
            yield Record(text, label=label)

    def _amplify(self, account: Account) -> Account:
        return account.shuffled()


class Subsample(Amplifier):
    """Takes a random share of the records, without names and in random order.

    The sample has a fixed size, as the bound for changed records requires. The order must go, because the place of a
    record would show whether another one was sampled. A sample strengthens the guarantee only if all records have one
    shape.

    Parameters
    ----------
    rate : float
        The share to take.
    """

    name = "subsample"

    def __init__(self, rate: float, *, seed: int | None = None) -> None:
        super().__init__(seed)
        self.rate = check_rate(rate)

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Return the sample: the beginning of a random order."""
        count = 0

        def counted() -> Iterator[list[str | None]]:
            nonlocal count
            for record in records:
                count += 1
                yield [record.text, record.label]

        for place, (text, label) in enumerate(shuffled(counted(), entropy=self.entropy)):
            if place >= sample_size(self.rate, count):
                break
            yield Record(text, label=label)

    def _amplify(self, account: Account) -> Account:
        return account.with_sample(self.rate)


class KThreshold(Amplifier):
    """Takes each record with probability β, then keeps those whose text occurs at least k times in the sample.

    Parameters
    ----------
    k : int
        How often a text must occur.
    rate : float
        β, the probability of taking a record.
    """

    name = "k-threshold"

    def __init__(self, k: int, rate: float, *, seed: int | None = None) -> None:
        super().__init__(seed)
        check_threshold(k, rate)
        self.k, self.rate = k, rate

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Return each frequent text as often as it was sampled, sorted, so that the order reveals nothing."""
        counts: Counter[tuple[str, str]] = Counter()
        stream = iter(records)
        while chunk := list(islice(stream, 1 << 16)):
            counts.update(self._sample(chunk))
        for (text, label), count in sorted(counts.items()):
            if count >= self.k:
                yield from [Record(text, label=label or None)] * count

    def _sample(self, chunk: list[Record]) -> list[tuple[str, str]]:
        taken = np.flatnonzero(self.entropy.uniform(len(chunk)) < self.rate).tolist()
        return [(chunk[place].text, chunk[place].label or "") for place in taken]

    def _amplify(self, account: Account) -> Account:
        return account.with_threshold(self.k, self.rate)


def shuffled(items: Iterable[Any], *, entropy: Entropy | None = None, in_memory: int = 1 << 18) -> Iterator[Any]:
    """Yield the items in a uniformly random order.

    Parameters
    ----------
    items : iterable
        Anything that JSON can hold: strings, or lists of them.
    in_memory : int
        How many items to hold in memory at once. The rest goes to a temporary folder that only this user can read.
    """
    entropy = entropy or Entropy()
    stream = iter(items)
    first = list(islice(stream, in_memory))
    if len(first) < in_memory:
        yield from (first[place] for place in entropy.generator.permutation(len(first)).tolist())
        return
    with tempfile.TemporaryDirectory(prefix="wordveil-") as folder:
        piles = [Path(folder) / str(number) for number in range(_PILES)]
        chunk = first
        while chunk:
            _scatter(chunk, piles, entropy)
            chunk = list(islice(stream, in_memory))
        del first, chunk
        for pile in piles:
            if pile.exists():
                yield from shuffled(_read(pile), entropy=entropy, in_memory=in_memory)
                pile.unlink()


def _scatter(chunk: list[Any], piles: list[Path], entropy: Entropy) -> None:
    which = entropy.generator.integers(0, len(piles), len(chunk))
    order = np.argsort(which, kind="stable").tolist()
    ends = np.cumsum(np.bincount(which, minlength=len(piles))).tolist()
    start = 0
    for pile, end in zip(piles, ends, strict=True):
        if end > start:
            with pile.open("a", encoding="ascii") as file:
                file.write(json.dumps([chunk[place] for place in order[start:end]]) + "\n")
        start = end


def _read(pile: Path) -> Iterator[Any]:
    with pile.open(encoding="ascii") as file:
        for line in file:
            yield from json.loads(line)
