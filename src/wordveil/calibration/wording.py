"""Sentences about figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordveil._mechanisms.attackers import bits_sentence
from wordveil._mechanisms.laws import PerWord
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.targets import Target
from wordveil.rounding import percent
from wordveil.spaces import Vocabulary
from wordveil.stats import Estimate

#: Who the attacker of a match is.
ATTACKER = (
    "The attacker knows the mechanism and looks at one word at a time. Context and repetition help an attacker; "
    "`wordveil attack context` and `wordveil attack repeats` measure by how much."
)
_NO_CONTEXT = (
    "No attacker with context was measured in advance for these settings. Context raises this figure, most of all if "
    "texts resemble each other; `wordveil attack context` measures it on your own texts."
)


def meaning(measured: Measurement, vocabulary: Vocabulary, draws: int) -> list[str]:
    """Explain one ε in sentences."""
    stays, distinct = measured.stays, measured.distinct
    shown = stays if stays.again is None else stays.again
    worst = vocabulary[int(shown.ids[int(np.argmax(shown.values))])]
    fewest = vocabulary[int(distinct.ids[int(np.argmin(distinct.values))])]
    among = "" if len(stays.ids) == len(vocabulary) else f"of the {len(stays.ids):,} measured, "
    return [
        f"On average a word stays unchanged {percent(stays.mean)} of the time; {among}{worst!r} stays most often, "
        f"{percent(stays.worst)}.",
        f"In {draws:,} draws the median word has {np.median(distinct.values):,.0f} different outputs; {fewest!r} has "
        f"the fewest, {distinct.worst:,.0f}.",
        *_attackers(measured, len(vocabulary)),
        _loss(measured),
        f"Of all words, {percent(measured.kept.value)} are kept, {percent(measured.near.value)} become one of their "
        f"most similar words, and {percent(measured.far.value)} become another word.",
    ]


def _attackers(measured: Measurement, words: int) -> list[str]:
    """Return sentences about the attackers: the strongest first, then the others, bits, and repetition."""
    first, *others = reversed(measured.attackers)
    said = [first.sentence()]
    if measured.context is None and measured.own is None:
        said.append(_NO_CONTEXT)
    said += [figure.sentence() for figure in others if figure.uses_context]
    said.append(
        f"Without context, the best guess from one output is right {success(measured.uniform)} of the time if all "
        f"words are equally likely, and {success(measured.frequency)} for an attacker who knows word frequencies "
        f"(among {measured.uniform.n:,} words)."
    )
    if measured.prose is not None:
        said += measured.prose.sentences()[1:]
    if measured.bits is not None and (measured.prose is None or measured.prose.bits is None):
        said.append(bits_sentence(measured.bits, float(np.log2(words))))
    return said


def caption(measured: Sequence[Measurement]) -> str:
    """Return a caption that says who the attackers of a table are."""
    said = ["Attackers know the mechanism and word frequencies. One word: they look at one word at a time."]
    context = next((found.context for found in measured if found.context), None)
    own = next((found.own for found in measured if found.own), None)
    if context is not None:
        said.append(f"In context: {context.attacker}, tried on {context.on}.")
    if own is not None:
        said.append(f"Your texts: {'in context' if own.uses_context else 'one word at a time'}, on the texts you gave.")
    if context is None and own is None:
        said.append("Context raises these figures; `wordveil attack context` measures by how much.")
    return " ".join([*said, "Repeated words, and texts that resemble each other, give away more."])


def success(attacker: Estimate) -> str:
    """Return how often the best guess is right as text, as a range if the interval is wide."""
    if attacker.high - attacker.low <= max(0.05 * attacker.value, 5e-4):
        return percent(attacker.value)
    return f"{percent(attacker.low)} to {percent(attacker.high)}"


def near_loss(losses: PerWord) -> str:
    """Return the median near loss as text."""
    median = float(np.median(losses.values))
    return f"{'≤ ' if losses.bound else ''}{median:.3g}" if np.isfinite(median) else "none"


def _loss(measured: Measurement) -> str:
    losses = measured.near_loss.values
    typical, worst = float(np.median(losses)), float(losses.max())
    if not np.isfinite(typical):
        return "Nothing is guaranteed between a word and its most similar words."
    seeing = "It is guaranteed that seeing" if measured.near_loss.bound else "Seeing"
    bound = f"by at most e^{worst:.3g}" if np.isfinite(worst) else "without bound"
    return (
        f"{seeing} an output changes the odds between the median word and any of its ten most similar words by at most "
        f"e^{typical:.3g}; for the worst of {len(losses):,} words, {bound}."
    )


def advice(
    answers: Sequence[tuple[Target, float]], measured: Measurement | None, vocabulary: Vocabulary, draws: int
) -> list[str]:
    """Return sentences that say which ε to choose, and why."""
    if not answers:
        return []
    impossible = [target for target, epsilon in answers if epsilon == 0]
    if impossible:
        return [
            f"No ε {'at which attackers were measured ' if target.kind == 'attacker' else ''}meets this target: "
            f"{target.sentence(draws)}."
            for target in impossible
        ]
    if measured is None:
        return ["Every ε that was tried meets the targets."]
    said = [f"Choose ε = {measured.epsilon:g}."]
    for target, epsilon in answers:
        when = f"ε = {epsilon:g} is the largest at which" if np.isfinite(epsilon) else "At every ε that was tried,"
        words = target.words(measured)
        sampled = words is not None and words < len(vocabulary)
        on = f" (measured on {words:,} words drawn at random)" if sampled else ""
        said.append(f"{when} {target.sentence(draws)}{on}{_limit(target, measured)}.")
    return [*said, f"At ε = {measured.epsilon:g}:", *meaning(measured, vocabulary, draws)]


def _limit(target: Target, measured: Measurement) -> str:
    """Return the strongest attacker, for targets about the attacker."""
    if target.kind != "attacker":
        return ""
    who = max(measured.attackers, key=lambda figure: figure.high)
    return f"; the strongest is {who.attacker}{f', on {who.on}' if who.on else ''}"
