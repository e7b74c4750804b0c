"""A veiled text as arrays: which word stands at each place, and whether a mechanism has put it there.

A text is cut, looked up and selected from by the very code of the veil. Two selections can be told from the release
itself: with ``all`` every word was veiled, with ``content`` every word that is no function word. A mechanism may draw
a function word, which then counts as left alone: a few in a hundred veiled words. With any other selection the veiled
words look like the others, so that spans must say where they are: those of the released text, which
`Release.replacements` and the offsets of JSON lines give.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.guarantee import Guarantee
from wordveil.spaces import Vocabulary
from wordveil.text.lookup import Lookup
from wordveil.text.release import Counts, Release
from wordveil.text.replacing import CASES, WRITERS
from wordveil.text.selection import Document, Selection, Spans, stop_words
from wordveil.text.tokens import Tokens, lookup_key, tokenise, visible_key

__all__ = ["LEFT_ALONE", "OUTSIDE", "READABLE", "UNKNOWN", "VEILED", "Cutter", "Places", "check_case"]

#: The id of a word outside the vocabulary.
OUTSIDE = -1
#: The kinds of places: not selected and so released as it was; drawn by the mechanism; selected, but outside the
#: vocabulary, so that its output says nothing.
LEFT_ALONE, VEILED, UNKNOWN = 0, 1, 2
#: The selections that a release can be read under.
READABLE = ("content", "all", "spans", "words")

_REMEMBERED = 1 << 20  # words whose ids are remembered: more than any vocabulary that is in use has


@dataclass(frozen=True)
class Places:
    """The words of some veiled texts, one text after the other.

    Attributes
    ----------
    ids : array of int
        The id of each word in the vocabulary, -1 if it is outside.
    kinds : array of uint8
        Whether each word is `LEFT_ALONE`, `VEILED` or `UNKNOWN`.
    starts : array of int
        Where each text begins among the words; one more than there are texts, the last being the number of words.
    others : array of shape (draws, words)
        The ids in further draws of the same texts, if they were released more than once.
    pieces : list of list of str
        The pieces of each text, to write it again; empty if they were not kept.
    """

    ids: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    others: NDArray[np.int64]
    pieces: list[list[str]]

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.starts) - 1

    @property
    def veiled(self) -> NDArray[np.int64]:
        """Which words are veiled, in order."""
        return np.flatnonzero(self.kinds == VEILED)

    @property
    def outputs(self) -> NDArray[np.int64]:
        """What was drawn at each veiled place: a row for each place, a column for each draw."""
        veiled = self.veiled
        return np.concatenate([self.ids[None], self.others])[:, veiled].T

    def spans(self) -> list[tuple[int, int]]:
        """Return where the veiled words of the first text stand in it, in characters."""
        ends = list(accumulate(map(len, self.pieces[0])))
        return [(ends[2 * place], ends[2 * place + 1]) for place in self.veiled.tolist() if place < self.starts[1]]

    def write(self, words: Iterable[str], guarantee: Guarantee, case: str = "sentence") -> list[Release]:
        """Put other words into the veiled places and return each text so, with where its words were replaced.

        Parameters
        ----------
        words : iterable of str
            A word for each veiled place, in order.
        guarantee : Guarantee
            What is promised of the release, and so of whatever is made of it.
        case : {"sentence", "lower", "copy"}
            How they are capitalised: as a veil does, of which ``copy`` takes the capitals that the veiled text has.
        """
        new, write, written = iter(words), WRITERS[case], []
        for pieces, start, end in zip(self.pieces, self.starts[:-1], self.starts[1:], strict=True):
            kinds = self.kinds[start:end]
            places = (2 * np.flatnonzero(kinds == VEILED) + 1).tolist()
            rewritten = list(pieces)
            for place in places:
                rewritten[place] = write(rewritten, place, next(new))
            left_alone, veiled, unknown = np.bincount(kinds, minlength=3).tolist()
            counts = Counts(words=len(kinds), left_alone=left_alone, drawn=veiled, kept_raw=unknown)
            lengths = [len(piece) for piece in pieces], [len(piece) for piece in rewritten]
            written.append(Release("".join(rewritten), guarantee, counts, places, lengths))
        return written


class Cutter:
    """Cuts veiled texts into places.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words of the mechanism's space.
    select : {"content", "all", "spans", "words"}
        Which words the release has veiled. With ``spans`` and ``words`` every text must come as a `Document` with the
        spans of its veiled words.
    words : collection of str, optional
        The list, for ``words``: the originals are looked for among these alone.
    """

    def __init__(self, vocabulary: Vocabulary, select: str = "content", words: Collection[str] | None = None) -> None:
        if select not in READABLE:
            raise OptionError(
                f"a release with select={select!r} does not tell which words were veiled; give select='spans', and "
                "with each text the spans of its veiled words."
            )
        self.selection = Selection(select, words)
        self._by_spans = Selection("spans") if select in {"spans", "words"} else None
        self._vocabulary = vocabulary
        # what is selected by its place is not known from the word alone, and seen to for each text
        self._codes = _Codes(vocabulary, Selection("all") if self._by_spans else self.selection)

    @property
    def needs_spans(self) -> bool:
        """Whether spans must say which words of a text are veiled."""
        return self._by_spans is not None

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which words of the vocabulary can be behind an output at all: those that the selection selects."""
        kind, listed = self.selection.kind, self.selection.listed
        if kind == "content":
            left_alone = stop_words()
            return np.array([lookup_key(word) not in left_alone for word in self._vocabulary])
        if listed is not None:
            keys = {key for phrase in listed for key in phrase}
            return np.array([visible_key(lookup_key(word)) in keys for word in self._vocabulary])
        return np.ones(len(self._vocabulary), dtype=np.bool_)

    def cut(self, texts: Iterable[str | Document], *, keep: bool = False) -> Places:
        """Look up the words of texts.

        Parameters
        ----------
        texts : iterable of str or Document
            The veiled texts.
        keep : bool
            Keep their pieces, to write them again.
        """
        codes: list[int] = []
        lengths: list[int] = []
        pieces: list[list[str]] = []
        code_of = self._codes
        for text in texts:
            words = text.text if isinstance(text, Document) else text
            if not isinstance(words, str):
                raise InputError(f"a text to read must be a string, and not of the type {type(words).__name__}.")
            tokens = tokenise(words)
            found = [code_of[pair] for pair in zip(tokens.pieces[1::2], tokens.keys, strict=True)]
            if self._by_spans is not None:
                chosen = self._by_spans.choose(tokens, _spans_of(text))
                found = [2 * (code >> 1) + is_chosen for code, is_chosen in zip(found, chosen, strict=True)]
            codes += found
            lengths.append(len(found))
            if keep:
                pieces.append(tokens.pieces)
        packed = np.array(codes, dtype=np.int64)
        ids, selected = (packed >> 1) - 1, (packed & 1).astype(np.bool_)
        kinds = np.where(selected, np.where(ids == OUTSIDE, UNKNOWN, VEILED), LEFT_ALONE).astype(np.uint8)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        return Places(ids, kinds, starts, np.empty((0, len(ids)), dtype=np.int64), pieces)

    def cut_draws(self, draws: Sequence[str | Document]) -> Places:
        """Look up the words of several draws of one text; the places are those of the first.

        A word is veiled if it is so in any draw, for a draw may be a function word, which looks like one left alone.

        Parameters
        ----------
        draws : sequence of str or Document
            The same text as it was released each time.
        """
        found = [self.cut([draw], keep=True) for draw in draws]
        first = found[0]
        if any(one.pieces[0][::2] != first.pieces[0][::2] for one in found):
            raise InputError("the draws of a text differ in more than their words, so they cannot be of one text.")
        ids, kinds = np.stack([one.ids for one in found]), np.stack([one.kinds for one in found])
        veiled = (kinds == VEILED).any(axis=0)
        if (ids != ids[0])[:, ~veiled & (ids >= 0).all(axis=0)].any():
            raise InputError("the draws of a text differ in words that are left alone, so they cannot be of one text.")
        unknown = (ids == OUTSIDE).any(axis=0) & (kinds != LEFT_ALONE).any(axis=0)
        merged = np.where(unknown, UNKNOWN, np.where(veiled, VEILED, LEFT_ALONE)).astype(np.uint8)
        return Places(first.ids, merged, first.starts, ids[1:], first.pieces)


class _Codes(dict[tuple[str, str], int]):
    """Remembers for words and their keys twice the id plus 2, and one more where the selection selects the word."""

    def __init__(self, vocabulary: Vocabulary, selection: Selection) -> None:
        super().__init__()
        self._vocabulary, self._selection, self._id = vocabulary, selection, Lookup(vocabulary).id

    def __missing__(self, pair: tuple[str, str]) -> int:
        word, key = pair
        known = self._id(word, key)
        code = 2 * (OUTSIDE if known is None else known) + 2
        code += self._selection.choose(Tokens(["", word, ""], [key]), None)[0]
        if len(self) < _REMEMBERED:
            self[pair] = code
        return code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._vocabulary, self._selection)


def check_case(case: str) -> str:
    """Return how words are capitalised, or refuse what is no way to."""
    if case not in CASES:
        raise OptionError(f"case cannot be {case!r}; choose one of {', '.join(CASES)}.")
    return case


def _spans_of(text: str | Document) -> Spans | None:
    if isinstance(text, str) or text.spans is None:
        raise InputError(
            "this release does not tell which words were veiled: give every text as a Document with the spans of its "
            "veiled words."
        )
    return Selection("spans").prepare(text).spans
