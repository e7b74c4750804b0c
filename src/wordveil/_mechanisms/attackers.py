"""How often attackers guess words of public prose: curves over ε, measured in advance for each mechanism.

``tools/build_attackers.py`` measures them. Everything that reports how often a word is guessed looks here first, and
shows the strongest attacker measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import Mechanism
from wordveil.rounding import percent, round_down
from wordveil.stats import Estimate

#: The curves of the bundled spaces.
CURVES = Path(__file__).parent.parent / "data" / "attackers.json"

#: The attacker without context, whose success follows from the law.
ALONE = "an attacker who knows word frequencies and looks at one word at a time"

#: Shown if there is no figure for an attacker with context.
NOT_MEASURED = (
    "How often an attacker with context guesses a word was not measured in advance for these settings; "
    "`wordveil attack context` measures it on your own texts."
)


@dataclass(frozen=True)
class Figure:
    """How often an attacker is right, and which attacker.

    Attributes
    ----------
    value, low, high : float
        The share of the veiled words that they guess, and its 95% interval.
    attacker : str
        Who they are, as a phrase: "an attacker who …".
    on : str
        The texts it was measured on; empty if it was computed for words drawn by frequency.
    uses_context : bool
        Whether they also use the other words of the text.
    """

    value: float
    low: float
    high: float
    attacker: str
    on: str = ""
    uses_context: bool = False

    @classmethod
    def of(cls, found: Estimate, attacker: str, on: str = "", *, uses_context: bool = False) -> Figure:
        """Make a figure from an estimate."""
        return cls(found.value, found.low, found.high, attacker, on, uses_context)

    def share(self) -> str:
        """Return the share as text, with its interval if that is wide.

        Examples
        --------
        >>> Figure(0.092, 0.092, 0.092, "somebody").share(), Figure(0.142, 0.13, 0.155, "somebody").share()
        ('9.2%', '14.2% (13% to 15.5%)')
        """
        if self.high - self.low <= max(0.05 * self.value, 5e-4):
            return percent(self.value)
        return f"{percent(self.value)} ({percent(self.low)} to {percent(self.high)})"

    def sentence(self) -> str:
        """Return a sentence that names the attacker.

        Examples
        --------
        >>> print(Figure(0.142, 0.13, 0.155, "an attacker with a trigram model", "speeches").sentence())
        An attacker with a trigram model guesses 14.2% (13% to 15.5%) of the veiled words of speeches.
        """
        whose = f"of the veiled words of {self.on}" if self.on else "of the words"
        return f"{self.attacker[:1].upper()}{self.attacker[1:]} guesses {self.share()} {whose}."

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class OnProse:
    """What was measured in advance for one mechanism, interpolated at one ε.

    Attributes
    ----------
    epsilon : float
        The privacy parameter.
    figures : tuple of Figure
        The attackers measured on the same words, weakest first.
    bits : float or None
        How many bits an output reveals about its word if all words are equally likely; None if unknown.
    of_bits : float
        How many bits there are to learn.
    repeats : tuple of (int, Estimate)
        How often an attacker who ignores context finds a word that was drawn this many times.
    stayed : Estimate or None
        How well an attacker distinguishes words that stayed from words that were replaced: the area under the ROC
        curve, 0.5 for guessing.
    """

    epsilon: float
    figures: tuple[Figure, ...]
    bits: float | None
    of_bits: float
    repeats: tuple[tuple[int, Estimate], ...]
    stayed: Estimate | None

    @property
    def strongest(self) -> Figure:
        """The attacker who guesses most."""
        return self.figures[-1]

    def sentences(self) -> list[str]:
        """Return sentences about the strongest attacker, what one output reveals, and what repetition does."""
        said = [self.strongest.sentence()]
        if self.stayed is not None:
            said.append(
                "The strongest attacker distinguishes words that stayed from words that were replaced with an area "
                f"under the ROC curve of {self.stayed.value:.2f} (0.5 is guessing, 1 is certainty)."
            )
        if self.bits is not None:
            said.append(bits_sentence(self.bits, self.of_bits))
        if self.repeats:
            times = ", ".join(str(times) for times, _ in self.repeats)
            found = ", ".join(percent(one.value) for _, one in self.repeats)
            said.append(f"A word that is drawn {times} times is found {found} of the time, even without context.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "attackers": [one.to_dict() for one in self.figures],
            "bits": self.bits,
            "of_bits": self.of_bits,
            "repeats": [{"times": times, **one.to_dict()} for times, one in self.repeats],
            "stayed": None if self.stayed is None else self.stayed.to_dict(),
        }


def bits_sentence(bits: float, of_bits: float) -> str:
    """Return a sentence about how many bits one output reveals."""
    return f"One output reveals {bits:.1f} of the {of_bits:.1f} bits that say which word it was."


class AttackCurve:
    """The curve of one mechanism with its default options on one space.

    Success grows with ε, so a measured figure below one at a smaller ε is raised to it. Between the measured values of
    ε, figures are interpolated. An attacker who was tried at only some of them has no figure below those, and above
    those at least the last.
    """

    def __init__(self, curve: dict[str, Any], attackers: dict[str, dict[str, Any]]) -> None:
        self.options: dict[str, Any] = curve["options"]
        self.checksum: str = curve["checksum"]
        self.words: int = curve["words"]
        points = sorted(curve["points"], key=lambda point: point["epsilon"])
        self.epsilons = np.array([point["epsilon"] for point in points], dtype=np.float64)
        self._attackers = attackers
        #: For each attacker the values of ε at which they were tried, and rows of value, low, high and count.
        self._success = {
            name: (
                np.array([point["epsilon"] for point in tried], dtype=np.float64),
                _rising([point["success"][name] for point in tried]),
            )
            for name in attackers
            if (tried := [point for point in points if name in point["success"]])
        }
        self._repeats = {
            times: _rising([point["repeats"][times] for point in points])
            for times in points[0].get("repeats", {})
            if all(times in point.get("repeats", {}) for point in points)
        }
        has_stayed = all("stayed" in point for point in points)
        # This need not grow with ε: the fewer words are replaced, the better each may fit in.
        self._stayed = np.array([point["stayed"] for point in points]) if has_stayed else None
        has_bits = all(point.get("bits") is not None for point in points)
        self._bits = np.maximum.accumulate([point["bits"] for point in points]) if has_bits else None

    def at(self, epsilon: float) -> OnProse | None:
        """Return the figures at an ε; None outside the measured range."""
        if not self.epsilons[0] <= epsilon <= self.epsilons[-1]:
            return None
        figures = [
            Figure.of(
                _between(epsilon, tried, rows),
                self._attackers[name]["attacker"],
                self._attackers[name]["on"],
                uses_context=self._attackers[name]["uses_context"],
            )
            for name, (tried, rows) in self._success.items()
            if tried[0] <= epsilon
        ]
        return OnProse(
            epsilon,
            tuple(sorted(figures, key=lambda figure: figure.value)),
            None if self._bits is None else float(np.interp(epsilon, self.epsilons, self._bits)),
            float(np.log2(self.words)),
            tuple((int(times), _between(epsilon, self.epsilons, rows)) for times, rows in self._repeats.items()),
            None if self._stayed is None else _between(epsilon, self.epsilons, self._stayed),
        )

    def largest(self, bound: float) -> float:
        """Return the largest ε, rounded down, at which no attacker's interval exceeds the bound; 0 if there is none.

        The result never lies above the measured range.
        """
        return round_down(min(self._largest(tried, rows[:, 2], bound) for tried, rows in self._success.values()))

    def _largest(self, tried: NDArray[np.float64], high: NDArray[np.float64], bound: float) -> float:
        """Return the same for one attacker, with the upper ends of their intervals."""
        if high[-1] <= bound:
            return float(self.epsilons[-1])
        after = int(np.argmax(high > bound))
        if after == 0:  # below the first ε at which they were tried, others were
            return float(max(self.epsilons[self.epsilons < tried[0]], default=0.0))
        share = (bound - high[after - 1]) / (high[after] - high[after - 1])
        return float(tried[after - 1] + share * (tried[after] - tried[after - 1]))


def _between(epsilon: float, tried: NDArray[np.float64], rows: NDArray[np.float64]) -> Estimate:
    value, low, high = (float(np.interp(epsilon, tried, rows[:, one])) for one in range(3))
    return Estimate(value, low, high, int(rows[:, 3].min()))


def _rising(rows: list[list[float]]) -> NDArray[np.float64]:
    """Return rows of value, low, high and count, with the first three made non-decreasing."""
    table = np.array(rows, dtype=np.float64)
    table[:, :3] = np.maximum.accumulate(table[:, :3], axis=0)
    return table


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    if not CURVES.exists():  # none was measured for this build
        return {"attackers": {}, "curves": {}}
    found: dict[str, Any] = json.loads(CURVES.read_text(encoding="utf-8"))
    return found


@lru_cache(maxsize=64)
def named_curve(space: str, mechanism: str) -> AttackCurve | None:
    """Return the curve of a mechanism with its default options on a bundled space; None if it was not measured."""
    curve = _shipped()["curves"].get(space, {}).get(mechanism)
    return None if curve is None else AttackCurve(curve, _shipped()["attackers"])


def shipped_curves() -> Iterator[tuple[str, str, AttackCurve]]:
    """Yield every curve with its space and its mechanism."""
    for space, curves in _shipped()["curves"].items():
        for name in curves:
            curve = named_curve(space, name)
            if curve is not None:
                yield space, name, curve


def attack_curve(mechanism: Mechanism[Any]) -> AttackCurve | None:
    """Return the curve of exactly this mechanism, space and options; None if there is none."""
    described = mechanism.describe()
    for space in _shipped()["curves"]:
        curve = named_curve(space, described["mechanism"])
        if curve and curve.checksum == described["space"]["checksum"] and curve.options == described["options"]:
            return curve
    return None


def on_prose(mechanism: Mechanism[Any], epsilon: float | None = None) -> OnProse | None:
    """Return everything measured in advance for a mechanism, at its own or another ε; None if nothing was."""
    curve = attack_curve(mechanism)
    return None if curve is None else curve.at(mechanism.epsilon if epsilon is None else epsilon)


def strongest(mechanism: Mechanism[Any], epsilon: float | None = None) -> Figure | None:
    """Return how often the strongest attacker measured on public prose guesses a word, and who that attacker is.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    epsilon : float, optional
        The ε to look up. Default: the mechanism's own.

    Returns
    -------
    Figure or None
        The figure, interpolated between the measured ε. None outside their range, or if this mechanism with these
        options and space was not measured. Then the only figure is that of an attacker who looks at one word at a time
        (`Meter.adversary`); an attacker with context does better.

    Examples
    --------
    >>> import wordveil
    >>> from wordveil.calibration import strongest
    >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4)
    >>> found = strongest(graph)
    >>> found.low <= found.value <= found.high
    True
    """
    found = on_prose(mechanism, epsilon)
    return None if found is None else found.strongest
