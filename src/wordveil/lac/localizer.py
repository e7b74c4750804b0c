"""The first stage: each user's words are randomised before anyone else sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import tee

from wordveil.errors import WordveilError
from wordveil.guarantee import Notion
from wordveil.lac.account import Account
from wordveil.lac.bounds import clip_that_amplifies, local_epsilon
from wordveil.lac.records import Record
from wordveil.text import Veil

__all__ = ["Localizer"]


class Localizer:
    """Veils the text of every record.

    Parameters
    ----------
    veil : Veil
        How texts are veiled.
    words : int
        How many words a record may have veiled at most. Each costs ε₀, so a record costs that many times ε₀; a record
        with more is refused, since its promise would be another.
    """

    name = "localizer"

    def __init__(self, veil: Veil, *, words: int = 1) -> None:
        if words < 1:
            raise WordveilError("a record has at least one word: words must be 1 or more.")
        self.veil = veil
        self.words = words

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        """Veil the records, in order, as a stream."""
        texts, rest = tee(records)
        releases = self.veil.many(record.text for record in texts)
        for number, (record, release) in enumerate(zip(rest, releases, strict=True), start=1):
            if release.counts.veiled > self.words:
                raise WordveilError(
                    f"record {number} has more than {self.words} words to veil: raise the localizer's words, "
                    "which raises what a record costs, or shorten the records."
                )
            yield record._replace(text=release.text)

    def account(self, records: int, delta: float, per_user: int = 1) -> Account:
        """Open the account of a pipeline that begins here.

        Parameters
        ----------
        records : int
            How many records there will be.
        delta : float
            The δ that may be spent.
        per_user : int
            How many of them may come from one user.
        """
        promise, mechanism = self.veil.guarantee, self.veil.mechanism
        epsilon = local_epsilon(mechanism, promise)
        clip = clip_that_amplifies(mechanism, records, delta)
        advice = (
            ""
            if clip is None
            else (
                f"; exponential with a clip of {clip / self.words:.3g} {mechanism.space.unit}s or less would have one"
            )
        )
        if math.isfinite(epsilon):
            several = f" · {self.words} words" if self.words > 1 else ""
            why = f"local randomisation, ε₀ = {epsilon:.4g}{several}"
            return Account(self.words * epsilon, records, delta, per_user, why=why, advice=advice)
        if promise.notion is Notion.APPROXIMATE:
            why = f"the mechanism {mechanism.name} has no finite local ε₀ with δ = 0{advice}"
        elif promise.caveats:
            why = promise.caveats[-1][0].lower() + promise.caveats[-1][1:].rstrip(".")
        else:
            why = f"the mechanism {mechanism.name} promises nothing{advice}"
        return Account(math.inf, records, delta, per_user, why=why, advice=advice)
