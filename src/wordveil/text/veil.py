"""The whole way of a text: words, selection, draws, and text again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordveil._mechanisms import DEFAULT, Mechanism
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.errors import InputError, OptionError, UnprovenError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.spaces import Space, load_space
from wordveil.text.lookup import Lookup
from wordveil.text.rare_words import RareWords
from wordveil.text.release import Counts, Release, Shape
from wordveil.text.replacing import CASES, POLICIES, WRITERS, OutsideWords, capitals_of, random_digits
from wordveil.text.report import Report
from wordveil.text.selection import Document, Selection, Spans
from wordveil.text.tokens import is_number, tokenise

__all__ = ["BATCH_WORDS", "Veil"]

#: How many words are drawn together: a word that occurs often costs little more than one that occurs once.
BATCH_WORDS = 1 << 18
_FIRST_BATCH = 1 << 12
_DEFAULT_SPACE = "glove-50k"


class Veil:
    """Rewrites texts with one mechanism.

    Parameters
    ----------
    mechanism : Mechanism or str, optional
        What replaces words: a mechanism from `wordveil.mechanism`, or the name of one to make with `epsilon` and
        `space`. The default is ``graph``.
    epsilon : float, optional
        The privacy loss per unit of the mechanism's distance; required unless `mechanism` is a mechanism already.
        4 is a good start for the default mechanism.
    space : Space, str or Path, optional
        The words to draw from: a space, the name of a bundled one or an embedding file. The default is ``glove-50k``.
    select : {"content", "all", "spans", "marked", "words", "rare"}
        Which words are veiled: all but function words, all, those in given spans, those marked ``[[so]]`` in the
        text, those of a list, or those that are unlikely where they stand.
    words : collection of str, optional
        The list, for ``select="words"``.
    rare : RareWords, optional
        Finds the unlikely words, for ``select="rare"``.
    oov : {"replace", "drop", "keep"}
        What becomes of a selected word outside the vocabulary: replaced by a draw that does not depend on it, left
        out, or kept, which leaves no guarantee.
    case : {"sentence", "lower", "copy"}
        Capitals at the start of sentences, none, or those of the original, which reveals them.
    seed : int, optional
        Makes the draws reproducible, for experiments; leaves no guarantee.
    unproven : bool
        Release even under a mechanism that promises no privacy or leaves some words bare, for comparisons. The
        guarantee and the report then say what is missing.

    Attributes
    ----------
    mechanism : Mechanism
        What replaces words.
    shortfall : str
        What releases lack, in a sentence; empty unless ``unproven=True`` let such a mechanism in.

    Raises
    ------
    OptionError
        If options are missing, unknown or contradict one another.
    UnprovenError
        If the mechanism has a shortfall and `unproven` is not set.

    Examples
    --------
    >>> import wordveil
    >>> veil = wordveil.Veil(epsilon=4)
    >>> veil.mechanism
    <Graph on 'glove-50k graph k=10': epsilon=4, k=10, first=0.5>
    >>> release = veil("The ship left the harbour.")
    >>> release.text.startswith("The "), release.guarantee
    (True, <Guarantee: metric differential privacy, ε=4 per hop, 1 caveat>)

    A mechanism with options of its own is made first:

    >>> mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4, k=5)
    >>> veil = wordveil.Veil(mechanism, select="all")
    """

    def __init__(
        self,
        mechanism: Mechanism[Any] | str | None = None,
        *,
        epsilon: float | None = None,
        space: Space | str | Path | None = None,
        select: str = "content",
        words: Collection[str] | None = None,
        rare: RareWords | None = None,
        oov: str = "replace",
        case: str = "sentence",
        seed: int | None = None,
        unproven: bool = False,
    ) -> None:
        self.selection = Selection(select, words, rare)
        self.oov = _one_of("oov", oov, POLICIES)
        self.case = _one_of("case", case, CASES)
        self.entropy = Entropy(seed)
        self.mechanism = _made(mechanism, epsilon, space)
        self.shortfall = self.mechanism.shortfall
        if self.shortfall and not unproven:
            raise UnprovenError(f"{self.shortfall} Set unproven=True to release texts all the same.")
        self._vocabulary = self.mechanism.space.vocabulary
        self.lookup = Lookup(self._vocabulary)

    def __repr__(self) -> str:
        told = f"{self.mechanism!r}, select={self.selection.kind!r}, oov={self.oov!r}, case={self.case!r}"
        told += "" if self.entropy.secure else ", seeded"
        return f"<Veil: {told}, unproven: {self.shortfall}>" if self.shortfall else f"<Veil: {told}>"

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised for each veiled word under these options."""
        promise = self.mechanism.guarantee
        if self.shortfall:  # a promise that some words do not have is none for a text
            promise = replace(promise, caveats=tuple(one for one in promise.caveats if one != self.shortfall))
            promise = promise.void(self.shortfall)
        if not self.entropy.secure:
            promise = promise.void("A seed was given, so anyone who knows it can repeat the draws.")
        if self.selection.rare is not None:
            promise = promise.with_caveat(
                "Only words that are unlikely where they stand are veiled, and the promise compares only such words. "
                f"{self.selection.rare.sentence()}"
            )
            if not self.selection.rare.tree.secure:
                promise = promise.void("A seed was given to the model of what is common.")
        if self.case == "copy":
            promise = promise.with_caveat(
                "Capital letters are copied, so spellings that differ in them can be told apart."
            )
        if self.oov == "keep":
            promise = promise.void("Words outside the vocabulary are released as they are.")
        return promise

    def describe(self) -> dict[str, Any]:
        """Say how texts are veiled, in plain values. A list of words may be private, so only its use is mentioned."""
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
        """A SHA-256 of all settings, listed and common words included: veils with the same one do the same."""
        rare = None if self.selection.rare is None else self.selection.rare.fingerprint
        told = json.dumps([self.describe(), self.selection.listed, rare], sort_keys=True)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def __call__(self, text: str, *, spans: Spans | None = None) -> Release:
        """Veil one text."""
        return self.together([Document(text, spans)])[0]

    def shape(self, text: str) -> Shape:
        """Return what of a text would be released as it is; nothing is drawn.

        Examples
        --------
        >>> import wordveil
        >>> veil = wordveil.Veil(epsilon=4)
        >>> veil.shape("The ship left.") == veil.shape("The letter came.")
        True
        >>> veil.shape("The ship left.") == veil.shape("Her ship left.")
        False
        """
        return _Draft(self, Document(text)).shape(self)

    def together(self, texts: Iterable[str | Document]) -> list[Release]:
        """Veil some texts all at once: the fastest way if they fit into memory."""
        return self._finish([_Draft(self, document) for document in _documents(texts)])

    def many(self, texts: Iterable[str | Document], *, batch_words: int = BATCH_WORDS) -> Iterator[Release]:
        """Veil a stream of texts, in order, in bounded memory.

        Parameters
        ----------
        texts : iterable of str or Document
            The texts; at most one batch is read ahead of what has been yielded.
        batch_words : int
            How many words make a batch. The first batches are smaller, so that results come soon.
        """
        drafts: list[_Draft] = []
        waiting, enough = 0, min(_FIRST_BATCH, batch_words)
        for document in _documents(texts):
            draft = _Draft(self, document)
            drafts.append(draft)
            waiting += draft.words
            if waiting >= enough or len(drafts) >= enough:
                yield from self._finish(drafts)
                drafts, waiting, enough = [], 0, min(4 * enough, batch_words)
        yield from self._finish(drafts)

    def report(self, *releases: Release) -> Report:
        """Make the privacy report of what this veil has released.

        Parameters
        ----------
        *releases : Release
            The releases to report on, each of a document of its own.
        """
        counts = sum((release.counts for release in releases), Counts())
        return Report.of(self, counts, max((release.counts.veiled for release in releases), default=0))

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


