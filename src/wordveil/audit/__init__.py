"""Lower bounds on what a mechanism really loses, held against what it promises."""

from wordveil.audit.auditor import ERROR, Auditor, audit
from wordveil.audit.verdict import Evidence, Verdict

__all__ = ["ERROR", "Auditor", "Evidence", "Verdict", "audit"]
