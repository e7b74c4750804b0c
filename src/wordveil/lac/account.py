"""How a guarantee changes on its way through a pipeline.

Every guarantee is about neighbours that keep their shapes: see `records`. A record is shuffled among those of its
shape. A sample of records with several shapes adds nothing: how many of a record's own shape it holds is left to
chance, and an observer sees whether it holds any. It takes nothing away either, because a random part of the reports
in random order can be made from the shuffled reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from wordveil.lac import bounds
from wordveil.lac.records import Crowd
from wordveil.rounding import round_up

_MARGIN = 1.1  # room for ε to grow when each of a user's records may spend less δ
_LESS = 1.0 - 1e-9  # makes every round lower δ, whatever the rounding
_LEAST_DELTA = 1e-300


@dataclass(frozen=True)
class UserGuarantee:
    """What holds for everything that one user gives, and why.

    Attributes
    ----------
    epsilon, delta : float
        What is guaranteed. An infinite ε means that nothing is.
    neighbours : str
        What may change without being noticed.
    source : str
        The bound it comes from, or the reason why there is none.
    """

    epsilon: float
    delta: float
    neighbours: str
    source: str

    def sentence(self) -> str:
        """Return the guarantee as a sentence."""
        if not math.isfinite(self.epsilon):
            return f"no promise: {self.source}"
        slack = f", δ = {round_up(self.delta, 2):g}" if self.delta > 0.0 else ""
        return f"ε = {round_up(self.epsilon, 4):g}{slack} for {self.neighbours} ({self.source})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON. An infinite ε becomes None."""
        return {**asdict(self), "epsilon": self.epsilon if math.isfinite(self.epsilon) else None}


