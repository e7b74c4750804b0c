"""Runs localizer, amplifiers and curator one after another, with the guarantee at every stage."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, tee
from typing import Any, Generic, TypeVar

from wordveil.errors import InputError, OptionError
from wordveil.guarantee import Notion
from wordveil.lac.account import Account, UserGuarantee
from wordveil.lac.amplifiers import Amplifier
from wordveil.lac.bounds import check_delta, check_records, clip_that_amplifies, local_epsilon
from wordveil.lac.curators import Curator
from wordveil.lac.ledger import Ledger
from wordveil.lac.records import Census, Crowd, Record
from wordveil.text import Veil

ResultT = TypeVar("ResultT")

_CHUNK = 4096  # records that the ledger counts at once, in one write to the disk


class Localizer:
    """Veils the text of every record and notes its shape: everything that is released unchanged, including the label.

    Records hide only among those of their shape, so the guarantee counts the records of the rarest shape. Records of
    one shape are best: one word of a known list each, ``select="all"``, ``case="lower"``, no labels.

    Parameters
    ----------
    veil : Veil
        How to veil texts.
    words : int
        The most words to veil in a record; equal words count once if they are drawn once. Each costs ε₀, so a record
        costs `words` times ε₀. A record with more is refused, because its guarantee would be weaker.
    """

    name = "localizer"

    def __init__(self, veil: Veil, *, words: int = 1) -> None:
        if words < 1:
            raise OptionError("words, the most words to veil in a record, must be 1 or more.")
        if veil.once is not None and veil.once.is_keyed:
            raise OptionError(
                "records that share draws do not hide one another; use a veil with once='record' or once=None."
            )
        self.veil, self.words = veil, words

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Veil the records, in order, as a stream."""
        texts, rest = tee(records)
        releases = self.veil.many(record.text for record in texts)
        for number, (record, release) in enumerate(zip(rest, releases, strict=True), start=1):
            if release.counts.losing > self.words:
                raise InputError(
                    f"record {number} has more than {self.words} words to veil; shorten the records, or raise the "
                    "localizer's words, which raises the cost of every record."
                )
            yield record._replace(text=release.text, shape=self._shape(record))

    def _shape(self, record: Record) -> bytes:
        shape = self.veil.shape(record.text)
        told = repr((record.label, shape.parts))  # unambiguous
        return hashlib.blake2b(told.encode(), digest_size=16).digest() if shape.drawn else b""

    def account(self, records: int | Crowd, delta: float, per_user: int = 1) -> Account:
        """Return the account of a pipeline that begins here."""
        crowd = records if isinstance(records, Crowd) else Crowd(records)
        guarantee, mechanism = self.veil.guarantee, self.veil.mechanism
        epsilon = local_epsilon(mechanism, guarantee)
        clip, rare = clip_that_amplifies(mechanism, crowd.alike, delta), self.veil.selection.rare
        advice = given = ""
        if clip is not None:
            advice = f"; exponential with a clip of {clip / self.words:.3g} {mechanism.space.unit}s or less would help"
        if rare is not None:
            given = f", given which words are common (if these records told that, add {2 * rare.tree.epsilon:g})"
        if math.isfinite(epsilon):
            several = f" · {self.words} words" if self.words > 1 else ""
            why = f"local randomisation, ε₀ = {epsilon:.4g}{several}"
        elif guarantee.notion is Notion.APPROXIMATE:
            why = f"the mechanism {mechanism.name} has no finite local ε₀ with δ = 0{advice}"
        elif guarantee.caveats:
            why = guarantee.caveats[-1][0].lower() + guarantee.caveats[-1][1:].rstrip(".")
        else:
            why = f"the mechanism {mechanism.name} promises nothing{advice}"
        return Account(self.words * epsilon, crowd, delta, per_user, why=why, advice=advice, given=given)


@dataclass(frozen=True)
class Stage:
    """What holds after one stage.

    Attributes
    ----------
    name : str
        The stage.
    guarantees : list of UserGuarantee
        What is guaranteed against anyone who sees the stage's output. All hold at once, best first.
    untrusted : UserGuarantee
        What still holds if the amplifiers do not do their work.
    """

    name: str
    guarantees: list[UserGuarantee]
    untrusted: UserGuarantee

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as plain values for JSON."""
        return {
            "stage": self.name,
            "promises": [guarantee.to_dict() for guarantee in self.guarantees],
            "if_no_amplifier_is_trusted": self.untrusted.to_dict(),
        }

    def sentence(self) -> str:
        """Return the stage's guarantees as a sentence."""
        return f"{self.name}: " + "; ".join(guarantee.sentence() for guarantee in self.guarantees)


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """The result of a pipeline.

    Attributes
    ----------
    result : object
        What the curator computed.
    stages : list of Stage
        The guarantee after each stage, for the number of records with the rarest shape. It reveals that number: shapes
        are not protected.
    """

    result: ResultT
    stages: list[Stage]


class Pipeline(Generic[ResultT]):
    """A localizer, any number of amplifiers, and a curator.

    Parameters
    ----------
    localizer : Localizer
        Randomises each user's words.
    amplifiers : sequence of Amplifier
        Strengthen the guarantee, in this order.
    curator : Curator
        Computes from what is left.
    ledger : Ledger, optional
        Counts what each user spends before anything is released: the local ε₀ of every record, which holds whether the
        amplifiers can be trusted or not. Records then need a user.

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
            raise OptionError("per_user must be 1 or more.")
        self.localizer, self.amplifiers, self.curator = localizer, list(amplifiers), curator
        self.delta, self.per_user, self.ledger = check_delta(delta), per_user, ledger

    def stages(self, records: int | Crowd) -> list[Stage]:
        """Return the guarantee after each stage, for this many records."""
        crowd = records if isinstance(records, Crowd) else Crowd(records)
        check_records(crowd.alike)
        account = self.localizer.account(crowd, self.delta, self.per_user)
        accounts = [(self.localizer.name, account)]
        for amplifier in self.amplifiers:
            account = amplifier.amplify(account)
            accounts.append((amplifier.name, account))
        accounts.append((self.curator.name, account))
        return [Stage(name, after.guarantees(), after.untrusted()) for name, after in accounts]

    def __call__(self, records: Iterable[Record]) -> Outcome[ResultT]:
        """Send records through the pipeline."""
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
        """Refuse records that break a rule, and charge the ledger for the others before they go on."""
        new: Counter[str] = Counter()
        for number, record in enumerate(chunk, start=before + 1):
            if record.user is None:
                if self.ledger is not None:
                    raise InputError(f"record {number} has no user, so the ledger cannot count it.")
                continue
            new[record.user] += 1
            if given[record.user] + new[record.user] > self.per_user:
                raise InputError(f"record {number} exceeds the limit for its user; per_user is {self.per_user}.")
        given.update(new)
        if self.ledger is not None:
            cost = self.localizer.account(1, self.delta).local
            self.ledger.spend_all({user: records * cost for user, records in new.items()})
