"""What is measured of a mechanism at one ε, and the curves that were measured in advance."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.attackers import ALONE, Figure, OnProse
from wordveil._mechanisms.laws import PerWord
from wordveil.spaces import Vocabulary
from wordveil.stats import Estimate

#: Trade-off curves of the bundled spaces; ``tools/build_tradeoffs.py`` measures them again.
SHIPPED = Path(__file__).parent.parent / "data" / "tradeoffs.json"


@dataclass(frozen=True)
class Measurement:
    """Everything measured at one ε.

    Attributes
    ----------
    epsilon : float
        The privacy parameter.
    exact : bool
        Whether the figures come from exact probabilities.
    stays : PerWord
        N_w: the probability that a word stays itself.
    distinct : PerWord
        S_w: how many distinct words come out in the given number of draws; where it is exact, the expected number.
    effective : PerWord
        S_w: the size of the smallest set of outputs that holds all but eta of the probability.
    min_entropy : PerWord
        The Rényi entropy of order infinity, in bits: minus the logarithm of the likeliest output's probability.
    support : PerWord
        The Rényi entropy of order 0, in bits: the logarithm of the number of possible outputs, or, where only draws
        are known, of those seen.
    inputs : PerWord
        K_w, for each of some words as an output: how many inputs give it at least once in the given number of draws.
    alike : PerWord
        The k of (k, γ) plausible deniability, for each of some words as an output: how many inputs give it with a
        probability within a factor γ of the likeliest input.
    near_loss : PerWord
        The largest log-ratio between a word and its most similar words, over all outputs.
    kept, near, far : Estimate
        The share of words that stay, that become a near word, and that become another.
    uniform, frequency : Estimate
        How often an attacker who looks at one word at a time guesses it right, if all words are equally likely as
        inputs and if they know word frequencies. Where probabilities are estimated the interval reaches from what a
        learner achieves on fresh draws to what the counted frequencies promise, the truth lying between.
    below : PerWord, optional
        The same as `inputs`, counting only the inputs below the output in a hyperbolic hierarchy.
    prose : OnProse, optional
        What attackers got on public prose, where that was measured in advance.
    own : Figure, optional
        What the attacker with context got out of texts of one's own, where these were given.
    bits : float, optional
        How many bits an output reveals about its word if all words are equally likely.
    """

    epsilon: float
    exact: bool
    stays: PerWord
    distinct: PerWord
    effective: PerWord
    min_entropy: PerWord
    support: PerWord
    inputs: PerWord
    alike: PerWord
    near_loss: PerWord
    kept: Estimate
    near: Estimate
    far: Estimate
    uniform: Estimate
    frequency: Estimate
    below: PerWord | None = None
    prose: OnProse | None = None
    own: Figure | None = None
    bits: float | None = None

    @property
    def alone(self) -> Figure:
        """The attacker without context, who knows word frequencies."""
        return Figure.of(self.frequency, ALONE)

    @property
    def attackers(self) -> list[Figure]:
        """Every attacker at hand who knows word frequencies, from the weakest to the strongest."""
        found = [self.alone, *(self.prose.figures if self.prose else ()), *([self.own] if self.own else [])]
        return sorted(found, key=lambda figure: figure.value)

    @property
    def strongest(self) -> Figure:
        """The attacker at hand who guesses most."""
        return self.attackers[-1]

    @property
    def context(self) -> Figure | None:
        """The strongest attacker with context on public prose; None if none was tried at this ε."""
        found = [figure for figure in (self.prose.figures if self.prose else ()) if figure.uses_context]
        return found[-1] if found else None

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Sum everything up in plain values for JSON."""
        facts: dict[str, Any] = {"epsilon": self.epsilon, "exact": self.exact, "adversary": {}}
        for name, part in self._parts():
            told = part.summary(vocabulary) if isinstance(part, PerWord) else part.to_dict()
            if name in ("uniform", "frequency"):
                facts["adversary"][name] = told
            else:
                facts[name] = told
        facts["strongest"] = self.strongest.to_dict()
        facts["attackers"] = [figure.to_dict() for figure in self.attackers]
        facts["bits"] = self.bits
        facts["repeats"] = self.prose.to_dict()["repeats"] if self.prose else []
        facts["stayed"] = self.prose.to_dict()["stayed"] if self.prose else None
        return facts

    def point(self) -> dict[str, float]:
        """Return one point of a trade-off curve: ε, the two attackers' success, and what becomes of words."""
        return {
            "epsilon": self.epsilon,
            "adversary": self.uniform.value,
            "adversary_frequency": self.frequency.value,
            "kept": self.kept.value,
            "near": self.near.value,
        }

    def _parts(self) -> list[tuple[str, PerWord | Estimate]]:
        listed = [(one.name, getattr(self, one.name)) for one in fields(self)]
        return [(name, part) for name, part in listed if isinstance(part, (PerWord, Estimate))]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Take it apart for storing."""
        arrays: dict[str, NDArray[Any]] = {"epsilon": np.array(self.epsilon), "exact": np.array(self.exact)}
        for name, part in self._parts():
            arrays |= {f"{name}.{key}": array for key, array in _packed(part).items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Measurement:
        """Put together what `to_arrays` took apart."""
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for key, array in arrays.items():
            name, dot, rest = key.partition(".")
            if dot:
                parts.setdefault(name, {})[rest] = array
        made: dict[str, Any] = {name: _unpacked(own) for name, own in parts.items()}
        return cls(epsilon=float(arrays["epsilon"]), exact=bool(arrays["exact"]), **made)


def _packed(part: PerWord | Estimate) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for key, value in vars(part).items():
        if isinstance(value, PerWord):
            arrays |= {f"{key}.{inner}": array for inner, array in _packed(value).items()}
        elif value is not None:
            arrays[key] = np.asarray(value)
    return arrays


def _unpacked(arrays: dict[str, NDArray[Any]]) -> PerWord | Estimate:
    values: dict[str, Any] = {
        key: array.item() if array.ndim == 0 else array for key, array in arrays.items() if "." not in key
    }
    again = {key.partition(".")[2]: array for key, array in arrays.items() if "." in key}
    if again:
        values["again"] = _unpacked(again)
    return PerWord(**values) if "ids" in values else Estimate(**values)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return told


def shipped_tradeoff(space: str, mechanism: str) -> dict[str, Any] | None:
    """Return the curve of a mechanism with its usual options on a bundled space; None if it was not measured."""
    found: dict[str, Any] | None = _shipped().get(space, {}).get(mechanism)
    return found
