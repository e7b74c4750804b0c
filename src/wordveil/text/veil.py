"""The whole way of a text: words, selection, draws, text again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from wordveil._mechanisms import Mechanism
from wordveil.errors import UnprovenError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.text.case import capitals_of, check_case, copy_case, starts_sentence
from wordveil.text.lookup import Lookup
from wordveil.text.outside import OutsideWords, check_policy, random_digits
from wordveil.text.rare_words import RareWords
from wordveil.text.release import Counts, Release
from wordveil.text.selection import Document, Selection, Spans
from wordveil.text.shape import Shape
from wordveil.text.tokens import is_number, tokenise

__all__ = ["BATCH_WORDS", "Veil"]

#: How many words are drawn together: a word that occurs often costs little more than one that occurs once.
BATCH_WORDS = 1 << 18
_FIRST_BATCH = 1 << 12


class Veil:
    """Rewrites texts with one mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces words.
    select : {"content", "all", "spans", "marked", "words", "rare"}
        Which words are veiled: all but function words, all, those in given spans, those marked ``[[so]]`` in the
        text, those of a list, or those that are unlikely where they stand.
    words : collection of str, optional
        The list, for ``select="words"``.
    rare : RareWords, optional
        What finds unlikely words, for ``select="rare"``.
    oov : {"replace", "drop", "keep"}
        What becomes of a selected word outside the vocabulary: replaced by a draw that does not depend on it, left
        out, or kept, which leaves no guarantee.
    case : {"sentence", "lower", "copy"}
        Capitals at the beginnings of sentences, none, or those of the original, which reveals them.
    seed : int, optional
        Makes the draws reproducible, for experiments; leaves no guarantee.
    unproven : bool
        Accept a mechanism that promises nothing or leaves some words bare.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k")
    >>> veil = wordveil.Veil(wordveil.mechanism("graph", space, epsilon=6.0))
    >>> release = veil("The ship left the harbour.")
    >>> release.text.startswith("The "), release.guarantee.unit
    (True, 'hop')
    """

    def __init__(
        self,
        mechanism: Mechanism[Any],
        *,
        select: str = "content",
        words: Collection[str] | None = None,
        rare: RareWords | None = None,
        oov: str = "replace",
        case: str = "sentence",
        seed: int | None = None,
        unproven: bool = False,
    ) -> None:
        if mechanism.shortfall and not unproven:
            raise UnprovenError(f"{mechanism.shortfall} Pass unproven=True to use {mechanism.name} all the same.")
        self.mechanism = mechanism
        self.selection = Selection(select, words, rare)
        self.oov = check_policy(oov)
        self.case = check_case(case)
        self.entropy = Entropy(seed)
        self._vocabulary = mechanism.space.vocabulary
        self.lookup = Lookup(self._vocabulary)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised for each veiled word under these options."""
        promise = self.mechanism.guarantee
        if not self.entropy.secure:
            promise = promise.void("A seed was given, so the draws can be repeated by whoever knows it.")
        if self.selection.rare is not None:
            promise = promise.with_caveat(
                "Only words that are unlikely where they stand are veiled, and only two such words are compared. "
                f"{self.selection.rare.sentence()}"
            )
            if not self.selection.rare.tree.secure:
                promise = promise.void("A seed was given to the model of what is common.")
        if self.case == "copy":
            promise = promise.with_caveat(
                "Capital letters are copied, so spellings that differ in them are told apart."
            )
        if self.oov == "keep":
            promise = promise.void("Words outside the vocabulary are released as they are.")
        return promise

    def describe(self) -> dict[str, Any]:
        """Say how texts are veiled, in plain values; of a list of words only that there is one: it may be private."""
        return {
            **self.mechanism.describe(),
            "select": self.selection.kind,
            **({} if self.selection.rare is None else {"rare": self.selection.rare.describe()}),
            "oov": self.oov,
            "case": self.case,
            "seeded": not self.entropy.secure,
        }

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of how texts are veiled, with listed and common words: two veils that have the same do the same."""
        rare = None if self.selection.rare is None else self.selection.rare.fingerprint
        told = json.dumps([self.describe(), self.selection.listed, rare], sort_keys=True)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def __call__(self, text: str, *, spans: Spans | None = None) -> Release:
        """Veil one text."""
        return self.together([Document(text, spans)])[0]

    def shape(self, text: str) -> Shape:
        """Return what would be released of a text as it is; nothing is drawn.

        Examples
        --------
        >>> import wordveil
        >>> veil = wordveil.Veil(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=6.0))
        >>> veil.shape("The ship left.") == veil.shape("The letter came.")
        True
        >>> veil.shape("The ship left.") == veil.shape("Her ship left.")
        False
        """
        return _Draft(self, Document(text)).shape(self)

    def together(self, texts: Iterable[str | Document]) -> list[Release]:
        """Veil some texts all at once, which is the fastest way where they fit into memory."""
        return self._finish([_Draft(self, Document(text) if isinstance(text, str) else text) for text in texts])

    def many(self, texts: Iterable[str | Document], *, batch_words: int = BATCH_WORDS) -> Iterator[Release]:
        """Veil a stream of texts, in order, in bounded memory.

        Parameters
        ----------
        texts : iterable of str or Document
            The texts; at most one batch is taken ahead of what has been given out.
        batch_words : int
            How many words make a batch. The first batches are smaller, so that results come at once.
        """
        drafts: list[_Draft] = []
        waiting, enough = 0, min(_FIRST_BATCH, batch_words)
        for text in texts:
            draft = _Draft(self, Document(text) if isinstance(text, str) else text)
            drafts.append(draft)
            waiting += draft.words
            if waiting >= enough or len(drafts) >= enough:
                yield from self._finish(drafts)
                drafts, waiting, enough = [], 0, min(4 * enough, batch_words)
        yield from self._finish(drafts)

    @cached_property
    def _outside(self) -> OutsideWords:
        return OutsideWords(self.mechanism.space)

    def _finish(self, drafts: list[_Draft]) -> list[Release]:
        """Draw for all drafts at once and write the texts."""
        ids = [i for draft in drafts for i in draft.ids]
        drawn = self.mechanism.draw(np.array(ids, dtype=np.int64), self.entropy) if ids else np.empty(0, np.int64)
        inside = iter(self._vocabulary.take(drawn))
        strangers = sum(len(draft.outside) for draft in drafts) if self.oov == "replace" else 0
        outside = iter(self._vocabulary.take(self._outside.draw(strangers, self.entropy)) if strangers else ())
        lengths = [len(draft.pieces[place]) for draft in drafts for place in draft.numbers]
        numbers = iter(random_digits(lengths, self.entropy) if self.oov == "replace" and lengths else ())
        return [draft.write(self, inside, outside, numbers) for draft in drafts]


class _Draft:
    """One text on its way: cut up, with the places that wait for a word."""

    __slots__ = ("ids", "numbers", "outside", "pieces", "places", "words")

    def __init__(self, veil: Veil, document: Document) -> None:
        document = veil.selection.prepare(document)
        tokens = tokenise(document.text)
        self.pieces, keys = tokens
        self.words = len(keys)
        self.places: list[int] = []
        self.ids: list[int] = []
        self.outside: list[int] = []
        self.numbers: list[int] = []
        id_of = veil.lookup.id
        place = -1
        for key, chosen in zip(keys, veil.selection.choose(tokens, document.spans), strict=True):
            place += 2
            if chosen:
                word = self.pieces[place]
                known = id_of(word, key)
                if known is not None:
                    self.places.append(place)
                    self.ids.append(known)
                elif is_number(word):
                    self.numbers.append(place)
                else:
                    self.outside.append(place)

    def shape(self, veil: Veil) -> Shape:
        """Return all that the law of what will be written depends on, but for the words to draw anew."""
        parts = [f"={piece}" for piece in self.pieces]
        hidden = [("word", self.places)]
        if veil.oov != "keep":
            hidden.append(("outside", self.outside))
            for place in self.numbers:
                parts[place] = f"number {len(self.pieces[place])}"
        for kind, places in hidden:
            for place in places:
                parts[place] = f"{kind} {capitals_of(self.pieces[place])}" if veil.case == "copy" else kind
        return Shape(tuple(parts), len(self.places))

    def write(self, veil: Veil, inside: Iterator[str], outside: Iterator[str], numbers: Iterator[str]) -> Release:
        """Put the drawn words in their places."""
        pieces = self.pieces
        before = list(map(len, pieces))
        write = _WRITERS[veil.case]
        dropped = kept = 0
        for place in self.places:
            pieces[place] = write(pieces, place, next(inside))
        touched = self.places
        if self.outside or self.numbers:
            strangers = len(self.outside) + len(self.numbers)
            if veil.oov == "replace":
                for place in self.outside:
                    pieces[place] = write(pieces, place, next(outside))
                for place in self.numbers:
                    pieces[place] = next(numbers)
            elif veil.oov == "drop":
                dropped = strangers
                for place in self.outside + self.numbers:
                    pieces[place] = ""
                    if pieces[place - 1].endswith(" "):
                        pieces[place - 1] = pieces[place - 1][:-1]
            else:
                kept = strangers
            if not kept:
                touched = self.places + self.outside + self.numbers
        replaced = not (dropped or kept)
        counts = Counts(
            words=self.words,
            left_alone=self.words - len(self.places) - len(self.outside) - len(self.numbers),
            drawn=len(self.places),
            outside=len(self.outside) if replaced else 0,
            numbers=len(self.numbers) if replaced else 0,
            dropped=dropped,
            kept_raw=kept,
        )
        after = list(map(len, pieces))
        return Release("".join(pieces), veil.guarantee, counts, touched, (before, after))


def _as_listed(pieces: list[str], place: int, word: str) -> str:
    # A clitic touches the word before it; its replacement must not.
    return " " + word if place > 1 and not pieces[place - 1] else word


def _by_position(pieces: list[str], place: int, word: str) -> str:
    gap = pieces[place - 1]
    if gap == " " and place > 1:  # by far the most common case
        return word
    if place == 1 or starts_sentence(gap):
        return word[:1].upper() + word[1:]
    return _as_listed(pieces, place, word)


def _like_original(pieces: list[str], place: int, word: str) -> str:
    return _as_listed(pieces, place, copy_case(pieces[place], word))


_WRITERS = {"sentence": _by_position, "lower": _as_listed, "copy": _like_original}
