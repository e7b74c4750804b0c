"""Localizer, amplifiers and curator, one after the other, with the promise at every stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from wordveil.errors import WordveilError
from wordveil.lac.account import Account, Promise
from wordveil.lac.amplifiers import Amplifier
from wordveil.lac.bounds.search import check_delta, check_records
from wordveil.lac.crowd import Census, Crowd
from wordveil.lac.curators import Curator
from wordveil.lac.ledger import Ledger
from wordveil.lac.localizer import Localizer
from wordveil.lac.records import Record

__all__ = ["Outcome", "Pipeline", "Stage"]

ResultT = TypeVar("ResultT")

_CHUNK = 4096  # records that the ledger counts at once: one write to the disk for all of them


@dataclass(frozen=True)
class Stage:
    """What holds after one stage.

    Attributes
    ----------
    name : str
        The stage.
    promises : list of Promise
        What is promised to whoever sees what comes out of it; all hold at once, the best first.
    untrusted : Promise
        What still holds if the amplifiers do not do what they should.
    """

    name: str
    promises: list[Promise]
    untrusted: Promise

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as plain values for JSON."""
        return {
            "stage": self.name,
            "promises": [promise.to_dict() for promise in self.promises],
            "if_no_amplifier_is_trusted": self.untrusted.to_dict(),
        }

    def sentence(self) -> str:
        """Say what holds, for a person."""
        return f"{self.name}: " + "; ".join(promise.sentence() for promise in self.promises)


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """What came out of a pipeline.

    Attributes
    ----------
    result : object
        What the curator computed.
    stages : list of Stage
        The promise after each stage, for as many records as there were of the rarest shape. It tells how many that
        are, and shapes are not protected.
    """

    result: ResultT
    stages: list[Stage]


class Pipeline(Generic[ResultT]):
    """A composition of one localizer, any number of amplifiers and one curator.

    Parameters
    ----------
    localizer : Localizer
        Randomises each user's words.
    amplifiers : sequence of Amplifier
        Strengthen the promise, in this order.
    curator : Curator
        Computes on what is left.
    delta : float
        The δ that may be spent.
    per_user : int
        How many records one user may give; a user's promise is for all of them together.
    ledger : Ledger, optional
        Counts, before anything is released, what each user spends: the local ε₀ of every record, which holds whether
        the amplifiers are trusted or not. Records then need a user.

    Examples
    --------
    >>> import wordveil
    >>> from wordveil.lac import Localizer, Pipeline, Plain, Shuffle
    >>> made = wordveil.mechanism("exponential", wordveil.load_space("glove-50k"), epsilon=1.0, clip=3.0)
    >>> pipeline = Pipeline(Localizer(wordveil.Veil(made)), [Shuffle()], Plain())
    >>> [stage.name for stage in pipeline.stages(100_000)]
    ['localizer', 'shuffle', 'release']
    """

    def __init__(
        self,
        localizer: Localizer,
        amplifiers: Sequence[Amplifier],
        curator: Curator[ResultT],
        *,
        delta: float = 1e-6,
        per_user: int = 1,
        ledger: Ledger | None = None,
    ) -> None:
        if per_user < 1:
            raise WordveilError("a user may give at least one record: per_user must be 1 or more.")
        self.localizer, self.amplifiers, self.curator = localizer, list(amplifiers), curator
        self.delta, self.per_user, self.ledger = check_delta(delta), per_user, ledger

    def stages(self, records: int | Crowd) -> list[Stage]:
        """Return the promise after each stage, for so many records.

        Parameters
        ----------
        records : int or Crowd
            How many; of a mere number it is taken that all have one shape, and the promise says so.
        """
        crowd = Crowd(records) if isinstance(records, int) else records
        check_records(crowd.alike)
        account = self.localizer.account(crowd, self.delta, self.per_user)
        found = [_stage(self.localizer.name, account)]
        for amplifier in self.amplifiers:
            account = amplifier.amplify(account)
            found.append(_stage(amplifier.name, account))
        return [*found, _stage(self.curator.name, account)]

    def __call__(self, records: Iterable[Record]) -> Outcome[ResultT]:
        """Send records through."""
        count = 0

        def admitted() -> Iterator[Record]:
            nonlocal count
            given: Counter[str] = Counter()
            stream = iter(records)
            while chunk := list(islice(stream, _CHUNK)):
                self._admit(chunk, count, given)
                count += len(chunk)
                yield from chunk

        census = Census()
        stream: Iterable[Record] = census(self.localizer(admitted()))
        for amplifier in self.amplifiers:
            stream = amplifier(stream)
        result = self.curator(stream)
        return Outcome(result, self.stages(census.crowd()))

    def _admit(self, chunk: list[Record], before: int, given: Counter[str]) -> None:
        """Refuse records that break a rule, and let the ledger count the others before they go on."""
        new: Counter[str] = Counter()
        for number, record in enumerate(chunk, start=before + 1):
            if record.user is None:
                if self.ledger is not None:
                    raise WordveilError(f"record {number} has no user, so the ledger cannot count it.")
                continue
            new[record.user] += 1
            if given[record.user] + new[record.user] > self.per_user:
                raise WordveilError(f"record {number} is one too many of its user: per_user is {self.per_user}.")
        given.update(new)
        if self.ledger is not None:
            cost = self.localizer.account(1, self.delta).local
            self.ledger.spend_all({user: records * cost for user, records in new.items()})


def _stage(name: str, account: Account) -> Stage:
    return Stage(name, account.promises(), account.untrusted())
