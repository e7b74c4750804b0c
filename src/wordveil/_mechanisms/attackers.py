"""How often attackers guess words of public prose: curves over ε, measured in advance for each mechanism.

``tools/build_attackers.py`` measures them again. Everything that shows a person how often a word is guessed looks here
first, and shows the strongest attacker that was tried.
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

#: The attacker without context, whose success the law gives.
ALONE = "an attacker who knows word frequencies and looks at one word at a time"

#: Said where there is no figure of an attacker with context.
NOT_MEASURED = (
    "How often an attacker with context guesses a word was not measured in advance for these settings; "
    "`wordveil attack context` measures it on texts of yours."
)


@dataclass(frozen=True)
class Figure:
    """How often an attacker is right, and which attacker.

    Attributes
    ----------
    value, low, high : float
        The share of the veiled words that they guess, and its 95% interval.
    attacker : str
        Who they are, to be put into a sentence: "an attacker who …".
    on : str
        The texts it was measured on; empty where it is computed for words drawn by their frequency.
    uses_context : bool
        Whether they look at the other words of a text, too.
    """

    value: float
    low: float
    high: float
    attacker: str
    on: str = ""
    uses_context: bool = False

    @classmethod
    def of(cls, found: Estimate, attacker: str, on: str = "", *, uses_context: bool = False) -> Figure:
        """Give an estimate its attacker."""
        return cls(found.value, found.low, found.high, attacker, on, uses_context)

    def share(self) -> str:
        """Write the share, as a range where the interval is wide.

        Examples
        --------
        >>> Figure(0.092, 0.092, 0.092, "somebody").share(), Figure(0.142, 0.13, 0.155, "somebody").share()
        ('9.2%', '14.2% (13% to 15.5%)')
        """
        if self.high - self.low <= max(0.05 * self.value, 5e-4):
            return percent(self.value)
        return f"{percent(self.value)} ({percent(self.low)} to {percent(self.high)})"

    def sentence(self) -> str:
        """Say it in a sentence that names the attacker.

        Examples
        --------
        >>> print(Figure(0.142, 0.13, 0.155, "an attacker with a trigram model", "speeches").sentence())
        An attacker with a trigram model guesses 14.2% (13% to 15.5%) of the veiled words of speeches.
        """
        whose = f"of the veiled words of {self.on}" if self.on else "of the words"
        return f"{self.attacker[:1].upper()}{self.attacker[1:]} guesses {self.share()} {whose}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class OnProse:
    """What was measured in advance of one mechanism at one ε, between the values of ε that were tried.

    Attributes
    ----------
    epsilon : float
        The privacy parameter.
    figures : tuple of Figure
        The attackers that were tried on the same words, from the weakest to the strongest.
    bits : float or None
        How many bits an output reveals about its word if all words are equally likely; None where that is not known.
    of_bits : float
        How many bits there are to learn.
    repeats : tuple of (int, Estimate)
        How often a word that was drawn this many times is found by an attacker who ignores context.
    stayed : Estimate or None
        How well a word that stayed is told from one that was replaced: the area under the ROC curve, ½ for a coin.
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
        """Say all of it: the strongest attacker, what one output reveals, and what repetition does."""
        said = [self.strongest.sentence()]
        if self.stayed is not None:
            said.append(
                "The strongest attacker tells a word that stayed from one that was replaced with an area under the ROC "
                f"curve of {self.stayed.value:.2f} (0.5 is guessing, 1 is certainty)."
            )
        if self.bits is not None:
            said.append(bits_sentence(self.bits, self.of_bits))
        if self.repeats:
            times = ", ".join(str(times) for times, _ in self.repeats)
            found = ", ".join(percent(one.value) for _, one in self.repeats)
            said.append(f"A word that is drawn {times} times is found {found} of the time, even without context.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "attackers": [one.to_dict() for one in self.figures],
            "bits": self.bits,
            "of_bits": self.of_bits,
            "repeats": [{"times": times, **one.to_dict()} for times, one in self.repeats],
            "stayed": None if self.stayed is None else self.stayed.to_dict(),
        }


def bits_sentence(bits: float, of_bits: float) -> str:
    """Say how many bits one output reveals."""
    return f"One output reveals {bits:.1f} of the {of_bits:.1f} bits that say which word it was."


