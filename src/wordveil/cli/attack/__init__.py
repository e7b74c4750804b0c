"""``wordveil attack``: what an attacker who knows the mechanism learns from veiled text."""

from __future__ import annotations

from wordveil.cli.attack.context import context
from wordveil.cli.attack.people import authors, membership
from wordveil.cli.attack.repeats import repeats
from wordveil.cli.attack.words import bayes, sentence, vectors
from wordveil.cli.help import App

app = App(
    help="Attack veiled text as someone who knows the mechanism would, and measure how often they succeed. Prints "
    "rates with 95% intervals, never words of the texts.",
)
for command in (bayes, repeats, sentence, context, authors, membership, vectors):
    app.command()(command)
