"""Lower bounds on what a mechanism, or anybody's callable, really loses, tested against what it guarantees."""

from wordveil.audit.auditor import ERROR, Auditor, audit
from wordveil.audit.cases import Case, Finding
from wordveil.audit.claim import Claim, TableSpace
from wordveil.audit.foreign import CHECKS, audit_callable
from wordveil.audit.report import Report, replay
from wordveil.audit.targets import Command, Endpoint, Program, Target
from wordveil.audit.verdict import Evidence, Verdict, list_mechanisms

__all__ = [
    "CHECKS",
    "ERROR",
    "Auditor",
    "Case",
    "Claim",
    "Command",
    "Endpoint",
    "Evidence",
    "Finding",
    "Program",
    "Report",
    "TableSpace",
    "Target",
    "Verdict",
    "audit",
    "audit_callable",
    "list_mechanisms",
    "replay",
]
