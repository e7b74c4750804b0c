"""Looks up the words of a text in a vocabulary, by their spelling or base form."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from wordveil.errors import SpaceError
from wordveil.spaces import Vocabulary
from wordveil.text.tokens import apart_as, tokenise, visible_key

__all__ = ["BaseForms", "Lookup"]

# WordNet's "rules of detachment": an ending, and its replacement in the base form (see morphy(7WN)).
_ENDINGS = {
    "noun": "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
}
_RULES = {part: [rule.split(":") for rule in rules.split()] for part, rules in _ENDINGS.items()}


class BaseForms:
    """Finds the base forms of inflected English nouns and verbs.

    Irregular forms come from WordNet's lists, ``noun.exc`` and ``verb.exc`` in a folder; regular forms from its rules.
    """

    def __init__(self, folder: Path) -> None:
        self._irregular: dict[str, dict[str, list[str]]] = {}
        for part in _RULES:
            try:
                lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            except OSError:
                raise SpaceError(f"{folder} lacks WordNet's list of irregular forms {part}.exc.") from None
            self._irregular[part] = {form: bases for form, *bases in (line.split() for line in lines if line)}

    def of(self, word: str) -> Iterator[tuple[str, str]]:
        """Yield every possible part of speech and base form, irregular ones first."""
        for part in _RULES:
            for base in self._irregular[part].get(word, ()):
                yield part, base
        for part, rules in _RULES.items():
            for ending, base_ending in rules:
                if word.endswith(ending) and len(word) > len(ending):
                    yield part, word.removesuffix(ending) + base_ending


class Lookup:
    """Looks up a word as written, then by its key, then without invisible characters, then by its base forms.

    Base forms are tried only if the vocabulary consists of base forms.

    Examples
    --------
    >>> lookup = Lookup(Vocabulary(["sea", "US"]))
    >>> [lookup.id(word, word.lower()) for word in ("Sea", "US", "us", "land")]
    [0, 1, None, None]
    """

    __slots__ = ("_bases", "_get")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._get = vocabulary.ids.get
        self._bases = None if vocabulary.forms is None else BaseForms(vocabulary.forms)

    def id(self, word: str, key: str) -> int | None:
        """Return the id of a word with this key (see `lookup_key`), or None if it is outside the vocabulary."""
        found = self._get(word)
        if found is None:
            found = self._get(key)
        if found is None:
            key = visible_key(key)
            found = self._get(key)
        if found is None and self._bases is not None:
            ids = (self._get(base) for _, base in self._bases.of(key))
            found = next((known for known in ids if known is not None), None)
        return found

    def head(self, entity: str, apart: Collection[str]) -> str:
        """Return the word that stands for a whole name, so that one draw can replace it.

        It is the last word in the vocabulary, or else the last word. Something set apart, such as an address, stands
        for itself.
        """
        pieces, keys = tokenise(entity, apart)
        words = pieces[1::2]
        known = [
            word
            for word, key in zip(words, keys, strict=True)
            if apart_as(key) is None and self.id(word, key) is not None
        ]
        return (known or words or [entity])[-1]
