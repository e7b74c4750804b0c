"""What an audit finds, and what the audit that ships with this version found."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wordveil._mechanisms import ALIASES, DEFAULT, MECHANISMS, option_names
from wordveil.guarantee import Guarantee, Notion

__all__ = ["Evidence", "Verdict", "list_mechanisms"]

_AUDITED = Path(__file__).parent.parent / "data" / "audit.json"


@dataclass(frozen=True)
class Evidence:
    """One finding about one pair of words.

    Attributes
    ----------
    about : str
        What was looked at ("nearest words, exact", "noisy points in 2-d").
    left, right : str
        The two words.
    distance : float
        Their distance in the mechanism's metric.
    allowed : float
        The largest loss, or δ, that the guarantee under test allows.
    measured : float
        The result: the exact value, or a lower confidence bound.
    quantity : str
        ``loss`` for a log-ratio, ``delta`` for the δ of an (ε, δ) guarantee, ``p-value`` for a test of the draws.
    output : str
        The output, or the set of outputs, that shows it.
    exact : bool
        Whether `measured` is exact.
    """

    about: str
    left: str
    right: str
    distance: float
    allowed: float
    measured: float
    quantity: str = "loss"
    output: str = ""
    exact: bool = False

    @classmethod
    def of_test(cls, about: str, word: str, error: float, chance: float) -> Evidence:
        """Return the finding of a test of one word's draws. It fails if the p-value is below the error."""
        return cls(about, word, word, 0.0, error, chance, quantity="p-value")

    @property
    def breaks(self) -> bool:
        """Whether this finding refutes the guarantee or claim under test."""
        if math.isnan(self.measured):
            return True
        if self.quantity == "p-value":
            return self.measured < self.allowed
        return self.measured > self.allowed * (1.0 + 1e-5) + 1e-9

    @property
    def share(self) -> float:
        """How much of the allowed quantity was reached. Above 1, it is broken."""
        if self.quantity == "p-value" or math.isnan(self.measured):
            return 2.0 if self.breaks else 0.0
        if self.allowed > 0:
            return self.measured / self.allowed
        return math.inf if self.measured > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values. Infinities become None."""
        plain = {**asdict(self), "breaks": self.breaks}
        return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in plain.items()}


@dataclass(frozen=True)
class Verdict:
    """What an audit says about one mechanism.

    Attributes
    ----------
    mechanism : dict
        The mechanism's description of itself.
    guarantee : Guarantee
        What it guarantees.
    claim : Guarantee or None
        What its paper claims beyond that.
    on_guarantee, on_claim : list of Evidence
        What was found, strongest first.
    error : float
        The probability of finding an honest mechanism broken.
    seconds : float
        How long the audit took.
    """

    mechanism: dict[str, Any]
    guarantee: Guarantee
    claim: Guarantee | None
    on_guarantee: list[Evidence] = field(default_factory=list)
    on_claim: list[Evidence] = field(default_factory=list)
    error: float = 0.0
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """``holds``, ``broken`` or ``no promise``."""
        if any(evidence.breaks for evidence in self.on_guarantee):
            return "broken"
        return "no promise" if self.guarantee.notion is Notion.NONE else "holds"

    @property
    def claim_verdict(self) -> str:
        """The verdict on the paper's claim: ``not refuted`` or ``broken``; empty if it claims no more."""
        if self.claim is None:
            return ""
        return "broken" if any(evidence.breaks for evidence in self.on_claim) else "not refuted"

    @property
    def worst(self) -> Evidence | None:
        """The finding that comes nearest to breaking the guarantee or the claim, or that breaks it."""
        found = [*self.on_guarantee, *self.on_claim]
        return max(found, key=lambda evidence: evidence.share) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            **self.mechanism,
            "verdict": self.verdict,
            "claim_verdict": self.claim_verdict,
            "promise": self.guarantee.to_dict(),
            "claim": None if self.claim is None else self.claim.to_dict(),
            "worst": None if self.worst is None else self.worst.to_dict(),
            "on_promise": [evidence.to_dict() for evidence in self.on_guarantee],
            "on_claim": [evidence.to_dict() for evidence in self.on_claim],
            "error_probability": self.error,
            "seconds": round(self.seconds, 3),
        }


def list_mechanisms() -> list[dict[str, Any]]:
    """Describe every mechanism in plain values, the default first, with its verdict from the bundled audit."""
    audited = {verdict["mechanism"]: verdict for verdict in json.loads(_AUDITED.read_text(encoding="utf-8"))}
    return [
        {
            "name": name,
            "default": name == DEFAULT,
            "summary": kind.summary,
            "family": kind.family,
            "promises": kind.in_brief,
            "source": kind.source,
            "audit": audited[name]["verdict"] if name in audited else "not audited",
            "claim": audited[name]["claim_verdict"] if name in audited else "",
            "options": option_names(kind),
            "aliases": {alias: why for alias, (of, why) in ALIASES.items() if of == name},
        }
        for name, kind in MECHANISMS.items()
    ]
