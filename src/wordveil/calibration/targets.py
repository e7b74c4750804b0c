"""Targets, and the largest ε that meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.attackers import Figure
from wordveil._mechanisms.laws import PerWord
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.meter import Meter, Span
from wordveil.calibration.search import crossing, largest_epsilon
from wordveil.errors import OptionError
from wordveil.rounding import round_down

#: Returns the success of an attacker on your own texts at an ε.
Own: TypeAlias = Callable[[float], Figure]

_AROUND = 3  # ε measured together if they share most of the work
_OWN = 0.05  # the tolerance of a search in which every ε takes an attack on texts, about as precise as the attack


@dataclass(frozen=True)
class Rule:
    """The quantity that a kind of target bounds."""

    part: Callable[[Measurement], PerWord | float]  # takes the quantity from a measurement
    is_probability: bool = False  # whether the bound is a probability


#: The kinds of targets.
TARGETS = {
    "stays": Rule(lambda measured: measured.stays, is_probability=True),
    "stays-mean": Rule(lambda measured: measured.stays.mean, is_probability=True),
    "alternatives": Rule(lambda measured: measured.distinct),
    "attacker": Rule(lambda measured: max(figure.high for figure in measured.attackers), is_probability=True),
    "adversary": Rule(lambda measured: measured.uniform.high, is_probability=True),
    "adversary-frequency": Rule(lambda measured: measured.frequency.high, is_probability=True),
    "near-loss": Rule(lambda measured: measured.near_loss),
}


@dataclass(frozen=True)
class Target:
    """A bound that a mechanism must meet.

    Parameters
    ----------
    kind : str
        One of `TARGETS`.
    bound : float
        The bound.
    share : float
        For targets about every word: the share of the words that must meet the bound. Default: 1, all words.

    Examples
    --------
    >>> Target("stays", 0.5).sentence()
    'no word stays itself more than 50% of the time'
    >>> Target("alternatives", 300, share=0.99).sentence()
    'at least 300 different words come out in 1,000 draws, for 99% of the words'
    """

    kind: str
    bound: float
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in TARGETS:
            raise OptionError(f"unknown target {self.kind!r}; choose one of {', '.join(TARGETS)}.")
        if not 0.0 < self.share <= 1.0:
            raise OptionError("share, the share of the words that must meet a target, must be above 0 and at most 1.")
        if not (np.isfinite(self.bound) and self.bound > 0):
            raise OptionError("a target needs a value above 0.")
        if TARGETS[self.kind].is_probability and self.bound >= 1.0:
            raise OptionError("a target that is a probability must be below 1, such as 0.5.")

    def sentence(self, draws: int = 1000) -> str:
        """Return the target as a sentence."""
        everyone = self.share >= 1.0
        whose = "every word" if everyone else f"{100 * self.share:g}% of the words"
        percent, each = f"{100 * self.bound:g}%", f", for {whose}"
        if self.kind == "stays":
            first = "no word stays itself more than" if everyone else f"{whose} stay themselves at most"
            return f"{first} {percent} of the time"
        return {
            "stays-mean": f"words stay themselves at most {percent} of the time on average",
            "alternatives": f"at least {self.bound:g} different words come out in {draws:,} draws{each}",
            "attacker": f"the strongest known attacker guesses at most {percent} of the words",
            "adversary": f"an attacker who looks at one word at a time guesses at most {percent} of the words",
            "adversary-frequency": f"an attacker who knows word frequencies and looks at one word at a time guesses "
            f"at most {percent} of the words",
            "near-loss": f"a word and its most similar words are told apart by at most e^{self.bound:g}{each}",
        }[self.kind]

    def value(self, measurement: Measurement) -> float:
        """Return the measured value of the target's quantity."""
        part = TARGETS[self.kind].part(measurement)
        return part.met_by(self.share) if isinstance(part, PerWord) else part

    def words(self, measurement: Measurement) -> int | None:
        """Return the number of words that it was measured on; None if it is not about single words."""
        part = TARGETS[self.kind].part(measurement)
        return len(part.ids) if isinstance(part, PerWord) else None


