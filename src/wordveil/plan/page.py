"""A plan as a self-contained HTML page; needs Jinja2 (the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wordveil.plan.gates import Verdict
from wordveil.plan.release import ReleasePlan
from wordveil.plan.wording import attackers, headline

__all__ = ["page"]


def page(plan: ReleasePlan, source: str, command: str | None, verdicts: Sequence[Verdict] = ()) -> str:
    """Write the page.

    Parameters
    ----------
    plan : ReleasePlan
        What was found.
    source : str
        The name of the input.
    command : str or None
        What to run next; None if nothing is to be released.
    verdicts : sequence of Verdict
        What was required.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("page.html").render(
        attackers=attackers(plan),
        command=command,
        facts=plan.to_dict(),
        headline=headline(plan),
        source=source,
        today=datetime.now(timezone.utc).date().isoformat(),
        verdicts=[one.sentence() for one in verdicts],
    )
