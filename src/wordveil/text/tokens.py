"""Words of a text and what lies between them.

A *word* is a run of letters, marks and digits; a run without a letter is a *number*. Everything else (spaces,
punctuation, symbols, emoji) lies between words and survives as it is. What counts as one word never depends on which
words a vocabulary happens to have:

- Hyphens, slashes and dots always separate: "state-of-the-art" is four words, "U.S." two.
- An English clitic is a word of its own, looked up by what it stands for: "don't" is *do* + *not*, "we'll" is *we* +
  *will*, "Ann's" is *Ann* + *is*. Any other apostrophe separates: "o'clock" is two words.
- "a" and "i" are looked up as "an" and "me", since embeddings are often made without single letters.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import regex

__all__ = ["Tokens", "is_number", "lookup_key", "tokenise", "visible_key"]

# Everything that can spell: letters and digits, also as radicals, in brackets, circles, squares or Braille, letters of
# private fonts, invisible tags, and whatever is too new or too broken to be known. Inside a word also marks and
# joiners, which must not split it. Signs for one thing (№, ℃, ™, a flag) are symbols.
_SPELLS = (
    r"\p{Alphabetic}\p{N}\p{Co}\p{Cn}\p{Cs}"
    r"\u249C-\u24B5\u2800-\u28FF\u2E80-\u2FD5\u3190-\u319F\u3200-\u33FF"
    r"\U0001F110-\U0001F190\U0001F200-\U0001F251\U000E0000-\U000E007F"
)
_RUN = rf"[{_SPELLS}][{_SPELLS}\p{{M}}\p{{Cf}}]*"
_WORD = regex.compile(rf"({_RUN}(?:['’]{_RUN})*)")
_NUMBER = regex.compile(r"[\p{N}\p{M}]+")
_APOSTROPHE = regex.compile("(['’])")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]+")

_CLITICS = {"s": "is", "re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}
_BEFORE_NOT = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_SINGLE = {"a": "an", "i": "me"}
_LONGEST_COMPOSED = 256  # putting combining marks in order takes a time that grows with the square of their number


class Tokens(NamedTuple):
    """A text cut up: ``pieces`` joined give the text again; every second one, from the second on, is a word."""

    pieces: list[str]  # what lies before the first word, the first word, what lies between it and the second, …
    keys: list[str]  # what each word is looked up as


def tokenise(text: str) -> Tokens:
    """Cut a text into words and what lies between.

    Examples
    --------
    >>> tokenise("We don't!").pieces
    ['', 'We', ' ', 'do', '', "n't", '!']
    >>> tokenise("We don't!").keys
    ['we', 'do', 'not']
    """
    pieces: list[str] = _WORD.split(text)
    if "'" in text or "’" in text:
        return _cut_apostrophes(pieces)
    return Tokens(pieces, [lookup_key(word) for word in pieces[1::2]])


def lookup_key(word: str) -> str:
    """Return what a word is looked up as: lower case and composed; invisible characters stay, as part of it.

    A run of more than 256 characters, which no vocabulary has, is only made lower case.
    """
    is_composed = word.isascii() or len(word) > _LONGEST_COMPOSED
    lowered = word.lower() if is_composed else unicodedata.normalize("NFKC", word).lower()
    return _SINGLE.get(lowered, lowered) if len(lowered) == 1 else lowered


def visible_key(key: str) -> str:
    """Return a key without soft hyphens, joiners and other invisible characters, unless there is nothing else in it.

    Examples
    --------
    >>> visible_key("par\u00adis")
    'paris'
    """
    return key if key.isascii() else lookup_key(_INVISIBLE.sub("", key) or key)


def is_number(word: str) -> bool:
    """Whether a word is made of digits and the like alone."""
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
    """Cut a word at its apostrophes into words, what lies between them, and their keys."""
    *_, mark, tail = _APOSTROPHE.split(word)
    stem = word[: -len(tail) - 1]
    if tail.lower() == "t" and stem[-1:].lower() == "n" and len(stem) > 1:
        first, inner, keys = _plain(stem[:-1])
        keys[-1] = _BEFORE_NOT.get(keys[-1], keys[-1])
        return [*first, stem[-1] + mark + tail], [*inner, ""], [*keys, "not"]
    if tail.lower() in _CLITICS:
        first, inner, keys = _plain(stem)
        return [*first, mark + tail], [*inner, ""], [*keys, _CLITICS[tail.lower()]]
    return _plain(word)


def _plain(word: str) -> tuple[list[str], list[str], list[str]]:
    parts = _APOSTROPHE.split(word)
    return parts[::2], parts[1::2], [lookup_key(part) for part in parts[::2]]