class AttackCurve:
    """The curve of one mechanism with its usual options on one space.

    Success grows with ε, so a figure that was measured below one at a smaller ε is raised to it, and between the
    values that were tried it is interpolated.
    """

    def __init__(self, curve: dict[str, Any], attackers: dict[str, dict[str, Any]]) -> None:
        self.options: dict[str, Any] = curve["options"]
        self.checksum: str = curve["checksum"]
        self.words: int = curve["words"]
        points = sorted(curve["points"], key=lambda point: point["epsilon"])
        self.epsilons = np.array([point["epsilon"] for point in points], dtype=np.float64)
        self._attackers = attackers
        names = [name for name in attackers if all(name in point["success"] for point in points)]
        self._success = {name: _rising([point["success"][name] for point in points]) for name in names}
        self._repeats = {
            times: _rising([point["repeats"][times] for point in points])
            for times in points[0].get("repeats", {})
            if all(times in point.get("repeats", {}) for point in points)
        }
        has_stayed = all("stayed" in point for point in points)
        # not a success, and not bound to grow with ε: the fewer words are replaced, the better each may fit in
        self._stayed = np.array([point["stayed"] for point in points]) if has_stayed else None
        has_bits = all(point.get("bits") is not None for point in points)
        self._bits = np.maximum.accumulate([point["bits"] for point in points]) if has_bits else None

    def at(self, epsilon: float) -> OnProse | None:
        """Return the figures at an ε; None outside the range that was measured."""
        if not self.epsilons[0] <= epsilon <= self.epsilons[-1]:
            return None
        figures = [
            Figure.of(
                self._between(epsilon, rows),
                self._attackers[name]["attacker"],
                self._attackers[name]["on"],
                uses_context=self._attackers[name]["uses_context"],
            )
            for name, rows in self._success.items()
        ]
        return OnProse(
            epsilon,
            tuple(sorted(figures, key=lambda figure: figure.value)),
            None if self._bits is None else float(np.interp(epsilon, self.epsilons, self._bits)),
            float(np.log2(self.words)),
            tuple((int(times), self._between(epsilon, rows)) for times, rows in self._repeats.items()),
            None if self._stayed is None else self._between(epsilon, self._stayed),
        )

    def largest(self, bound: float) -> float:
        """Return the largest ε, rounded down, at which no attacker's interval passes a bound; 0 if there is none.

        Nothing is known beyond the range that was measured, so no answer lies above it.
        """
        high = np.max([rows[:, 2] for rows in self._success.values()], axis=0)
        if high[0] > bound:
            return 0.0
        if high[-1] <= bound:
            return round_down(float(self.epsilons[-1]))
        after = int(np.argmax(high > bound))
        share = (bound - high[after - 1]) / (high[after] - high[after - 1])
        return round_down(float(self.epsilons[after - 1] + share * (self.epsilons[after] - self.epsilons[after - 1])))

    def _between(self, epsilon: float, rows: NDArray[np.float64]) -> Estimate:
        value, low, high = (float(np.interp(epsilon, self.epsilons, rows[:, one])) for one in range(3))
        return Estimate(value, low, high, int(rows[:, 3].min()))


def _rising(rows: list[list[float]]) -> NDArray[np.float64]:
    """Return rows of value, low, high and number so that the first three never fall."""
    table = np.array(rows, dtype=np.float64)
    table[:, :3] = np.maximum.accumulate(table[:, :3], axis=0)
    return table


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    if not CURVES.exists():  # none was measured for this build
        return {"attackers": {}, "curves": {}}
    told: dict[str, Any] = json.loads(CURVES.read_text(encoding="utf-8"))
    return told


@lru_cache(maxsize=64)
def named_curve(space: str, mechanism: str) -> AttackCurve | None:
    """Return the curve of a mechanism with its usual options on a bundled space; None if it was not measured."""
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
    """Return the curve of just this mechanism, on just this space and with these options; None if there is none."""
    told = mechanism.describe()
    for space in _shipped()["curves"]:
        curve = named_curve(space, told["mechanism"])
        if curve and curve.checksum == told["space"]["checksum"] and curve.options == told["options"]:
            return curve
    return None


def on_prose(mechanism: Mechanism[Any], epsilon: float | None = None) -> OnProse | None:
    """Return everything that was measured in advance of a mechanism at its ε, or at another; None if nothing was."""
    curve = attack_curve(mechanism)
    return None if curve is None else curve.at(mechanism.epsilon if epsilon is None else epsilon)


def strongest(mechanism: Mechanism[Any], epsilon: float | None = None) -> Figure | None:
    """Return how often the strongest attacker who was tried on public prose guesses a word, and who they are.

    Parameters
    ----------
    mechanism : Mechanism
        What veils.
    epsilon : float, optional
        Another ε than the mechanism's own.

    Returns
    -------
    Figure or None
        The figure, interpolated between the ε that were measured; None outside their range, and for a mechanism,
        options or a space that was not measured. An attacker who looks at one word at a time is then all there is a
        figure of (`Meter.adversary`), and context raises it.

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
