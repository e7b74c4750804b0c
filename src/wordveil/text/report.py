"""The privacy report: what was promised, what was done, and what is not protected."""

from __future__ import annotations

import math
from typing import Any

from wordveil.guarantee import Notion
from wordveil.text.release import Counts
from wordveil.text.veil import Veil

__all__ = ["plain_words", "report"]


def report(veil: Veil, counts: Counts, longest: int) -> dict[str, Any]:
    """Make the report of one or many texts.

    Parameters
    ----------
    veil : Veil
        What veiled them.
    counts : Counts
        The sum of their counts.
    longest : int
        How many words were veiled in the text that had most of them: it sets the worst case over a document.
    """
    return {
        **veil.describe(),
        "guarantee": veil.guarantee.to_dict(),
        "document": _document(veil, longest),
        "counts": counts.to_dict(),
        "coverage": counts.coverage,
        "not_protected": _not_protected(veil),
        "about_this_report": "The counts are exact and are not private: keep this report with the data's owner.",
    }


def _document(veil: Veil, longest: int) -> dict[str, Any]:
    """Say what the promise comes to over the text with most veiled words, whose losses add up."""
    promise, facts = veil.guarantee, {"veiled_words_in_the_longest": longest}
    if promise.notion is Notion.APPROXIMATE:
        return {
            **facts,
            "loss_if_every_word_differs_by_a_covered_pair": promise.epsilon * longest,
            "delta_if_every_word_differs_by_a_covered_pair": min(1.0, promise.delta * longest),
            "worst_case_loss": None,
        }
    diameter = veil.mechanism.space.diameter
    return {
        **facts,
        f"loss_if_every_word_differs_by_one_{promise.unit.replace(' ', '_')}": _finite(promise.loss(longest)),
        "largest_distance_of_two_words": diameter,
        "worst_case_loss": _finite(promise.loss(longest * diameter)),
    }


def _finite(loss: float) -> float | None:
    return loss if math.isfinite(loss) else None


def _not_protected(veil: Veil) -> list[str]:
    released = [
        "The number of words, and the spaces, line breaks, punctuation, symbols, emoji and invisible characters "
        "between words, are released as they are."
    ]
    left_alone = {
        "content": "Function words (of, the, not, …) are released as they are, with where they stand, also where they "
        "are names or initials (Will, May, A.).",
        "spans": "Every word outside the given spans is released as it is.",
        "marked": "Every word outside the marks is released as it is.",
        "words": "Every word that is not on the list is released as it is.",
        "rare": "Every word that is common where it stands is released as it is, also where it is a name; that a word "
        "was veiled says that it was not common there. A person with several records has the loss of the choice for "
        "each of them.",
    }
    if veil.selection.kind in left_alone:
        released.append(left_alone[veil.selection.kind])
    if veil.case == "copy":
        released.append("Capital letters are copied from the original, which reveals names and sentence starts.")
    outside = {
        "replace": "Nothing is promised between a word inside the vocabulary and one outside; how many digits a number "
        "outside it had is released.",
        "drop": "That words outside the vocabulary were there shows in shorter sentences.",
        "keep": "Words outside the vocabulary are released as they are: names, numbers and rare words among them.",
    }
    released.append(outside[veil.oov])
    released.append("The promise compares words that would both be veiled; over a text of n words the losses add up.")
    released.append(
        "A word that comes n times, in a text or in a person's records, is drawn n times afresh: its losses add up, "
        "and the draws together point at it. Take a recurring name out before."
    )
    return released + list(veil.guarantee.caveats)


def plain_words(facts: dict[str, Any]) -> list[str]:
    """Say a report in sentences for a person."""
    counts, promise = facts["counts"], facts["guarantee"]
    lines = [promise["sentence"], *([facts["rare"]["promise"]] if "rare" in facts else [])]
    longest, worst = facts["document"]["veiled_words_in_the_longest"], facts["document"]["worst_case_loss"]
    if worst is not None:
        lines.append(
            f"Over the longest text ({longest:,} veiled words) the losses add up to at most {worst:,.6g} "
            "(in powers of e)."
        )
    replaced = counts["drawn"] + counts["outside"] + counts["numbers"]
    lines.append(
        f"{counts['words']:,} words: {replaced:,} drawn anew ({counts['outside']:,} of them words and "
        f"{counts['numbers']:,} numbers outside the vocabulary), {counts['left_alone']:,} left alone, "
        f"{counts['dropped']:,} dropped, {counts['kept_raw']:,} kept raw."
    )
    if facts["coverage"] is not None:
        lines.append(f"The space covers {facts['coverage']:.0%} of the words to veil; it does not know the others.")
    return lines + [f"Not protected: {sentence}" for sentence in facts["not_protected"]]
