"""The words of a space, in the order of their ids."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, SpaceError


class Vocabulary:
    """An ordered set of distinct words; a word's id is its index.

    As in embedding files, the most frequent word comes first.

    Parameters
    ----------
    words : sequence of str
        The words.
    forms : Path, optional
        If the words are base forms: the folder with the lists of irregular forms, for looking up inflected words.

    Examples
    --------
    >>> words = Vocabulary(["the", "sea", "ship"])
    >>> words.id("sea"), words[2], "boat" in words
    (1, 'ship', False)
    """

    def __init__(self, words: Sequence[str], *, forms: Path | None = None) -> None:
        if not words:
            raise SpaceError("a space needs at least one word.")
        self.words = list(words)
        self.forms = forms

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every word."""
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def id(self, word: str) -> int:
        """Return the id of a word, or raise an InputError that suggests words with similar spelling."""
        found = self.ids.get(word)
        if found is None:
            near = self.spellings(word)
            hint = f"; did you mean {', '.join(near)}?" if near else "."
            raise InputError(f"the word is not in this space{hint}")
        return found

    def spellings(self, word: str, count: int = 3) -> list[str]:
        """Return words with similar spelling, the most similar first."""
        lowered = word.lower()
        alike = [other for other in self.words if abs(len(other) - len(word)) <= 2]
        return difflib.get_close_matches(lowered, alike, n=count, cutoff=0.7)

    def among(self, lowered: Container[str]) -> NDArray[np.bool_]:
        """Return for each word whether it is, in lower case, among these.

        Examples
        --------
        >>> Vocabulary(["The", "sea"]).among({"the"}).tolist()
        [True, False]
        """
        # One call for all words together; line breaks in them would be taken for ends.
        written = "\n".join(self.words)
        small = written.lower()
        if small == written and isinstance(lowered, Set):  # then the few are looked up, instead of the many
            found = np.zeros(len(self.words), dtype=np.bool_)
            found[[self.ids[word] for word in lowered if word in self.ids]] = True
            return found
        words = small.split("\n")
        if len(words) != len(self.words):
            words = [word.lower() for word in self.words]
        return np.fromiter(map(lowered.__contains__, words), np.bool_, len(words))

    def take(self, ids: Iterable[int] | NDArray[np.integer]) -> list[str]:
        """Return the words with these ids."""
        words = self.words
        return [words[i] for i in (ids.tolist() if isinstance(ids, np.ndarray) else ids)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} words>"

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, place: int) -> str:
        return self.words[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids
