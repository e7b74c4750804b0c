"""Figures put into sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordveil._mechanisms.laws import PerWord
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.targets import Target
from wordveil.spaces import Vocabulary
from wordveil.stats import Estimate

__all__ = ["ATTACKER", "advice", "meaning", "near_loss", "percent", "success"]

#: Whose success a calibration states; shown with every table of it.
ATTACKER = (
    "The attacker knows the mechanism and looks at one word at a time. Context and repetition would help them; "
    "`wordveil attack sentence` and `wordveil attack repeats` measure by how much."
)


def percent(share: float) -> str:
    """Write a share as a percentage, with more digits where it is small, and 100% only if it is exactly that.

    Examples
    --------
    >>> percent(0.1234), percent(0.00456), percent(0.99999), percent(1.0)
    ('12.3%', '0.46%', '>99.9%', '100%')
    """
    if 0.9995 <= share < 1.0:
        return ">99.9%"
    return f"{100 * share:.3g}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"


def meaning(measured: Measurement, vocabulary: Vocabulary, draws: int) -> list[str]:
    """Explain one ε, with a sentence for each thing that matters."""
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
        f"An attacker who knows the mechanism guesses the original word right {success(measured.uniform)} of the time "
        f"if all words are equally likely, and {success(measured.frequency)} if they know word frequencies, looking at "
        f"one word at a time (among {measured.uniform.n:,} words); context and repetition would help them.",
        _loss(measured),
        f"Of all words, {percent(measured.kept.value)} are kept, {percent(measured.near.value)} become one of their "
        f"most similar words, and {percent(measured.far.value)} become another word.",
    ]


def success(attacker: Estimate) -> str:
    """Write how often the best guess is right: as a range where the interval is wide."""
    if attacker.high - attacker.low <= max(0.05 * attacker.value, 5e-4):
        return percent(attacker.value)
    return f"{percent(attacker.low)} to {percent(attacker.high)}"


def near_loss(losses: PerWord) -> str:
    """Write the median near loss."""
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
    """Say which ε to choose, and why."""
    if not answers:
        return []
    impossible = [target for target, epsilon in answers if epsilon == 0]
    if impossible:
        return [f"No ε meets this target: {target.sentence(draws)}." for target in impossible]
    if measured is None:
        return ["Every ε that was tried meets the targets, so they rule nothing out."]
    said = [f"Choose ε = {measured.epsilon:g}."]
    for target, epsilon in answers:
        when = f"ε = {epsilon:g} is the largest at which" if np.isfinite(epsilon) else "At every ε that was tried,"
        words = target.words(measured)
        sampled = words is not None and words < len(vocabulary)
        on = f" (measured on {words:,} words drawn at random)" if sampled else ""
        said.append(f"{when} {target.sentence(draws)}{on}.")
    return [*said, f"At ε = {measured.epsilon:g}:", *meaning(measured, vocabulary, draws)]
