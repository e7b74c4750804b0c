"""How a promise changes on its way through a pipeline.

Every promise is about neighbours that keep their shapes: see `crowd`. A record is shuffled among those of its shape. A
sample of records of several shapes adds nothing: how many of the record's own shape are in it is left to chance, and it
is seen whether any is. It takes nothing away either, for a random part of the reports in random order can be made from
all of them shuffled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from wordveil.lac import bounds
from wordveil.lac.crowd import Crowd

__all__ = ["Account", "Promise"]


@dataclass(frozen=True)
class Promise:
    """One promise about a whole user, and how it was come by.

    Attributes
    ----------
    epsilon, delta : float
        The promise; an infinite ε is none.
    neighbours : str
        What may change without being noticed.
    source : str
        The bound that it comes from, or the reason why there is none.
    """

    epsilon: float
    delta: float
    neighbours: str
    source: str

    def sentence(self) -> str:
        """Say the promise for a person."""
        if not math.isfinite(self.epsilon):
            return f"no promise: {self.source}"
        slack = f", δ = {self.delta:.2g}" if self.delta > 0.0 else ""
        return f"ε = {self.epsilon:.4g}{slack} for {self.neighbours} ({self.source})"

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as plain values for JSON, where an infinite ε is None."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "source": self.source,
        }


@dataclass(frozen=True)
class Account:
    """All that the promise depends on.

    Attributes
    ----------
    local : float
        The ε₀ of one record, as the localizer lets it out; infinite where nothing is promised.
    crowd : Crowd
        How many records go in, and how many of these have one shape.
    delta : float
        The δ that may be spent.
    per_user : int
        How many of the records may come from one user.
    why : str
        Where `local` comes from, or why there is none.
    advice : str
        What would make shuffling help, where it does not.
    given : str
        What the promise takes as known already.
    taken : int or None
        How many records are left of those that went in, after samples of fixed size; None before the first.
    is_shuffled : bool
        Whether names and order are gone.
    thresholds : tuple of (int, float)
        The k and β of every threshold.
    has_sample_first : bool
        Whether a sample of fixed size came before the first threshold.
    is_repeatable : bool
        Whether an amplifier had a seed: what it let through is no longer random to whoever knows that, so nothing that
        is proved of records drawn from all of them holds of it, or of any part of it.
    """

    local: float
    crowd: Crowd
    delta: float
    per_user: int = 1
    why: str = "local randomisation"
    advice: str = ""
    given: str = ""
    taken: int | None = None
    is_shuffled: bool = False
    thresholds: tuple[tuple[int, float], ...] = ()
    has_sample_first: bool = False
    is_repeatable: bool = False

    @property
    def sampled(self) -> int:
        """How many records are left after all samples of fixed size."""
        return self.crowd.records if self.taken is None else self.taken

    def with_sample(self, rate: float) -> Account:
        """Return the account after a sample of fixed size, without names and in random order.

        After a threshold it is mere post-processing: one record decides there about k of those that come out.
        """
        if self.thresholds or rate == 1.0:
            return self
        return replace(self, taken=bounds.sample_size(rate, self.sampled))

    def shuffled(self) -> Account:
        """Return the account after a shuffle."""
        return replace(self, is_shuffled=True)

    def with_threshold(self, k: int, rate: float) -> Account:
        """Return the account after a sample at this rate and the suppression of what is rarer than k."""
        first = self.has_sample_first if self.thresholds else self.taken is not None
        return replace(self, thresholds=(*self.thresholds, (k, rate)), has_sample_first=first)

    def repeatable(self) -> Account:
        """Return the account after an amplifier with a seed: from there on only the local promise holds."""
        return replace(self, is_repeatable=True)

    def untrusted(self) -> Promise:
        """Return what holds if the amplifiers do not do what they should."""
        return self._of_user(self.local, 0.0, self.why)

    def promises(self) -> list[Promise]:
        """Return all promises that hold, best first; they hold at once, each for its own neighbours."""
        if self.is_repeatable:
            return [self._of_user(self.local, 0.0, f"{self.why}; no amplification, for an amplifier had a seed")]
        found = [self._noisy()]
        if self.thresholds:
            # the theorem is about records, not about what a threshold has left
            found.append(self._suppressed(*self.thresholds[0]))
        return sorted(found, key=lambda promise: promise.epsilon)

    def _noisy(self) -> Promise:
        if not math.isfinite(self.local):
            return self._of_user(math.inf, 1.0, f"no amplification, for {self.why}")
        epsilon, delta, source = self.local, 0.0, self.why
        if self.is_shuffled:
            epsilon, delta, source = self._shuffle()
        if self.taken is not None and self.crowd.shapes > 1:
            source += "; a sample of records of several shapes adds nothing"
        elif self.taken is not None:
            epsilon, delta = bounds.subsampled(epsilon, delta, self._share)
            source += f", then a sample of {self.taken:,}"
        if self.is_shuffled or self.taken is not None:
            source += f"; {self.crowd.sentence()}"
        return self._of_user(epsilon, delta, source)

    @property
    def _share(self) -> float:
        """The share of the records that a sample has, where that is what counts."""
        return self.sampled / self.crowd.records if self.crowd.shapes == 1 else 1.0

    @property
    def _alike(self) -> int:
        """How many reports of one randomiser are shuffled, at least."""
        return self.sampled if self.crowd.shapes == 1 else self.crowd.alike

    def _shuffle(self) -> tuple[float, float, str]:
        # What sampling and several records of one user make of δ is taken off in advance.
        wanted = min(self.delta / self._share, 0.5)
        delta = wanted / self.per_user
        epsilon, source = self._best(delta)
        if self.per_user > 1:
            delta = wanted / bounds.grouped(1.1 * epsilon, 1.0, self.per_user, capped=False)[1]
            epsilon, source = self._best(delta)
        if epsilon >= 0.99 * self.local:
            few = f"no amplification: ε₀ = {self.local:.3g} is too large for so few records of one shape"
            return self.local, 0.0, few + self.advice
        return epsilon, delta, f"shuffled, {source}"

    def _best(self, delta: float) -> tuple[float, str]:
        known = (
            ("clones, closed form", bounds.closed_form),
            ("clones, numerical", bounds.clones),
            ("privacy blanket", bounds.blanket),
        )
        return min((bound(self.local, self._alike, delta), name) for name, bound in known)

    def _suppressed(self, k: int, rate: float) -> Promise:
        if self.has_sample_first:
            reason = "a k-threshold after a sample of fixed size is not proved; leave that sample out"
            return Promise(math.inf, 1.0, "one record added or removed", reason)
        epsilon = bounds.thresholded(k, rate, self.delta)
        if not math.isfinite(epsilon):
            reason = f"k = {k} is too small for β = {rate:g} and δ = {self.delta:g}"
            return Promise(math.inf, 1.0, "one record added or removed", reason)
        epsilon, delta = bounds.grouped(epsilon, self.delta, self.per_user)
        who = "one record" if self.per_user == 1 else f"a user's {self.per_user} records"
        return Promise(epsilon, delta, f"{who} added or removed", f"k-threshold, k = {k}, β = {rate:g}")

    def _of_user(self, epsilon: float, delta: float, source: str) -> Promise:
        who = "one record" if self.per_user == 1 else f"a user's {self.per_user} records"
        kept = "shape and label" if self.per_user == 1 else "shapes and labels"
        if math.isfinite(epsilon):
            epsilon, delta = bounds.grouped(epsilon, delta, self.per_user)
        changed = f"{who} changed in veiled words of the vocabulary only, {kept} kept{self.given}"
        return Promise(epsilon, delta, changed, source)
