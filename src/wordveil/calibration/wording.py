"""Figures said in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordveil.calibration.measurement import Measurement
from wordveil.calibration.targets import Target
from wordveil.spaces import Vocabulary
from wordveil.stats import Estimate

__all__ = ["advice", "meaning", "percent", "success"]


def percent(share: float) -> str:
    """Say a share as a percentage, with more digits where it is small, and never all of what is not all.

    Examples
    --------
    >>> percent(0.1234), percent(0.00456), percent(0.99999), percent(1.0)
    ('12.3%', '0.46%', '>99.9%', '100%')
    """
    if 0.9995 <= share < 1.0:
        return ">99.9%"
    return f"{100 * share:.3g}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"


def meaning(measured: Measurement, vocabulary: Vocabulary, draws: int) -> list[str]:
    """Say what one ε means, a sentence for each thing that matters.

    Parameters
    ----------
    measured : Measurement
        The figures.
    vocabulary : Vocabulary
        The words, to name the worst.
    draws : int
        How many draws the number of distinct outputs is about.
    """
    stays, distinct = measured.stays, measured.distinct
    shown = stays if stays.again is None else stays.again
    worst = vocabulary[int(shown.ids[int(np.argmax(shown.values))])]
    fewest = vocabulary[int(distinct.ids[int(np.argmin(distinct.values))])]
    among = "" if len(stays.ids) == len(vocabulary) else f" (of {len(stays.ids):,} words measured)"
    return [
        f"A word stays itself {percent(stays.mean)} of the time on average; the word that stays most{among}, "
        f"{worst!r}, {percent(stays.worst)}.",
        f"In {draws:,} draws {np.median(distinct.values):,.0f} different words come out for the median word; for "
        f"{fewest!r}, which has the fewest, {distinct.worst:,.0f}.",
        f"Whoever knows the mechanism and makes the best guess of the original is right {success(measured.uniform)} "
        f"of the time if all words are equally likely, and {success(measured.frequency)} if he knows how frequent "
        f"words are (among {measured.uniform.n:,} words).",
        _loss(measured),
        f"Of all words {percent(measured.kept.value)} are kept, {percent(measured.near.value)} become one of their "
        f"most similar words, {percent(measured.far.value)} another.",
    ]


def success(adversary: Estimate) -> str:
    """Say how often the best guess is right: as a range where the two bounds differ by more than their error."""
    if adversary.high - adversary.low <= max(2.0 * adversary.error, 5e-4):
        return percent(adversary.value)
    return f"{percent(adversary.low)} to {percent(adversary.high)}"


def _loss(measured: Measurement) -> str:
    losses = measured.near_loss.values
    typical, worst = float(np.median(losses)), float(losses.max())
    if not np.isfinite(typical):
        return "Between a word and its most similar words nothing is promised."
    how = "are promised to be told apart by at most" if measured.near_loss.bound else "can be told apart by"
    return (
        f"The median word and its ten most similar words {how} e^{typical:.3g}, the worst of {len(losses):,} words by "
        f"{'more than any bound' if not np.isfinite(worst) else f'e^{worst:.3g}'}."
    )


def advice(
    answers: Sequence[tuple[Target, float]], measured: Measurement | None, vocabulary: Vocabulary, draws: int
) -> list[str]:
    """Say which ε to choose and why.

    Parameters
    ----------
    answers : sequence of (Target, float)
        The targets and the largest ε for each.
    measured : Measurement, optional
        The figures at the recommended ε.
    vocabulary : Vocabulary
        The words.
    draws : int
        How many draws the number of distinct outputs is about.
    """
    if not answers:
        return []
    impossible = [target for target, epsilon in answers if epsilon == 0]
    if impossible:
        return [f"No ε of this mechanism has it that {target.sentence(draws)}." for target in impossible]
    if measured is None:
        return ["Every ε that was tried meets the targets: they ask for nothing."]
    said = [f"Choose ε = {measured.epsilon:g}."]
    for target, epsilon in answers:
        when = f"ε = {epsilon:g} is the largest at which" if np.isfinite(epsilon) else "At every ε that was tried"
        words = target.words(measured)
        sampled = words is not None and words < len(vocabulary)
        on = f", as far as {words:,} words drawn at random tell" if sampled else ""
        said.append(f"{when} {target.sentence(draws)}{on}.")
    return [*said, f"At ε = {measured.epsilon:g}:", *meaning(measured, vocabulary, draws)]
