"""A plan in sentences, and as a self-contained HTML page, which needs Jinja2 (the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wordveil.plan.gates import Verdict
from wordveil.plan.release import ReleasePlan
from wordveil.plan.trial import CONTEXT
from wordveil.stats import Estimate

__all__ = ["attackers", "headline", "page"]


def headline(plan: ReleasePlan) -> str:
    """Return a sentence or two that say what to do."""
    trial, epsilon = plan.chosen, plan.recommendation.epsilon
    if trial is None or epsilon is None:
        stops = plan.recommendation.of("stop")
        if [one.code for one in stops] == ["few"]:
            return "No ε can be recommended from so few records."
        reasons = len(stops)
        return f"Do not release this as it is, for {'this reason' if reasons == 1 else f'these {reasons} reasons'}."
    attack = trial.strongest
    said = (
        f"Release at ε = {epsilon:g}. The strongest attacker tried ({attack.attacker}) guesses {_share(attack.right)} "
        f"of the veiled words, and {attack.floor:.1%} without the draws. Of the other words, the draws reveal "
        f"{_share(trial.gain)}."
    )
    if trial.utility is not None:
        said += f" A reader keeps {max(0.0, trial.utility.value):.0%} of the way from no words to clean text"
        said += "." if trial.score is None else f", and {max(0.0, trial.score.value):.0%} of what predicts the label."
    return said


def attackers(plan: ReleasePlan) -> str:
    """Return sentences about the attackers and their limits."""
    said = (
        f"All attackers know the mechanism. Of the sampled records, {plan.known:,} are those that attackers may know "
        f"in clear (from a leak, or the macros of a help desk), and {plan.attacked:,} are attacked. "
        "“Gained” is the share they guess of the words that they cannot guess without the draws. “Utility” is how near "
        "the texts, as an analyst reads them, are to clean ones: 0 is as if no word were there, 1 is clean text."
    )
    if plan.is_fast:
        return f"{said} The network was left out."
    if not any(attack.attacker == CONTEXT for trial in plan.trials for attack in trial.attacks):
        return f"{said} The network was fitted at no ε, because the other attackers already find too much."
    return f"{said} The network is fitted on the release alone, and only at the ε to choose from."


def _share(figure: Estimate) -> str:
    return f"{100 * figure.value:.1f}% ({100 * figure.low:.1f}–{100 * figure.high:.1f})"


def page(plan: ReleasePlan, source: str, command: str | None, verdicts: Sequence[Verdict] = ()) -> str:
    """Return the page as HTML.

    `source` is the name of the input, and `command` what to run next, or None if the plan advises against a release.
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