def solve(
    meter: Meter, target: Target, span: Span, *, sure: float = 2.0, own: Own | None = None, first: Sequence[float] = ()
) -> float:
    """Return the largest ε that meets a target, rounded down to three digits; 0 if none does, infinity if all do.

    If figures are estimated, the answer errs on the safe side: a target must be met by some standard errors, and the
    adversary's success is taken at its upper bound.

    Parameters
    ----------
    sure : float
        By how many standard errors an estimate must meet the target.
    own : callable, optional
        Returns the success of an attacker on your own texts at an ε, for the target ``attacker``.
    first : sequence of float
        The ε to start with if the attacker's success must be estimated, such as those that are measured anyway.
    """
    if target.kind == "attacker":
        asked = Target("adversary-frequency", target.bound)
        alone = known_reach(meter, asked, first) or solve(meter, asked, span, sure=sure, first=first)
        return within_reach(meter, target.bound, alone, own)
    if target.kind.startswith("adversary") and not meter.exact:
        tried, values = first or span.grid(meter.law.batch), _values(meter, target, sure)
        at_once = min(_AROUND, meter.law.batch)
        return crossing(values, target.bound, tried, tolerance=meter.law.tolerance, batch=at_once)
    holds, narrowed = _at_once(meter, target, sure), None
    if target.kind in ("stays", "alternatives"):
        words = _WordByWord(meter, target, sure)
        holds, narrowed = words.holds, words.narrowed
    return round_down(
        largest_epsilon(
            holds, span.low, span.high, batch=meter.law.batch, tolerance=meter.law.tolerance, narrowed=narrowed
        )
    )


def known_reach(meter: Meter, target: Target, first: Sequence[float]) -> float:
    """Return an ε beyond which the attacker without context need not be measured; 0 if there is none.

    It is where the attackers measured in advance reach the bound, if the attacker without context has not reached it
    there. The latter is measured together with the `first` ε. Exact laws do not need this shortcut.
    """
    limit = 0.0 if meter.exact or meter.curve is None else meter.curve.largest(target.bound)
    if not limit:
        return 0.0
    *_, there = _values(meter, target, 0.0)([*first, limit])
    return limit if there <= target.bound else 0.0


def within_reach(meter: Meter, bound: float, alone: float, own: Own | None = None) -> float:
    """Return the largest ε at which no known attacker exceeds the bound; `alone` is that of the one without context."""
    found = alone if meter.curve is None else min(alone, meter.curve.largest(bound))
    if own is None or not 0.0 < found < np.inf or own(found).high <= bound:
        return found
    return round_down(
        largest_epsilon(
            lambda tried: [own(epsilon).high <= bound for epsilon in tried], found / 2.0, found, tolerance=_OWN
        )
    )


def _values(meter: Meter, target: Target, sure: float) -> Callable[[Sequence[float]], list[float]]:
    def values(epsilons: Sequence[float]) -> list[float]:
        if target.kind == "stays-mean":
            return [found.mean + sure * found.mean_error for found in meter.stays(epsilons)]
        if target.kind == "near-loss":
            return [found.met_by(target.share) for found in meter.near_loss(epsilons)]
        prior = "uniform" if target.kind == "adversary" else "frequency"
        return [found.high for found in meter.adversary(epsilons, prior)]

    return values


def _at_once(meter: Meter, target: Target, sure: float) -> Callable[[Sequence[float]], list[bool]]:
    values = _values(meter, target, sure)
    return lambda epsilons: [value <= target.bound for value in values(epsilons)]


class _WordByWord:
    """Measures at each ε only the words whose answer does not follow from another ε.

    A word that meets the target at some ε meets it at every smaller one, so the first answers settle most words.
    """

    def __init__(self, meter: Meter, target: Target, sure: float) -> None:
        self._target = target
        self._sure = sure
        self._measure = meter.stays if target.kind == "stays" else meter.distinct
        self._ids = np.empty(0, dtype=np.int64)
        self._meets: dict[float, NDArray[np.bool_]] = {}  # whether each word meets the target, at each ε asked about
        self._good = np.empty(0, dtype=np.bool_)
        self._open: NDArray[np.bool_] | None = None  # the unsettled words; None until some are settled

    def holds(self, epsilons: Sequence[float]) -> list[bool]:
        """Return at which ε enough words meet the target."""
        asked = None if self._open is None else self._ids[self._open]
        answers = []
        for epsilon, found in zip(epsilons, self._measure(epsilons, asked), strict=True):
            slack = 0.0 if found.errors is None else self._sure * found.errors
            more = self._target.kind == "alternatives"
            meets = found.values - slack >= self._target.bound if more else found.values + slack <= self._target.bound
            if self._open is None:
                self._ids, whole = found.ids, meets
            else:
                whole = self._good.copy()
                whole[self._open] = meets
            self._meets[epsilon] = whole
            answers.append(bool(whole.mean() >= self._target.share * (1 - 1e-12)))
        return answers

    def narrowed(self, low: float, high: float) -> None:
        """Settle the words that have the same answer at both ends."""
        self._good = self._meets[high]
        self._open = self._meets[low] & ~self._meets[high]
