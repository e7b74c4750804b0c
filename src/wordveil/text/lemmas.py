"""Base forms of inflected English words, by WordNet's lists of irregular forms and its rules for regular ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.spaces import Vocabulary

__all__ = ["BaseForms", "Lemmas"]

_PARTS = ("noun", "verb")
# WordNet's "rules of detachment": an ending, and what stands in its place in the base form (see morphy(7WN)).
_ENDINGS = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
}


class BaseForms:
    """Finds what an inflected noun or verb may be a form of.

    Parameters
    ----------
    folder : Path
        Holds WordNet's lists of irregular forms, ``noun.exc`` and ``verb.exc``.
    """

    def __init__(self, folder: Path) -> None:
        self._irregular: dict[str, dict[str, list[str]]] = {}
        for part in _PARTS:
            try:
                lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            except OSError:
                raise WordveilError(f"{folder} lacks WordNet's list of irregular forms {part}.exc.") from None
            self._irregular[part] = {form: bases for form, *bases in (line.split() for line in lines if line)}

    def of(self, word: str) -> Iterator[tuple[str, str]]:
        """Yield the part of speech and the base form of every possibility, irregular ones first."""
        for part in _PARTS:
            for base in self._irregular[part].get(word, ()):
                yield part, base
        for part in _PARTS:
            for ending, instead in _ENDINGS[part]:
                if word.endswith(ending) and len(word) > len(ending):
                    yield part, word.removesuffix(ending) + instead


class Lemmas:
    """Looks up words in a vocabulary of base forms.

    Parameters
    ----------
    vocabulary : Vocabulary
        The base forms, with the folder of their irregular forms.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.forms is None:
            raise WordveilError("this vocabulary is not one of base forms.")
        self._ids = vocabulary.ids
        self._forms = BaseForms(vocabulary.forms)

    def id(self, word: str) -> int | None:
        """Return the id of the first base form of a word (lower case) that the vocabulary has, None if it has none."""
        return next((self._ids[base] for _, base in self._forms.of(word) if base in self._ids), None)
