"""The function words of languages, and guessing the language of texts by them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import regex

from wordveil.errors import OptionError
from wordveil.text.tokens import tokenise

__all__ = [
    "SURELY_ENGLISH",
    "Language",
    "function_words",
    "language_name",
    "language_of",
    "language_of_words",
    "languages",
    "stop_words",
]

_ENOUGH = 0.25  # a larger share of function words means English: they are 39 to 55% of the words, even in tweets
#: Texts are English beyond doubt if a larger share of their words is left alone as English function words.
SURELY_ENGLISH = 0.3
_TELLING = 0.12  # a text has a larger share of its own language's function words, and a smaller one of others'
_FEWEST = 20  # fewer words say nothing
_MOST = 20_000
_LISTED = 0.5  # an embedding has at least this share of its language's function words
_WITHOUT = {"he"}  # languages whose two lists have no word in common
_NEARLY = 0.9  # the share of characters in ASCII texts from which texts count as plain
_WORD = 16  # letters: more than most words have
#: Turns letters into lower case, and all else into spaces.
_LETTERS = "".join(chr(code).lower() if chr(code).isalpha() else " " for code in range(128))
_LETTER = regex.compile(r"\p{L}")
_LATIN = regex.compile(r"\p{Latin}")


@cache
def stop_words() -> frozenset[str]:
    """Return the English function words that the selection ``content`` leaves alone."""
    listed = Path(__file__).parent.parent / "data" / "stopwords-english.txt"
    return frozenset(listed.read_text(encoding="utf-8").split())


@cache
def languages() -> tuple[str, ...]:
    """Return the codes (ISO 639-1) of the languages with a list of function words."""
    import stop_words as second  # noqa: PLC0415 - rarely needed
    import stopwordsiso  # noqa: PLC0415

    both = set(stopwordsiso.langs()) & set(second.LANGUAGE_MAPPING)
    return tuple(sorted({"en", *(both - _WITHOUT)}))


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language, in lower case.

    English has its own list. For other languages a word counts only if the lists of two packages (stopwordsiso and
    stop-words) both have it: each alone also has words such as *war* and *money*, and listed words are released as they
    are.

    Examples
    --------
    >>> "aber" in function_words("de"), "brief" in function_words("de")
    (True, False)
    """
    if language == "en":
        return stop_words()
    if language not in languages():
        raise OptionError(
            f"there is no list of function words for the language {language!r}, only for {', '.join(languages())}; "
            "give a list as `stop_words`, or set `select` to all."
        )
    import stop_words as second  # noqa: PLC0415 - rarely needed
    import stopwordsiso  # noqa: PLC0415

    both = {word.lower() for word in stopwordsiso.stopwords(language)}
    both &= {word.lower() for word in second.get_stop_words(language)}
    # Entries must be single words as texts are cut: "aujourd'hui" is not one word.
    plain = {word for word in both if len(word) > 1 and word.isascii() and word.isalpha()}  # surely one word
    cut = (tokenise(word, apart=()).keys for word in both - plain)
    return frozenset(plain | {keys[0] for keys in cut if len(keys) == 1 and not keys[0].isdigit()})


class Language(NamedTuple):
    """The language of texts: a code, or "" if it is unclear, and the share of words that are its function words."""

    name: str
    share: float


def language_of(texts: Iterable[str]) -> Language:
    """Guess the language of texts by their function words.

    Function words make up about half of running text, and few are shared by several languages, so a few short texts are
    enough. Texts without function words (names, codes, lists of products) have no recognisable language. Texts in
    another script than Latin whose language has no list get "?".

    Examples
    --------
    >>> language_of(["The parcel was not there when I came home, and nobody could tell me where it had gone."] * 2).name
    'en'
    >>> language_of(["Das Paket war nicht da, als ich kam, und niemand konnte mir sagen, wo es ist."] * 2).name
    'de'
    """
    texts = list(islice(texts, _MOST))
    plain = " ".join([text for text in texts if text.isascii()])
    words = plain[: _MOST * _WORD].translate(_LETTERS).split(maxsplit=_MOST)[:_MOST]
    # A shortcut for most texts. It needs at least as many function words as the full check below.
    is_plain = _NEARLY * sum(map(len, texts)) <= len(plain)
    if is_plain and len(words) >= _FEWEST and (english := _share(words, stop_words())) >= _ENOUGH / _NEARLY:
        return Language("en", english)
    keys: list[str] = []
    latin = letters = 0
    for text in texts:
        keys += islice(tokenise(text, apart=()).keys, _MOST - len(keys))
        letters += len(_LETTER.findall(text[:_MOST]))
        latin += len(_LATIN.findall(text[:_MOST]))
        if len(keys) >= _MOST:
            break
    words = [key for key in keys if not key.isdigit()]
    is_foreign = letters >= _FEWEST and latin < letters / 2
    if len(words) < _FEWEST and not is_foreign:
        return Language("", 0.0)
    english = _share(words, stop_words())
    if english >= _ENOUGH:
        return Language("en", english)
    share, name = max((_share(words, function_words(one)), one) for one in languages())
    if share >= _TELLING and share > 2 * english:
        return Language(name, share)
    return Language("?", 0.0) if is_foreign else Language("", 0.0)


def language_of_words(words: Container[str]) -> str:
    """Return the language of an embedding's vocabulary, or "" if it is unclear.

    It is the language with the largest share of its function words in the vocabulary.
    """
    lists = ((function_words(one), one) for one in languages())
    share, name = max((sum(word in words for word in listed) / len(listed), one) for listed, one in lists)
    return name if share >= _LISTED else ""


def language_name(language: str) -> str:
    """Return the English name of a language."""
    import stop_words as second  # noqa: PLC0415 - rarely needed

    return "in another script" if language == "?" else str(second.LANGUAGE_MAPPING.get(language, language)).capitalize()


def _share(words: list[str], listed: frozenset[str]) -> float:
    return sum(map(listed.__contains__, words)) / max(1, len(words))
