"""A whole calibration: figures at several ε, answers to targets, examples, and advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.attackers import Figure
from wordveil._mechanisms.laws.store import keep, kept
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.meter import Maker, Meter, Span, span_of
from wordveil.calibration.targets import Own, Target, known_reach, solve, within_reach
from wordveil.calibration.wording import advice, meaning
from wordveil.errors import InputError
from wordveil.noise import Entropy
from wordveil.stats import Estimate

#: The default target: the strongest known attacker guesses at most one word in ten.
DEFAULT_TARGET = Target("attacker", 0.1)

#: Attacks texts veiled by a mechanism, and returns the share of the words that are guessed.
Attack: TypeAlias = Callable[[Mechanism[Any]], Estimate]

_READERS = {True: "an attacker who reads words in context", False: "an attacker who looks at one word at a time"}
_POINTS = 10
_SHOWN = 4
# The words of the WSDM paper's Table 1, and further ones in case a vocabulary lacks them.
_EXAMPLES = ("encryption", "hockey", "spacecraft", "hospital", "london")


@dataclass(frozen=True)
class Answer:
    """The largest ε that meets a target: 0 if none does, infinity if all do."""

    target: Target
    epsilon: float


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration.

    Attributes
    ----------
    meter : Meter
        The meter that measured it.
    measurements : list of Measurement
        The figures at each ε, smallest first.
    answers : list of Answer
        The largest ε for each target.
    recommended : float or None
        The largest ε that meets every target; None without targets, or if not all can be met.
    examples : dict
        For each ε, some words with a few draws of each.
    """

    meter: Meter
    measurements: list[Measurement]
    answers: list[Answer]
    recommended: float | None
    examples: dict[float, dict[str, list[str]]]

    def at(self, epsilon: float) -> Measurement:
        """Return the figures at one of the measured ε."""
        return next(found for found in self.measurements if found.epsilon == epsilon)

    def advice(self) -> list[str]:
        """Return sentences that say which ε to choose, and why."""
        measured = None if self.recommended is None else self.at(self.recommended)
        answers = [(answer.target, answer.epsilon) for answer in self.answers]
        return advice(answers, measured, self.meter.vocabulary, self.meter.effort.draws)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        described = self.meter.probe.describe()
        described.pop("epsilon")
        shown = self.recommended or self.measurements[-1].epsilon
        return {
            **described,
            "on": self.meter.space.describe(),
            "how": self.meter.law.how,
            "exact": self.meter.exact,
            "effort": self.meter.effort.to_dict(),
            "guarantee": self.meter.make(shown).guarantee.to_dict(),
            "measurements": [
                {
                    **found.summary(self.meter.vocabulary),
                    "meaning": meaning(found, self.meter.vocabulary, self.meter.effort.draws),
                }
                for found in self.measurements
            ],
            "targets": [
                {
                    "target": answer.target.kind,
                    "bound": answer.target.bound,
                    "share": answer.target.share,
                    "sentence": answer.target.sentence(self.meter.effort.draws),
                    "largest_epsilon": answer.epsilon if np.isfinite(answer.epsilon) else None,
                    "can_be_met": answer.epsilon > 0,
                }
                for answer in self.answers
            ],
            "recommended_epsilon": self.recommended,
            "advice": self.advice(),
            "examples": [{"epsilon": epsilon, "words": drawn} for epsilon, drawn in sorted(self.examples.items())],
        }


