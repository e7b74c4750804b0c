"""The figures that a calibration gives, and how they are summed up."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.spaces import Vocabulary

__all__ = ["PERCENTILES", "Adversary", "Measurement", "PerWord", "Share"]

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
_NAMED = 10


@dataclass(frozen=True)
class PerWord:
    """One number for each of some words.

    Attributes
    ----------
    ids : array of int
        The words.
    values : array of float
        The numbers.
    errors : array of float, optional
        Their standard errors, where they were estimated.
    mean_error : float
        The standard error of their mean as an estimate for these very words; 0 where they are exact.
    worst_is_largest : bool
        Whether a large number is the bad one.
    again : PerWord, optional
        The worst of the words measured once more on fresh draws. The worst of many estimates is too bad on average,
        since it was chosen for its error too; these are free of that.
    bound : bool
        Whether the numbers are upper bounds.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None
    mean_error: float = 0.0
    worst_is_largest: bool = True
    again: PerWord | None = None
    bound: bool = False

    @property
    def mean(self) -> float:
        """The mean over the words; NaN if there are none."""
        return float(self.values.mean()) if self.values.size else np.nan

    @property
    def worst(self) -> float:
        """The worst number, measured again where it was estimated."""
        values = self.values if self.again is None else self.again.values
        if not values.size:
            return np.nan
        return float(values.max() if self.worst_is_largest else values.min())

    def met_by(self, share: float) -> float:
        """Return the number that this share of the words is at least as good as; for a share of 1, the worst."""
        if share >= 1.0:
            return self.worst
        good_first = np.sort(self.values if self.worst_is_largest else -self.values)
        found = float(good_first[max(0, int(np.ceil(share * len(good_first))) - 1)])
        return found if self.worst_is_largest else -found

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Sum it up in plain values: worst, mean, percentiles, and the worst words by name."""
        shown = self if self.again is None else self.again
        order = np.argsort(-shown.values if self.worst_is_largest else shown.values, kind="stable")[:_NAMED]
        return {
            "words": len(self.ids),
            "worst": _plain(self.worst),
            "mean": _plain(self.mean),
            "mean_error": self.mean_error,
            "percentiles": {
                str(percent): _plain(float(value))
                for percent, value in zip(PERCENTILES, _percentiles(self.values), strict=True)
            },
            "upper_bound": self.bound,
            "worst_words": [
                {
                    "word": vocabulary[int(shown.ids[place])],
                    "value": _plain(float(shown.values[place])),
                    "error": None if shown.errors is None else float(shown.errors[place]),
                }
                for place in order.tolist()
            ],
        }


@dataclass(frozen=True)
class Share:
    """A mean over words, with its standard error (0 where it is exact)."""

    value: float
    error: float = 0.0


@dataclass(frozen=True)
class Adversary:
    """How often the best guess of the input, from the output, is right.

    Attributes
    ----------
    low, high : float
        Where the probabilities are known the two agree. Where they are estimated, `low` is what a guesser who learnt
        from one half of the draws achieves on the other (or, if that is more, one who guesses the output itself or
        always the likeliest word), and `high` what the estimated probabilities would give: the first is too low on
        average and the second too high, so the truth lies between.
    error : float
        The standard error of either.
    words : int
        Among how many words the input is looked for.
    """

    low: float
    high: float
    error: float = 0.0
    words: int = 0

    @property
    def value(self) -> float:
        """The middle of the two."""
        return 0.5 * (self.low + self.high)


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
    below : PerWord, optional
        The same, counting only the inputs below the output in a hyperbolic hierarchy.
    alike : PerWord
        The k of (k, γ) plausible deniability, for each of some words as an output: how many inputs give it with a
        probability within a factor γ of the likeliest input.
    near_loss : PerWord
        The largest log-ratio between a word and its most similar words, over all outputs.
    kept, near, far : Share
        The share of words that stay, that become a near word, and that become another.
    uniform, frequency : Adversary
        The best guesser's success when all words are equally likely as inputs, and when he knows word frequencies.
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
    kept: Share
    near: Share
    far: Share
    uniform: Adversary
    frequency: Adversary
    below: PerWord | None = field(default=None)

    def summary(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Sum everything up in plain values for JSON."""
        facts: dict[str, Any] = {"epsilon": self.epsilon, "exact": self.exact}
        for name, part in self._parts():
            if isinstance(part, PerWord):
                facts[name] = part.summary(vocabulary)
            elif isinstance(part, Adversary):
                facts.setdefault("adversary", {})[name] = {"value": part.value, **vars(part)}
            else:
                facts[name] = {"value": part.value, "error": part.error}
        return facts

    def _parts(self) -> list[tuple[str, PerWord | Share | Adversary]]:
        listed = [(one.name, getattr(self, one.name)) for one in fields(self)]
        return [(name, part) for name, part in listed if isinstance(part, (PerWord, Share, Adversary))]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Take it apart for storing."""
        arrays: dict[str, NDArray[Any]] = {"epsilon": np.array(self.epsilon), "exact": np.array(self.exact)}
        for name, part in self._parts():
            arrays |= _pack(name, part)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Measurement:
        """Put together what `to_arrays` took apart."""
        parts: dict[str, Any] = {
            name: _unpack(name, arrays) for name in {key.partition(".")[0] for key in arrays if "." in key}
        }
        return cls(epsilon=float(arrays["epsilon"]), exact=bool(arrays["exact"]), **parts)


def _pack(name: str, part: PerWord | Share | Adversary) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {f"{name}.kind": np.array(type(part).__name__)}
    for key, value in vars(part).items():
        if isinstance(value, PerWord):
            arrays |= {f"{name}.{key}/{inner}": array for inner, array in _pack_inner(value).items()}
        elif value is not None:
            arrays[f"{name}.{key}"] = np.asarray(value)
    return arrays


def _pack_inner(part: PerWord) -> dict[str, NDArray[Any]]:
    return {key: np.asarray(value) for key, value in vars(part).items() if value is not None}


def _unpack(name: str, arrays: dict[str, NDArray[Any]]) -> PerWord | Share | Adversary:
    own = {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
    kinds: dict[str, type[Any]] = {"PerWord": PerWord, "Share": Share, "Adversary": Adversary}
    kind = kinds[str(own.pop("kind"))]
    inner = {key.partition("/")[2]: own.pop(key) for key in list(own) if "/" in key}
    values: dict[str, Any] = {key: _scalar(array) for key, array in own.items()}
    if inner:
        values["again"] = PerWord(**{key: _scalar(array) for key, array in inner.items()})
    return kind(**values)


def _scalar(array: NDArray[Any]) -> Any:
    return array.item() if array.ndim == 0 else array


def _percentiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not values.size:
        return np.full(len(PERCENTILES), np.nan)
    finite = np.where(np.isfinite(values), values, np.finfo(np.float64).max)  # inf - inf would be NaN
    found = np.percentile(finite, PERCENTILES)
    return np.where(found >= np.finfo(np.float64).max / 2, np.inf, found)


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
