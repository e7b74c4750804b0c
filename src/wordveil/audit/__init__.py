"""Lower bounds on what a mechanism really loses, tested against what it guarantees."""

from wordveil.audit.auditor import ERROR, Auditor, audit
from wordveil.audit.verdict import Evidence, Verdict, list_mechanisms

__all__ = ["ERROR", "Auditor", "Evidence", "Verdict", "audit", "list_mechanisms"]
