"""What an audit of a callable found. A report can be saved, and its first finding measured again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordveil.audit.auditor import ERROR
from wordveil.audit.cases import Case, Clock, Finding, OutOfTime, measure
from wordveil.audit.sight import Sight, sight_of
from wordveil.audit.targets import Target, target_of
from wordveil.errors import InputError
from wordveil.files import file_errors, write_whole
from wordveil.noise import Entropy

__all__ = ["BROKEN", "CANNOT_TELL", "HOLDS", "Report", "replay", "sort_findings"]

HOLDS, BROKEN, CANNOT_TELL = "holds as far as seen", "broken", "cannot tell"
_FORMAT = 1  # the version of a report's file


@dataclass(frozen=True)
class Report:
    """What an audit of a callable found.

    Attributes
    ----------
    target : str
        What was audited.
    claim : dict
        What was claimed, in plain values.
    findings : list of Finding
        What was measured: first what breaks the claim, on the shortest inputs first; then what comes nearest to
        breaking it.
    unchecked : dict
        What was not checked, and why.
    remarks : list of str
        What is worth knowing but does not break the claim.
    reasons : list of str
        Why the audit cannot tell; empty if it can.
    error : float
        The probability that any bound here is wrong, and so that an honest callable is found broken.
    calls : int
        How many calls were made.
    seconds : float
        How long the audit took.
    words, searched : int
        How many words were looked at, and how often each was drawn to find pairs worth measuring.
    """

    target: str
    claim: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    error: float = ERROR
    calls: int = 0
    seconds: float = 0.0
    words: int = 0
    searched: int = 0

    @property
    def verdict(self) -> str:
        """``holds as far as seen``, ``broken`` or ``cannot tell``."""
        if any(finding.breaks for finding in self.findings):
            return BROKEN
        return CANNOT_TELL if self.reasons else HOLDS

    @property
    def worst(self) -> Finding | None:
        """The finding that shows most: it breaks the claim on the shortest inputs, or comes nearest to breaking it."""
        return self.findings[0] if self.findings else None

    def sentence(self) -> str:
        """Return the verdict as a sentence that says no more than was seen."""
        sure = f"wrong with a probability of at most {self.error:g}"
        if self.verdict == BROKEN:
            return f"Broken: a call loses more than is claimed ({sure})."
        if self.verdict == CANNOT_TELL:
            return f"Cannot tell: {'; '.join(self.reasons)}."
        seen = f" {self.sight.sentence()}." if self.sight else ""
        if self.searched:
            seen += f" Other pairs of the {self.words:,} words were searched on {self.searched:,} draws of each."
        return (
            f"Nothing in {self.calls:,} calls contradicts the claim. That is no proof: other words, rarer events or "
            f"more draws may contradict it.{seen}"
        )

    @property
    def sight(self) -> Sight | None:
        """What the audit would have found on the pair of words that was drawn most."""
        pairs = [one.case for one in self.findings if one.case and one.case.kind == "pair"]
        plain = [case for case in pairs if len(case.left) == 1 and case.distance is not None]
        return sight_of(max(plain, key=lambda case: (case.draws, -case.allowed))) if plain else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "wordveil_audit": _FORMAT,
            "target": self.target,
            "verdict": self.verdict,
            "sentence": self.sentence(),
            "claim": self.claim,
            "findings": [finding.to_dict() for finding in self.findings],
            "unchecked": self.unchecked,
            "remarks": self.remarks,
            "reasons": self.reasons,
            "words": self.words,
            "searched": self.searched,
            "would_have_shown": self.sight.to_dict() if self.sight else None,
            "error_probability": self.error,
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }

    def save(self, path: str | Path) -> None:
        """Write the report to a file, from which `replay` can measure its first finding again."""
        write_whole(Path(path), json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")


def replay(
    path: str | Path,
    what: Target | str | Callable[[Any], Any],
    *,
    takes: str | None = None,
    timeout: float | None = None,
    seconds: float = 600.0,
) -> tuple[Finding, Finding]:
    """Measure the first finding of a saved report again, on fresh draws.

    The file says what to call with and what to count, but never what to call: you name that.

    Parameters
    ----------
    path : path
        A file written by `Report.save`.
    what, takes, timeout
        What to call, as for `audit_callable`.
    seconds : float
        How long it may take.

    Returns
    -------
    tuple of Finding
        The finding in the file, and the new one.
    """
    path = Path(path)
    with file_errors("read", path):
        text = path.read_text(encoding="utf-8")
    try:
        then = json.loads(text)["findings"][0]
        case = Case.from_dict(then["case"])
        values = {name: then[name] for name in ("about", "left", "right", "allowed", "quantity", "output")}
        values |= {"measured": float(then["measured"]), "hits": tuple(then["hits"]), "trials": tuple(then["trials"])}
        before = Finding(**{**values, "allowed": case.allowed if then["allowed"] is None else then["allowed"]},
                         distance=math.nan, case=case)  # fmt: skip
    except (ValueError, LookupError, TypeError, AttributeError):
        raise InputError(f"{path.name} is not the report of an audit with something to replay.") from None
    target = target_of(what, takes, timeout)
    try:
        return before, measure(target, case, Clock(seconds), Entropy())
    except OutOfTime:
        raise InputError("the time was over before the case was measured again.") from None
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"{path.name} is not the report of an audit with something to replay.") from None
    finally:
        target.close()


def sort_findings(findings: list[Finding]) -> list[Finding]:
    """Sort findings: first what breaks the claim, on the shortest inputs first; then what comes nearest to it."""

    def place(finding: Finding) -> tuple[bool, int, bool, float]:
        size = len(finding.left) + len(finding.right) if finding.breaks else 0
        return not finding.breaks, size, finding.quantity != "loss", -finding.share

    return sorted(findings, key=place)