def calibrate(
    meter: Meter,
    epsilons: Sequence[float] = (),
    targets: Sequence[Target] = (),
    *,
    words: Sequence[str] = (),
    points: int = _POINTS,
    attack: Attack | None = None,
    uses_context: bool = True,
) -> Calibration:
    """Find out what ε means for a mechanism, and which ε meets targets.

    Parameters
    ----------
    epsilons : sequence of float
        The ε to measure. Default: some between changing nearly every word and keeping nearly every word.
    targets : sequence of Target
        What must be true. Default, if no ε are given either: `DEFAULT_TARGET`.
    words : sequence of str
        Words to show examples of.
    points : int
        How many ε to measure if none are given.
    attack : callable, optional
        Veils your own texts with the mechanism it is given, attacks them, and returns the share of the words that are
        guessed. It is run at the ε that you ask for and at the recommended one, and counts for the target ``attacker``.
        Its results are not cached.
    uses_context : bool
        Whether that attacker looks at more than one word at a time.
    """
    if not epsilons and not targets:
        targets = (DEFAULT_TARGET,)
    own = None if attack is None else _Own(meter.make, attack, uses_context=uses_context)
    span = span_of(meter) if targets or not epsilons else None
    wanted = {float(epsilon) for epsilon in epsilons} or set(span.grid(points) if span else ())
    first = sorted(wanted) if span and not epsilons else []
    answers = [] if span is None else [Answer(target, _solved(meter, target, span, own, first)) for target in targets]
    recommended = min((answer.epsilon for answer in answers), default=0.0)
    if 0.0 < recommended < np.inf:
        wanted.add(recommended)
    measurements = meter.measure(sorted(wanted))
    shown = recommended if 0.0 < recommended < np.inf else measurements[-1].epsilon
    for place, found in enumerate(measurements):
        asked = found.epsilon == shown or found.epsilon in set(map(float, epsilons))
        bits = meter.bits(found.epsilon) if found.bits is None and found.epsilon == shown else found.bits
        measurements[place] = replace(found, own=own(found.epsilon) if own and asked else None, bits=bits)
    return Calibration(
        meter,
        measurements,
        answers,
        recommended if 0.0 < recommended < np.inf else None,
        _examples(meter, [found.epsilon for found in measurements], list(words) or example_words(meter)),
    )


def _solved(meter: Meter, target: Target, span: Span, own: Own | None, first: Sequence[float]) -> float:
    if target.kind == "attacker":  # not cached: curves may change with the version, and your texts are private
        asked = Target("adversary-frequency", target.bound)
        alone = known_reach(meter, asked, first) or _solved(meter, asked, span, None, first)
        return within_reach(meter, target.bound, alone, own)
    key = {"what": "answer", **meter.identity, "target": [target.kind, target.bound, target.share]}
    found = kept(key)
    if found is None:
        found = {"epsilon": np.array(solve(meter, target, span, first=first))}
        keep(key, found)
    return float(found["epsilon"])


class _Own:
    """An attack on your own texts, run once at each ε."""

    def __init__(self, make: Maker, attack: Attack, *, uses_context: bool) -> None:
        self._make, self._attack, self._uses_context = make, attack, uses_context
        self._known: dict[float, Figure] = {}

    def __call__(self, epsilon: float) -> Figure:
        if epsilon not in self._known:
            found = self._attack(self._make(epsilon))
            self._known[epsilon] = Figure.of(
                found, _READERS[self._uses_context], "your texts", uses_context=self._uses_context
            )
        return self._known[epsilon]


def example_words(meter: Meter) -> list[str]:
    """Return up to three words to show, if possible those of the WSDM paper."""
    known = [word for word in _EXAMPLES if word in meter.vocabulary][:3]
    return known or meter.vocabulary.take(np.unique(np.linspace(0, len(meter.vocabulary) - 1, 3).astype(int)))


def _examples(meter: Meter, epsilons: list[float], words: list[str]) -> dict[float, dict[str, list[str]]]:
    unknown = sum(word not in meter.vocabulary for word in words)
    if unknown:
        raise InputError(f"{unknown} of the example words are not in this space; choose others.")
    ids = np.repeat([meter.vocabulary.id(word) for word in words], _SHOWN)
    shown: dict[float, dict[str, list[str]]] = {}
    for epsilon in epsilons:
        drawn = meter.vocabulary.take(meter.make(epsilon).draw(ids, Entropy(meter.effort.seed)))
        shown[epsilon] = {word: drawn[_SHOWN * i : _SHOWN * (i + 1)] for i, word in enumerate(words)}
    return shown
