"""Cuts a text into words and the text between them.

A *word* is a run of letters, marks and digits; a run without a letter is a *number*. Everything else (spaces,
punctuation, symbols, emoji) is between words and is kept. What counts as one word never depends on the vocabulary:

- An identifier, a value or markup (`wordveil.text.identifiers`) is one word, set apart. Its key is that of its kind,
  such as ``<EMAIL>``, which no other word has.
- Elsewhere hyphens, slashes and dots separate words: "state-of-the-art" is four words, "U.S." two.
- An English clitic is a word of its own, looked up as what it stands for: "don't" is *do* + *not*, "we'll" is *we* +
  *will*, "Ann's" is *Ann* + *is*. Any other apostrophe separates words: "o'clock" is two words.
- "a" and "i" are looked up as "an" and "me", because embeddings often lack single letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from itertools import islice
from typing import NamedTuple

import regex

from wordveil.text.forms import INSIDE, SPELLS
from wordveil.text.identifiers import KINDS, Identifier, find_identifiers, is_placeholder, placeholder

__all__ = [
    "APOSTROPHES", "Tokens", "apart_as", "cut_words", "has_more_words", "is_number", "lookup_key", "set_apart",
    "tokenise", "visible_key",
]  # fmt: skip

APOSTROPHES = "'’"
_RUN = rf"[{SPELLS}][{INSIDE}]*"
_WORD = regex.compile(rf"({_RUN}(?:['’]{_RUN})*)")
_PART = regex.compile(_RUN)
_NUMBER = regex.compile(r"[\p{N}\p{M}]+")
_APOSTROPHE = regex.compile("(['’])")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]+")

_CLITICS = {"s": "is", "re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}
_BEFORE_NOT = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_SINGLE = {"a": "an", "i": "me"}
_LONGEST_COMPOSED = 256  # sorting combining marks takes quadratic time


class Tokens(NamedTuple):
    """A text cut into pieces, which joined give the text again; words are at the odd indices."""

    pieces: list[str]  # the text before the first word, the first word, the text before the second word, …
    keys: list[str]  # the lookup key of each word


def tokenise(text: str, apart: Collection[str] = KINDS) -> Tokens:
    """Cut a text into words and the text between them.

    Parameters
    ----------
    text : str
        The text.
    apart : collection of str
        The kinds of identifiers to set apart as one word each; other kinds are cut into words.

    Examples
    --------
    >>> tokenise("We don't!").pieces
    ['', 'We', ' ', 'do', '', "n't", '!']
    >>> tokenise("We don't!").keys
    ['we', 'do', 'not']
    >>> tokenise("Ask will.may@over.com!").keys
    ['ask', '<EMAIL>']
    """
    found = set_apart(text, apart)
    if not found:
        return cut_words(text)
    pieces, keys, place = [""], [], 0
    for kind, start, end in found:
        some = cut_words(text[place:start])
        pieces[-1] += some.pieces[0]
        pieces += some.pieces[1:]
        pieces += (text[start:end], "")
        keys += some.keys
        keys.append(placeholder(kind))
        place = end
    some = cut_words(text[place:])
    pieces[-1] += some.pieces[0]
    return Tokens(pieces + some.pieces[1:], keys + some.keys)


def set_apart(text: str, apart: Collection[str]) -> list[Identifier]:
    """Find the identifiers of these kinds, which count as one word each."""
    # If an address in several words ("ann [at] home [dot] net") were cut up, its function words would be released.
    return [
        one
        for one in find_identifiers(text)
        if one.kind in apart
        or is_placeholder(written := text[one.start : one.end])
        or (one.kind == "EMAIL" and any(map(str.isspace, written)))
    ]


def apart_as(key: str) -> str | None:
    """Return the kind of identifier that a key stands for; None for a word."""
    return key[1:-1] if key[:1] == "<" else None


def cut_words(text: str) -> Tokens:
    """Cut a text into words, setting nothing apart."""
    pieces: list[str] = _WORD.split(text)
    if "'" in text or "’" in text:
        return _cut_apostrophes(pieces)
    return Tokens(pieces, [lookup_key(word) for word in pieces[1::2]])


def has_more_words(texts: Iterable[str], most: int) -> bool:
    """Whether texts have more words than this, those in identifiers counted one by one.

    It takes no longer than the words that are allowed: to find identifiers in a megabyte of digits takes half a minute.
    """
    runs = (run for text in texts for run in _PART.finditer(text))
    return next(islice(runs, most, None), None) is not None


def lookup_key(word: str) -> str:
    """Return the lookup key of a word: lower case and NFKC-normalised; invisible characters are part of it.

    A run of more than 256 characters, which no vocabulary has, is only lowercased.
    """
    is_composed = word.isascii() or len(word) > _LONGEST_COMPOSED
    lowered = word.lower() if is_composed else unicodedata.normalize("NFKC", word).lower()
    return _SINGLE.get(lowered, lowered) if len(lowered) == 1 else lowered


def visible_key(key: str) -> str:
    """Return a key without soft hyphens, joiners and other invisible characters, unless it has no others.

    Examples
    --------
    >>> visible_key("par\u00adis")
    'paris'
    """
    return key if key.isascii() else lookup_key(_INVISIBLE.sub("", key) or key)


def is_number(word: str) -> bool:
    """Whether a word has only digits, other numeric characters and marks."""
    return _NUMBER.fullmatch(word) is not None


def _cut_apostrophes(pieces: list[str]) -> Tokens:
    cut, keys = pieces[:1], []
    for word, gap in zip(pieces[1::2], pieces[2::2], strict=True):
        if "'" in word or "’" in word:
            words, inner, word_keys = _parts(word)
            for part, between in zip(words, [*inner, gap], strict=True):
                cut += (part, between)
            keys += word_keys
        else:
            cut += (word, gap)
            keys.append(lookup_key(word))
    return Tokens(cut, keys)


def _parts(word: str) -> tuple[list[str], list[str], list[str]]:
    """Cut a word at its apostrophes; return the words, the text between them, and their keys."""
    *_, mark, tail = _APOSTROPHE.split(word)
    stem = word[: -len(tail) - 1]
    if tail.lower() == "t" and stem[-1:].lower() == "n" and len(stem) > 1:
        before = stem[:-1].rstrip(APOSTROPHES)  # "did'n't" is misspelt; there is one at the most
        first, inner, keys = _plain(before)
        keys[-1] = _BEFORE_NOT.get(keys[-1], keys[-1])
        return [*first, stem[-1] + mark + tail], [*inner, stem[len(before) : -1]], [*keys, "not"]
    if tail.lower() in _CLITICS:
        first, inner, keys = _plain(stem)
        return [*first, mark + tail], [*inner, ""], [*keys, _CLITICS[tail.lower()]]
    return _plain(word)


def _plain(word: str) -> tuple[list[str], list[str], list[str]]:
    parts = _APOSTROPHE.split(word)
    return parts[::2], parts[1::2], [lookup_key(part) for part in parts[::2]]
