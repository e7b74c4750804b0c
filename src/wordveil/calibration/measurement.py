"""The figures of a mechanism at one ε, and the trade-off curves measured in advance."""

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

#: Trade-off curves of the bundled spaces, measured by ``tools/build_tradeoffs.py``.
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
        S_w: the number of distinct outputs in `Effort.draws` draws; if exact, its expectation.
    effective : PerWord
        S_w: the size of the smallest set of outputs that holds all but eta of the probability.
    min_entropy : PerWord
        The Rényi entropy of order infinity, in bits: minus the logarithm of the likeliest output's probability.
    support : PerWord
        The Rényi entropy of order 0, in bits: the logarithm of the number of possible outputs, or of those seen if
        probabilities are estimated.
    inputs : PerWord
        K_w, for each of some words as an output: how many inputs give it at least once in `Effort.draws` draws.
    alike : PerWord
        The k of (k, γ) plausible deniability, for each of some words as an output: how many inputs give it with a
        probability within a factor γ of the likeliest input.
    near_loss : PerWord
        The largest log-ratio between a word and its most similar words, over all outputs.
    kept, near, far : Estimate
        The shares of words that stay, that become a near word, and that become any other word.
    uniform, frequency : Estimate
        How often an attacker who looks at one word at a time is right, if all words are equally likely, and if they
        know word frequencies. If probabilities are estimated, the interval reaches from what a learner achieves on
        fresh draws to what the counted frequencies suggest; the truth lies between.
    below : PerWord, optional
        Like `inputs`, but counting only inputs below the output in a hyperbolic hierarchy.
    prose : OnProse, optional
        The attackers' success on public prose, if it was measured in advance.
    own : Figure, optional
        The success of the attacker with context on your own texts, if you gave any.
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
        """All known attackers who know word frequencies, weakest first."""
        found = [self.alone, *(self.prose.figures if self.prose else ()), *([self.own] if self.own else [])]
        return sorted(found, key=lambda figure: figure.value)

    @property
    def strongest(self) -> Figure:
        """The strongest known attacker."""
        return self.attackers[-1]

    @property
    def context(self) -> Figure | None:
        """The strongest attacker with context on public prose; None if none was measured at this ε."""
        found = [figure for figure in (self.prose.figures if self.prose else ()) if figure.uses_context]
        return found[-1] if found else None

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Summarise everything in plain values for JSON."""
        facts: dict[str, Any] = {"epsilon": self.epsilon, "exact": self.exact, "adversary": {}}
        for name, part in self._parts():
            values = part.summary(vocabulary) if isinstance(part, PerWord) else part.to_dict()
            if name in ("uniform", "frequency"):
                facts["adversary"][name] = values
            else:
                facts[name] = values
        facts["strongest"] = self.strongest.to_dict()
        facts["attackers"] = [figure.to_dict() for figure in self.attackers]
        facts["bits"] = self.bits
        facts["repeats"] = self.prose.to_dict()["repeats"] if self.prose else []
        facts["stayed"] = self.prose.to_dict()["stayed"] if self.prose else None
        return facts

    def point(self) -> dict[str, float]:
        """Return one point of a trade-off curve: ε, two attackers' success, and the shares of kept and near words."""
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
        """Return the figures as arrays, for the cache."""
        arrays: dict[str, NDArray[Any]] = {"epsilon": np.array(self.epsilon), "exact": np.array(self.exact)}
        for name, part in self._parts():
            arrays |= {f"{name}.{key}": array for key, array in _packed(part).items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Measurement:
        """Restore a measurement from `to_arrays`."""
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
    found: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return found


def shipped_tradeoff(space: str, mechanism: str) -> dict[str, Any] | None:
    """Return the curve of a mechanism with its default options on a bundled space; None if it was not measured."""
    found: dict[str, Any] | None = _shipped().get(space, {}).get(mechanism)
    return found
