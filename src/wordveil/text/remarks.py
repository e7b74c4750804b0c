"""Warnings before a release goes out: where its promise holds but protects little.

None of these changes the promise or the report. They are made in one place, so that every way in (Python, the command,
Spark) says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from wordveil._mechanisms import Mechanism
from wordveil.noise import Entropy
from wordveil.text.release import Counts
from wordveil.text.replacing import OutsideWords

if TYPE_CHECKING:
    from wordveil.text.veil import Veil

__all__ = ["KEEPS_ALL", "kept_share", "remarks", "told_before"]

#: Where this share of the words comes out as it went in, the release is the text, and there is nothing to promise.
KEEPS_ALL = 0.99
#: Where more of the words stay than this, or more of the frequent ones, an attacker needs no skill: taking words as
#: they stand is right more often than not. A prior that favours frequent words can keep nearly all of them, and few
#: enough of the others that all words together stay below. Which words are frequent everybody knows.
_KEEPS_MANY = 0.5
_KNOWS_FEW, _KNOWS_FEWER = 0.8, 0.5  # shares of the words to veil that the space knows
_TRIED = 400  # draws that tell which share is kept, to within a few per cent

#: The shares that are kept of all words and of the frequent ones.
_KEPT: WeakKeyDictionary[Mechanism[Any], tuple[float, float]] = WeakKeyDictionary()


def kept_share(mechanism: Mechanism[Any]) -> float:
    """Return about which share of the veiled words of ordinary text comes out as it went in.

    Counted on a few hundred draws for content words as frequent as in ordinary text, the same every time: no text has
    a part in it.
    """
    return _kept(mechanism)[0]


def _kept(mechanism: Mechanism[Any]) -> tuple[float, float]:
    if len(mechanism.space) == 1:
        return 0.0, 0.0  # whatever is asked, the answer is the same
    if mechanism not in _KEPT:
        words = OutsideWords(mechanism.space)
        ids = words.typical(_TRIED)
        stayed = mechanism.draw(ids, Entropy(0)) == ids
        _KEPT[mechanism] = float(stayed.mean()), float(stayed[words.are_frequent(ids)].mean())
    return _KEPT[mechanism]


def told_before(veil: Veil) -> list[str]:
    """Say what is known to be wrong before anything is veiled."""
    kept, frequent = _kept(veil.mechanism)
    said = []
    if veil.selection.is_narrow:
        raw = "" if veil.nonwords.identifiers != "selected" else "identifiers (e-mail addresses, cards, phones), "
        said.append(
            f"Everything that is not selected ({veil.selection.kind}) is released as it is, including names, "
            f"{raw}numbers and dates."
        )
    if kept > _KEEPS_MANY:
        said.append(
            f"At ε = {veil.mechanism.epsilon:g} about {kept:.0%} of the veiled words come out as they went in, so an "
            f"attacker who takes every word as it stands is right for about {kept:.0%} of them, and others do better. "
            "Choose a smaller ε."
        )
    elif frequent > _KEEPS_MANY:
        said.append(
            f"At ε = {veil.mechanism.epsilon:g} about {frequent:.0%} of the frequent words, those that make up half of "
            f"ordinary text, come out as they went in, and {kept:.0%} of all veiled words: an attacker who takes words "
            "as they stand gets most of the frequent ones. Choose a smaller ε, or another prior."
        )
    return said


def remarks(veil: Veil, counts: Counts) -> list[str]:
    """Say what is wrong with a release, given what became of its words."""
    said = told_before(veil)
    if not counts.words:
        return [*said, "There was no word to veil: check that this is the column or file that you meant."]
    if not veil.has_veiled(counts):
        return [
            *said,
            f"None of the {counts.words:,} words was veiled, so the text was released as it is: check the selection "
            f"({veil.selection.kind}).",
        ]
    if counts.words == counts.numbers + counts.identifiers:  # a column of ids: the one with the text was meant
        said.append(
            "There were numbers and identifiers only, no words: check that this is the column or file that you meant."
        )
    coverage = counts.coverage
    if coverage is not None and coverage < _KNOWS_FEW:
        much = "most" if coverage < _KNOWS_FEWER else "many"
        said.append(
            f"The space knows only {coverage:.0%} of the words to veil, so {much} of them were replaced by words "
            "unrelated to them: check the column, its language and the space."
        )
    return said
