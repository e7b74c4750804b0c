"""Conditions on figures, such as ``attacker<=0.2``, as a gate for unattended jobs."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wordveil.errors import OptionError
from wordveil.stats import Estimate

__all__ = ["FIGURES", "Gate", "Verdict", "check"]

#: The figures that can be required, with their meaning.
FIGURES = {
    "attacker": "the share of the veiled words that the strongest attacker guesses",
    "gain": "of the words that attackers cannot guess without the draws, the share that the draws reveal",
    "repeats": "the share of the words recurring in a record, or for a person, that an attacker finds",
    "kept": "the share of the veiled words that stay",
    "utility": "how much of the texts a reader keeps, from 0 to 1",
    "score": "how well the label can still be predicted, from 0 to 1",
    "coverage": "the share of the words that the space knows, in the worst column",
    "templated": "the share of the running text in phrases that recur from record to record",
    "repeated": "the share of the texts that occur more than once",
    "singled_out": "the share of the records with a unique shape",
    "identifiers": "how many e-mail addresses, phone numbers and the like would be released as they are",
    "untouched": "how many columns of text would be released as they are",
    "personal": "how many columns that identify people or things would be released as they are",
    "epsilon": "the ε",
    "stops": "how many reasons there are not to release",
}

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq, "==": operator.eq}
_FORM = re.compile(r"\s*([a-z_]+)\s*(<=|>=|==|=|<|>)\s*([0-9]{1,12}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})\s*(%?)\s*")


@dataclass(frozen=True)
class Gate:
    """A bound on a figure.

    Attributes
    ----------
    figure : str
        One of `FIGURES`.
    sign : str
        ``<=``, ``<``, ``>=``, ``>`` or ``=``.
    bound : float
        The bound.

    Examples
    --------
    >>> Gate.parse("attacker <= 20%")
    Gate(figure='attacker', sign='<=', bound=0.2)
    """

    figure: str
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.figure}{self.sign}{self.bound:g}"

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Parse a condition, without evaluating anything."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise OptionError("a requirement must look like attacker<=0.2: a figure, a sign and a number.")
        figure, sign, number, percent = found.groups()
        if figure not in FIGURES:
            raise OptionError(f"unknown figure {figure!r} to require; choose one of {', '.join(FIGURES)}.")
        return cls(figure, "=" if sign == "==" else sign, float(number) / (100.0 if percent else 1.0))

    def verdict(self, value: Estimate | float | None) -> Verdict:
        """Compare a figure with the bound; of an estimate, use the unfavourable end of its interval."""
        if value is None:
            return Verdict(self, None, False)
        if isinstance(value, Estimate):
            value = value.low if self.sign.startswith(">") else value.high if self.sign.startswith("<") else value.value
        return Verdict(self, float(value), bool(_SIGNS[self.sign](value, self.bound)))


@dataclass(frozen=True)
class Verdict:
    """Whether a requirement is met.

    Attributes
    ----------
    gate : Gate
        The requirement.
    value : float or None
        The value that was compared; None if there is no such figure, in which case the requirement is not met.
    is_met : bool
        Whether it is met.
    """

    gate: Gate
    value: float | None
    is_met: bool

    def sentence(self) -> str:
        """Say it in words."""
        missing = "it was not measured, and `wordveil plan` says what that needs"
        found = missing if self.value is None else f"it is {self.value:.4g}"
        return f"{'met' if self.is_met else 'not met'}: {self.gate}; {found}."

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {"require": str(self.gate), "value": self.value, "met": self.is_met}


def check(gates: Iterable[Gate], figures: Mapping[str, Estimate | float | None]) -> list[Verdict]:
    """Compare figures with the requirements."""
    return [gate.verdict(figures.get(gate.figure)) for gate in gates]
