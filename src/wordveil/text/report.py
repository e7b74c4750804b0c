"""The privacy report: what is guaranteed, what was done, and what is not protected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wordveil._mechanisms.attackers import NOT_MEASURED, on_prose
from wordveil.guarantee import Notion
from wordveil.rounding import round_up
from wordveil.text.release import Counts
from wordveil.text.remarks import remarks

if TYPE_CHECKING:
    from wordveil.text.veil import Veil

__all__ = ["Report"]

_RAW = ", and so is every number, amount, date and time there; what follows is about those that were veiled."
_LEFT_ALONE = {
    "content": "Function words (of, the, not, …) in small letters, or with a capital where a sentence or a line "
    "begins, and their positions are released as they are, even if they are names (An, So).",
    "spans": "Every word outside the given spans is released as it is" + _RAW,
    "marked": "Every word outside the marks is released as it is" + _RAW,
    "words": "Every word that is not on the list is released as it is" + _RAW,
    "rare": "Every word that is common in its context is released as it is, even if it is a name, and a veiled word "
    "is known not to be common in its context. A person with several records bears the loss of this choice for each "
    "of them.",
}
_COPIED = "Capital letters are copied from the original, which reveals names and sentence starts."
_OUTSIDE = {
    "replace": "Nothing is guaranteed between a word of the vocabulary and one outside it.",
    "drop": "Words outside the vocabulary are dropped, and the shorter sentences show that they were there.",
    "keep": "Words outside the vocabulary are released as they are, including names, numbers and rare words.",
}

# How a release differs from the texts on which attackers were measured, where all but function words were veiled.
_DIFFERS = "Fewer words are veiled here than there, and the clear words around them help an attacker."
_DIFFERS_BY = {
    "content": "",
    "all": "Function words are veiled here but were left alone there; they are easier to guess.",
}


_EQUAL = (
    "Equal words of a {scope} are drawn once, and equal values are moved once. So the release shows which places "
    "hold the same word or value, and the guarantee compares texts that agree in this."
)
_REPEATED = {
    None: "A word that occurs n times, in a text or in a person's records, is drawn n times: its losses add up, and "
    "repeated draws can be combined to recover it. Remove recurring names first, or draw equal words once.",
    "record": "A word that occurs in n records of a person is drawn n times: its losses add up, and repeated draws can "
    "be combined to recover it. Remove recurring names first, or draw equal words of a person once.",
    "person": "A word is drawn once for each person, and again for every other person. The release shows how often the "
    "person uses it, and where. Over all their records the losses of all their different words add up. Records of one "
    "person under two names are drawn separately, and those draws can be combined.",
    "file": "A word is drawn once for a whole file. The release shows how often it occurs, and where, and that "
    "alone can give frequent words away.",
}


class Report(dict[str, Any]):
    """The privacy report of one or more releases: a dictionary of plain values, ready for JSON.

    Its counts are exact and not private, so show it only to those who may see the original. `Veil.report` makes it.

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
        """Make the report of texts from the sum of their counts.

        `longest` is the largest number of veiled words in a text, for the worst-case loss over a document.
        """
        return cls(
            {
                **veil.describe(),
                "blocked_checksum": veil.mechanism.blocked_checksum,
                **({"shortfall": veil.shortfall} if veil.shortfall else {}),
                "guarantee": veil.guarantee.to_dict(),
                **_numbers(veil),
                "document": _document(veil, longest),
                "attackers": _attackers(veil),
                "counts": counts.to_dict(),
                "coverage": counts.coverage,
                "warnings": remarks(veil, counts),
                "not_protected": _not_protected(veil),
                "about_this_report": "The counts are exact and not private: keep this report with the data's owner.",
            }
        )

    def sentences(self) -> list[str]:
        """Return the report as sentences."""
        counts, longest = self["counts"], self["document"]["veiled_words_in_the_longest"]
        lines = [self["guarantee"]["sentence"], *([self["rare"]["promise"]] if "rare" in self else [])]
        lines += [self["numbers_promise"]] if "numbers_promise" in self else []
        if self["document"]["worst_case_loss"] is not None:
            worst = self["document"]["worst_case_loss"]
            different = "different " if self["once"] else ""
            lines.append(
                f"Over the longest text ({longest:,} {different}veiled words) the losses add up to a factor of at most "
                f"e^{round_up(worst, 6):,.6g}."
            )
        lines += self["attackers"]["sentences"]
        replaced = counts["drawn"] + counts["outside"] + counts["numbers"] + counts["identifiers"]
        lines.append(
            f"{counts['words']:,} words: {replaced:,} replaced ({_counted(counts['outside'], 'word')} outside the "
            f"vocabulary, {_counted(counts['numbers'], 'number')}, {_counted(counts['identifiers'], 'identifier')}), "
            f"{counts['left_alone']:,} left alone, "
            f"{counts['dropped']:,} dropped, {counts['kept_raw']:,} kept raw."
        )
        if counts["repeated"]:
            lines.append(f"{_counted(counts['repeated'], 'place')} took the draw of an equal word of their record.")
        if self["coverage"] is not None:
            lines.append(f"The space knows {self['coverage']:.0%} of the words to veil.")
        lines += [f"Warning: {sentence}" for sentence in self["warnings"]]
        return lines + [f"Not protected: {sentence}" for sentence in self["not_protected"]]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        guarantee = self["guarantee"]
        loss = "" if guarantee["epsilon"] is None else f", ε={guarantee['epsilon']:g} per {guarantee['unit']}"
        promised = guarantee["notion"] if loss else "no privacy"
        return f"<Report: {promised}{loss}, {self['counts']['words']:,} words>"