def _documents(texts: Iterable[str | Document]) -> Iterator[Document]:
    if isinstance(texts, (str, bytes, Document)):
        raise InputError("several texts are expected here, such as a list; give a single one to the veil itself.")
    for text in texts:
        if not isinstance(text, (str, Document)):
            raise InputError(f"a text must be a string or a Document, not {type(text).__name__}.")
        yield Document(text) if isinstance(text, str) else text


def _one_of(option: str, value: str, values: Collection[str]) -> str:
    if value not in values:
        raise OptionError(f"{option} cannot be {value!r}; choose one of {', '.join(values)}.")
    return value


def _made(
    mechanism: Mechanism[Any] | str | None, epsilon: float | None, space: Space | str | Path | None
) -> Mechanism[Any]:
    """Make the mechanism of a veil, unless it is given as one."""
    if isinstance(mechanism, Mechanism):
        if epsilon is not None or space is not None:
            raise OptionError("a mechanism has its epsilon and space already: give either it, or its name and these.")
        return mechanism
    if epsilon is None:
        raise OptionError(
            "epsilon is required; 4 is a good start for the default mechanism, and `wordveil calibrate` finds the "
            "value for your own target."
        )
    opened = space if isinstance(space, Space) else load_space(_DEFAULT_SPACE if space is None else space)
    return make_mechanism(DEFAULT if mechanism is None else mechanism, opened, epsilon=epsilon)


class _Draft:
    """One text in progress: cut up, with the places that wait for a word."""

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
        """Return everything that the distribution of the result depends on, except the words to be drawn."""
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
        write = WRITERS[veil.case]
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
