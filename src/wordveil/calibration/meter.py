"""Measures a mechanism at any ε, through its law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, mechanism
from wordveil._mechanisms.attackers import AttackCurve, attack_curve
from wordveil._mechanisms.laws import Effort, Law, PerWord, Question, sample
from wordveil._mechanisms.laws.store import keep, kept
from wordveil._mechanisms.priors import log_prior
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.search import largest_epsilon, smallest_accepted
from wordveil.errors import WordveilError
from wordveil.progress import Watch, ignore, within
from wordveil.spaces import Space, Vocabulary
from wordveil.stats import Estimate

#: Makes the mechanism for an ε.
Maker: TypeAlias = Callable[[float], Mechanism[Any]]

_TRIED = (1.0, 10.0, 100.0, 1000.0)  # the ε tried for the probe; the first that the mechanism accepts is used
_FEW = 200
_PRIORS = ("uniform", "frequency")


def maker(name: str, space: Space, **options: Any) -> Maker:
    """Return a picklable function that makes a mechanism of the registry for any ε."""
    return partial(_make, name, space, options)


def _make(name: str, space: Space, options: dict[str, Any], epsilon: float) -> Mechanism[Any]:
    return mechanism(name, space, epsilon=epsilon, **options)


def meter_for(make: Maker, space: Space, effort: Effort | None = None, watch: Watch = ignore) -> Meter:
    """Return a meter for a mechanism.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k")
    >>> meter = meter_for(maker("graph", space), space)
    >>> round(meter.stays([5.0])[0].worst, 2)
    0.23
    """
    return Meter(make, _probe(make), space, effort or Effort(), watch)


def _probe(make: Maker) -> Mechanism[Any]:
    """Make the mechanism at the first ε that it accepts."""
    *others, last = _TRIED
    for epsilon in others:
        with suppress(WordveilError):
            return make(epsilon)
    return make(last)


class Meter:
    """Measures one mechanism on one space."""

    def __init__(self, make: Maker, probe: Mechanism[Any], space: Space, effort: Effort, watch: Watch = ignore) -> None:
        self.make, self.probe, self.space = make, probe, space
        self.effort, self.watch = effort, watch
        self.law = probe.law(effort, watch)

    @property
    def exact(self) -> bool:
        """Whether the figures come from exact probabilities."""
        return self.law.exact

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the measured words, in random order."""
        count = self.law.measured_words if self.effort.words is None else self.effort.words
        return sample(len(self.space), count or len(self.space), self.effort.seed)

    @cached_property
    def suspects(self) -> NDArray[np.int64]:
        """The ids among which the attacker looks for the input, in the order of the vocabulary."""
        return np.sort(sample(len(self.space), self.law.suspected_words, self.effort.seed))

    @cached_property
    def near(self) -> NDArray[np.int64]:
        """The words most similar to each of the first `effort.near_words` measured words."""
        self.watch("looking up similar words", 0.0)
        chosen = self.ids[: self.effort.near_words]
        return self.space.similar(chosen, max(self.effort.near, self.effort.similar))[0]

    def _prior(self, name: str) -> NDArray[np.float64]:
        """Return the probabilities of the suspects, summing to 1."""
        logs = log_prior(self.space, name)[self.suspects]
        return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))

    def laws(self, epsilons: Sequence[float]) -> list[Law]:
        """Return the laws at these ε."""
        return self.law.at([self.make(epsilon) for epsilon in epsilons])

    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε, for these words or the measured ones."""
        chosen = (self.suspects if self.exact else self.ids) if ids is None else ids
        return [law.stays(chosen) for law in self.laws(epsilons)]

    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return S_w at each ε: the number of distinct outputs in `effort.draws` draws."""
        return [law.distinct(self.ids if ids is None else ids) for law in self.laws(epsilons)]

    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return, at each ε, the largest log-ratio between a word and its most similar words, or a bound on it."""
        return [self._near_loss(law) for law in self.laws(epsilons)]

    def _near_loss(self, law: Law) -> PerWord:
        others = self.near[: law.loss_words, : self.effort.similar]
        ids = self.ids[: len(others)]
        return PerWord(ids, law.loss(ids, others).max(axis=1, initial=0.0), bound=law.loss_is_bound)

    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Estimate]:
        """Return, at each ε, how often the best guess of an attacker who looks at one word at a time is right."""
        # If guesses are learnt from draws, both priors share the draws, as in `measure`.
        names = (prior,) if self.exact else _PRIORS
        priors, place = [self._prior(name) for name in names], names.index(prior)
        return [law.guesses(self.suspects, priors, self.watch)[place].success for law in self.laws(epsilons)]

    def measure(self, epsilons: Sequence[float]) -> list[Measurement]:
        """Measure everything at these ε, using cached figures if there are any."""
        found: dict[float, Measurement] = {}
        is_cached = self.probe.blocks_bundled  # figures per word would reveal a private list of blocked words
        for epsilon in epsilons if is_cached else ():
            arrays = kept(self.key(epsilon))
            if arrays is not None:
                found[epsilon] = Measurement.from_arrays(arrays)
        missing = [epsilon for epsilon in epsilons if epsilon not in found]
        for number, law in enumerate(self.laws(missing) if missing else ()):
            watch = within(self.watch, number / len(missing), (number + 1) / len(missing))
            measured = self._measured(law, watch)
            if is_cached:
                keep(self.key(measured.epsilon), measured.to_arrays())
            found[missing[number]] = measured
        return [self._with_prose(found[epsilon]) for epsilon in epsilons]

    @cached_property
    def curve(self) -> AttackCurve | None:
        """The attackers' success against exactly this mechanism on public prose; None if it was not measured."""
        return attack_curve(self.probe)

    def _with_prose(self, measured: Measurement) -> Measurement:
        """Add the figures measured in advance, which are not cached: a new version may bring new curves."""
        prose = None if self.curve is None else self.curve.at(measured.epsilon)
        return replace(measured, prose=prose, bits=None if prose is None else prose.bits)

    def bits(self, epsilon: float) -> float | None:
        """Return how many bits an output reveals if all words are equally likely; None if it is not known exactly.

        It is computed from the probabilities of every word, which takes about a minute with 50,000 words.
        """
        if not self.exact:
            return None
        key = {**self.key(epsilon), "what": "bits"}
        arrays = kept(key)
        if arrays is None:
            law = self.laws([epsilon])[0]
            arrays = {"bits": np.array(law.information(np.ones(len(self.space)), self.watch).value)}
            keep(key, arrays)
        return float(arrays["bits"])

    def _measured(self, law: Law, watch: Watch) -> Measurement:
        outputs = sample(len(self.space), self.effort.outputs, self.effort.seed)
        near, depths = self.near[:, : self.effort.near], self.probe.space.depths
        priors = [self._prior(prior) for prior in _PRIORS]
        found = law.measure(Question(self.ids, near, self.suspects, priors, outputs, depths), watch)
        return Measurement(
            epsilon=law.mechanism.epsilon,
            exact=law.exact,
            stays=found.stays,
            **found.spread._asdict(),
            **found.behind._asdict(),
            near_loss=self._near_loss(law),
            kept=found.kept,
            near=found.near,
            far=found.far,
            uniform=found.guesses[0].success,
            frequency=found.guesses[1].success,
        )

    def key(self, epsilon: float) -> dict[str, Any]:
        """Return the cache key: everything that a measurement at this ε depends on."""
        return {"what": "measurement", **self.identity, "epsilon": float(epsilon)}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the figures depend on, except ε."""
        described = self.probe.describe()
        return {
            "mechanism": described["mechanism"],
            "options": described["options"],
            "metric": described["space"]["checksum"],
            "space": self.space.checksum,
            "law": type(self.law).__name__,
            "effort": self.effort.to_dict(),
            **({"blocked": self.probe.blocked_checksum} if len(self.probe.blocked) else {}),
        }


@dataclass(frozen=True)
class Span:
    """The range of ε in which a mechanism goes from changing nearly every word to keeping nearly every word."""

    low: float
    high: float

    def grid(self, count: int) -> list[float]:
        """Return `count` ε, evenly spaced in ratio, rounded to two digits but not below the range."""
        first, *others = (float(epsilon) for epsilon in np.geomspace(self.low, self.high, count))
        rounded = {float(f"{epsilon:.2g}") for epsilon in others}
        step = 10.0 ** (np.floor(np.log10(first)) - 1)  # rounded up, because the mechanism may refuse a smaller ε
        return sorted(rounded | {float(f"{np.ceil(first / step) * step:.2g}")})


def span_of(meter: Meter) -> Span:
    """Find roughly the ε at which 2% and 98% of the words stay, from a few words."""
    few = replace(meter.effort, words=min(_FEW, len(meter.space)), draws=_FEW)
    small = Meter(meter.make, meter.probe, meter.space, few)
    start = meter.probe.epsilon

    def ends_at(share: float) -> float:
        return largest_epsilon(
            lambda tried: [found.mean <= share for found in small.stays(tried, small.ids)],
            start,
            4 * start,
            batch=meter.law.batch,
            tolerance=0.05,
        )

    low, high = ends_at(0.02), ends_at(0.98)
    if not low:  # more than 2% stay even at the smallest ε that the mechanism accepts
        low = smallest_accepted(meter.make, start)
    if not np.isfinite(high) or high <= low:
        high = 10 * low
    return Span(low, high)
