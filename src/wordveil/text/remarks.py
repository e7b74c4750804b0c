"""Warnings about a release whose guarantee holds but protects little.

They change neither the guarantee nor the report. They are made in one place, so that Python, the command line and Spark
give the same warnings.
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

#: If at least this share of the words stays, the release is practically the text, and guarantees nothing.
KEEPS_ALL = 0.99
#: If more than this share of the words, or of the frequent words, stays, an attacker needs no skill: taking every word
#: as it stands is right more often than not. Frequent words are checked separately, because a prior that favours them
#: can keep nearly all of them while keeping few of the others.
_KEEPS_MANY = 0.5
_KNOWS_FEW, _KNOWS_FEWER = 0.8, 0.5  # shares of the words to veil that are in the vocabulary
_TRIED = 400  # draws for estimating the share that stays, to within a few per cent

#: The shares of all words and of the frequent words that stay.
_KEPT: WeakKeyDictionary[Mechanism[Any], tuple[float, float]] = WeakKeyDictionary()


def kept_share(mechanism: Mechanism[Any]) -> float:
    """Estimate the share of the veiled words of ordinary text that stays.

    It is counted on a few hundred draws for typical content words, always the same ones. It depends on no text.
    """
    return _kept(mechanism)[0]


def _kept(mechanism: Mechanism[Any]) -> tuple[float, float]:
    if len(mechanism.space) == 1:
        return 0.0, 0.0  # every draw gives the only word, which reveals nothing
    if mechanism not in _KEPT:
        words = OutsideWords(mechanism.space)
        ids = words.typical(_TRIED)
        stayed = mechanism.draw(ids, Entropy(0)) == ids
        _KEPT[mechanism] = float(stayed.mean()), float(stayed[words.are_frequent(ids)].mean())
    return _KEPT[mechanism]


def told_before(veil: Veil) -> list[str]:
    """Return the warnings that can be given before anything is veiled."""
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
            f"At ε = {veil.mechanism.epsilon:g} about {kept:.0%} of the veiled words stay, so an attacker who takes "
            f"every word as it stands is right for about {kept:.0%} of them, and others do better. Choose a smaller ε."
        )
    elif frequent > _KEEPS_MANY:
        said.append(
            f"At ε = {veil.mechanism.epsilon:g} about {frequent:.0%} of the frequent words, which make up half of "
            f"ordinary text, stay, and {kept:.0%} of all veiled words. An attacker who takes every word as it stands "
            "gets most of the frequent ones. Choose a smaller ε, or another prior."
        )
    return said


#: What became of words outside the vocabulary.
_BECAME = {"replace": "replaced by words unrelated to them", "drop": "left out", "keep": "released as they are"}


def remarks(veil: Veil, counts: Counts) -> list[str]:
    """Return the warnings about a release, given its counts."""
    said = told_before(veil)
    if not counts.words:
        return [*said, "There was no word to veil: check that this is the column or file that you meant."]
    if not veil.has_veiled(counts):
        return [
            *said,
            f"None of the {counts.words:,} words was veiled, so the text was released as it is: check the selection "
            f"({veil.selection.kind}).",
        ]
    if counts.words == counts.numbers + counts.identifiers:  # probably a column of ids, given by mistake
        said.append(
            "There were numbers and identifiers only, no words: check that this is the column or file that you meant."
        )
    coverage = counts.coverage
    if coverage is not None and coverage < _KNOWS_FEW:
        much = "most" if coverage < _KNOWS_FEWER else "many"
        said.append(
            f"The space knows only {coverage:.0%} of the words to veil, so {much} of them were {_BECAME[veil.oov]}: "
            "check the column, its language and the space."
        )
    return said
