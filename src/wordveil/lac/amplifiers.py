"""The second stage: what strengthens a promise without more noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np

from wordveil.errors import WordveilError
from wordveil.lac.account import Account
from wordveil.lac.bounds import check_threshold, sample_size
from wordveil.lac.permutation import shuffled
from wordveil.lac.records import Record
from wordveil.noise import Entropy

__all__ = ["Amplifier", "KThreshold", "Shuffle", "Subsample"]


class Amplifier(ABC):
    """A step between the localizer and the curator; several follow each other in a pipeline.

    Parameters
    ----------
    seed : int, optional
        Makes the step reproducible, for experiments; leaves no amplification, by this step or any other.
    """

    name: ClassVar[str]

    def __init__(self, seed: int | None = None) -> None:
        self.entropy = Entropy(seed)

    @abstractmethod
    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Let records through."""

    def amplify(self, account: Account) -> Account:
        """Return the account after this step."""
        return self._amplify(account) if self.entropy.secure else account.repeatable()

    @abstractmethod
    def _amplify(self, account: Account) -> Account:
        """Return the account after this step, taken with randomness that nobody can repeat."""


class Shuffle(Amplifier):
    """Takes names off and gives the records in a uniformly random order, from a cryptographic stream.

    Labels and whatever the localizer left alone stay, so a record hides among those that have the same.
    Holds a bounded number of records in memory, however many there are.

    Parameters
    ----------
    in_memory : int
        How many records are held at once.
    seed : int, optional
        Makes the order reproducible, for experiments; leaves no amplification.

    Examples
    --------
    >>> sorted(record.text for record in Shuffle()([Record("sea", "ann"), Record("ship", "bob")]))
    ['sea', 'ship']
    """

    name = "shuffle"

    def __init__(self, *, in_memory: int = 1 << 18, seed: int | None = None) -> None:
        super().__init__(seed)
        if in_memory < 1:
            raise WordveilError("a shuffle holds at least one record in memory.")
        self.in_memory = in_memory

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Shuffle the records; none comes out before the last has gone in."""
        bare = ([record.text, record.label] for record in records)
        for text, label in shuffled(bare, entropy=self.entropy, in_memory=self.in_memory):
            yield Record(text, label=label)

    def _amplify(self, account: Account) -> Account:
        return account.shuffled()


class Subsample(Amplifier):
    """Takes a random share of the records, without names and in random order.

    The sample has a fixed size, a share of all records, for that is what the bound for changed records needs; the order
    must go because the place of a record would tell whether another one was sampled. It adds to the promise where all
    records have one shape.

    Parameters
    ----------
    rate : float
        The share.
    seed : int, optional
        Makes the sample reproducible, for experiments; leaves no amplification.
    """

    name = "subsample"

    def __init__(self, rate: float, *, seed: int | None = None) -> None:
        super().__init__(seed)
        if not 0.0 < rate <= 1.0:
            raise WordveilError("the rate of a sample must lie above 0 and be at most 1.")
        self.rate = rate

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Give the sample: the beginning of a random order, as long as the share says."""
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
    """Takes each record with probability β, then only those whose text occurs at least k times among them.

    Parameters
    ----------
    k : int
        How often a text must occur.
    rate : float
        β, the probability with which a record is taken.
    seed : int, optional
        Makes the sample reproducible, for experiments; leaves no amplification.
    """

    name = "k-threshold"

    def __init__(self, k: int, rate: float, *, seed: int | None = None) -> None:
        super().__init__(seed)
        check_threshold(k, rate)
        self.k, self.rate = k, rate

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Give each frequent text as often as it was sampled, sorted, so that their order tells nothing."""
        counts: Counter[tuple[str, str]] = Counter()
        chunk: list[Record] = []
        for record in records:
            chunk.append(record)
            if len(chunk) == 1 << 16:
                counts.update(self._sample(chunk))
                chunk = []
        counts.update(self._sample(chunk))
        for (text, label), count in sorted(counts.items()):
            if count >= self.k:
                yield from [Record(text, label=label or None)] * count

    def _sample(self, chunk: list[Record]) -> list[tuple[str, str]]:
        taken = np.flatnonzero(self.entropy.uniform(len(chunk)) < self.rate).tolist()
        return [(chunk[place].text, chunk[place].label or "") for place in taken]

    def _amplify(self, account: Account) -> Account:
        return account.with_threshold(self.k, self.rate)
