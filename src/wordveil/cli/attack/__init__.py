"""``wordveil attack``: what an attacker who knows the mechanism learns from veiled text."""

from __future__ import annotations

from wordveil.cli.attack.authors import authors
from wordveil.cli.attack.context import context
from wordveil.cli.attack.membership import membership
from wordveil.cli.attack.repeats import repeats
from wordveil.cli.attack.vectors import vectors
from wordveil.cli.attack.words import bayes, sentence
from wordveil.cli.help import App

__all__ = ["app"]

app = App(
    help="Attack veiled text as someone who knows the mechanism would, and see how often they succeed. Prints rates "
    "with 95% intervals, never words of the texts.",
)
for _name, _command in (
    ("bayes", bayes),
    ("repeats", repeats),
    ("sentence", sentence),
    ("context", context),
    ("authors", authors),
    ("membership", membership),
    ("vectors", vectors),
):
    app.command(_name)(_command)