@dataclass(frozen=True)
class Account:
    """Everything that the guarantee depends on.

    Attributes
    ----------
    local : float
        The ε₀ of one record as it leaves the localizer; infinite if nothing is guaranteed.
    crowd : Crowd
        How many records go in, and how many of them have one shape.
    delta : float
        The δ that may be spent on a user.
    per_user : int
        How many of the records may come from one user.
    why : str
        Where `local` comes from, or why there is none.
    advice : str
        What would make shuffling help, if it does not.
    given : str
        What is assumed to be known already.
    taken : int or None
        How many records remain after samples of fixed size; None before the first sample.
    is_shuffled : bool
        Whether names and order are gone.
    thresholds : tuple of (int, float)
        The k and β of every threshold.
    has_sample_first : bool
        Whether a sample of fixed size came before the first threshold.
    is_repeatable : bool
        Whether an amplifier had a seed. To anyone who knows the seed, what it let through is not random, so no proof
        about records drawn from all of them applies to its output.
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
        """How many records remain after all samples of fixed size."""
        return self.crowd.records if self.taken is None else self.taken

    def with_sample(self, rate: float) -> Account:
        """Return the account after a sample of fixed size, without names and in random order.

        After a threshold it counts as post-processing: there, one record decides about k of those that come out.
        """
        if self.thresholds or rate == 1.0:
            return self
        return replace(self, taken=bounds.sample_size(rate, self.sampled))

    def shuffled(self) -> Account:
        """Return the account after a shuffle."""
        return replace(self, is_shuffled=True)

    def with_threshold(self, k: int, rate: float) -> Account:
        """Return the account after a sample at this rate and the suppression of texts that occur less than k times."""
        first = self.has_sample_first if self.thresholds else self.taken is not None
        return replace(self, thresholds=(*self.thresholds, (k, rate)), has_sample_first=first)

    def repeatable(self) -> Account:
        """Return the account after an amplifier with a seed. From there on, only the local guarantee holds."""
        return replace(self, is_repeatable=True)

    def untrusted(self) -> UserGuarantee:
        """Return what holds even if the amplifiers do not do their work."""
        return self._of_user(self.local, 0.0, self.why)

    def guarantees(self) -> list[UserGuarantee]:
        """Return all guarantees, best first. All hold at once, each for its own neighbours."""
        if self.is_repeatable:
            return [self._of_user(self.local, 0.0, f"{self.why}; no amplification, because an amplifier had a seed")]
        found = [self._noisy()]
        if self.thresholds:
            # the theorem is about records, not about what an earlier threshold left
            found.append(self._suppressed(*self.thresholds[0]))
        return sorted(found, key=lambda guarantee: guarantee.epsilon)

    def _noisy(self) -> UserGuarantee:
        if not math.isfinite(self.local):
            return self._of_user(math.inf, 1.0, f"no amplification, because {self.why}")
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
        """The share of the records that a sample holds, where the share matters."""
        return self.sampled / self.crowd.records if self.crowd.shapes == 1 else 1.0

    def _shuffle(self) -> tuple[float, float, str]:
        alike = self.sampled if self.crowd.shapes == 1 else self.crowd.alike  # at least this many share one randomiser
        known = {
            "clones, closed form": bounds.closed_form,
            "clones, numerical": bounds.clones,
            "privacy blanket": bounds.blanket,
        }

        def best(delta: float) -> tuple[float, str]:
            return min((bound(self.local, alike, delta), name) for name, bound in known.items())

        found = self._spend(best, 0.99 * self.local, self._share)
        if found is not None:
            epsilon, delta, source = found
            return epsilon, delta, f"shuffled, {source}"
        few = f"no amplification: ε₀ = {self.local:.3g} is too large for so few records of one shape"
        return self.local, 0.0, few + self.advice

    def _suppressed(self, k: int, rate: float) -> UserGuarantee:
        neighbours = f"{self._who} added or removed"
        if self.has_sample_first:
            reason = "a k-threshold after a sample of fixed size is not proved; leave that sample out"
            return UserGuarantee(math.inf, 1.0, neighbours, reason)
        source = f"k-threshold, k = {k}, β = {rate:g}"
        found = self._spend(lambda delta: (bounds.thresholded(k, rate, delta), source), math.inf)
        if found is None:
            several = "" if self.per_user == 1 else f" and {self.per_user} records of a user"
            reason = f"k = {k} is too small for β = {rate:g} and δ = {self.delta:g}{several}"
            return UserGuarantee(math.inf, 1.0, neighbours, reason)
        return UserGuarantee(*bounds.grouped(*found[:2], self.per_user), neighbours, source)

    def _spend(
        self, bound: Callable[[float], tuple[float, str]], most: float, share: float = 1.0
    ) -> tuple[float, float, str] | None:
        """Return a record's ε and δ and the bound's name, so that a user's δ stays within what may be spent.

        A sample of this share comes after the bound and multiplies δ by it, so that much more may be spent before. A
        user's δ is a multiple of a record's δ, and that multiple grows with ε, which grows as δ falls. So δ is lowered
        until the multiple at its own ε fits. Returns None if ε reaches `most` first.
        """
        delta = min(self.delta / (share * self.per_user), 0.5)
        while delta > _LEAST_DELTA:
            epsilon, source = bound(delta)
            if epsilon >= most:
                break
            left = bounds.subsampled(epsilon, delta, share)
            if bounds.grouped(*left, self.per_user, capped=False)[1] <= self.delta:
                return epsilon, delta, source
            multiple = bounds.grouped(_MARGIN * left[0], 1.0, self.per_user, capped=False)[1]
            delta = min(self.delta / (share * multiple), _LESS * delta)
        return None

    @property
    def _who(self) -> str:
        return "one record" if self.per_user == 1 else f"a user's {self.per_user} records"

    def _of_user(self, epsilon: float, delta: float, source: str) -> UserGuarantee:
        kept = "shape and label" if self.per_user == 1 else "shapes and labels"
        if math.isfinite(epsilon):
            epsilon, delta = bounds.grouped(epsilon, delta, self.per_user)
        changed = f"{self._who} changed in veiled words of the vocabulary only, {kept} kept{self.given}"
        return UserGuarantee(epsilon, delta, changed, source)
