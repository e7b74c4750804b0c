"""Selects the words of a text to veil."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable
from itertools import accumulate
from typing import NamedTuple

import regex

from wordveil.errors import InputError, OptionError
from wordveil.text.forms import written_plainly
from wordveil.text.identifiers import VALUES, find_identifiers, placeholder
from wordveil.text.languages import stop_words
from wordveil.text.rare_words import RareWords
from wordveil.text.tokens import Tokens, apart_as, lookup_key, tokenise, visible_key

__all__ = ["SELECTIONS", "Document", "Selection", "choose_whole", "stop_words"]

#: The selections that need no model; ``rare`` needs a model of all texts.
SELECTIONS = ("content", "all", "spans", "marked", "words")
_KINDS = (*SELECTIONS, "rare")
_MARKUP = placeholder("MARKUP")

_MARK = regex.compile(r"(\[\[|\]\])")
_UNPAIRED = "the marks [[ and ]] must come in pairs and cannot be nested."

Spans = tuple[tuple[int, int], ...]


class Document(NamedTuple):
    """A text to veil, with the spans to veil in it if the selection needs them.

    Attributes
    ----------
    text : str
        The text.
    spans : tuple of (start, end), optional
        Character offsets; every word that overlaps a span is veiled.
    scope : hashable, optional
        Texts with the same scope share their draws, if equal words are drawn once. With ``once="record"``, consecutive
        texts with the same scope make a record. With ``once="person"``, it is the person whose text it is. It is used
        as a string, under a keyed hash, and not kept.
    """

    text: str
    spans: Spans | None = None
    scope: Hashable = None

    def __repr__(self) -> str:
        # The text is private, so it is not shown.
        return f"<Document: {len(self.text):,} characters, {len(self.spans or ()):,} spans>"


def _check_list(option: str, words: object) -> None:
    if isinstance(words, (str, bytes)):  # a string is also a collection of strings: its letters
        raise OptionError(f"{option} must be a list of words; give a single word as a list of one.")
    if words is not None and not (isinstance(words, Collection) and all(isinstance(word, str) for word in words)):
        raise OptionError(f"{option} must be a list of strings.")


class Selection:
    """Chooses the words to veil; `Veil` documents the kinds.

    Marks are removed from the text. An entry of a list with several words ("New York", "O'Brien") matches these words
    in this order.
    """

    def __init__(
        self,
        kind: str = "content",
        words: Collection[str] | None = None,
        rare: RareWords | None = None,
        left_alone: Collection[str] | None = None,
    ) -> None:
        if kind not in _KINDS:
            raise OptionError(f"unknown selection {kind!r}; choose one of {', '.join(_KINDS)}.")
        if (kind == "words") != (words is not None):
            raise OptionError("`select='words'` and the list `words` go together: give both or neither.")
        _check_list("words", words)
        if words is not None and not words:
            raise OptionError("the list of words is empty, so nothing would be veiled.")
        if (kind == "rare") != (rare is not None):
            raise OptionError("`select='rare'` and a RareWords model of all texts go together: give both or neither.")
        if left_alone is not None and kind != "content":
            raise OptionError("stop_words only applies to `select='content'`.")
        _check_list("stop_words", left_alone)
        self.kind, self.rare = kind, rare
        self.left_alone = stop_words() if left_alone is None else frozenset(map(lookup_key, left_alone))
        self.listed = None if words is None else sorted({_keys(word) for word in words})
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        for phrase in self.listed or ():
            self._phrases.setdefault(phrase[0], []).append(phrase)

    @property
    def is_narrow(self) -> bool:
        """Whether everything not pointed out is left alone, words and non-words alike."""
        return self.kind in ("spans", "marked", "words")

    def prepare(self, document: Document) -> Document:
        """Turn marks in the text into spans, and check that spans are given if and only if they are needed."""
        if not isinstance(document.text, str):
            raise InputError(f"a text must be a string, not {type(document.text).__name__}.")
        if document.spans is not None and self.kind != "spans":
            raise InputError("spans would be ignored: set `select='spans'` to veil them, or leave them out.")
        if self.kind == "marked":
            return _unmark(document.text)
        if self.kind == "spans":
            if document.spans is None:
                raise InputError("`select='spans'` needs the spans of every text.")
            for start, end in document.spans:
                if not 0 <= start <= end <= len(document.text):
                    raise InputError("a span must have 0 <= start <= end <= the length of its text.")
        return document

    def choose(self, tokens: Tokens, spans: Spans | None) -> list[bool]:
        """Return whether each word is veiled."""
        if self.kind == "all":
            return [True] * len(tokens.keys)
        if self.kind == "content":
            return _content(tokens, self.left_alone)
        if self.kind == "words":
            return self._listed(tokens)
        if self.rare is not None:
            return self.rare.choose(tokens.keys)
        return _overlapping(tokens, spans or ())

    def _listed(self, tokens: Tokens) -> list[bool]:
        # A soft hyphen must not hide a word from the list. (It does keep a word from counting as a function word.)
        keys = [visible_key(key) for key in tokens.keys]
        chosen = [
            apart_as(key) is not None and any(self._listed(tokenise(tokens.pieces[2 * place + 1], apart=())))
            for place, key in enumerate(keys)
        ]
        for place, key in enumerate(keys):
            for phrase in self._phrases.get(key, ()):
                if len(phrase) == 1 or tuple(keys[place : place + len(phrase)]) == phrase:
                    chosen[place : place + len(phrase)] = [True] * len(phrase)
        return chosen


def choose_whole(text: str, tokens: Tokens, chosen: list[bool]) -> list[bool]:
    """Choose also all words inside the identifiers of a text."""
    ends = list(accumulate(map(len, tokens.pieces)))
    starts, stops = ends[0::2], ends[1::2]
    chosen = list(chosen)
    for kind, start, end in find_identifiers(text):
        if kind not in VALUES:
            own = range(bisect_right(stops, start), bisect_left(starts, end, hi=len(stops)))
            for place in own:
                chosen[place] = True
    return chosen


def _content(tokens: Tokens, left_alone: frozenset[str]) -> list[bool]:
    """Choose all words but those that are spelt and written like function words."""
    pieces, keys = tokens
    last = len(keys) - 1
    chosen = []
    for place, key in enumerate(keys):
        if key not in left_alone:
            chosen.append(True)
            continue
        word, before, after = pieces[2 * place + 1], pieces[2 * place], pieces[2 * place + 2]
        if before == after == " " and key == word:  # by far the most common case
            chosen.append(False)
            continue
        first = not place or keys[place - 1] == _MARKUP
        chosen.append(not written_plainly(word, before, after, first=first, last=place == last))
    return chosen


def _keys(listed: str) -> tuple[str, ...]:
    keys = tuple(visible_key(key) for key in tokenise(listed, apart=()).keys)
    if not keys:
        raise OptionError("every entry of a word list must contain a word.")
    return keys


def _unmark(text: str) -> Document:
    clean: list[str] = []
    spans: list[tuple[int, int]] = []
    place, opened = 0, -1
    for piece in _MARK.split(text):
        if piece == "[[" and opened < 0:
            opened = place
        elif piece == "]]" and opened >= 0:
            spans.append((opened, place))
            opened = -1
        elif piece in ("[[", "]]"):
            raise InputError(_UNPAIRED)
        else:
            clean.append(piece)
            place += len(piece)
    if opened >= 0:
        raise InputError(_UNPAIRED)
    return Document("".join(clean), tuple(spans))


def _overlapping(tokens: Tokens, spans: Spans) -> list[bool]:
    ends = list(accumulate(map(len, tokens.pieces)))
    inside = bytearray(ends[-1] + 1)
    for start, end in spans:
        inside[start:end] = b"\x01" * (end - start)
    return [any(inside[start:end]) for start, end in zip(ends[0::2], ends[1::2], strict=False)]
