"""Which word of a vocabulary a word of a text is taken for."""

from __future__ import annotations

from wordveil.spaces import Vocabulary
from wordveil.text.lemmas import Lemmas
from wordveil.text.tokens import visible_key

__all__ = ["Lookup"]


class Lookup:
    """Looks words up as they are written, then by their keys, without invisible characters, and by their base forms.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words there are; only one of base forms is asked for base forms.

    Examples
    --------
    >>> lookup = Lookup(Vocabulary(["sea", "US"]))
    >>> [lookup.id(word, word.lower()) for word in ("Sea", "US", "us", "land")]
    [0, 1, None, None]
    """

    __slots__ = ("_get", "_lemmas")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._get = vocabulary.ids.get
        self._lemmas = None if vocabulary.forms is None else Lemmas(vocabulary)

    def id(self, word: str, key: str) -> int | None:
        """Return the id of a word with this key, from `tokenise` or `lookup_key`; None if it is outside."""
        found = self._get(word)
        if found is None:
            found = self._get(key)
        if found is None:
            key = visible_key(key)
            found = self._get(key)
        if found is None and self._lemmas is not None:
            found = self._lemmas.id(key)
        return found