def _document(veil: Veil, longest: int) -> dict[str, Any]:
    """Return the loss over the text with the most veiled words, whose losses add up."""
    promise, facts = veil.guarantee, {"veiled_words_in_the_longest": longest}
    if promise.notion is Notion.APPROXIMATE:
        return {
            **facts,
            "loss_if_every_word_differs_by_a_covered_pair": promise.epsilon * longest,
            "delta_if_every_word_differs_by_a_covered_pair": min(1.0, promise.delta * longest),
            "worst_case_loss": None,
        }
    return {
        **facts,
        f"loss_if_every_word_differs_by_one_{promise.unit.replace(' ', '_')}": _finite(promise.loss(longest)),
        "largest_distance_of_two_words": veil.mechanism.space.diameter,
        "largest_loss_of_a_word": _finite(veil.largest_loss),
        "worst_case_loss": _finite(longest * veil.largest_loss) if longest else _finite(promise.loss(0.0)),
    }


def _numbers(veil: Veil) -> dict[str, str]:
    """Return the guarantee for shifted values, unless a seed allows them to be shifted back."""
    mover = veil.nonwords.mover
    return {"numbers_promise": mover.sentence()} if mover is not None and not veil.is_seeded else {}


def _attackers(veil: Veil) -> dict[str, Any]:
    """Return the figures of the strongest attacker measured in advance, for the same mechanism and ε."""
    if veil.guarantee.notion is Notion.NONE:
        return {"strongest": None, "sentences": ["Nothing is guaranteed, so any attacker may be right."]}
    prose = on_prose(veil.mechanism)
    if prose is None:
        return {"strongest": None, "sentences": [NOT_MEASURED]}
    said = prose.sentences()
    differs = _DIFFERS_BY.get(veil.selection.kind, _DIFFERS)
    if differs:
        said.insert(1, differs)
    return {"strongest": prose.strongest.to_dict(), **prose.to_dict(), "sentences": said}


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
        *veil.nonwords.released(),
        "The guarantee compares words that would both be veiled, with beliefs about the other words held fixed. The "
        "words of a text say something about each other, and over n of them the losses add up.",
        *([] if veil.once is None else [_EQUAL.format(scope=veil.once.scope)]),
        _REPEATED[None if veil.once is None else veil.once.scope],
        *veil.guarantee.caveats,
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
