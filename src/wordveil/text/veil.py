"""The veil: rewrites texts with one mechanism."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordveil._mechanisms import DEFAULT, Mechanism, blocked_words
from wordveil._mechanisms import block as block_words
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.errors import InputError, OptionError, UnprovenError
from wordveil.files import digest_of
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.spaces import Space, load_space
from wordveil.text.draft import Draft, Wanted, draw
from wordveil.text.languages import function_words
from wordveil.text.lookup import Lookup
from wordveil.text.nonwords import NonWords
from wordveil.text.once import Once
from wordveil.text.rare_words import RareWords
from wordveil.text.release import Counts, Release, Shape
from wordveil.text.remarks import KEEPS_ALL, kept_share
from wordveil.text.replacing import CASES, POLICIES, OutsideWords
from wordveil.text.report import Report
from wordveil.text.selection import Document, Selection, Spans

__all__ = ["BATCH_WORDS", "Veil"]

#: The words drawn together: in a large batch, a frequent word costs little more than one that occurs once.
BATCH_WORDS = 1 << 18
_FIRST_BATCH = 1 << 12
_DEFAULT_SPACE = "glove-50k"

_KEYED = (
    "Draws follow from a secret of the job by a keyed hash (BLAKE2b): the promise is for attackers who cannot break it "
    "and do not have the secret, which is discarded when the job is done."
)


class Veil:
    """Rewrites texts with one mechanism.

    Parameters
    ----------
    mechanism : Mechanism or str, optional
        The mechanism that replaces words, from `wordveil.mechanism`, or the name of one to make with `epsilon` and
        `space`. Default: ``graph``.
    epsilon : float, optional
        The privacy loss per unit of the mechanism's distance; required unless `mechanism` is a mechanism already.
        4 is a good start for the default mechanism.
    space : Space, str or Path, optional
        The words to draw from: a space, the name of a bundled one, or an embedding file. Default: ``glove-50k``.
    select : {"content", "all", "spans", "marked", "words", "rare"}
        Which words are veiled: all but function words, all, those in given spans, those marked ``[[like this]]`` in the
        text, those of a list, or those that are unlikely in their context.
    words : collection of str, optional
        The list, for ``select="words"``.
    rare : RareWords, optional
        Finds the unlikely words, for ``select="rare"``.
    language : str
        The language of the texts (ISO 639-1), whose function words ``select="content"`` leaves alone.
    stop_words : collection of str, optional
        The words that ``select="content"`` leaves alone, instead of the language's function words.
    oov : {"replace", "drop", "keep"}
        What to do with a selected word outside the vocabulary: replace it by a draw that does not depend on it, drop
        it, or keep it, which voids the guarantee.
    identifiers : {"placeholder", "drop", "veil", "selected"}
        What to do with e-mail addresses, links, handles, phones, cards and other identifiers anywhere in the text:
        replace them by a placeholder of their kind (``<EMAIL>``), drop them, or veil them word by word, with random
        digits. With ``selected``, only selected identifiers (``spans``, ``marked``, ``words``) get a placeholder, and
        the others are released as they are.
    numbers : {"placeholder", "metric", "digits", "drop"}
        What to do with numbers, amounts, dates and times: replace them by a placeholder (``<AMOUNT>``), shift them with
        a guarantee of their own, replace their digits by random ones (unless the vocabulary has the number), or drop
        them.
    numbers_epsilon : float, optional
        The loss per step, for ``numbers="metric"``. A step is 12% of a number, a day of a date, ten minutes of a time.
    date_order : {"dmy", "mdy"}
        How dates such as 3/4/2021 are read, for ``numbers="metric"``.
    numbered : bool
        Number the placeholders of identifiers: the same identifier gets the same number (``<EMAIL_1>``) within the
        scope of `once`. In scopes wider than a record the numbers are long and random, since texts come in any order.
    markup : {"keep", "drop"}
        What to do with HTML tags (only their names are ever kept), entities and mail headers.
    block : collection of str, optional
        Words that are never drawn, nor their inflections; an empty list blocks nothing. Default: the bundled list of
        slurs and obscenities for a mechanism made here; a mechanism that you pass is used as it is.
    case : {"sentence", "lower", "copy"}
        Capitals at the start of sentences, none, or those of the original, which reveals them.
    once : {"record", "person", "file"}, Once or None
        Draw equal words once: those of a text, of all texts with the same `Document.scope`, or of all texts. Their loss
        then counts once, but the release shows which words are equal. The same goes for values that
        ``numbers="metric"`` shifts. With None every word is drawn each time, and an attacker who finds out which words
        are equal can combine their draws.
    seed : int, optional
        Makes the draws reproducible, for experiments; voids the guarantee.
    unproven : bool
        Allow a mechanism that guarantees nothing or leaves some words unprotected, for comparisons. The guarantee and
        the report then say what is missing.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism that replaces words.
    shortfall : str
        What releases lack, in a sentence; empty unless ``unproven=True`` allowed such a mechanism.

    Raises
    ------
    OptionError
        If options are missing, unknown or contradict each other.
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

    To set a mechanism's options, make it first:

    >>> mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4, first=1.0)
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
        language: str = "en",
        stop_words: Collection[str] | None = None,
        oov: str = "replace",
        identifiers: str = "placeholder",
        numbers: str = "placeholder",
        numbers_epsilon: float | None = None,
        date_order: str = "dmy",
        numbered: bool = False,
        markup: str = "keep",
        block: Collection[str] | None = None,
        case: str = "sentence",
        once: str | Once | None = "record",
        seed: int | None = None,
        unproven: bool = False,
    ) -> None:
        if not isinstance(language, str):  # an unhashable value would raise a TypeError below
            raise OptionError(f"language must be the code of a language, such as en, not a {type(language).__name__}.")
        self.language = language if stop_words is None else None
        is_english = language == "en" or select != "content"
        left_alone = function_words(language) if stop_words is None and not is_english else stop_words
        self.selection = Selection(select, words, rare, left_alone)
        self.oov = _one_of("oov", oov, POLICIES)
        self.case = _one_of("case", case, CASES)
        self.nonwords = NonWords(
            identifiers, numbers, markup, numbers_epsilon=numbers_epsilon, date_order=date_order, numbered=numbered
        )
        if identifiers == "selected" and not self.selection.is_narrow:
            raise OptionError("`identifiers='selected'` needs a `select` of spans, marked or words.")
        self.entropy = Entropy(seed)
        self.mechanism = _made(mechanism, epsilon, space, block)
        self.once = Once(once, seed=seed) if isinstance(once, str) else once
        if not isinstance(self.once, Once | None):
            raise OptionError("once must be record, person, file or None.")
        if self.once is not None and self.once.is_keyed:
            way = [self.mechanism.describe(), self.mechanism.blocked.tolist(), numbers, numbers_epsilon, date_order]
            self.once = self.once.for_way(digest_of(way))
        self.shortfall = self.mechanism.shortfall
        if self.shortfall and not unproven:
            raise UnprovenError(f"{self.shortfall} Set `unproven` to release texts anyway.")
        if not unproven and (kept := kept_share(self.mechanism)) >= KEEPS_ALL:
            raise UnprovenError(
                f"at ε = {self.mechanism.epsilon:g} about {kept:.0%} of the words would stay, so the guarantee would "
                "protect nothing. Choose a smaller epsilon, or set `unproven` to release texts anyway."
            )
        self._vocabulary = self.mechanism.space.vocabulary
        self.lookup = Lookup(self._vocabulary)

    def __repr__(self) -> str:
        settings = f"{self.mechanism!r}, select={self.selection.kind!r}, oov={self.oov!r}, case={self.case!r}"
        settings += "" if self.once is None else f", once={self.once.scope!r}"
        settings += ", seeded" if self.is_seeded else ""
        return f"<Veil: {settings}, unproven: {self.shortfall}>" if self.shortfall else f"<Veil: {settings}>"

    @property
    def is_seeded(self) -> bool:
        """Whether a seed was given, so that anyone who knows it can repeat the draws and nothing is guaranteed."""
        return not self.entropy.secure or (self.once is not None and self.once.is_seeded)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee for each veiled word under these options."""
        promise = self.mechanism.guarantee
        if self.shortfall:  # if some words are unprotected, nothing is guaranteed for a text
            promise = replace(promise, caveats=tuple(one for one in promise.caveats if one != self.shortfall))
            promise = promise.void(self.shortfall)
        if self.is_seeded:
            promise = promise.void("A seed was given, so anyone who knows it can repeat the draws.")
        if self.selection.rare is not None:
            promise = promise.with_caveat(
                "Only words that are unlikely in their context are veiled, and the guarantee compares only such words. "
                f"{self.selection.rare.sentence()}"
            )
            if not self.selection.rare.tree.secure:
                promise = promise.void("A seed was given to the model of common words.")
        if self.nonwords.mover is not None and not self.is_seeded:
            promise = promise.with_caveat(self.nonwords.mover.sentence())
        if self.case == "copy":
            promise = promise.with_caveat(
                "Capital letters are copied, so spellings that differ in them can be told apart."
            )
        if self.once is not None and self.once.is_keyed:
            promise = promise.with_caveat(_KEYED)
        if self.oov == "keep":
            promise = promise.void("Words outside the vocabulary are released as they are.")
        return promise

    @property
    def largest_loss(self) -> float:
        """The largest loss of one draw, between any two words and for any output; infinite without a guarantee.

        The losses of independent draws add up, so this times the number of draws bounds the loss of a text.
        """
        return self.mechanism.largest_loss if self.guarantee.notion is Notion.METRIC else math.inf

    def has_veiled(self, counts: Counts) -> bool:
        """Whether any selected word was veiled, not counting identifiers that are replaced in any case."""
        anyway = self.selection.is_narrow and self.nonwords.identifiers != "selected"
        return counts.veiled > (counts.identifiers if anyway else 0)

    def describe(self) -> dict[str, Any]:
        """Describe the settings in plain values. A list of words may be private, so only its use is mentioned."""
        return {
            **self.mechanism.describe(),
            "select": self.selection.kind,
            **({} if self.language == "en" else {"language": self.language}),  # None: a list of your own
            **({} if self.selection.rare is None else {"rare": self.selection.rare.describe()}),
            "oov": self.oov,
            **self.nonwords.describe(),
            "case": self.case,
            "once": None if self.once is None else self.once.scope,
            "seeded": self.is_seeded,
        }

    @property
    def fingerprint(self) -> str:
        """A SHA-256 digest of all settings, word lists included: veils with the same fingerprint do the same."""
        rare = None if self.selection.rare is None else self.selection.rare.fingerprint
        own = sorted(self.selection.left_alone) if self.language is None else None
        blocked = self.mechanism.blocked.tolist()
        settings = json.dumps([self.describe(), self.selection.listed, rare, own, blocked], sort_keys=True)
        return hashlib.sha256(settings.encode("utf-8", "surrogatepass")).hexdigest()

    def __call__(self, text: str, *, spans: Spans | None = None, scope: Hashable = None) -> Release:
        """Veil one text; `spans` and `scope` are as in `Document`."""
        return self.together([Document(text, spans, scope)])[0]

    def shape(self, text: str | Document) -> Shape:
        """Return what the veil would not hide of a text, without drawing anything; see `Shape`.

        Examples
        --------
        >>> import wordveil
        >>> veil = wordveil.Veil(epsilon=4)
        >>> veil.shape("The ship left.") == veil.shape("The letter came.")
        True
        >>> veil.shape("The ship left.") == veil.shape("Her ship left.")
        False
        """
        return Draft(self, Document(text) if isinstance(text, str) else text).shape(self)

    def together(self, texts: Iterable[str | Document]) -> list[Release]:
        """Veil several texts at once: the fastest way if they fit into memory."""
        return self._finish([self._draft(document) for document in _documents(texts)])

    def many(self, texts: Iterable[str | Document], *, batch_words: int = BATCH_WORDS) -> Iterator[Release]:
        """Veil a stream of texts, in order, in bounded memory.

        Parameters
        ----------
        texts : iterable of str or Document
            The texts; at most one batch is read ahead.
        batch_words : int
            The number of words in a batch. The first batches are smaller, so that the first results come soon.
        """
        drafts: list[Draft] = []
        waiting, enough = 0, min(_FIRST_BATCH, batch_words)
        gathers = self.once is not None and not self.once.is_keyed  # texts of one record must stay together
        for document in _documents(texts):
            draft = self._draft(document)
            has_more = gathers and draft.scope is not None  # the next text may belong to the same record
            is_new = not drafts or draft.scope != drafts[-1].scope
            is_full = waiting >= enough or len(drafts) >= enough
            if is_full and is_new:
                yield from self._finish(drafts)
                drafts, waiting, enough = [], 0, min(4 * enough, batch_words)
            drafts.append(draft)
            waiting += draft.words
            if not has_more and (waiting >= enough or len(drafts) >= enough):
                yield from self._finish(drafts)
                drafts, waiting, enough = [], 0, min(4 * enough, batch_words)
        yield from self._finish(drafts)

    def report(self, *releases: Release) -> Report:
        """Make the privacy report of releases of this veil.

        Parameters
        ----------
        *releases : Release
            The releases, one per document.
        """
        if not all(isinstance(release, Release) for release in releases):
            raise InputError("report takes releases, as the veil returns them, as separate arguments.")
        counts = sum((release.counts for release in releases), Counts())
        return Report.of(self, counts, max((release.counts.losing for release in releases), default=0))

    @cached_property
    def outside_words(self) -> OutsideWords:
        """Draws the replacements of words outside the vocabulary."""
        return OutsideWords(self.mechanism.space)

    def _draft(self, document: Document) -> Draft:
        if self.once is not None:
            self.once.check(document.scope)
        elif document.scope is not None:
            raise InputError("a scope would be ignored: set once to draw equal words once, or leave it out.")
        return Draft(self, document)

    def _finish(self, drafts: list[Draft]) -> list[Release]:
        """Draw for all drafts at once and write the texts."""
        scopes = [draft.scope for draft in drafts]
        groups = list(range(len(drafts))) if self.once is None else self.once.groups(scopes)
        wanted = Wanted.of(self, dict(enumerate(drafts)), len(drafts))
        drawn = draw(self, wanted, np.array(groups, dtype=np.int64), dict(zip(groups, scopes, strict=True)))
        words, named = drawn.words(self._vocabulary), zip(drawn.repeated.tolist(), drawn.numbering(), strict=True)
        return [draft.write(self, words, *own) for draft, own in zip(drafts, named, strict=True)]


def _documents(texts: Iterable[str | Document]) -> Iterator[Document]:
    if isinstance(texts, (str, bytes, Document, Mapping)) or not isinstance(texts, Iterable):
        raise InputError("expected several texts, such as a list; to veil a single text, call the veil itself.")
    for text in texts:
        if not isinstance(text, (str, Document)):
            raise InputError(f"a text must be a string or a Document, not {type(text).__name__}.")
        yield Document(text) if isinstance(text, str) else text


def _one_of(option: str, value: str, values: Collection[str]) -> str:
    if value not in values:
        raise OptionError(f"unknown {option} {value!r}; choose one of {', '.join(values)}.")
    return value


def _made(
    mechanism: Mechanism[Any] | str | None,
    epsilon: float | None,
    space: Space | str | Path | None,
    block: Collection[str] | None,
) -> Mechanism[Any]:
    """Return the mechanism of a veil, making it if only its name is given."""
    if isinstance(mechanism, Mechanism):
        if epsilon is not None or space is not None:
            raise OptionError("a mechanism already has its epsilon and space: give either the mechanism, or its name.")
        return mechanism if block is None else block_words(mechanism, block)
    if isinstance(mechanism, float | int):
        raise OptionError("a number in place of the mechanism: give ε by its name, as in Veil(epsilon=4).")
    if epsilon is None:
        raise OptionError(
            "epsilon is required; 4 is a good start for the default mechanism, and `wordveil calibrate` finds the "
            "value for your own target."
        )
    opened = space if isinstance(space, Space) else load_space(_DEFAULT_SPACE if space is None else space)
    made = make_mechanism(DEFAULT if mechanism is None else mechanism, opened, epsilon=epsilon)
    return block_words(made, blocked_words() if block is None else block)
