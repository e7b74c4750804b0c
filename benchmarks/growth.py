"""How the time of a draw grows with the number of words, the vocabulary and the dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import seconds_to_draw
from wordveil import load_space, mechanism
from wordveil.spaces import EuclideanSpace, Vocabulary

__all__ = ["AXES", "Curve", "growth"]

#: What grows, with its sizes. Where a curve stops earlier, its next point would have taken too long.
AXES = {
    "words drawn": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "vocabulary": (1_000, 4_000, 16_000, 50_000, 100_000, 200_000, 400_000),
    "dimension": (10, 30, 100, 300),
}

_EPSILONS = {"graph": 6.0, "ring": 0.3, "exponential": 3.0, "laplace": 10.0}
_LONGEST = 15.0  # seconds for one point
_FITTED = 3  # the last points, where fixed costs no longer hide the growth
_BUILT = 16_000  # words up to which a graph and a tour are made for this


@dataclass
class Curve:
    """Seconds at each size, and the exponent that the last of them fit: time ∝ size^exponent."""

    mechanism: str
    axis: str
    what: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def exponent(self) -> float | None:
        """The slope of the logarithms over the last points."""
        if len(self.sizes) < 2:
            return None
        last = slice(-_FITTED, None)
        return float(np.polyfit(np.log(self.sizes[last]), np.log(self.seconds[last]), 1)[0])

    def to_dict(self) -> dict[str, object]:
        """Return the curve as plain values."""
        return {**self.__dict__, "exponent": self.exponent}


def growth() -> list[Curve]:
    """Measure every curve."""
    return [*_over_words(), *_over_vocabulary(), *_over_dimension()]


def _over_words() -> list[Curve]:
    space = load_space("glove-50k")
    ids = _zipfian(len(space), AXES["words drawn"][-1])
    return [
        _measured(name, "words drawn", "50k × 100, Zipfian words", lambda _: space, lambda size: ids[:size])
        for name in _EPSILONS
    ]


def _over_vocabulary() -> list[Curve]:
    known = load_space("glove-50k")

    def real(size: int) -> EuclideanSpace | None:
        if size == len(known):
            return known
        return known.restrict(np.arange(size)) if size <= _BUILT else None

    def made(size: int) -> EuclideanSpace:
        return _made(size, 100)

    curves = []
    for name in _EPSILONS:
        on, draws = (real, 20_000) if name in ("graph", "ring") else (made, 2_048 if name == "laplace" else 512)
        what = f"{draws:,} words, 100 dimensions"
        curves.append(_measured(name, "vocabulary", what, on, lambda size, draws=draws: _zipfian(size, draws)))  # type: ignore[misc]
    return curves


def _over_dimension() -> list[Curve]:
    curves = []
    for name in _EPSILONS:
        words, draws = (2_000, 20_000) if name in ("graph", "ring") else (20_000, 4_096 if name == "laplace" else 512)
        what = f"{draws:,} words of {words:,}"
        curves.append(
            _measured(
                name, "dimension", what, lambda size, words=words: _made(words, size),  # type: ignore[misc]
                lambda _, words=words, draws=draws: _zipfian(words, draws),  # type: ignore[misc]
            )
        )  # fmt: skip
    return curves


def _measured(
    name: str,
    axis: str,
    what: str,
    space_of: Callable[[int], EuclideanSpace | None],
    ids_of: Callable[[int], NDArray[np.int64]],
) -> Curve:
    curve = Curve(name, axis, what)
    for size in AXES[axis]:
        space = space_of(size)
        if space is None:
            continue
        if curve.seconds and curve.seconds[-1] * (size / curve.sizes[-1]) > _LONGEST:
            break
        mechanism_of = partial(mechanism, name, space, epsilon=_EPSILONS[name])
        times = 3 if size < AXES[axis][-1] else 1
        curve.seconds.append(seconds_to_draw(mechanism_of, ids_of(size), times))
        curve.sizes.append(size)
    return curve


def _zipfian(words: int, count: int) -> NDArray[np.int64]:
    chances = 1.0 / (np.arange(words) + 2.7)
    return np.random.default_rng(0).choice(words, count, p=chances / chances.sum())


@cache
def _made(words: int, dimension: int) -> EuclideanSpace:
    vectors = np.random.default_rng(0).standard_normal((words, dimension), dtype=np.float32)
    return EuclideanSpace("made", Vocabulary([f"w{number}" for number in range(words)]), vectors)
