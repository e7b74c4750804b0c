"""The first stage: each user's words are randomised before anyone else sees them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from itertools import tee

from wordveil.errors import WordveilError
from wordveil.guarantee import Notion
from wordveil.lac.account import Account
from wordveil.lac.bounds import clip_that_amplifies, local_epsilon
from wordveil.lac.crowd import Crowd
from wordveil.lac.records import Record
from wordveil.text import Veil

__all__ = ["Localizer"]


class Localizer:
    """Veils the text of every record, and notes its shape: all that is released of it as it is, label included.

    Records hide only among those of their shape, so the promise is for as many as the rarest shape has. Records of one
    shape are best: one word of a known list each, ``select="all"``, ``case="lower"``, no labels.

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
            yield record._replace(text=release.text, shape=self._shape(record))

    def _shape(self, record: Record) -> bytes:
        shape = self.veil.shape(record.text)
        told = repr((record.label, shape.parts))  # of different things it is never the same
        return hashlib.blake2b(told.encode(), digest_size=16).digest() if shape.drawn else b""

    def account(self, records: int | Crowd, delta: float, per_user: int = 1) -> Account:
        """Open the account of a pipeline that begins here.

        Parameters
        ----------
        records : int or Crowd
            How many records there will be; of a mere number it is taken that all have one shape, and said so.
        delta : float
            The δ that may be spent.
        per_user : int
            How many of them may come from one user.
        """
        crowd = Crowd(records) if isinstance(records, int) else records
        promise, mechanism = self.veil.guarantee, self.veil.mechanism
        epsilon = local_epsilon(mechanism, promise)
        clip = clip_that_amplifies(mechanism, crowd.alike, delta)
        advice = (
            ""
            if clip is None
            else (
                f"; exponential with a clip of {clip / self.words:.3g} {mechanism.space.unit}s or less would have one"
            )
        )
        rare = self.veil.selection.rare
        given = (
            ""
            if rare is None
            else f", given which words are common (if these records told that, {2 * rare.tree.epsilon:g} comes on top)"
        )
        if math.isfinite(epsilon):
            several = f" · {self.words} words" if self.words > 1 else ""
            why = f"local randomisation, ε₀ = {epsilon:.4g}{several}"
            return Account(self.words * epsilon, crowd, delta, per_user, why=why, advice=advice, given=given)
        if promise.notion is Notion.APPROXIMATE:
            why = f"the mechanism {mechanism.name} has no finite local ε₀ with δ = 0{advice}"
        elif promise.caveats:
            why = promise.caveats[-1][0].lower() + promise.caveats[-1][1:].rstrip(".")
        else:
            why = f"the mechanism {mechanism.name} promises nothing{advice}"
        return Account(math.inf, crowd, delta, per_user, why=why, advice=advice, given=given)
