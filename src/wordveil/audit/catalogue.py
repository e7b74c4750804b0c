"""The list of mechanisms, with what each promises and what the audit that came with this version found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordveil._mechanisms import DEFAULT, MECHANISMS, option_names

__all__ = ["catalogue"]

_AUDITED = Path(__file__).parent.parent / "data" / "audit.json"


def catalogue() -> list[dict[str, Any]]:
    """Say of every mechanism what it is, in plain values, the default first."""
    audited = {verdict["mechanism"]: verdict for verdict in json.loads(_AUDITED.read_text(encoding="utf-8"))}
    return [
        {
            "name": name,
            "default": name == DEFAULT,
            "summary": kind.summary,
            "family": kind.family,
            "promises": kind.in_brief,
            "source": kind.source,
            "audit": audited[name]["verdict"] if name in audited else "by the tests only: it needs a space of your own",
            "claim": audited[name]["claim_verdict"] if name in audited else "",
            "options": option_names(kind),
        }
        for name, kind in MECHANISMS.items()
    ]
