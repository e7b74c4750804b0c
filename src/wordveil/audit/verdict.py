"""What an audit finds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from wordveil.guarantee import Guarantee, Notion

__all__ = ["Evidence", "Verdict"]


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
        Between them, in the mechanism's metric.
    allowed : float
        The largest loss, or δ, that the promise under test allows.
    measured : float
        What was found: the exact value, or a lower confidence bound.
    quantity : str
        ``loss`` for a log-ratio, ``delta`` for the δ of an (ε, δ) promise, ``p-value`` for a test of the stated law.
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

    @property
    def breaks(self) -> bool:
        """Whether this finding refutes what it was held against."""
        if math.isnan(self.measured):
            return True
        if self.quantity == "p-value":
            return self.measured < self.allowed
        return self.measured > self.allowed * (1.0 + 1e-5) + 1e-9

    @property
    def share(self) -> float:
        """How much of what is allowed was reached; above 1 it is broken."""
        if self.quantity == "p-value" or math.isnan(self.measured):
            return 2.0 if self.breaks else 0.0
        if self.allowed > 0:
            return self.measured / self.allowed
        return math.inf if self.measured > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, an infinity being None."""
        plain = {**asdict(self), "breaks": self.breaks}
        return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in plain.items()}


@dataclass(frozen=True)
class Verdict:
    """What an audit says of one mechanism.

    Attributes
    ----------
    mechanism : dict
        What the mechanism says of itself.
    promise : Guarantee
        What it promises.
    claim : Guarantee or None
        What its paper claims beyond that.
    on_promise, on_claim : list of Evidence
        What was found, the strongest first.
    error : float
        The probability that an honest mechanism is convicted.
    seconds : float
        How long it took.
    """

    mechanism: dict[str, Any]
    promise: Guarantee
    claim: Guarantee | None
    on_promise: list[Evidence] = field(default_factory=list)
    on_claim: list[Evidence] = field(default_factory=list)
    error: float = 0.0
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """``holds``, ``broken`` or ``no promise``."""
        if any(evidence.breaks for evidence in self.on_promise):
            return "broken"
        return "no promise" if self.promise.notion is Notion.NONE else "holds"

    @property
    def claim_verdict(self) -> str:
        """What becomes of the paper's claim: ``not refuted``, ``broken``, or nothing where the claim is the promise."""
        if self.claim is None:
            return ""
        return "broken" if any(evidence.breaks for evidence in self.on_claim) else "not refuted"

    @property
    def worst(self) -> Evidence | None:
        """The finding that comes nearest to breaking the promise, or that breaks the claim."""
        found = [*self.on_promise, *self.on_claim]
        return max(found, key=lambda evidence: evidence.share) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            **self.mechanism,
            "verdict": self.verdict,
            "claim_verdict": self.claim_verdict,
            "promise": self.promise.to_dict(),
            "claim": None if self.claim is None else self.claim.to_dict(),
            "worst": None if self.worst is None else self.worst.to_dict(),
            "on_promise": [evidence.to_dict() for evidence in self.on_promise],
            "on_claim": [evidence.to_dict() for evidence in self.on_claim],
            "error_probability": self.error,
            "seconds": round(self.seconds, 3),
        }
