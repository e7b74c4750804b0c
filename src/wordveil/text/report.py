"""The privacy report: what was promised, what was done, and what is not protected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wordveil.guarantee import Notion
from wordveil.rounding import round_up
from wordveil.text.release import Counts

if TYPE_CHECKING:
    from wordveil.text.veil import Veil

__all__ = ["Report"]

_LEFT_ALONE = {
    "content": "Function words (of, the, not, …) and their positions are released as they are, even where they are "
    "names or initials (Will, May, A.).",
    "spans": "Every word outside the given spans is released as it is.",
    "marked": "Every word outside the marks is released as it is.",
    "words": "Every word that is not on the list is released as it is.",
    "rare": "Every word that is common where it stands is released as it is, even where it is a name; a veiled word is "
    "known not to be common there. A person with several records bears the loss of the choice for each of them.",
}
_COPIED = "Capital letters are copied from the original, which reveals names and sentence starts."
_OUTSIDE = {
    "replace": "Nothing is promised between a word inside the vocabulary and one outside it; the number of digits of a "
    "number outside it is released.",
    "drop": "Words dropped because they are outside the vocabulary leave shorter sentences, which shows that they were "
    "there.",
    "keep": "Words outside the vocabulary are released as they are: names, numbers and rare words among them.",
}


class Report(dict[str, Any]):
    """The privacy report of one or many releases: a dictionary of plain values, ready for JSON.

    Its counts are exact and not private: keep it with those who may see the original. `Veil.report` makes it.

    Examples
    --------
    >>> import json, wordveil
    >>> veil = wordveil.Veil(epsilon=4)
    >>> report = veil.report(veil("The ship left the harbour."))
    >>> report["counts"]["drawn"], report["guarantee"]["epsilon"]
    (3, 4.0)
    >>> report.sentences()[0]
    'Seeing an output changes the odds between two candidate words by a factor of at most e^4 (about 54.6) per hop.'
    >>> json.loads(json.dumps(report)) == report
    True
    """

    @classmethod
    def of(cls, veil: Veil, counts: Counts, longest: int) -> Report:
        """Make the report of texts that were veiled one by one, from the sum of their counts.

        `longest` is the number of veiled words in the text that had most of them: the worst case over a document.
        """
        return cls(
            {
                **veil.describe(),
                **({"shortfall": veil.shortfall} if veil.shortfall else {}),
                "guarantee": veil.guarantee.to_dict(),
                "document": _document(veil, longest),
                "counts": counts.to_dict(),
                "coverage": counts.coverage,
                "not_protected": _not_protected(veil),
                "about_this_report": "The counts are exact and not private: keep this report with the data's owner.",
            }
        )

    def sentences(self) -> list[str]:
        """Say the report in sentences for a person."""
        counts, longest = self["counts"], self["document"]["veiled_words_in_the_longest"]
        lines = [self["guarantee"]["sentence"], *([self["rare"]["promise"]] if "rare" in self else [])]
        if self["document"]["worst_case_loss"] is not None:
            worst = self["document"]["worst_case_loss"]
            lines.append(
                f"Over the longest text ({longest:,} veiled words) the losses add up to a factor of at most "
                f"e^{round_up(worst, 6):,.6g}."
            )
        replaced = counts["drawn"] + counts["outside"] + counts["numbers"]
        lines.append(
            f"{counts['words']:,} words: {replaced:,} replaced (outside the vocabulary: "
            f"{_counted(counts['outside'], 'word')} and {_counted(counts['numbers'], 'number')}), "
            f"{counts['left_alone']:,} left alone, "
            f"{counts['dropped']:,} dropped, {counts['kept_raw']:,} kept raw."
        )
        if self["coverage"] is not None:
            lines.append(f"The space knows {self['coverage']:.0%} of the words to veil.")
        return lines + [f"Not protected: {sentence}" for sentence in self["not_protected"]]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        guarantee = self["guarantee"]
        loss = "" if guarantee["epsilon"] is None else f", ε={guarantee['epsilon']:g} per {guarantee['unit']}"
        promised = guarantee["notion"] if loss else "no privacy"
        return f"<Report: {promised}{loss}, {self['counts']['words']:,} words>"


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
    kind = veil.selection.kind
    return [
        "The number of words, and the spaces, line breaks, punctuation, symbols, emoji and invisible characters "
        "between words, are released as they are.",
        *([_LEFT_ALONE[kind]] if kind in _LEFT_ALONE else []),
        *([_COPIED] if veil.case == "copy" else []),
        _OUTSIDE[veil.oov],
        "The promise compares words that would both be veiled; over a text of n words the losses add up.",
        "A word that occurs n times, in a text or in a person's records, is drawn n times: its losses add up, and "
        "repeated draws can be combined to recover it. Remove recurring names first.",
        *veil.guarantee.caveats,
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
